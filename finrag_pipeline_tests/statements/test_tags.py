"""Tags beside what was read of tables: which wins, what is counted, what rows and facts get of them."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from finrag_pipeline.answering.inputs import FilingInfo
from finrag_pipeline.answering.row_book import RowBook
from finrag_pipeline.answering.row_matcher import Lessened, Rated
from finrag_pipeline.filings.html import read_html
from finrag_pipeline.filings.pages import read_html_pages
from finrag_pipeline.filings.xbrl import read_tags, tag_rows, tagged_identity
from finrag_pipeline.statements.facts import statement_facts
from finrag_pipeline.statements.filing_rows import FilingRow, filing_rows
from finrag_pipeline.statements.periods import FiscalPeriod
from finrag_pipeline.statements.tags import agreement, differences, take_tags, xbrl_facts
from finrag_pipeline.tables.context import filing_context
from finrag_pipeline.tables.html_tables import html_tables
from finrag_pipeline.tables.normalise import normalise_tables
from finrag_pipeline_tests.filings.tagged import COVER, FOCUS, REVENUE, document, income

WRONG_SCALE, WRONG_YEARS = "(In thousands)", ("2023", "2022", "2023")


class Read:
    """A filing as it is read: its tables, its tags, its statements."""

    def __init__(self, folder: Path, **printed: Any) -> None:
        path = folder / "acme.htm"
        path.write_bytes(document(COVER + income(**printed), FOCUS))
        identity = tagged_identity(read_tags(read_html(path)))
        assert identity is not None
        self.row = {"filing": "ACME", **asdict(identity)}
        pages = read_html_pages(path, "ACME")["text"].to_pylist()
        self.tables = normalise_tables("ACME", html_tables(path), filing_context(self.row, pages))
        self.tags = xbrl_facts(self.row, tag_rows(path), self.tables)
        self.facts: list[dict[str, Any]] = statement_facts(
            "ACME", self.tables, pages, "10-Q", tags=self.tags
        ).to_pylist()

    def fact(self, label: str, start: dt.date, year: int = 2024) -> dict[str, Any]:
        """The fact of a row and of the period that ends in June of a year."""
        end = dt.date(year, 6, 30)
        wanted = (label, start, end)
        (found,) = [
            one for one in self.facts if (one["label"], one["period_start"], one["period_end"]) == wanted
        ]
        return found


def test_a_tag_has_the_cell_its_number_stands_in(tmp_path: Path) -> None:
    read = Read(tmp_path)
    sales = next(tag for tag in read.tags.to_pylist() if tag["value"] == 110e6)
    assert (sales["label"], sales["fiscal_year"], sales["fiscal_quarter"]) == ("Total net sales", 2024, 2)
    (cell,) = [
        cell
        for cell in read.tables.to_pylist()
        if all(cell[name] == sales[name] for name in ("page", "table", "row", "column"))
    ]
    assert (cell["text"], cell["anchor"]) == ("110", sales["cell"])


def test_what_was_read_as_tagged_agrees(tmp_path: Path) -> None:
    read = Read(tmp_path)
    found = agreement(read.tags)["ACME"]
    assert found == (11, 11, 11, 11)
    assert differences(read.tags) == []


def test_a_misread_scale_and_misread_periods_are_counted_and_told(tmp_path: Path) -> None:
    read = Read(tmp_path, units=WRONG_SCALE)
    assert agreement(read.tags)["ACME"] == (11, 11, 1, 11)
    assert (
        differences(read.tags, 2)[1] == "page 2, 'Total net sales': 110,000 (2024-04-01 to 2024-06-30), "
        "tagged 110,000,000 (2024-04-01 to 2024-06-30)"
    )
    assert agreement(Read(tmp_path, heads=WRONG_YEARS).tags)["ACME"][2:] == (11, 0)


@pytest.mark.parametrize("printed", [{}, {"units": WRONG_SCALE}, {"heads": WRONG_YEARS}])
def test_statements_take_value_period_and_concept_of_the_tag_and_the_sign_of_the_print(
    tmp_path: Path, printed: dict[str, Any]
) -> None:
    read = Read(tmp_path, **printed)
    quarter, half = dt.date(2024, 4, 1), dt.date(2024, 1, 1)
    sales = read.fact("Total net sales", half)
    assert (sales["value"], sales["concept"], sales["line"], sales["source"]) == (
        210e6,
        REVENUE[8:],
        "Revenues",
        "ixbrl",
    )
    assert (sales["fiscal_year"], sales["fiscal_quarter"]) == (2024, None)
    assert read.fact("Cost of sales", quarter)["value"] == -66e6
    loss = read.fact("Net income", dt.date(2023, 4, 1), 2023)
    assert (loss["value"], loss["concept"], loss["line"]) == (-4e6, "ProfitLoss", "ProfitLoss")


def test_a_number_of_a_member_is_none_of_the_company_and_what_is_not_tagged_is_read(tmp_path: Path) -> None:
    read = Read(tmp_path)
    lamps = read.fact("Desk lamps", dt.date(2024, 4, 1))
    assert (lamps["value"], lamps["concept"], lamps["line"], lamps["source"]) == (70e6, None, None, "ixbrl")
    assert read.fact("Desk lamps", dt.date(2023, 4, 1), 2023)["source"] == "table"


def test_rows_know_the_members_of_their_numbers(tmp_path: Path) -> None:
    read = Read(tmp_path, units=WRONG_SCALE)
    rows = filing_rows("ACME", read.tables, None, read.tags)
    lamps = next(row for row in rows if row.label == "Desk lamps")
    assert (lamps.values[0].value, lamps.values[0].members) == (70e6, ("DeskLampsMember",))
    assert filing_rows("ACME", read.tables)[0].values[0].members == ()


def test_a_name_is_found_in_the_members_where_the_row_does_not_print_it() -> None:
    from finrag_pipeline.statements.filing_rows import RowValue

    end = dt.date(2024, 6, 30)

    def row(place: int, value: float, member: str) -> FilingRow:
        one = RowValue((), end, 3, 2024, 2, value, "1", "currency", "USD", None, members=(member,))
        return FilingRow("ACME", place, 0, 0, "", ("Net sales",), (), None, None, (one,))

    rows = [row(1, 5e6, "NorthAmericaSegmentMember"), row(2, 7e6, "EuropeMember")]
    info = FilingInfo("ACME", "10-Q", 2024, 2, end)

    def match(words: str, rows: Any, question: str, lessened: Lessened) -> Rated:
        return Rated(0.9 * lessened(range(len(rows))))

    for name, value in (("North America", 5e6), ("Europe", 7e6)):
        found = RowBook([(info, rows)], match, names=(name,)).find(f"{name} net sales", FiscalPeriod(2024, 2))
        assert found is not None and found.fact.value == value


def test_without_tags_nothing_changes(tmp_path: Path) -> None:
    read = Read(tmp_path)
    none = read.tags.slice(0, 0)
    assert agreement(none) == {} and differences(none) == []
    assert take_tags(read.tables, none)[0].equals(read.tables)
