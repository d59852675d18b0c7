from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pytest

from finrag_pipeline.tables.context import TableContext, filing_context
from finrag_pipeline.tables.fiscal_calendar import FiscalCalendar
from finrag_pipeline.tables.model import Table
from finrag_pipeline.tables.normalise import normalise_tables
from finrag_pipeline_tests.tables.grids import make_table

CONTEXT = TableContext(FiscalCalendar(2018, None, dt.date(2018, 12, 31), "10-K"), "USD")
FILING = {"fiscal_year": 2018, "fiscal_quarter": None, "period_end": dt.date(2018, 12, 31), "form": "10-K"}


def read(*tables: Table, context: TableContext = CONTEXT) -> list[dict[str, Any]]:
    """Cells with a number, in order."""
    rows = normalise_tables("made-up", tables, context).to_pylist()
    return [row for row in rows if row["printed"] is not None]


def scales(*tables: Table, pages: Sequence[str] = ()) -> list[float]:
    context = filing_context(FILING, pages) if pages else CONTEXT
    return [row["scale"] for row in read(*tables, context=context)]


def units(*tables: Table) -> dict[tuple[str | None, str], tuple[str | None, float]]:
    """Unit and scale by label and innermost header."""
    return {
        (row["row_label"], (row["column_path"] or [""])[-1]): (row["unit"], row["scale"])
        for row in read(*tables)
    }


@pytest.mark.parametrize(
    "text",
    [
        "Item 7. Review of Operations (amounts in millions, except per share amounts)\nWe sell $ things.",
        "A page\n"
        + "$ line\n" * 12
        + "Item 8. Statements and\nSupplementary Data (in millions of dollars)\nX",
        "PART II - ITEM 7A\nMarket Risk (dollars in millions)\n$",
    ],
)
def test_units_in_the_head_of_a_part_hold_for_later_pages(text: str) -> None:
    later = make_table([["", "2018"], ["Revenue", "$ 5"]], page=2)
    assert scales(later, pages=[text, "$ more", "more"]) == [1e6]
    assert scales(later, pages=[text.replace("millions", "spite of it all"), "$ more", "more"]) == [1]


def test_units_in_the_head_of_a_part_do_not_hold_for_pages_before() -> None:
    first = make_table([["", "2018"], ["Revenue", "$ 5"]], page=0)
    assert scales(first, pages=["$ Overview", "Item 7. Review (amounts in millions)\n$"]) == [1]


@pytest.mark.parametrize("line", ["(dollars in millions)", "Dollars in millions"])
def test_units_in_a_page_head_hold_for_all_its_tables_but_one_with_its_own(line: str) -> None:
    prose = "A line of prose between the tables that says nothing of any units at all and is long."
    first = make_table([["", "2018"], ["Revenue", "$ 5"]], above=["A COMPANY", line], top=50)
    second = make_table([["", "2018"], ["Borrowings", "5"]], above=[prose], top=200)
    third = make_table([["", "2018"], ["Rents", "$ 5"]], above=[prose, "(in thousands)"], top=350)
    page = f"A COMPANY\n{line}\nRevenue $ 5\n{prose}\nBorrowings 5"
    assert scales(first, second, third, pages=[page] * 3) == [1e6, 1e6, 1e3]
    # Printed once, it may be no more than the units line of the first table.
    assert scales(first, second, third, pages=[page]) == [1e6, 1, 1e3]


def test_a_sentence_about_millions_is_no_page_head() -> None:
    table = make_table([["", "2018"], ["Borrowings", "5"]])
    assert scales(table, pages=["We spent $ 5 more in millions of small steps. So it went."]) == [1]


def test_one_large_change_does_not_make_a_column_of_per_cent_one_of_amounts() -> None:
    rows = [["", "2018", "% Change"], ["A", "$ 1,500", "1,125"], ["B", "300", "20"], ["C", "20", "5"]]
    found = units(make_table([*rows, ["D", "7", "3"]], above=["(in millions)"]))
    assert {found[label, "% Change"] for label in "ABCD"} == {("percent", 0.01)}
    money = [[label, first, second.replace("20", "2,000")] for label, first, second in rows]
    assert units(make_table(money, above=["(in millions)"]))["C", "% Change"] == ("currency", 1e6)


def test_rows_under_a_heading_about_shares_alone_are_per_share() -> None:
    table = make_table(
        [
            ["", "2018"],
            ["Net income", "$ 500"],
            ["Per share data:", ""],
            ["Book value", "12"],
            ["Average shares outstanding", "100"],
        ],
        levels=[0, 0, 0, 1, 1],
        above=["(in millions, except per share data)"],
    )
    found = units(table)
    assert found["Net income", "2018"] == ("currency", 1e6)
    assert found["Book value", "2018"] == ("currency/share", 1)
    assert found["Average shares outstanding", "2018"] == ("shares", 1e6)


