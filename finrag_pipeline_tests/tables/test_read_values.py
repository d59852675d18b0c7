"""Units, scales and periods that headers, headings and footnotes give to cells."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from finrag_pipeline.tables.model import Table
from finrag_pipeline.tables.units import column_unit, unit_of_words
from finrag_pipeline_tests.tables.grids import make_table
from finrag_pipeline_tests.tables.test_normalise import cells


def _column(table: Table, column: int, field: str) -> list[Any]:
    found = cells(table)
    rows = [key for key in sorted(found) if key[2] == column and found[key]["kind"] in ("number", "missing")]
    return [found[key][field] for key in rows]


@pytest.mark.parametrize(
    ("header", "unit"),
    [
        ("Q3 Percent", "percent"),
        ("Percent to Sales", "percent"),
        ("2018 % Change", "percent"),
        ("4.5% notes due 2030", None),
        ("5 percent notes", None),
    ],
)
def test_headers_of_per_cent(header: str, unit: str | None) -> None:
    assert column_unit(header) == unit


@pytest.mark.parametrize(
    ("label", "unit"),
    [
        ("Denominator for diluted earnings per share", "shares"),
        ("Dilutive effect of stock-based awards", "shares"),
        ("Weighted average exercise price of outstanding options, warrants and rights", "currency/share"),
        ("Unit counts at period end", "count"),
    ],
)
def test_labels(label: str, unit: str | None) -> None:
    assert unit_of_words(label) == unit


def test_a_denominator_counts_shares_only_beside_words_of_shares() -> None:
    rows = [
        ["", "2018"],
        ["Denominator:", ""],
        ["Average accrued liabilities", "145"],
        ["Invested capital", "533"],
    ]
    amounts = make_table(rows, levels=[0, 0, 1, 1], above=["(Amounts in millions)"])
    assert _column(amounts, 1, "unit") == ["currency", "currency"]
    rows = [["", "2018"], ["Denominator:", ""], ["Dilution from award plans", "14.5"], ["Basic", "602.1"]]
    shares = make_table(rows, levels=[0, 0, 1, 1], above=["(Amounts in millions)"])
    assert _column(shares, 1, "unit") == ["shares", "shares"]


def test_a_year_at_the_right_end_heads_its_own_columns() -> None:
    table = make_table(
        [
            ["", "", "", "2018", ""],
            ["", "Term", "Limit", "Drawn", "Unused"],
            ["Bank loans", "12", "145", "45", "100"],
        ],
        header_rows=2,
        spans={(0, 3): 2},
        above=["(in millions)"],
    )
    ends = [cells(table)[0, 2, column]["period_end"] for column in range(1, 5)]
    assert ends == [None, None, dt.date(2018, 12, 31), dt.date(2018, 12, 31)]


def test_a_date_over_the_total_is_of_no_other_column() -> None:
    table = make_table(
        [
            ["", "", "", "December 31, 2018"],
            ["", "Level 1", "Level 2", "Total"],
            ["Bonds", "12", "145", "157"],
        ],
        header_rows=2,
        above=["(in millions)"],
    )
    ends = [cells(table)[0, 2, column]["period_end"] for column in range(1, 4)]
    assert ends == [None, None, dt.date(2018, 12, 31)]


def test_a_period_about_the_middle_of_the_columns_is_of_all() -> None:
    table = make_table(
        [["", "", "Year ended 2018", ""], ["", "Europe", "Asia", "Total"], ["Sales", "12", "145", "157"]],
        header_rows=2,
    )
    assert {cells(table)[0, 2, column]["fiscal_year"] for column in range(1, 4)} == {2018}


def test_changes_of_share_awards_are_counted_in_shares() -> None:
    table = make_table(
        [
            ["(in thousands)", "Time and performance", "Fair value"],
            ["Nonvested at January 1", "145", "$ 13.20"],
            ["Granted", "45", "14.50"],
            ["Vested", "(12)", "12.75"],
        ]
    )
    assert _column(table, 1, "value") == [145_000.0, 45_000.0, -12_000.0]
    assert _column(table, 1, "unit") == ["shares"] * 3
    assert _column(table, 2, "unit") == ["currency/share"] * 3
    assert _column(table, 2, "value") == [13.2, 14.5, 12.75]


def test_anti_dilutive_awards_are_counted_in_shares() -> None:
    rows = [
        ["", "2018"],
        ["Restricted stock", "145"],
        ["Warrants", "—"],
        ["Total anti-dilutive securities", "145"],
    ]
    table = make_table(rows, above=["(in thousands)"])
    assert _column(table, 1, "unit") == ["shares"] * 3


def test_expense_of_share_awards_stays_money() -> None:
    rows = [["", "2018"], ["Restricted stock units", "$ 145"], ["Performance awards", "33"]]
    assert _column(make_table(rows, above=["(in thousands)"]), 1, "unit") == ["currency"] * 2


def test_a_footnote_sets_the_scale_of_the_header_it_marks() -> None:
    table = make_table(
        [
            ["", "Options (a)", "Average Price (b)"],
            ["Outstanding", "1,422", "$ 45.10"],
            ["Granted", "33", "51.20"],
        ],
        above=["(in millions)"],
    )
    noted = replace(table, below=("(a) In thousands.", "(b) Weighted by options outstanding."))
    assert _column(noted, 1, "value") == [1_422_000.0, 33_000.0]
    assert _column(noted, 1, "scale_source")[0] == "footnote: In thousands"


def test_rows_below_a_heading_of_per_cent_are_percentages() -> None:
    rows = [
        ["", "2018"],
        ["Marketing", "$ 1,450"],
        ["Percent of net sales:", ""],
        ["Marketing", "5.1"],
        ["Rent", "2"],
    ]
    table = make_table(rows, levels=[0, 0, 0, 1, 1], above=["(in millions)"])
    assert _column(table, 1, "value") == [1.45e9, 0.051, 0.02]


def test_whole_numbers_below_a_first_per_cent_sign() -> None:
    rows = [
        ["", "Allocation", "Amount"],
        ["Equity", "60 %", "$ 600"],
        ["Bonds", "35", "350"],
        ["Other", "5", "50"],
    ]
    table = make_table(rows, above=["(in millions)"])
    assert _column(table, 1, "value") == [0.6, 0.35, 0.05]
    assert _column(table, 2, "unit") == ["currency"] * 3


def test_maturities_in_years_are_amounts() -> None:
    table = make_table(
        [
            ["", "Maturities (in Years)", ""],
            ["", "Within 1", "Over 1"],
            ["Bonds", "$ 6,348", "$ 120"],
            ["Loans", "1,313", "33"],
        ],
        header_rows=2,
        spans={(0, 1): 2},
        above=["(in millions)"],
    )
    assert _column(table, 1, "unit") == ["currency"] * 2
    assert _column(table, 2, "value") == [120e6, 33e6]


def test_a_line_of_units_ends_no_heading() -> None:
    rows = [
        ["", "2018"],
        ["Stores", "12"],
        ["Net sales", ""],
        ["('000):", ""],
        ["Europe", "145"],
        ["Asia", "33"],
    ]
    found = cells(make_table(rows, levels=[0, 0, 0, 0, 1, 1]))[0, 4, 1]
    assert (found["row_path"], found["value"]) == (["Net sales", "Europe"], 145_000.0)
