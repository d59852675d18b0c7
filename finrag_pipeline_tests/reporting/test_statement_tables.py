"""Facts put back into the tables that they were printed in."""

from __future__ import annotations

from datetime import date

import pytest

from finrag_pipeline.reporting.filing_pages import Head, Line, format_value, statement_tables
from finrag_pipeline_tests.reporting.lake_builders import YEAR, balance_sheet, fact

DURATION = {"period_start": YEAR[0], "period_end": YEAR[1], "period_kind": "duration"}


def test_a_balance_sheet_has_days_over_its_columns_and_headings_over_its_lines() -> None:
    (table,) = statement_tables(balance_sheet())
    assert (table.statement, table.scope, table.page, table.unit) == (
        "Financial position",
        "Primary statement",
        40,
        "USD",
    )
    assert table.heads == (Head("2022-12-31"), Head("2021-12-31"))
    assert table.lines[0] == Line("Current assets", 0, "", "", None)
    assert table.lines[1] == Line(
        "Cash", 1, "CashAndCashEquivalentsAtCarryingValue", "", ("40,000,000", "40,000,000")
    )
    assert table.lines[2].label == "Total assets" and table.lines[2].level == 0
    assert table.facts == 10


def test_a_line_with_a_day_of_its_own_says_so() -> None:
    of = {"statement": "cash_flows", **DURATION}
    flows = [fact(row, 1, f"Line {row}", 1e6, **of) for row in (1, 2, 3)]
    opening = {"period_start": None, "period_end": date(2021, 12, 31), "period_kind": "instant"}
    flows.append(fact(4, 1, "Cash at the beginning", 5e6, **{**of, **opening, "fiscal_year": 2021}))
    (table,) = statement_tables(flows)
    assert table.heads == (Head("2022-01-01 to 2022-12-31"),)
    assert [line.period for line in table.lines] == ["", "", "", "2021-12-31"]
    assert [line.values for line in table.lines] == [("1,000,000",)] * 3 + [("5,000,000",)]


def test_columns_that_are_no_periods_are_named_by_their_header() -> None:
    of = {"statement": "equity"}
    rows = [
        fact(row, column, label, 1e6, **{**of, "qualifier": name, "period_end": end})
        for row, (label, end) in enumerate([("Opening", date(2020, 12, 31)), ("Closing", date(2022, 12, 31))])
        for column, name in ((1, "Stock"), (2, "Earnings"))
    ]
    (table,) = statement_tables(rows)
    assert table.heads == (Head("Stock"), Head("Earnings"))
    assert [line.period for line in table.lines] == ["2020-12-31", "2022-12-31"]


def test_facts_without_a_period_still_stand_in_their_columns() -> None:
    nothing = dict.fromkeys(("period_start", "period_end", "fiscal_year", "fiscal_quarter"))
    (table,) = statement_tables([fact(1, column, "Line", column * 1e6, **nothing) for column in (1, 2)])
    assert table.heads == (Head("Value"), Head("Value"))
    assert table.lines[0].values == ("1,000,000", "2,000,000") and table.lines[0].period == ""


def test_another_unit_than_the_tables_is_marked() -> None:
    rows = [
        *balance_sheet(),
        fact(9, 1, "Shares", 5e8, unit="shares"),
        fact(10, 1, "Rate", 0.125, unit="percent"),
    ]
    lines = {line.label: line.values for line in statement_tables(rows)[0].lines}
    assert lines["Shares"] == ("500,000,000 shares", "")
    assert lines["Rate"] == ("12.5 %", "")


def test_primary_statements_come_first_then_in_the_order_of_the_filing() -> None:
    rows = [
        *(fact(1, 1, "a", 1.0, page=page, scope=scope) for page, scope in ((5, "note"), (50, "primary"))),
        fact(1, 1, "b", 1.0, statement="cash_flows", page=49),
        fact(1, 1, "c", 1.0, page=2, scope="a scope of tomorrow"),
    ]
    assert [(table.scope, table.page) for table in statement_tables(rows)] == [
        ("Primary statement", 49),
        ("Primary statement", 50),
        ("Notes", 5),
        ("a scope of tomorrow", 2),
    ]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (36_500_000_000.0, "currency", "36,500,000,000"),
        (-547e6, "currency", "−547,000,000"),
        (9.09, "currency/share", "9.09"),
        (9.1, "currency/share", "9.10"),
        (0.0, "currency", "0"),
        (0.12, "percent", "12 %"),
        (1234.5, "currency", "1,234.5"),
        (0.3333333, "ratio", "0.3333"),
    ],
)
def test_values_are_in_full_units(value: float, unit: str, text: str) -> None:
    assert format_value(value, unit) == text
