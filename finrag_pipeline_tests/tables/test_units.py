from __future__ import annotations

import pytest

from finrag_pipeline.tables.units import column_unit, find_unit, unit_of_words
from finrag_pipeline.tables.values import parse_value


@pytest.mark.parametrize(
    ("label", "unit"),
    [
        ("Diluted earnings per share", "currency/share"),
        ("Dividends declared per common share", "currency/share"),
        ("Average price paid per share", "currency/share"),
        ("Basic EPS", "currency/share"),
        ("Weighted average shares outstanding", "shares"),
        ("Shares used in computing diluted earnings per share", "shares"),
        ("Total number of shares purchased", "shares"),
        ("Common stock, $0.01 par value; 24,000 shares authorized, 7,808 outstanding", "currency"),
        ("Treasury shares, at cost", "currency"),
        ("Percentage of net sales", "percent"),
        ("% change", "percent"),
        ("4.5% notes due 2030", None),
        ("7.125 percent debentures", None),
        ("Number of employees", "count"),
        ("Employees as of December 31,", "count"),
        ("Employee benefits", None),
        ("Stores at end of year", "count"),
        ("Ratio of earnings to fixed charges", "ratio"),
        ("Net debt-to-equity", "ratio"),
        ("Adjustments relating to equity investments", None),
        ("Net income on which diluted earnings per share is calculated", None),
        ("Denominator for basic earnings per common share—weighted-average common shares", "shares"),
        ("Weighted-average shares used to compute diluted net loss per share", "shares"),
        ("Weighted average grant date fair value per share", "currency/share"),
        ("Dividends declared ($0.48 per share)", None),
        ("Dividends ($2.40 declared per common share)", None),
        ("Capital in excess of par value", None),
        ("Cash paid to suppliers and employees", None),
        ("Issuance of shares to employees", None),
        ("One-Percentage-Point Increase", None),
        ("Unpaid business combination purchase price", None),
        ("Sales of comparable stores", None),
        ("Revenue", None),
        ("Repurchases of common stock", None),
    ],
)
def test_units_that_words_name(label: str, unit: str | None) -> None:
    assert unit_of_words(label) == unit


@pytest.mark.parametrize(
    ("header", "unit"),
    [("Shares", "shares"), ("Amount", "currency"), ("Shares (in thousands)", "shares"), ("2018", None)],
)
def test_units_of_columns(header: str, unit: str | None) -> None:
    assert column_unit(header) == unit


def unit(text, rows, columns=(), share_table=False):
    return find_unit(parse_value(text), rows, columns, share_table)[0]


def test_marks_in_the_cell_come_first() -> None:
    assert unit("12%", ["Diluted earnings per share"]) == "percent"
    assert unit("$ 5", ["Number of stores"]) == "currency"
    assert unit("9 years", ["Technology"]) == "count"


def test_columns_decide_over_rows() -> None:
    assert unit("12", ["Diluted earnings per share"], ["2018", "% Change"]) == "percent"
    assert unit("89", ["Stock repurchased"], ["2018", "Shares"]) == "shares"
    assert unit("89", ["Treasury shares issued"], ["Additional paid-in capital"]) == "currency"
    assert unit("2.10", ["Diluted earnings per share"], ["Amount"]) == "currency/share"


def test_headings_above_a_row_count_only_where_the_number_fits() -> None:
    assert unit("2.12", ["Earnings per share:", "Basic"]) == "currency/share"
    assert unit("16,798", ["Earnings per share:", "Net income"]) is None
    assert unit("7,925", ["Weighted average shares outstanding:", "Basic"]) == "shares"


def test_capital_beyond_par_value_is_not_per_share() -> None:
    assert unit("(1,282,922)", ["Repurchases"], ["Capital in Excess of Par Value"]) is None
    assert (
        unit("(71.3)", ["Stock awards"], ["$.10 Par Value Common Stock", "Additional paid-in capital"])
        == "currency"
    )


def test_large_numbers_under_ratios_are_money() -> None:
    assert unit("1,613,210", ["Risk-weighted assets"], ["Capital ratio"]) is None
    assert unit("15.0", ["Tier 1"], ["Capital ratio"]) == "ratio"


def test_the_words_of_a_scale_name_no_unit() -> None:
    assert unit("$ 26,268", ["Net sales"], ["2019 (in millions, except per share data)"]) == "currency"
    assert unit("2,515", ["Net sales"], ["In millions, except per share"]) is None


def test_a_header_on_two_lines_is_read_as_one() -> None:
    assert unit("23,687", ["April"], ["Total number of", "shares purchased as part of plans"]) == "shares"


def test_per_cent_in_a_header_does_not_hold_for_columns_of_amounts() -> None:
    value = parse_value("689")
    assert find_unit(value, ["Sales"], ["% Change", "2022"], amounts=True)[0] is None
    assert find_unit(value, ["Sales"], ["% Change", "2022"])[0] == "percent"


def test_invisible_characters_do_not_hide_words() -> None:
    assert unit_of_words("\u200eEarnings per \u200eshare") == "currency/share"


def test_two_whole_headers_are_not_joined() -> None:
    headers = ["Total Number of Shares Purchased as Part of", "Average Price Paid Per Share"]
    assert unit("173.26", ["October"], headers) == "currency/share"
