"""Tests of years, days and quarters in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.questions.spoken_numbers import in_digits


@pytest.mark.parametrize(
    ("spoken", "written"),
    [
        ("revenue in twenty nineteen", "revenue in 2019"),
        ("twenty nineteen twenty twenty and twenty twenty-one", "2019 2020 and 2021"),
        ("q three of twenty twenty-two", "Q3 of 2022"),
        ("on july second twenty twenty three", "on july 2 2023"),
        ("December thirty-first, two thousand and eight", "December 31, 2008"),
        ("two thousand twenty-two", "2022"),
        ("nineteen ninety eight and twenty oh five", "1998 and 2005"),
        ("the first six months, twenty stores and eight quarters", "the first six months, twenty stores and eight quarters"),
        ("marketing the second quarter, December fourth quarter", "marketing the second quarter, December fourth quarter"),
        ("more than two billion, or twenty-five per cent", "more than 2 billion, or 25 per cent"),
        ("may second the motion", "may 2 the motion"),
    ],
)  # fmt: skip
def test_years_days_and_quarters_are_digits(spoken: str, written: str) -> None:
    assert in_digits(spoken) == written


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert isinstance(in_digits(text), str)
