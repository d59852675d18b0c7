"""Which words of a question name what is measured, and what is done with it."""

from __future__ import annotations

import json

import pytest

from benchmarks.question_reader import READINGS, of_readings
from benchmarks.reader_training import SIGN
from finrag_pipeline.errors import ModelError
from finrag_pipeline.questions import question_reader as module
from finrag_pipeline.questions.plan import read_plan
from finrag_pipeline.questions.question_reader import (
    OUTPUTS,
    Form,
    Operation,
    ReadWord,
    naming_words,
    question_reader,
    read_question,
    terms_of,
    text_of,
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
    assert text_of(reading.measure) == "inventory"
    told = (
        "Our roof leaks and the loans are no joke. What was Zoltek's inventory in 2019? I bet on a million."
    )
    reading = read_question(told, ("Zoltek",))
    assert text_of(reading.measure) == "inventory"
    assert reading.asking == "What was Acme's inventory in 2019"


def test_small_words_name_nothing_but_it_in_capitals_may() -> None:
    assert naming_words("it IT ferries of the") == "IT ferries"


@pytest.mark.parametrize(
    ("question", "form", "down"),
    [
        ("Did tram fares at Zoltek rise in 2019?", Form.YES_NO, False),
        ("Were tram fares at Zoltek lower in 2019 than in 2018?", Form.YES_NO, True),
        ("Which did Zoltek spend more on in 2019, trams or ferries?", Form.WHICH, False),
        ("Which segment of Zoltek had the lowest sales in 2019?", Form.PART, True),
        ("In which year were Zoltek's tram fares highest?", Form.YEAR, False),
    ],
)
def test_form_and_direction(question: str, form: Form, down: bool) -> None:
    reading = read_question(question, ("Zoltek",))
    assert (reading.form, reading.down) == (form, down)


def test_a_question_for_words_asks_for_no_number() -> None:
    assert read_question("What does the audit fee comprise?").asks_for_number < 0.3
    assert read_question("What was the audit fee in 2019?").asks_for_number > 0.7


def test_each_time_a_word_stands_counts_by_itself() -> None:
    reading = read_question("What share of net sales were net sales of trams in 2019?")
    assert [text_of(words) for words in reading.parts() or ()] == ["net sales of trams", "net sales"]


def test_chances_are_probabilities() -> None:
    reading = read_question("by what percent did fares rise")
    for of_question in (reading.outputs, reading.forms, reading.directions, reading.operations()):
        assert sum(of_question.values()) == pytest.approx(1)
    assert all(sum(word.chances) == pytest.approx(1) for word in reading.words)


@pytest.mark.parametrize("question", ["", "?", "€€€", "a" * 5000, "ten " * 400])
def test_any_text_is_read(question: str) -> None:
    assert set(read_question(question).outputs) == set(OUTPUTS)


def test_without_the_encoder_a_value_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(adapters: object) -> None:
        raise ModelError("no weights", "install them")

    monkeypatch.setattr(module, "adapted_minilm", missing)
    question_reader.cache_clear()
    try:
        assert read_question("by what percent did tram fares rise").outputs["value"] == 1
        plan = read_plan("What were Zoltek's tram fares in 2019?", ("Zoltek",))
        assert plan is not None and plan.measures == ("tram fares",)
    finally:
        question_reader.cache_clear()


def test_brackets_of_questions_written_for_the_model_are_balanced() -> None:
    for line in READINGS.read_text("utf-8").splitlines():
        question = json.loads(line)["question"]
        assert all(question.count(begin) == question.count(end) for begin, end in ("[]", "{}", "<>"))
    examples = list(of_readings())
    assert all(len(one.text) == len(one.tags) and not set("[]{}<>") & set(one.text) for one in examples)
    assert {tag % SIGN for one in examples for tag in one.tags} == {0, 1, 2, 3}
    assert {tag // SIGN for one in examples for tag in one.tags} == {0, 1, 2}


def test_quantities_that_are_added_or_taken_off_stand_apart() -> None:
    words = [
        ReadWord(text, (0.0, 1.0, 0.0, 0.0), True, 0, place, sign)
        for place, text, sign in (
            (0, "tram", ""), (1, "fares", ""), (3, "ferry", "plus"), (4, "fares", "plus"), (6, "refunds", "minus"),
        )
    ]  # fmt: skip
    assert terms_of(words) == [("", "tram fares"), ("plus", "ferry fares"), ("minus", "refunds")]
    assert terms_of(words[2:4]) == [("", "ferry fares")]
    assert terms_of([]) == []


def test_a_printed_label_stays_the_measure_that_it_was_read_as() -> None:
    plan = read_plan(
        "Was Zoltek's 2019 cash larger than its current portion of harbour dues?",
        ("Zoltek",),
        label="current portion of harbour dues",
    )
    assert plan is not None and plan.measures == ("cash", "current portion harbour dues")


@pytest.mark.parametrize(
    ("question", "measures"),
    [
        ("Zoltek sells on the Silver Coast. What was the revenue there in 2019?", {"Silver", "Coast"}),
        ("Zoltek sells on the Silver Coast. Was there any revenue in 2019?", set()),
    ],
)
def test_there_may_be_a_place_of_the_sentence_before(question: str, measures: set[str]) -> None:
    plan = read_plan(question, ("Zoltek",))
    assert plan is not None and {"Silver", "Coast"} & set(plan.measures[0].split()) == measures


def test_a_share_of_a_sum_has_its_terms() -> None:
    plan = read_plan(
        "What part of its 2019 toll income did Zoltek spend on buybacks and dividends together?", ("Zoltek",)
    )
    assert plan is not None and plan.operation == "ratio" and "plus" in plan.measures[0]


def test_words_of_no_measure_are_told_in_runs_unless_a_sentence_speaks_of_people() -> None:
    reading = read_question(
        "My boss likes trams. Zoltek, the depot by the sea: sales of tickets in 2019?", ("Zoltek",)
    )
    measure = {word.text for word in reading.as_meant().measure}
    unread = reading.as_meant().unread
    assert "tickets" in measure
    assert not {*" ".join(unread).split()} & ({"boss", "trams", "Zoltek", "2019"} | measure)
    assert {*" ".join((*unread, *measure)).split()} >= {"depot", "sea", "sales"}


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Crayons, Zoltek 2019: net sales?", ("Crayons",)),
        ("Zoltek 2019, crayons only: net sales?", ("crayons",)),
        ("Zoltek FY2019: net sales?", ()),
        ("The crayons are out: what were the net sales of Zoltek in 2019?", ()),
        ("What were the net sales of Zoltek in 2019?", ()),
    ],
)
def test_what_is_told_with_the_company_before_a_colon_is_the_topic(
    question: str, topic: tuple[str, ...]
) -> None:
    assert read_question(question, ("Zoltek",)).as_meant().topic == topic
