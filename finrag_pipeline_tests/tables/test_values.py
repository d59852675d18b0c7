from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finrag_pipeline.tables.values import BROKEN, CURRENCIES, DASH, parse_value


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("$ 1,577", 1577),
        ("(1,577)", -1577),
        ("( 1,577 )", -1577),
        ("$(12)", -12),
        ("$ ( 3 )", -3),
        ("(12", -12),
        ("$ 12 )", -12),
        ("-5", -5),
        ("−5", -5),
        ("(-5)", -5),
        ("+5", 5),
        (".05", 0.05),
        ("0.96", 0.96),
        ("1,234.5", 1234.5),
        ("2018", 2018),
        ("2.5 to 1.0", 2.5),
        ("5 years", 5),
    ],
)
def test_numbers_with_their_signs(text: str, number: float) -> None:
    value = parse_value(text)
    assert (value.kind, value.number) == ("number", number)


@pytest.mark.parametrize(
    ("text", "number", "factor"),
    [
        ("12.3%", 12.3, 0.01),
        ("(12.3)%", -12.3, 0.01),
        ("(12.3 %)", -12.3, 0.01),
        ("25 bps", 25, 0.0001),
        ("(0.1) pts", -0.1, 0.01),
    ],
)
def test_per_cent_in_its_spellings(text: str, number: float, factor: float) -> None:
    value = parse_value(text)
    assert (value.number, value.percent, value.factor) == (number, True, factor)


def test_ratios_and_scales_printed_in_the_cell() -> None:
    assert parse_value("2.5x").ratio and parse_value("2.5x").factor is None
    million = parse_value("$1.2 million")
    assert (million.number, million.factor, million.word, million.currency) == (1.2, 1e6, "million", "USD")
    assert parse_value("$5M").factor == 1e6
    assert parse_value("$0.96 per share").word == "per share"


@pytest.mark.parametrize("text", ["—", "-", "–", "(—)", "$ —", "— %", "— (a)"])
def test_a_dash_is_zero_but_not_a_number(text: str) -> None:
    value = parse_value(text)
    assert (value.kind, value.number, value.reason) == ("missing", 0.0, DASH)


@pytest.mark.parametrize("text", ["N/A", "n/a", "NM", "n/m", "*", "**", "not meaningful", ""])
def test_missing_values_have_no_number(text: str) -> None:
    value = parse_value(text)
    assert value.kind == "missing"
    assert value.number is None
    assert value.reason


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,234 (1)", 1234),
        ("1,234(a)", 1234),
        ("1,234*", 1234),
        ("1,234²", 1234),
        ("(1,234) (2)", -1234),
        ("$1,234.5 (3)(4)", 1234.5),
        ("(a) 123", 123),
    ],
)
def test_footnote_marks_come_off(text: str, number: float) -> None:
    assert parse_value(text).number == number


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("(cid:12)(cid:9)", BROKEN),
        ("\ufffd12", BROKEN),
        ("\ue012\ue013", BROKEN),
        ("12/31/2018", "a date"),
        ("June 30", "a date"),
        ("3-5", "a range or several numbers"),
        ("1-800-555-1234", "a range or several numbers"),
        ("12 34", "several numbers"),
        ("12 (3)", "several numbers"),
        ("— (3)", "several numbers"),
        ("1,23", "no known form of a number"),
        ("1,2345", "no known form of a number"),
        ("1.2.3", "no known form of a number"),
        ("--5", "no known form of a number"),
        ("5 m", "a letter behind the number"),
        ("Level 1", "words beside the number"),
        ("Total", "no number"),
        ("$", "currency sign without a number"),
    ],
)
def test_what_is_no_single_number_stays_text(text: str, reason: str) -> None:
    value = parse_value(text)
    assert (value.kind, value.number, value.reason) == ("text", None, reason)


@pytest.mark.parametrize(("sign", "code"), sorted(CURRENCIES.items()))
def test_every_currency_before_and_behind(sign: str, code: str) -> None:
    assert parse_value(f"{sign} 1,577").currency == code
    assert parse_value(f"{sign}1,577").number == 1577
    assert parse_value(f"1,577 {sign}").currency == code


def test_years_are_told_from_amounts() -> None:
    assert parse_value("2018").looks_like_year
    assert not any(
        parse_value(text).looks_like_year for text in ("2,018", "$2018", "2018.0", "1577", "2018%")
    )


numbers = st.decimals(0, 10**12, allow_nan=False, places=2)
currencies = st.sampled_from(["", "$", "$ ", "€", "US$ ", "£ "])
wrappings = st.sampled_from([("", "", 1), ("(", ")", -1), ("( ", " )", -1), ("-", "", -1), ("−", "", -1)])
marks = st.sampled_from(["", "%", " %", "x", " (a)", "*", " (1)"])


@given(numbers, currencies, wrappings, marks, st.booleans())
def test_what_is_printed_is_read_back(number, currency, wrapping, mark, grouped) -> None:
    opening, closing, sign = wrapping
    printed = f"{number:,.2f}" if grouped else f"{number:.2f}"
    for text in (
        f"{currency}{opening}{printed}{closing}{mark}",
        f"{opening}{currency}{printed}{closing}{mark}",
    ):
        value = parse_value(text)
        assert value.kind == "number", text
        assert math.isclose(value.number, sign * float(number)), text
        assert value.percent == ("%" in mark)
        assert (value.currency is not None) == bool(currency)


@given(st.text(max_size=40))
def test_no_text_breaks_the_parser_or_yields_a_number_without_digits(text: str) -> None:
    value = parse_value(text)
    if value.kind == "number":
        assert any(c.isnumeric() for c in text)
        assert math.isfinite(value.number)
    else:
        assert value.reason
        assert value.number is None or value.reason == DASH


@given(st.text(alphabet="0123456789,.()-$%x ", max_size=14))
def test_the_digits_read_are_the_digits_printed(text: str) -> None:
    value = parse_value(text)
    if value.kind == "number" and not re.search(r"[\d)%x.-]\s*\(\d{1,2}\)\s*,?\s*$", text):  # a footnote
        digits = "".join(c for c in text if c.isdigit())
        read = f"{abs(value.number):.10f}".replace(".", "")
        assert digits.strip("0") in read
