"""Evidence beside an abstention: the rows that come closest to a question."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from finrag_pipeline.answering.evidence import closest_rows
from finrag_pipeline.answering.open_calculator import OpenCalculator
from finrag_pipeline.answering.row_matcher import row_matcher
from finrag_pipeline.questions.formula_lexicon import formula_lexicon
from finrag_pipeline.resolver.resolver import Resolver
from finrag_pipeline.statements.filed_facts import read_info
from finrag_pipeline.statements.filing_rows import FACT_COLUMNS, FilingRow, filing_rows
from finrag_pipeline_tests.statements.printed_tables import page_table, printed_row

FILING = {
    "filing": "ACME_2023_10K", "company": "Acme Corp", "form": "10-K", "fiscal_year": 2023, "status": "ok",
    "fiscal_quarter": None, "period_end": dt.date(2023, 12, 31),
}  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> list[FilingRow]:
    income = [
        *printed_row(0, ["Net sales"], 500, 450),
        *printed_row(1, ["Operating income"], 70, 60),
        *printed_row(2, ["Net income"], 40, 30),
    ]
    segments = [
        *printed_row(0, ["Operating profit", "Pumps"], 50, 41),
        *printed_row(1, ["Operating profit", "Valves"], 20, 19),
        *printed_row(2, ["Headcount of plants", "Pumps"], 7, 6),
    ]
    again = [*printed_row(0, ["Net sales"], 500, 450), *printed_row(1, ["Order backlog"], 33, 31)]
    tables = pa.concat_tables(
        [
            page_table(income, 3, 0, "Consolidated statements of income"),
            page_table(segments, 7, 0, "Results by segment"),
            page_table(again, 9, 0, "Selected figures"),
        ]
    )
    concepts = ["Revenues", "OperatingIncomeLoss", "NetIncomeLoss"]
    known = [
        dict(zip(FACT_COLUMNS, (3, 0, row, "primary", "income_statement", concept), strict=True))
        for row, concept in enumerate(concepts)
    ]
    return filing_rows("ACME_2023_10K", tables, pa.Table.from_pylist(known))


def best(question: str, rows: list[FilingRow], count: int = 5) -> list[tuple[int, str]]:
    resolver = Resolver([FILING])
    calculator = OpenCalculator(
        {FILING["filing"]: read_info(FILING)},
        lambda filing: [],
        lambda filing: rows,
        resolver,
        formula_lexicon(),
        row_matcher().rate,
    )
    found = closest_rows(question, resolver.resolve(question), calculator)
    return [(one.row.page, " > ".join(one.row.path)) for one in found[:count]]


def test_the_row_of_a_note_is_found_by_its_words(rows: list[FilingRow]) -> None:
    assert best("What was the order backlog of Acme in 2023?", rows)[0] == (9, "Order backlog")


def test_a_formula_gives_the_rows_it_is_computed_from(rows: list[FilingRow]) -> None:
    assert set(best("What was Acme's net profit margin in 2023?", rows, 2)) == {
        (3, "Net sales"),
        (3, "Net income"),
    }


def test_a_segment_is_shown_beside_the_line_of_the_company(rows: list[FilingRow]) -> None:
    found = best("What was the operating profit of Acme's pumps in 2023?", rows, 2)
    assert (7, "Operating profit > Pumps") in found


def test_the_same_numbers_are_shown_once(rows: list[FilingRow]) -> None:
    found = best("What were the net sales of Acme in 2023?", rows)
    assert found[0] == (3, "Net sales") and (9, "Net sales") not in found


def test_a_row_that_shows_the_period_comes_first() -> None:
    old = page_table(
        [cell for cell in printed_row(0, ["Order backlog"], 9, 8) if cell["column"] != 1], 2, 0, "Old"
    )
    new = page_table(printed_row(0, ["Order backlog"], 7, 6), 5, 0, "New")
    rows = filing_rows("ACME_2023_10K", pa.concat_tables([old, new]))
    assert best("Acme order backlog 2023", rows)[0][0] == 5


def test_rows_that_share_no_word_are_not_shown(rows: list[FilingRow]) -> None:
    assert best("Who painted the ceiling of Acme's chapel in 2023?", rows) == []
    assert best("Acme order backlog", []) == []
