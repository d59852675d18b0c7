from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.sample.ledger import Chart, allocate, post, round_half_up, share_of
from finrag_pipeline.sample.words import cell, growth, money, percent, quotient, usd_millions

CHART = Chart(
    current_assets=("cash", "receivables"),
    noncurrent_assets=("plant",),
    current_liabilities=("payables",),
    noncurrent_liabilities=("debt",),
    equity=("capital", "retained"),
    credits={
        "adj.depreciation": "plant",
        "wc.receivables": "receivables",
        "inv.capex": "plant",
        "fin.debt": "debt",
    },
    transfers={"noncash.swap": ("capital", "debt"), "oci.plant": ("capital", "plant")},
)
OPENING = CHART.open(
    "retained", {"cash": 50, "receivables": 30, "plant": 120, "payables": 20, "debt": 60, "capital": 40}
)


def test_opening_plug_balances() -> None:
    assert OPENING["retained"] == 200 - 20 - 60 - 40


def test_a_year_worked_by_hand() -> None:
    flows = {
        "revenue.goods": 100,
        "cost.goods": -55,
        "opex.rent": -15,  # holds the depreciation of 10
        "tax.provision": -6,
        "adj.depreciation": 10,
        "wc.receivables": -7,
        "inv.capex": -25,
        "fin.debt": 12,
        "noncash.swap": 5,  # debt of 5 becomes capital
        "oci.plant": 3,
    }
    period = post(CHART, OPENING, flows, ("10", "12"), {"stores": 4})
    assert period["net_income"] == 24
    assert period["operating_cash"] == 24 + 10 - 7
    assert dict(period.closing) == {
        "cash": 50 + 27 - 25 + 12,
        "receivables": 37,
        "plant": 120 - 10 + 25 + 3,
        "payables": 20,
        "debt": 60 + 12 - 5,
        "capital": 40 + 5 + 3,
        "retained": 80 + 24,
    }
    assert (str(period.eps), str(period.eps_diluted)) == ("2.40", "2.00")
    assert period.total("opening:cash") == 50
    assert period.total("closing:cash") == 64
    assert period.total("cost.", "opex.rent") == -70
    assert period.total("closing:current_assets", "-closing:cash") == 37
    assert period.total("operating_income", "-opex.rent", "memo:stores") == 30 + 15 + 4
    with pytest.raises(KeyError):
        period["operatingincome"]


ITEMS = (*CHART.credits, *CHART.transfers, "revenue.a", "cost.b", "tax.c")


@given(st.dictionaries(st.sampled_from(ITEMS), st.integers(-(10**9), 10**9)))
def test_books_balance_whatever_is_posted(flows: dict[str, int]) -> None:
    period = post(CHART, OPENING, flows, ("1", "1"))
    assert period.balance(CHART.assets) == period.balance(CHART.claims)


def test_unknown_item_is_refused() -> None:
    with pytest.raises(KeyError):
        CHART.close(OPENING, {"inv.unknown": 1})


@given(
    st.dictionaries(st.sampled_from(ITEMS), st.integers(-999, 999)),
    st.dictionaries(st.sampled_from(ITEMS), st.integers(-999, 999)),
)
def test_difference_of_periods_continues_the_books(first: dict[str, int], both: dict[str, int]) -> None:
    quarter, half = (post(CHART, OPENING, flows, ("1", "1")) for flows in (first, both))
    second = half.less(quarter)
    assert CHART.close(second.opening, second.flows) == half.closing


@given(st.integers(-(10**9), 10**9), st.integers(1, 10**6))
def test_rounding_agrees_with_decimal(numerator: int, denominator: int) -> None:
    exact = Decimal(numerator) / Decimal(denominator)
    assert round_half_up(numerator, denominator) == int(exact.quantize(Decimal(1), ROUND_HALF_UP))


@given(st.integers(-(10**9), 10**9), st.lists(st.integers(1, 100), min_size=1, max_size=8))
def test_allocation_keeps_the_total(total: int, weights: list[int]) -> None:
    parts = allocate(total, weights)
    assert sum(parts) == total
    assert all(abs(p - total * w / sum(weights)) <= len(weights) for p, w in zip(parts, weights, strict=True))


def test_share_of_a_year() -> None:
    assert share_of({"revenue.a": 101, "tax.b": -9}, 50) == {"revenue.a": 51, "tax.b": -5}


def test_how_figures_are_written() -> None:
    assert [cell(v) for v in (1234567, -56, 0, Decimal("2.95"), Decimal("-0.70"))] == [
        "1,234,567",
        "(56)",
        "—",
        "2.95",
        "(0.70)",
    ]
    assert money(412, "millions") == "$412 million"
    assert money(-3_115_375, "thousands") == "$3,115.4 million"
    assert usd_millions(21_540, "thousands") == "$21.54"
    assert usd_millions(-158, "millions") == "-$158.00"
    assert percent(1, 8) == "12.5%"
    assert percent(-1, 8) == "(12.5)%"
    assert growth(90, 120) == Decimal("-25.0")
    assert quotient(1, 3) == Decimal("0.33")
