"""Years, days and quarters that a question has in words, as people say and dictate them, in digits."""

from __future__ import annotations

import calendar
import re

from finrag_pipeline.resolver.lexicon import NUMBERS, SMALL_NUMBERS, TENS, any_case

_BELOW_HUNDRED = SMALL_NUMBERS | TENS
_DAYS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth",
    "nineteenth", "twentieth",
)  # fmt: skip
_DAY_OF = {word: value for value, word in enumerate(_DAYS, 1)} | {"thirtieth": 30}

_ONE = rf"(?:{'|'.join(list(SMALL_NUMBERS)[1:10])})"
_TEEN = rf"(?:{'|'.join(list(SMALL_NUMBERS)[10:])})"
_TEN = rf"(?:{'|'.join(TENS)})"
_LAST = rf"(?:{_TEEN}|{_TEN}(?:[\s-]{_ONE})?|oh[\s-]{_ONE})"
_YEAR = any_case(
    rf"\b(?:(?P<century>nineteen|twenty)[\s-](?P<rest>{_LAST})|"
    rf"two[\s-]thousand(?:\s(?:and\s)?(?P<after>{_TEEN}|{_TEN}(?:[\s-]{_ONE})?|{_ONE}))?)\b"
)
_MONTH = rf"(?:{'|'.join(calendar.month_name[1:])})"
_DAY = any_case(
    rf"\b(?P<month>{_MONTH})\s(?:the\s)?(?P<day>(?:(?:twenty|thirty)[\s-])?(?:{'|'.join(_DAY_OF)}))\b"
    r"(?!\s(?:fiscal\s)?(?:quarter|half))"
)
_AMOUNT = any_case(rf"\b(?:{_LAST}|{_ONE})(?=\s(?:million|billion|trillion|per\s?cent)\b)")
_QUARTER = any_case(rf"\bq[\s-]?(?P<quarter>{'|'.join(list(NUMBERS)[1:5])})\b")


def in_digits(question: str) -> str:
    """A question with digits for years, days of months, quarters and amounts in words.

    'twenty twenty-one' is 2021, 'July second' is July 2, 'q three' is Q3, 'two billion' is 2 billion; other
    numbers stay words.
    """
    question = _AMOUNT.sub(lambda amount: str(_value(amount[0])), question)
    question = _DAY.sub(lambda day: f"{day['month']} {_value(day['day'])}", question)
    question = _QUARTER.sub(lambda quarter: f"Q{NUMBERS[quarter['quarter'].lower()]}", question)
    return _YEAR.sub(lambda year: str(_year_of(year)), question)


def _year_of(year: re.Match[str]) -> int:
    if year["century"]:
        return 100 * _BELOW_HUNDRED[year["century"].lower()] + _value(year["rest"])
    return 2000 + (_value(year["after"]) if year["after"] else 0)


def _value(words: str) -> int:
    parts = re.split(r"[\s-]", words.lower())
    return sum(_BELOW_HUNDRED.get(part) or _DAY_OF.get(part, 0) for part in parts)
