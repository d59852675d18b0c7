from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from benchmarks.page_ranker import proving_pages
from finrag_pipeline.statements.filing_rows import FilingRow, RowValue

FACT = {
    "concept": "us-gaap:NetIncomeLoss",
    "value": -5e6,
    "start": "2024-01-01",
    "end": "2024-12-31",
    "members": {},
}


def row(page: int, label: str, value: float, end: str = "2024-12-31", months: int | None = 12) -> FilingRow:
    day = dt.date.fromisoformat(end)
    printed = RowValue((), day, months, day.year, None, value, "5", "currency", "USD", None)
    return FilingRow("A", page, 0, 0, "", (label,), (), None, None, (printed,))


@pytest.mark.parametrize(
    ("other", "proves"),
    [
        (row(7, "Net loss", 5e6), True),
        (row(7, "Net loss", 5e6, "2024-12-28"), True),
        (row(7, "Net loss", 5.1e6), False),
        (row(7, "Net loss", 5e6, "2023-12-31"), False),
        (row(7, "Net loss", 5e6, months=3), False),
        (row(7, "Paint", 5e6), False),
    ],
)
def test_a_page_proves_a_fact_by_value_period_and_label(other: FilingRow, proves: bool) -> None:
    found = proving_pages(FACT, "How much did Alder lose?", [row(3, "Net earnings", -5e6), other])
    assert found == {("A", 3), *([("A", 7)] if proves else [])}


def test_words_of_the_question_are_labels_too_and_zeros_prove_nothing() -> None:
    fact: dict[str, Any] = {**FACT, "concept": "us-gaap:Revenues"}
    rows = [row(3, "Total sales", -5e6)]
    assert proving_pages(fact, "What were the sales?", rows) == {("A", 3)}
    assert not proving_pages(fact, "What came in?", rows)
    assert not proving_pages({**fact, "value": 0.0}, "What were the sales?", [row(3, "Total sales", 0.0)])
