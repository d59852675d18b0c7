from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.answering.quantities import plain_text, quantities, without_numbers, years_in


def read(text: str) -> list[tuple[float, str]]:
    return [(one.value, one.unit) for one in quantities(text)]


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("$1,577 million", 1.577e9, "currency"),
        ("US$1.5B", 1.5e9, "currency"),
        ("1.5 billion dollars", 1.5e9, "currency"),
        ("USD 12 thousand", 12e3, "currency"),
        ("$(12.3) million", -12.3e6, "currency"),
        ("(1,577)", -1577, "number"),
        ("negative $1.2 billion", -1.2e9, "currency"),
        ("-0.02", -0.02, "number"),
        ("−0.02", -0.02, "number"),  # a typographic minus
        ("65.4%", 0.654, "percent"),
        ("65.4 percent", 0.654, "percent"),
        ("12 basis points", 0.0012, "percent"),
        ("24.26x", 24.26, "ratio"),
        ("9.5 times", 9.5, "ratio"),
        ("93.86 days", 93.86, "days"),
        ("1.5e9", 1.5e9, "number"),
        (r"\$24{,}873 \text{ million}", 24_873e6, "currency"),
        (r"**\$24.87 billion**", 24.87e9, "currency"),
        (r"\boxed{0.66}", 0.66, "number"),
    ],
)
def test_one_number(text: str, value: float, unit: str) -> None:
    ((found, kind),) = read(f"It was {text}.")
    assert (found, kind) == (pytest.approx(value), unit)


@pytest.mark.parametrize("text", ["$2018", "2,018", "2018 million", "2018.5", "2018%"])
def test_amounts_that_look_like_years_are_amounts(text: str) -> None:
    (one,) = quantities(f"Revenue in the year was {text}")
    assert not one.year


@pytest.mark.parametrize("text", ["in 2018", "fiscal 2018", "FY 2018", "the year ended 2018", "(2018)"])
def test_years_are_told_by_their_words(text: str) -> None:
    (one,) = quantities(f"It rose {text}")
    assert one.year


def test_a_bare_answer_is_no_year() -> None:
    (one,) = quantities("Answer: 2018")
    assert not one.year and one.value == 2018


@pytest.mark.parametrize(
    "text", ["FY2022", "10-K", "3M", "Q2", "COVID-19", "3-year", "December 31, 2022", "1/28/2023"]
)
def test_names_and_dates_are_no_quantities(text: str) -> None:
    assert not read(f"See {text} there")


def test_several_numbers_of_a_sentence() -> None:
    found = read("It rose 0.9% (from 5 to 6), or $1.5 - $2.0 billion; then fell by -3 in 2020-2021.")
    assert found == [
        (pytest.approx(0.009), "percent"),
        (5, "number"),
        (6, "number"),
        (1.5, "currency"),
        (2e9, "currency"),
        (-3, "number"),
        (2020, "number"),
        (2021, "number"),
    ]


def test_half_a_unit_of_the_last_digit() -> None:
    (one,) = quantities("$8.738 billion")
    assert one.half_unit == pytest.approx(0.5e6)
    (one,) = quantities("1.9%")
    assert one.half_unit == pytest.approx(0.0005)


def test_years_in_any_form() -> None:
    assert years_in("FY2022, FY21, Q2'23, 2020Q2, 31/12/2019, 2017-2018 and $1,999") == {
        2017, 2018, 2019, 2020, 2021, 2022, 2023,
    }  # fmt: skip


def test_what_is_left_without_numbers() -> None:
    assert without_numbers("3M spent $1.5 million on May 2, 2022 [10-K]").split() == [
        "3M",
        "spent",
        "on",
        "[10-K]",
    ]


@given(st.floats(-1e12, 1e12, allow_nan=False).map(lambda x: round(x, 2)))
def test_every_printed_number_is_read_back(value: float) -> None:
    (one,) = quantities(f"the result is {value:,.2f} of it")
    assert one.printed == pytest.approx(value)


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    for one in quantities(text):
        assert one.value == one.value
        assert plain_text(text)[one.start : one.end].strip() == one.text
    without_numbers(text)
    years_in(text)
