"""Which words of a question name what is measured, and what is done with it."""

from __future__ import annotations

import json

import pytest

from benchmarks.question_reader import READINGS, of_readings
from finrag_pipeline.errors import ModelError
from finrag_pipeline.questions import question_reader as module
from finrag_pipeline.questions.plan import read_plan
from finrag_pipeline.questions.question_reader import (
    NOT_READ,
    OUTPUTS,
    Operation,
    question_reader,
    read_question,
)


@pytest.mark.parametrize(
    ("question", "operation", "measures"),
    [
        (
            "My aunt keeps asking how much Zoltek paid for tram fares in 2019.",
            Operation.VALUE,
            ("tram fares",),
        ),
        ("By how many dollars did tram fares at Zoltek climb in 2019?", Operation.CHANGE, ("tram fares",)),
        ("By what percentage did tram fares at Zoltek climb in 2019?", Operation.GROWTH, ("tram fares",)),
        (
            "What percentage of transport costs were tram fares at Zoltek in 2019?",
            Operation.RATIO,
            ("tram fares", "transport costs"),
        ),
        (
            "Add up tram fares and ferry fares of Zoltek for 2019.",
            Operation.SUM,
            ("tram fares", "ferry fares"),
        ),
        (
            "By how much did tram fares exceed ferry fares at Zoltek in 2019?",
            Operation.DIFFERENCE,
            ("tram fares", "ferry fares"),
        ),
        ("What were average tram fares of Zoltek from 2017 to 2019?", Operation.AVERAGE, ("tram fares",)),
    ],
)
def test_operation_and_measures(question: str, operation: Operation, measures: tuple[str, ...]) -> None:
    plan = read_plan(question, ("Zoltek",))
    assert plan is not None and (plan.operation, plan.measures) == (operation, measures)


def test_what_is_told_beside_the_question_names_nothing() -> None:
    reading = read_question("After the flood, how high was Zoltek's inventory in 2019?", ("Zoltek",))
    assert reading.names("inventory") and not reading.names("flood") and not reading.names("Acme")


def test_small_words_name_nothing_but_it_in_capitals_may() -> None:
    assert not NOT_READ.names("it") and NOT_READ.names("IT") and NOT_READ.names("ferries")


def test_a_question_for_words_asks_for_no_number() -> None:
    assert read_question("What does the audit fee comprise?").asks_for_number < 0.3
    assert read_question("What was the audit fee in 2019?").asks_for_number > 0.7


def test_each_time_a_word_stands_counts_by_itself() -> None:
    reading = read_question("What share of net sales were net sales of trams in 2019?")
    assert reading.parts("net sales were net sales of trams") is not None
    assert len(reading.words["sales"]) == 2


def test_chances_are_probabilities() -> None:
    reading = read_question("by what percent did fares rise")
    assert sum(reading.outputs.values()) == pytest.approx(1)
    assert sum(reading.operations().values()) == pytest.approx(1)
    assert all(0 <= first + second <= 1.000001 for own in reading.words.values() for first, second in own)


@pytest.mark.parametrize("question", ["", "?", "€€€", "a" * 5000, "ten " * 400])
def test_any_text_is_read(question: str) -> None:
    assert set(read_question(question).outputs) == set(OUTPUTS)


def test_without_the_encoder_a_value_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(adapters: object) -> None:
        raise ModelError("no weights", "install them")

    monkeypatch.setattr(module, "adapted_minilm", missing)
    question_reader.cache_clear()
    try:
        assert read_question("by what percent did tram fares rise") is NOT_READ
        plan = read_plan("What were Zoltek's tram fares in 2019?", ("Zoltek",))
        assert plan is not None and plan.measures == ("tram fares",)
    finally:
        question_reader.cache_clear()


def test_brackets_of_questions_written_for_the_model_are_balanced() -> None:
    for line in READINGS.read_text("utf-8").splitlines():
        question = json.loads(line)["question"]
        assert question.count("[") == question.count("]") and question.count("{") == question.count("}")
    examples = list(of_readings())
    assert all(len(one.text) == len(one.tags) and not set("[]{}") & set(one.text) for one in examples)
    assert {tag for one in examples for tag in one.tags} == {0, 1, 2}
