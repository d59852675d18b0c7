"""Tests of how likely an answer from rows is right."""

from __future__ import annotations

import numpy as np
import pytest

from finrag_pipeline.answering.answer_confidence import (
    SIGNS_OF_ANSWERS,
    answer_confidence,
    signs_of_answer,
    signs_of_rows,
)
from finrag_pipeline.answering.row_book import AHEAD
from finrag_pipeline.answering.row_matcher import SIGNS
from finrag_pipeline.questions.plan import Operation, QuestionPlan

PLAN = QuestionPlan(Operation.RATIO, ("toner sales", "paper sales of the year"), (), unread=("by the way",))
SURE = dict.fromkeys(SIGNS, 1.0) | {
    "alone": 4.0,
    "together": 4.0,
    "coverage": 3.0,
    "lessened": 0.0,
    AHEAD: 5.0,
}
UNSURE = SURE | {"alone": -2.0, "coverage": -4.0, "label_extra": 2.0}


def signs(
    *chances: float, prior: float = 0.9, rows: tuple[dict[str, float], ...] = (SURE,)
) -> dict[str, float]:
    """Signs of an answer to a question of six words, by name."""
    of_rows = signs_of_rows(chances, rows, 0.5, ())
    found = signs_of_answer("toner sales of paper sales, please?", PLAN, of_rows, True, prior)
    return dict(zip(SIGNS_OF_ANSWERS, found.tolist(), strict=True))


def test_signs_are_of_the_least_likely_rows_and_the_worst_of_each() -> None:
    found = signs(0.8, 0.5, prior=0.5, rows=(SURE, UNSURE))
    assert found["least"] == pytest.approx(0.0) and found["second"] == pytest.approx(np.log(4))
    assert found["product"] == pytest.approx(np.log(0.4)) and found["doubt"] == pytest.approx(np.log(0.5))
    assert (found["least_alone"], found["least_coverage"], found["most_label_extra"]) == (-2.0, -4.0, 2.0)
    assert (found["rows"], found["inputs"], found["primary"]) == (2, 0, 0)
    assert found["prior"] == pytest.approx(0.0)


def test_signs_tell_of_the_plan() -> None:
    found = signs(0.8)
    assert [name for name in SIGNS_OF_ANSWERS if name.startswith("is_") and found[name]] == ["is_ratio"]
    assert (found["words"], found["measure_words"], found["unread"], found["several"]) == (6, 5, 3, 1)
    assert (found["second"], found["verdict"]) == (5.0, 0)


def test_no_rows_and_no_chances() -> None:
    found = signs(rows=())
    assert found["least"] > 10 and found["rows"] == 0 and found["least_alone"] == 0


def test_an_answer_is_surer_where_its_rows_are() -> None:
    chances = [
        answer_confidence(np.array(list(one.values()), np.float32))
        for one in (
            signs(0.95, 0.95, prior=0.97),
            signs(0.5, 0.5, prior=0.6),
            signs(0.05, 0.05, prior=0.1, rows=(UNSURE,)),
        )
    ]
    assert 1 >= chances[0] > chances[1] > chances[2] >= 0
    assert chances[0] > 0.8 and chances[2] < 0.4


@pytest.mark.parametrize("name", ["least", "product", "least_alone", "operation", "prior"])
def test_more_of_what_speaks_for_an_answer_makes_it_no_less_likely(name: str) -> None:
    place = SIGNS_OF_ANSWERS.index(name)
    found = np.array(list(signs(0.7, 0.6, prior=0.7).values()), np.float32)
    found[place] -= 6
    told = [answer_confidence(found)]
    for _ in range(20):
        found[place] += 0.5
        told.append(answer_confidence(found))
    assert told == sorted(told)
