"""Facts put back into the tables that they were printed in."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from finrag_pipeline.reporting.filing_pages import (
    checks_grid,
    filing_contexts,
    filing_links,
    filing_site,
    format_value,
    identity_grid,
    page_lines,
    shown_tables,
    statement_tables,
)
from finrag_pipeline_tests.reporting.builders import failed_row, filing_row, filings_table, report_data
from finrag_pipeline_tests.reporting.html_tree import Element, body_rows, parse
from finrag_pipeline_tests.reporting.lake_builders import (
    FILING,
    YEAR,
    balance_sheet,
    fact,
    full_data,
    profile,
)

DURATION = {"period_start": YEAR[0], "period_end": YEAR[1], "period_kind": "duration"}


def test_a_balance_sheet_has_days_over_its_columns_and_headings_over_its_lines() -> None:
    (table,) = statement_tables(balance_sheet())
    expected = {"statement": "Financial position", "scope": "Primary statement", "page": 40, "unit": "USD"}
    assert table | expected == table
    assert table["heads"] == [("2022-12-31", ""), ("2021-12-31", "")]
    assert table["lines"][0] == {"label": "Current assets", "level": 0, "values": None}
    assert table["lines"][1] == {
        "label": "Cash",
        "level": 1,
        "concept": "CashAndCashEquivalentsAtCarryingValue",
        "period": "",
        "values": ["40,000,000", "40,000,000"],
    }
    assert table["lines"][2]["label"] == "Total assets" and table["lines"][2]["level"] == 0
    assert table["facts"] == 10


def test_a_line_with_a_day_of_its_own_says_so() -> None:
    of = {"statement": "cash_flows", **DURATION}
    flows = [fact(row, 1, f"Line {row}", 1e6, **of) for row in (1, 2, 3)]
    opening = {"period_start": None, "period_end": date(2021, 12, 31), "period_kind": "instant"}
    flows.append(fact(4, 1, "Cash at the beginning", 5e6, **{**of, **opening, "fiscal_year": 2021}))
    (table,) = statement_tables(flows)
    assert table["heads"] == [("2022-01-01 to 2022-12-31", "")]
    assert [line["period"] for line in table["lines"]] == ["", "", "", "2021-12-31"]
    assert [line["values"] for line in table["lines"]] == [["1,000,000"]] * 3 + [["5,000,000"]]


def test_columns_that_are_no_periods_are_named_by_their_header() -> None:
    of = {"statement": "equity"}
    rows = [
        fact(row, column, label, 1e6, **{**of, "qualifier": name, "period_end": end})
        for row, (label, end) in enumerate([("Opening", date(2020, 12, 31)), ("Closing", date(2022, 12, 31))])
        for column, name in ((1, "Stock"), (2, "Earnings"))
    ]
    (table,) = statement_tables(rows)
    assert table["heads"] == [("Stock", ""), ("Earnings", "")]
    assert [line["period"] for line in table["lines"]] == ["2020-12-31", "2022-12-31"]


def test_facts_without_a_period_still_stand_in_their_columns() -> None:
    nothing = dict.fromkeys(("period_start", "period_end", "fiscal_year", "fiscal_quarter"))
    (table,) = statement_tables([fact(1, column, "Line", column * 1e6, **nothing) for column in (1, 2)])
    assert table["heads"] == [("Value", ""), ("Value", "")]
    assert table["lines"][0]["values"] == ["1,000,000", "2,000,000"] and table["lines"][0]["period"] == ""


def test_another_unit_than_the_tables_is_marked() -> None:
    rows = [
        *balance_sheet(),
        fact(9, 1, "Shares", 5e8, unit="shares"),
        fact(10, 1, "Rate", 0.125, unit="percent"),
    ]
    lines = {line["label"]: line["values"] for line in statement_tables(rows)[0]["lines"]}
    assert lines["Shares"] == ["500,000,000 shares", ""]
    assert lines["Rate"] == ["12.5 %", ""]


def test_primary_statements_come_first_then_in_the_order_of_the_filing() -> None:
    rows = [
        *(fact(1, 1, "a", 1.0, page=page, scope=scope) for page, scope in ((5, "note"), (50, "primary"))),
        fact(1, 1, "b", 1.0, statement="cash_flows", page=49),
        fact(1, 1, "c", 1.0, page=2, scope="a scope of tomorrow"),
    ]
    assert [(table["scope"], table["page"]) for table in statement_tables(rows)] == [
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


def words(element: Element) -> str:
    return " ".join(element.text.split())


@pytest.fixture(scope="module")
def pages() -> dict[str, Element]:
    return {path: parse(html) for path, html in filing_site(full_data(), {"q0": "questions/q0.html"})}


@pytest.fixture(scope="module")
def contexts() -> dict[str, dict[str, Any]]:
    return {context["filing"]["filing"]: context for context in filing_contexts(full_data())}


def test_every_filing_has_a_page_and_a_line(pages: dict[str, Element]) -> None:
    rows = body_rows(pages["filings.html"].by_id("table-filings"))
    links = [cells[0].all("a")[0].attributes["href"] for cells in rows]
    assert len(links) == len(set(links)) == 83
    assert {*links, "filings.html"} == set(pages)


def test_the_list_counts_what_was_found(pages: dict[str, Element]) -> None:
    rows = {
        words(c[0]): [words(cell) for cell in c]
        for c in body_rows(pages["filings.html"].by_id("table-filings"))
    }
    assert rows[FILING][5:11] == ["101", "41", "10", "Financial position", "6 of 6", "150"]
    # The total of assets of the first year does not agree with its sources.
    assert rows["EXAMPLE_1941_10K"][9] == "5 of 6"
    assert rows["BROKEN"][5:11] == ["0", "0", "0", "–", "–", "1"]


def test_rows_can_be_filtered_by_form_and_state(pages: dict[str, Element]) -> None:
    table = pages["filings.html"].by_id("table-filings")
    rows = {words(row.all("th")[0]): row.attributes for row in table.all("tbody")[0].all("tr")}
    assert (rows["BROKEN"]["data-state"], rows["BROKEN"]["data-form"]) == ("failed", "10-K")
    assert rows["EXAMPLE_1943_10K"]["data-state"] == "remarks"
    assert rows["EXAMPLE_1940_10K"]["data-state"] == "clean"
    (form,) = pages["filings.html"].all("form")
    assert {select.attributes["name"] for select in form.all("select")} == {"form", "state"}


def test_a_filing_shows_its_statement_with_the_page(pages: dict[str, Element]) -> None:
    document = pages[f"filings/{FILING}.html"]
    (table,) = [e for e in document.all("table") if "statement" in str(e.attributes.get("class"))]
    assert words(table.all("caption")[0]) == "Financial position, page 41 USD, full units"
    assert table.all("caption")[0].all("a")[0].attributes["href"] == "#page-41"
    assert document.by_id("page-41").tag == "tr"
    heads = [words(th) for th in table.all("thead")[0].all("th")]
    assert heads == ["Line", "2022-12-31", "2021-12-31"]
    rows = [[words(cell) for cell in cells] for cells in body_rows(table)]
    assert rows[0] == ["Current assets", "", ""]
    assert rows[2] == ["Total assets Assets", "100,000,000", "100,000,000"]


def test_failed_checks_come_first(contexts: dict[str, dict[str, Any]]) -> None:
    context = contexts["EXAMPLE_1941_10K"]
    assert (context["passed"], context["applied"]) == (5, 6)
    first = context["checks"].rows[0].cells
    assert (first[0].text, first[4].text, first[6].text) == ("Balance", "7,000,000", "Failed")
    assert first[6].notes


def test_what_cannot_be_applied_is_no_check(contexts: dict[str, dict[str, Any]]) -> None:
    assert all(row.cells[6].text == "Passed" for row in contexts[FILING]["checks"].rows)
    assert checks_grid([]).rows == ()


def test_questions_are_linked_where_they_have_a_page(pages: dict[str, Element]) -> None:
    asked = pages[f"filings/{FILING}.html"].by_id("questions")
    links = [a.attributes["href"] for a in asked.all("a") if "questions/" in str(a.attributes["href"])]
    assert links == ["../questions/q0.html"]
    assert len(asked.all("li")) == 150
    assert "not measured: gold filing 'BROKEN' could not be read" in words(pages["filings/BROKEN.html"])


def test_a_filing_that_could_not_be_read_says_why_and_what_to_do(pages: dict[str, Element]) -> None:
    text = words(pages["filings/BROKEN.html"])
    assert "Failure BROKEN.pdf is encrypted. Remove its password and ingest it again." in text
    assert "No primary statement was found." in text and "No check could be applied." in text


def test_identity_stands_beside_what_was_declared() -> None:
    record = filing_row("X", company="Example Holdings, Inc.", fiscal_quarter=2, sector="Energy")
    rows = {row.cells[0].text: (row.cells[1].text, row.cells[2].text) for row in identity_grid(record).rows}
    assert rows["Company"] == ("Example Holdings, Inc.", "Example")
    assert rows["Fiscal quarter"] == ("2", "–")
    assert rows["Sector"] == ("–", "Energy")
    assert rows["Last day of the period"] == ("2022-12-31", "–")


def test_running_titles_do_not_name_pages() -> None:
    lines = page_lines([profile(page) for page in range(12)])
    assert [line["heading"] for line in lines] == [f"Heading of page {page}" for page in range(12)]
    (line,) = page_lines([profile(3, note="NOTE 1", sections=["mdna", "other"], headings=["x" * 500])])
    assert (line["heading"], line["sections"]) == ("NOTE 1", "Management's discussion")
    (line,) = page_lines([profile(3, headings=["x" * 500])])
    assert len(line["heading"]) <= 90


def test_a_page_holds_the_statements_whatever_their_number() -> None:
    primary = balance_sheet()
    notes = [fact(row, 1, f"Line {row}", 1e6, scope="note", page=60 + row // 100) for row in range(3000)]
    tables, hidden = shown_tables([*primary, *notes])
    assert [table["facts"] for table in tables if table["scope"] == "Primary statement"] == [10]
    shown = sum(table["facts"] for table in tables) - 10
    assert shown + hidden == 3000 and 1000 < shown < 3000


def test_names_of_files_are_safe(tmp_path: Path) -> None:
    hostile = ["../escape", "a/b", "Example", "EXAMPLE", "年報"]
    data = report_data(filings=filings_table(*map(filing_row, hostile), failed_row("x" * 250, "r", "m")))
    links = filing_links(data)
    assert len({link.casefold() for link in links.values()}) == 6
    for link in links.values():
        assert (tmp_path / link).resolve().parent == (tmp_path / "filings").resolve()
        assert link.isascii() and len(link) < 100


def test_figures_that_another_filing_of_the_company_contradicts_are_listed(
    pages: dict[str, Element], contexts: dict[str, dict[str, Any]]
) -> None:
    listed = [[cell.text for cell in row.cells] for row in contexts["EXAMPLE_1941_10K"]["otherwise"].rows]
    assert listed and all(cells[5] != "EXAMPLE_1941_10K" for cells in listed)
    assert len({cells[0] for cells in listed}) == 1
    rows = body_rows(pages["filings/EXAMPLE_1941_10K.html"].by_id("table-otherwise"))
    assert [words(cells[0]) for cells in rows] == [cells[0] for cells in listed]
