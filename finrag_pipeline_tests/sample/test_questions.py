"""The benchmark: fields, evidence on its page, answers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from finrag_pipeline.sample.generate import entries
from finrag_pipeline.sample.questions import Passage, ReadBack
from finrag_pipeline_tests.sample.conftest import read_lines

FIELDS = [
    "financebench_id",
    "company",
    "doc_name",
    "question_type",
    "question_reasoning",
    "domain_question_num",
    "question",
    "answer",
    "justification",
    "dataset_subset_label",
    "evidence",
]
EVIDENCE_FIELDS = ["evidence_text", "doc_name", "evidence_page_num", "evidence_text_full_page"]
Questions = list[dict[str, Any]]


def gold_pages(question: dict[str, Any]) -> set[int]:
    return {e["evidence_page_num"] for e in question["evidence"]}


def test_fields_are_those_of_financebench(questions: Questions) -> None:
    for question in questions:
        assert list(question) == FIELDS
        assert question["evidence"]
        assert all(question[key] for key in ("company", "doc_name", "question", "answer"))
        assert (question["domain_question_num"] is not None) == (
            question["question_type"] == "domain-relevant"
        )
        assert (question["question_reasoning"] is None) == (question["question_type"] == "novel-generated")
        for evidence in question["evidence"]:
            assert list(evidence) == EVIDENCE_FIELDS
            assert evidence["doc_name"] == question["doc_name"]
    assert len({q["financebench_id"] for q in questions}) == len(questions) >= 30
    assert len({q["question"] for q in questions}) == len(questions)


def test_every_evidence_stands_literally_on_its_page(
    questions: Questions, page_texts: dict[str, list[str]]
) -> None:
    for question in questions:
        for evidence in question["evidence"]:
            page = page_texts[question["doc_name"]][evidence["evidence_page_num"]]
            assert evidence["evidence_text"] in page
            assert len(evidence["evidence_text"].split()) >= 5
            assert evidence["evidence_text_full_page"] == page


def test_kinds_of_questions(questions: Questions) -> None:
    kinds = Counter(q["question_type"] for q in questions)
    assert set(kinds) == {"metrics-generated", "domain-relevant", "novel-generated"}
    assert min(kinds.values()) >= 8
    assert {q["doc_name"] for q in questions} == {entry.name for entry in entries()}


def test_hard_cases_are_there(questions: Questions) -> None:
    first_page = {q["doc_name"] for q in questions if 0 in gold_pages(q)}
    assert {
        "TORVEXLEY_2022_10K",
        "TORVEXLEY_2022_8K_dated-2022-11-03",
        "PELLAMOOR_2023Q1_EARNINGS",
    } <= first_page
    assert sum(len(gold_pages(q)) == 2 for q in questions) >= 5
    text_only = {entry.name for entry in entries() if entry.as_text}
    assert any(q["doc_name"] in text_only for q in questions)
    masked = Counter(
        "".join("#" if c.isdigit() else c for c in q["question"])
        for q in questions
        if "_10K" in q["doc_name"]
    )
    assert sum(count == 2 for count in masked.values()) >= 4


def test_document_information_covers_every_filing(sample: Path) -> None:
    rows = read_lines(sample / "document_information.jsonl")
    assert [row["doc_name"] for row in rows] == [entry.name for entry in entries()]
    for row in rows:
        assert list(row) == ["doc_name", "company", "gics_sector", "doc_type", "doc_period", "doc_link"]
        assert str(row["doc_period"]) in row["doc_name"]
        assert row["doc_type"].replace("earnings", "EARNINGS").upper() in row["doc_name"]


# Worked by hand from the printed statements.
WORKED = {
    ("TORVEXLEY_2022_10K", "capital expenditure"): "$158.00",
    ("TORVEXLEY_2023_10K", "capital expenditure"): "$171.00",
    ("TORVEXLEY_2022_10K", "net PPNE"): "$987.00",
    ("TORVEXLEY_2023_10K", "fixed asset turnover"): "3.76",  # 3,691 / ((974 + 987) / 2)
    ("TORVEXLEY_2022_10K", "retention ratio"): "0.68",  # 1 - 84 / 264
    ("PELLAMOOR_2022_10K", "operating cash flow ratio"): "0.42",  # 165,382 / 390,320
    ("PELLAMOOR_2023_10K", "capex as a %"): "3.7%",  # mean of 3.00 %, 3.81 %, 4.22 %
    ("PELLAMOOR_2023_10K", "inventory turnover"): "9.77",  # 2,417,322 / ((249,988 + 244,927) / 2)
    ("PELLAMOOR_2022_10K", "cash dividends paid"): "$21.54",
    ("SUNDREVALE_2022_10K", "CAGR"): "26.6%",  # (345,815 / 215,618) ** 0.5 - 1
    ("SUNDREVALE_2022_10K", "deferred revenue"): "$178.27",
}


@pytest.mark.parametrize(("filing", "words"), WORKED)
def test_answers_of_metrics_questions(questions: Questions, filing: str, words: str) -> None:
    answers = [
        q["answer"]
        for q in questions
        if q["doc_name"] == filing and words in q["question"] and q["question_type"] == "metrics-generated"
    ]
    assert answers == [WORKED[filing, words]]


def test_a_passage_that_is_missing_or_ambiguous_is_an_error() -> None:
    filing = ReadBack("A", ["one two", "one three"], {"m": [Passage(0, "one two"), Passage(1, "one three")]})
    assert filing.find("m", "three").page == 1
    for mark, words in (("m", "one"), ("m", "four"), ("n", "")):
        with pytest.raises(Exception, match=f"'{mark}'"):
            filing.find(mark, words)
