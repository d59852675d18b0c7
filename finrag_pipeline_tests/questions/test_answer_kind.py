"""Questions for numbers are told from questions for words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.questions.answer_kind import BUCKETS, asks_for_number, buckets


@pytest.mark.parametrize(
    "question",
    [
        "What was the audit fee in 2021?",
        "By how much did warranty claims rise?",
        "Goodwill, end of 2020",
        "What is the percentage change in deferred revenue from 2018 to 2019?",
        "How much did the plants cost to run in fiscal 2022?",
    ],
)
def test_numbers(question: str) -> None:
    assert asks_for_number(question) > 0.5


@pytest.mark.parametrize(
    "question",
    [
        "What does the audit fee comprise?",
        "Why did warranty claims rise?",
        "What is included in goodwill?",
        "Which countries does the group operate pension schemes in?",
        "How often is the discount rate reviewed?",
    ],
)
def test_words(question: str) -> None:
    assert asks_for_number(question) < 0.25


@given(st.text(max_size=300))
def test_any_text_has_a_probability(text: str) -> None:
    assert 0 <= asks_for_number(text) <= 1
    assert all(0 <= place < BUCKETS for place in buckets(text))


def test_years_and_figures_are_alike() -> None:
    assert asks_for_number("sales in 2019?") == asks_for_number("sales in 2024?")