@pytest.mark.parametrize(
    "headers",
    [
        ["2018 In millions, except per share"],
        ["except per share"],
    ],
)
def test_an_exception_in_a_header_makes_no_column_per_share(headers: list[str]) -> None:
    table = make_table(
        [*([["", text, "2017"] for text in headers]), ["Net income", "5", "6"]],
        header_rows=len(headers),
        above=["(in millions, except per share data)"],
    )
    assert read(table)[0]["unit"] == "currency"
    assert read(table)[0]["scale"] == 1e6


def test_shares_in_thousands_in_a_sentence_over_two_lines() -> None:
    table = make_table(
        [["", "RSUs", "Price"], ["Nonvested", "1,234", "$ 44.50"]],
        above=["The table below sums up the activity of our awards, with shares in", "thousands:"],
    )
    assert [(row["unit"], row["scale"]) for row in read(table)] == [("shares", 1e3), ("currency", 1)]


@pytest.mark.parametrize("header", ["Age", "For", "Withheld", "Broker Non-Votes", "Persons", "Votes cast"])
def test_ages_votes_and_people_are_counted(header: str) -> None:
    found = units(make_table([["Name", header], ["A. Person", "54"], ["B. Person", "61"]]))
    assert set(found.values()) == {("count", 1)}


@pytest.mark.parametrize(
    "label",
    [
        "Common stock, $0.01 par value",
        "Common stock, $0.01 par value per share",
        "Preferred stock, $25 stated value per share",
        "Treasury stock, at cost",
        "Treasury stock, at average cost of $55 per share",
    ],
)
def test_a_par_value_or_cost_in_a_label_leaves_the_row_money(label: str) -> None:
    table = make_table(
        [["", "2018", "2017"], ["Net income", "$ 500", "$ 400"], [label, "1", "1"]],
        above=["(in millions, except per share data)"],
    )
    assert units(table)[label, "2018"] == ("currency", 1e6)


def test_a_par_value_in_a_label_does_not_make_shares_money() -> None:
    label = "Common stock, $1 par value, shares outstanding"
    table = make_table([["", "2018"], [label, "1,234"]], above=["(in millions, except per share data)"])
    assert units(table)[label, "2018"] == ("shares", 1e6)


@pytest.mark.parametrize("years", [["2018", "", "2017", ""], ["", "2018", "", "2017"]])
def test_years_over_repeated_headers_stand_over_their_halves(years: list[str]) -> None:
    table = make_table(
        [["", *years], ["", "Cost", "Value", "Cost", "Value"], ["Bonds", "5", "6", "7", "8"]], header_rows=2
    )
    assert [row["fiscal_year"] for row in read(table)] == [2018, 2018, 2017, 2017]


@pytest.mark.parametrize(
    ("rows", "headers"),
    [
        ([["December 31, 2017", "Cost"], ["Bonds", "$ 5"]], 1),
        ([["December 31, 2017", ""], ["(in millions)", "Cost"], ["Bonds", "$ 5"]], 2),
        ([["", "December 31, 2017"], ["", "(in millions)"], ["Bonds", "$ 5"]], 2),
        ([["", "December 31,"], ["", "2017"], ["", "(in millions)"], ["Bonds", "$ 5"]], 3),
    ],
)
def test_a_single_date_over_a_table_is_its_period(rows: list[list[str]], headers: int) -> None:
    (cell,) = read(make_table(rows, header_rows=headers))
    assert (cell["period_kind"], cell["period_end"]) == ("instant", dt.date(2017, 12, 31))


def test_rows_under_a_term_in_years_are_counted() -> None:
    table = make_table(
        [
            ["", "2018"],
            ["Lease cost", "$ 44"],
            ["Remaining lease term (years)", ""],
            ["Operating leases", "9"],
        ],
        above=["(in millions)"],
    )
    assert units(table)["Operating leases", "2018"] == ("count", 1)
    assert units(table)["Lease cost", "2018"] == ("currency", 1e6)


def test_a_units_column_header_at_the_top_of_a_page_is_no_page_head() -> None:
    table = make_table([["", "2018"], ["Fair values", "$ 5.35"]])
    assert scales(table, pages=["Fiscal Year\nIn Millions\n2018\nRevenue $ 4"]) == [1]


def test_units_of_a_part_end_with_the_next_one() -> None:
    pages = [
        "Item 8. Financial Statements (in millions)\n$",
        "Item 8. Financial Statements",
        "Item 12. Holders\n$",
    ]
    inside, outside = (make_table([["", "2018"], ["Rents", "$ 5"]], page=page) for page in (1, 2))
    assert scales(inside, outside, pages=pages) == [1e6, 1]
