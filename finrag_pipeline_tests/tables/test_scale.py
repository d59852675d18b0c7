from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.tables.applied_scale import NONE_STATED, Source, applied_scale
from finrag_pipeline.tables.scale import find_scale, only_scale
from finrag_pipeline.tables.values import parse_value


@pytest.mark.parametrize(
    ("text", "scale", "applies"),
    [
        ("(in thousands)", 1e3, "all"),
        ("(In millions, except per share amounts)", 1e6, "all"),
        ("(Millions)", 1e6, "all"),
        ("(In thousand)", 1e3, "all"),
        ("(Millions unless noted)", 1e6, "all"),
        ("Year Ended December 31 (Millions, except per share amounts)", 1e6, "all"),
        ("Millions", 1e6, "all"),
        ("$ in billions", 1e9, "currency"),
        ("in millions of dollars", 1e6, "currency"),
        ("(Thousands of dollars)", 1e3, "currency"),
        ("(in thousands of U.S. dollars)", 1e3, "currency"),
        ("($ in millions)", 1e6, "currency"),
        ("(in 000,000's)", 1e6, "all"),
        ("(US$ millions)", 1e6, "currency"),
        ("SEK billion", 1e9, "currency"),
        ("(NOK m)", 1e6, "currency"),
        ("in millions of kronor", 1e6, "currency"),
        ("RMB in thousands", 1e3, "currency"),
        ("$000", 1e3, "currency"),
        ("$'000", 1e3, "currency"),
        ("($ in 000s)", 1e3, "currency"),
        ("(000s omitted)", 1e3, "all"),
        ("(000’s omitted)", 1e3, "all"),
        ("($mm)", 1e6, "currency"),
        ("$ bn", 1e9, "currency"),
        ("RMB’Million", 1e6, "currency"),
        ("(in thousand NT dollars)", 1e3, "all"),
        ("(inthousands)", 1e3, "all"),
        ("(Dollar amounts and selling square feet in millions)", 1e6, "all"),
        ("Shares in millions", 1e6, "shares"),
        ("$ and shares in millions, except per share amounts", 1e6, "all"),
        ("(dollars and shares in thousands)", 1e3, "all"),
        ("(Unaudited; Dollars & Shares in Millions)", 1e6, "all"),
        ("(in thousands of barrels)", 1e3, "count"),
        ("(in whole dollars)", 1.0, "currency"),
    ],
)
def test_one_scale(text: str, scale: float, applies: str) -> None:
    (rule,) = find_scale([text])
    assert (rule.scale, rule.applies) == (scale, applies)
    assert rule.words in text


@pytest.mark.parametrize(
    "text",
    [
        "revenue increased by $1.2 billion in 2018",
        "10 million",
        "hundreds of thousands of dollars",
        "(000-15175)",
        "Total",
        "Milliona",
        "thousands of employees",
        "capital expenditure was SEK 5.1 billion",
        "THE MILLION",
        "Details b, c",
    ],
)
def test_prose_sets_no_scale(text: str) -> None:
    assert find_scale([text]) == []


@pytest.mark.parametrize(
    ("text", "exempt"),
    [
        ("(in millions, except per share data)", {"per share"}),
        ("(In thousands, except share and per share data)", {"shares", "per share"}),
        ("(in millions, except percentages and ratios)", {"percent", "ratio"}),
        ("(in millions, except number of stores)", {"count"}),
        ("(in millions, except where otherwise noted)", set()),
    ],
)
def test_exceptions(text: str, exempt: set[str]) -> None:
    (rule,) = find_scale([text])
    assert rule.exempt == exempt


def test_two_scales_in_one_phrase() -> None:
    money, shares = find_scale(["(Dollars in millions, except per share amounts; shares in thousands)"])
    assert (money.scale, money.applies, shares.scale, shares.applies) == (1e6, "currency", 1e3, "shares")
    assert money.exempt == {"per share"}


def test_a_scale_in_a_clause_of_its_own() -> None:
    money, shares = find_scale(["(In millions, except number of shares, which are reflected in thousands)"])
    assert (money.scale, shares.scale, shares.applies) == (1e6, 1e3, "shares")


def test_a_bracket_over_two_lines() -> None:
    (rule,) = find_scale(["Net sales by segment (in", "millions, except per share data):"])
    assert rule.scale == 1e6
    assert rule.exempt == {"per share"}


def test_only_scale() -> None:
    assert only_scale("(in millions, except per share data) (unaudited)")
    assert not only_scale("Weighted average shares outstanding (in millions)")


@given(st.lists(st.text(max_size=60), max_size=4))
def test_any_text_is_searched_without_error(lines: list[str]) -> None:
    for rule in find_scale(lines):
        assert rule.scale in (1.0, 1e3, 1e6, 1e9, 1e12)
        assert rule.words


def apply(text, unit, told_by="", near=(), far=()):
    return applied_scale(
        parse_value(text),
        unit,
        told_by,
        [Source("row label", find_scale([line])) for line in near],
        [Source("units line", find_scale([line])) for line in far],
    )


def test_the_nearest_scale_wins_and_is_named() -> None:
    assert apply("5", "currency", near=["Revenue (in billions)"], far=["(in millions)"]) == (
        1e9,
        "row label: (in billions)",
    )
    assert apply("5", "currency", far=["(in millions)"]) == (1e6, "units line: (in millions)")
    assert apply("5", "currency") == (1.0, NONE_STATED)


def test_what_the_scale_of_the_table_leaves_alone() -> None:
    far = ["(in millions, except per share data)"]
    assert apply("0.96", "currency/share", "Diluted EPS", far=far)[0] == 1
    assert apply("12.3%", "percent", "%", far=far)[0] == 0.01
    assert apply("2.5x", "ratio", "x", far=far)[0] == 1
    assert apply("1,315", "count", "Number of stores", far=far)[0] == 1
    assert apply("$1.2 billion", "currency", far=far) == (1e9, "cell: billion")


def test_shares_take_their_own_scale_first() -> None:
    both = ["(dollars in millions, shares in thousands)"]
    assert apply("602,000", "shares", "Shares", far=both)[0] == 1e3
    assert apply("602,000,000", "shares", "Shares", far=["(in millions, except share data)"])[0] == 1
    assert apply("602", "shares", "Shares", far=["(in millions, except per share data)"])[0] == 1e6
    # Money alone is in millions, but nobody has 602.4 shares.
    scale, source = apply("602.4", "shares", "Shares", far=["(dollars in millions)"])
    assert scale == 1e6
    assert "too few" in source
    assert apply("5", "shares", "Shares", far=["(dollars in millions)"]) == (1.0, NONE_STATED)
    assert apply("100,000", "shares", "Shares", far=["(in millions)"])[0] == 1
    assert apply("602,400,000", "shares", "Shares", far=["(dollars in millions)"]) == (1.0, NONE_STATED)


def test_cents_and_spans_of_time() -> None:
    assert apply("73.3", "currency/share", "EPS (diluted US cents)")[0] == 0.01
    assert apply("5 years", "count", "years", near=["Obligations (in thousands)"]) == (1.0, "cell: years")
