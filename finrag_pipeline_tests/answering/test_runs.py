from __future__ import annotations

import json
from collections.abc import Sequence

import pyarrow as pa
import pytest

from finrag_pipeline.answering.derivation import Derivation
from finrag_pipeline.answering.runs import DEPTH, run_answers
from finrag_pipeline.answering.systems import ANSWER_SYSTEMS, get_answer_system
from finrag_pipeline.errors import ModelError, UsageError
from finrag_pipeline.retrieval.systems import ALL_SYSTEMS
from finrag_pipeline.schemas import ANSWERS, RETRIEVAL_RUNS
from finrag_pipeline.settings import AnswerSettings, Settings
from finrag_pipeline_tests.answering.derivations import abstention, capital_expenditure
from finrag_pipeline_tests.language_models.server import ScriptedModel

QUESTIONS = [
    {"question_id": "q1", "question": "What was Alder's FY2021 capital expenditure (in USD millions)?"},
    {"question_id": "q2", "question": "What does the company make?"},
    {"question_id": "q3", "question": "bad"},
]
TEXTS = {f"c{n}": f"Line {n} says that the company makes adhesives of kind {n}." for n in range(1, 30)}
SETTINGS = Settings(answers=AnswerSettings(repeats=2, temperature=0.7))


class ScriptedCalculator:
    """Knows capital expenditure, and remembers what it was given."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[tuple[str, int]], Sequence[str] | None, bool]] = []

    def answer(self, question: str, pages, filings=None, only_pages: bool = False) -> Derivation:
        self.asked.append((question, list(pages), filings, only_pages))
        if question == "bad":
            raise UsageError("The question is bad.", "Ask another.")
        if "capital" in question:
            return capital_expenditure()
        return Derivation(
            question,
            "Cannot be determined.",
            abstained=True,
            kind="not_a_calculation",
            why="text",
            filings=("ALDER_2021_10K", "BIRCH_2021_10K"),
        )


def runs(spaces: Sequence[str] = ("corpus", "filing", "pages")) -> pa.Table:
    rows = [
        {
            "system": "finrag",
            "space": space,
            "question_id": question["question_id"],
            "rank": rank,
            "chunk_id": f"c{rank}",
            "filing": "ALDER_2021_10K" if rank % 2 or space != "corpus" else "BIRCH_2021_10K",
            "page": rank,
            "score": -rank,
        }
        for space in spaces
        for question in QUESTIONS
        for rank in range(20, 0, -1)
    ]
    return pa.Table.from_pylist(rows, RETRIEVAL_RUNS)


def run(
    name: str, model: ScriptedModel | None = None, calculator: ScriptedCalculator | None = None
) -> list[dict]:
    table = run_answers(
        get_answer_system(name), runs(), QUESTIONS, TEXTS.__getitem__, calculator or ScriptedCalculator(), None, model, SETTINGS, 3
    )  # fmt: skip
    assert table.schema == ANSWERS
    return table.to_pylist()


def test_every_system_names_a_retrieval_of_the_registry() -> None:
    assert {system.retrieval for system in ANSWER_SYSTEMS.values()} <= set(ALL_SYSTEMS)
    with pytest.raises(UsageError, match="no answering system 'guess'"):
        get_answer_system("guess")


def test_the_calculator_computes_and_quotes() -> None:
    calculator = ScriptedCalculator()
    rows = run("calculator", calculator=calculator)
    assert [(row["space"], row["question_id"]) for row in rows] == [
        (space, f"q{n}") for space in ("corpus", "filing", "pages") for n in (1, 2, 3)
    ]
    computed, quoted, failed = rows[:3]
    assert (computed["value"], computed["fold"], computed["retrieval"]) == (1577e6, 3, "finrag")
    assert json.loads(computed["derivation"])["formula"] == "capital expenditure"
    assert "adhesives" in quoted["answer"] and not quoted["abstained"] and json.loads(quoted["citations"])
    assert failed["error"] == "The question is bad. Ask another." and failed["answer"] == ""
    assert all(row["seconds"] >= 0 for row in rows)


def test_oracle_spaces_restrict_the_calculator() -> None:
    calculator = ScriptedCalculator()
    run("calculator", calculator=calculator)
    limits = dict(zip(("corpus", "filing", "pages"), calculator.asked[::3], strict=True))
    pages = [("ALDER_2021_10K", n) for n in range(1, DEPTH + 1)]
    assert limits["corpus"][2:] == (None, False)
    assert limits["filing"][1:] == (pages, ["ALDER_2021_10K"], False)
    assert limits["pages"][1:] == (pages, ["ALDER_2021_10K"], True)


def test_extractive_never_asks_the_calculator() -> None:
    calculator = ScriptedCalculator()
    rows = run("extractive", calculator=calculator)
    assert not calculator.asked and len(rows) == 9 and rows[1]["system"] == "extractive"


def test_a_language_model_answers_every_repeat_and_only_grounded_is_told_facts() -> None:
    model = ScriptedModel(lambda asked, seed: f"It makes adhesives [{1 + seed % 2}].")
    rows = run("prompt_dense", model)
    assert len(rows) == 18 and [row["repeat"] for row in rows[:4]] == [0, 1, 0, 1]
    assert {row["retrieval"] for row in rows} == {"dense"} and {row["system"] for row in rows} == {
        "prompt_dense"
    }
    assert len(rows[0]["retrieved"]) == SETTINGS.answers.passages
    calculator = ScriptedCalculator()
    rows = run("grounded", model, calculator)
    assert len(calculator.asked) == 9
    assert rows[0]["answer"] == capital_expenditure().answer and rows[0]["fallback"]


def test_a_model_that_is_needed_and_missing() -> None:
    with pytest.raises(ModelError, match="cot needs a language model"):
        run("cot")


def test_abstentions_keep_their_reason() -> None:
    class Never(ScriptedCalculator):
        def answer(self, question: str, pages, filings=None, only_pages: bool = False) -> Derivation:
            return abstention()

    rows = run("calculator", calculator=Never())
    assert all(row["abstained"] and row["why"] == abstention().why for row in rows)
