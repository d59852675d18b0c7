"""Which line, formula or disclosed quantity a question asks for that names none."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from benchmarks.line_reader import LINE_QUESTIONS
from finrag_pipeline.errors import ModelError
from finrag_pipeline.questions import line_reader as module
from finrag_pipeline.questions.formula_lexicon import formula_lexicon
from finrag_pipeline.questions.line_reader import disclosures, line_reader, means_another, read_line


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("How much did Zoltek's buyers still have to pay when 2019 ended?", "receivables"),
        ("What had Zoltek still in its warehouses, unsold, at the end of 2019?", "inventory"),
        ("How much did Zoltek hand to the tax office in cash during 2019?", "taxes_paid"),
        (
            "Of each dollar of sales, what was left to Zoltek after the goods were paid for in 2019?",
            "gross_margin",
        ),
        ("What did Zoltek put into new plants and machines in 2019?", "capex"),
        ("How big was the hole in Zoltek's pension pot at the end of 2019?", "funded_status"),
        ("What did Zoltek spend on adverts in 2019?", "advertising_expense"),
        ("How much debt did Zoltek pay back in 2019?", "debt_repaid"),
        ("How long did Zoltek take to collect from its customers in 2019?", "dso"),
        ("How much did Zoltek owe its suppliers in 2019?", "payables"),
        ("How much did Zoltek earn per diluted share in 2019?", "eps_diluted"),
    ],
)
def test_line_that_no_word_names(question: str, line: str) -> None:
    read = read_line(question, ["Zoltek"])
    assert read is not None and read[0] == line and read[1] > 0.5


@pytest.mark.parametrize(
    "question",
    [
        "What did Zoltek's tram business owe its drivers for unused leave in 2019?",
        "How many ferries did Zoltek run in 2019?",
        "Who audits Zoltek?",
    ],
)
def test_what_is_near_a_line_is_none(question: str) -> None:
    read = read_line(question, ["Zoltek"])
    assert read is not None and read[1] < 0.5


def test_a_line_that_words_name_may_not_be_what_is_asked_for() -> None:
    spent = "How many dollars less did Zoltek spend on property and equipment in 2019 than in 2018?"
    assert means_another("ppe", spent, ["Zoltek"])
    assert not means_another(
        "ppe", "What was Zoltek's property and equipment at the end of 2019?", ["Zoltek"]
    )
    assert not means_another("capex", "What was Zoltek's capex in 2019?", ["Zoltek"])


def test_names_of_companies_do_not_matter() -> None:
    question = "How much had {}'s shoppers not paid yet when 2019 ended?"
    assert read_line(question.format("Zoltek"), ["Zoltek"]) == read_line(question.format("Bix"), ["Bix"])


def test_all_that_is_told_is_in_the_lexicon_or_disclosed() -> None:
    reader = line_reader()
    assert reader is not None and set(reader.names) <= {*formula_lexicon().entries, *disclosures()}


def test_what_is_disclosed_has_labels_of_its_own() -> None:
    labels = [label for own in disclosures().values() for label in own]
    assert disclosures().keys().isdisjoint(formula_lexicon().entries) and len(labels) == len(set(labels))


def test_without_the_encoder_no_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: object) -> None:
        raise ModelError("no weights", "install them")

    monkeypatch.setattr(module, "adapted_minilm", missing)
    line_reader.cache_clear()
    try:
        assert read_line("How much had shoppers not paid yet?") is None
    finally:
        line_reader.cache_clear()


def test_questions_written_for_lines_name_entries_and_stand_once() -> None:
    asked = [json.loads(line) for line in LINE_QUESTIONS.read_text("utf-8").splitlines()]
    assert {one["line"] for one in asked} <= {None, *formula_lexicon().entries, *disclosures()}
    assert max(Counter(one["question"] for one in asked).values()) == 1
