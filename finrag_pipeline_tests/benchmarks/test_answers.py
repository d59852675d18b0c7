"""What counts as right, wrong and not answered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.answers import BUILD, FOLDER, judge, read_questions
from finrag_pipeline.answering.answer import Answer
from finrag_pipeline.answering.derivation import Derivation

DERIVATION = Derivation("q", "$1,577 million", value=1577.0, unit="USD million", exact=1.577e9)


def made(derivation: Derivation) -> Answer:
    return Answer("calculator", derivation, None, None, ())


@pytest.mark.parametrize(
    ("question", "outcome"),
    [
        ({"answer": 1.577e9, "tolerance": 5e5}, "right"),
        ({"answer": -1.577e9, "tolerance": 5e5}, "right"),
        ({"answer": 1.58e9, "tolerance": 5e5}, "wrong"),
        ({"answer": 1.58e9, "tolerance": 5e5, "accept": [1.577e9]}, "right"),
        ({"answer": [1.577e9, 1.373e9], "tolerance": 5e5}, "right"),
        ({"answer": [1.577e9, 1.4e9], "tolerance": 5e5}, "wrong"),
        ({"answer": "yes"}, "wrong"),
        ({}, "wrong"),
    ],
)
def test_an_amount(question: dict[str, Any], outcome: str) -> None:
    other = {"named": "FY2017", "value": 1373.0}
    assert judge(question, made(replace(DERIVATION, alternatives=(other,)))) == outcome


def test_per_cent_and_abstentions() -> None:
    share = Derivation("q", "31.3%", value=31.3, unit="percent", exact=0.31346)
    assert judge({"answer": 31.346, "unit": "percent", "tolerance": 0.0005}, made(share)) == "right"
    assert judge({"answer": 1.0}, made(Derivation("q", "", abstained=True))) == "not answered"


def test_of_a_choice_what_is_told_first_is_the_answer() -> None:
    chosen = made(Derivation("q", "Acme (Acme: 14.7%; Torvex: 8.3%), a difference of 6.4 percentage points"))
    assert [judge({"answer": name}, chosen) for name in ("Acme", "Torvex")] == ["right", "wrong"]


def test_questions_are_whole_and_asked_once() -> None:
    questions = read_questions([FOLDER / name for name in BUILD])
    assert len({question["id"] for question in questions}) == len(questions) == 283
    assert all(question["question"].strip() and question["kind"] for question in questions)
    assert {("answer" in question) for question in questions} == {True, False}


def test_a_year_is_told_by_its_name() -> None:
    chosen = made(Derivation("q", "FY2021: $12 million (FY2020 $9 million)", value=12.0, exact=12e6))
    answers = ({"answer": year, "unit": "year"} for year in (2021, 2020))
    assert [judge(one, chosen) for one in answers] == ["right", "wrong"]


def test_a_fiscal_year_may_be_told_in_full() -> None:
    chosen = made(Derivation("q", "FY2023: $12 million (FY2022 $9 million)", value=12.0, exact=12e6))
    answers = ({"answer": year} for year in ("fiscal 2023", "fiscal year 2023", "fiscal 2022"))
    assert [judge(one, chosen) for one in answers] == ["right", "right", "wrong"]
