from __future__ import annotations

import pytest

from finrag_pipeline.evaluation.judged_answers import (
    Answer,
    automatic_scores,
    language_of,
    plainly_abstains,
    rates,
)
from finrag_pipeline.schemas import ANSWER_RATES, AUTOMATIC_SCORES
from finrag_pipeline_tests.evaluation.judged_builders import answer, read_marked, split_sources
from finrag_pipeline_tests.recorded_data import needs_data, read_lines

FRENCH = "La société emploie mille deux cents personnes à Lyon."


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (FRENCH, "fr"),
        ("The company employs one thousand two hundred people in Lyon.", "en"),
        ("$1,577 million", None),
        ("", None),
    ],
)
def test_language(text, language):
    assert language_of(text) == language


def values(*answers):
    table = automatic_scores(answers)
    assert table.schema == AUTOMATIC_SCORES
    return {(r["metric"], r["sentence"]): r["value"] for r in table.to_pylist()}


def test_worked_by_hand():
    found = values(
        answer(
            "q/1",
            (FRENCH, ("s2",)),
            ("Elle grandit depuis longtemps.", ("s2", "s9")),
            ("Voilà.", ()),
            language="fr",
        )
    )
    assert found == {
        ("correct_language", None): 1,
        ("response", None): 1,
        ("functional_citation", 0): 1,
        ("functional_citation", 1): 0,
    }


def test_no_response():
    assert values(answer("q/1", ("The company employs many people.", ())))["response", None] == 0
    declined = answer("q/1", ("That cannot be determined from these.", ("s1",)), abstains=True)
    assert values(declined)["response", None] == 0
    assert values(answer("q/1", (FRENCH, ("s2",))))["correct_language", None] == 0


def test_rates_by_theme_and_difficulty():
    answers = [
        answer(f"q{i}/{k}", (FRENCH, ("s2",) if i else ("s9",)), language="fr", theme="HR" if i < 2 else "IT")
        for i in range(4)
        for k in range(3)
    ]
    table = rates(automatic_scores(answers))
    assert table.schema == ANSWER_RATES
    rows = {(r["metric"], r["theme"], r["difficulty"]): r for r in table.to_pylist()}
    assert rows["functional_citation", "all", "all"]["rate"] == pytest.approx(9 / 12)
    assert rows["functional_citation", "HR", "all"]["rate"] == pytest.approx(0.5)
    assert rows["functional_citation", "IT", "all"]["rate"] == 1
    assert rows["response", "all", "all"]["questions"] == 4
    everything = rows["functional_citation", "all", "all"]
    assert everything["low"] < 0.75 < everything["high"]
    assert everything["effective_n"] < 8, "three answers to a question are no three observations"


@needs_data("eval_rag", "relevancy_answers.jsonl")
def test_the_published_answers():
    sources = {
        row["source_contents_id"]: split_sources(row["text"])
        for row in read_lines("eval_rag", "source_contents.jsonl.gz")
    }
    recorded = read_lines("eval_rag", "relevancy_answers.jsonl")[::10]
    answers = []
    for row in recorded:
        text, found = read_marked(row["answer"])
        answers.append(
            Answer(
                row["uuid_answers"],
                row["question id"],
                row["questions - fr"],
                text,
                found,
                sources[row["source_contents_id"]],
                plainly_abstains(found),
                language="fr",
            )
        )
    # The label says "not English"; the others of these answers are French.
    spoken = [language_of(one.text) for one in answers]
    assert [code != "en" for code in spoken] == [bool(row["answer_is_not_english"]) for row in recorded]
    table = rates(automatic_scores(answers)).to_pylist()
    overall = {r["metric"]: r["rate"] for r in table if r["theme"] == r["difficulty"] == "all"}
    assert overall["correct_language"] == pytest.approx(1667 / 2420, abs=0.06)
    assert overall["functional_citation"] == pytest.approx(0.99, abs=0.015), "99 % in the paper"
