"""What a question does with what it names, and where its two measures part."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.questions.operation_model import Operation, part_measures, partings
from finrag_pipeline.questions.plan import read_plan


@pytest.mark.parametrize(
    ("question", "operation", "measures"),
    [
        ("What percentage of total depots was refrigerated depots in 2019?", "ratio", ("refrigerated depots", "depots")),
        ("In 2019 what was the percentage of ferry fares of the total fares?", "ratio", ("ferry fares", "fares")),
        ("How much of tram fares was attributable to tourists in 2021?", "ratio", ("tourists", "tram fares")),
        ("What is the difference between tram fares and ferry fares?", "difference", ("tram fares", "ferry fares")),
        ("Which share of 2021 tram fares was due to season tickets?", "ratio", ("season tickets", "tram fares")),
        ("By what percent did ferry fares fall from 2018 to 2020?", "growth", ("ferry fares",)),
        ("What was the ratio of tram fares in 2018 to 2019?", "ratio", ("tram fares",)),
    ],
)  # fmt: skip
def test_operation_and_measures(question: str, operation: str, measures: tuple[str, ...]) -> None:
    plan = read_plan(question)
    assert plan is not None and (str(plan.operation), plan.chance > 0.35) == (operation, True)
    assert tuple(" ".join(w for w in m.split() if w != "due") for m in plan.measures) == measures


def test_periods_of_a_ratio_keep_the_order_in_which_they_are_named() -> None:
    plan = read_plan("What was the ratio of tram fares in 2019 to 2018?")
    assert plan is not None and [period.year for period in plan.periods] == [2019, 2018]


def test_the_largest_value_is_looked_for_among_periods() -> None:
    plan = read_plan("What is the highest value of ferry fares during these years?")
    assert plan is not None and plan.among_periods and plan.operation is Operation.VALUE


@given(st.text(max_size=200))
def test_any_text_parts_between_its_words(text: str) -> None:
    places, features = partings(text)
    assert len(places) == len(features)
    for first, second, chance in part_measures(text):
        assert {first + second, second + first} & {text} and 0 <= chance <= 1 + 1e-6
