"""The benchmark over FinQA: pages as the set prints them become tables, and answers are judged."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.finqa import ask, is_exact, is_right, read_page
from finrag_pipeline.answering import open_answer

PAGE = {
    "corpus_id": "p",
    "page_file": "TORVEX/2019/page_7.pdf",
    "text": "the company 2019s ferries carry cars .\n"
    "the table below shows ferry fares and tram fares by route : year north south total .\n\n"
    "year | north | south | total\n"
    "---- | ----- | ----- | -----\n"
    "2019 | $ 30  | $ 20  | $ 50\n"
    "2018 | -24 ( 24 ) | 2014 | 40\n",
}


def test_a_page_is_read_as_a_table() -> None:
    read = read_page(PAGE)
    assert read is not None
    info, rows = read
    assert info.fiscal_year == 2019
    assert rows[0].caption.startswith("ferry fares and tram fares")
    assert [value.value for value in rows[1].values] == [-24, 0, 40]


@pytest.mark.parametrize(
    ("answer", "told", "exact", "right"),
    [
        ("14%", 0.14286, True, True),
        ("14%", -0.14286, False, True),
        ("14%", 0.1395, False, True),
        ("14%", 0.2, False, False),
        ("0.14", 0.14286, True, True),
    ],
)
def test_judged(answer: str, told: float, exact: bool, right: bool) -> None:
    question = {"answer": answer, "exe_answer": "0.14286"}
    found: Any = SimpleNamespace(answer="", exact=told, value=told)
    assert (is_exact(question, found), is_right(question, found)) == (exact, right)


def test_a_question_over_a_table_whose_rows_are_years(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_answer, "LEAST_CONFIDENCE", 0.5)  # one table of two rows tells little apart
    found = ask({"question": "what was the change in south fares from 2018 to 2019?"}, PAGE)
    assert found is not None and found.exact == 20
