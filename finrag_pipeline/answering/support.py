"""Whether the numbers of a text stand in its sources: digits, names with digits, years, and numbers in words.

Every token with a digit has to be accounted for, so that what the reader of numbers does not know cannot slip
through either.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from finrag_pipeline.answering.quantities import (
    SCALES,
    Quantity,
    asked_scale,
    plain_text,
    quantities,
    without_numbers,
    years_in,
)
from finrag_pipeline.resolver.lexicon import SMALL_NUMBERS, TENS, any_case

_EXACT = 1e-9
_DIGITS_TO_ROUND_FACTS = 2
_DIGITS_TO_ROUND_TEXT = 3

_TOKEN = re.compile(r"(?=[^\W_-]*-?[^\W_]*\d)[^\W_]+(?:-[^\W_]+)*")
_FORMS = frozenset({"10-k", "10-q", "8-k", "20-f", "6-k", "10-ks", "10-qs", "8-ks"})
_SMALL = SMALL_NUMBERS | TENS
_FACTORS = {
    "half": 0.5, "double": 2, "doubled": 2, "twice": 2, "triple": 3, "tripled": 3, "quadrupled": 4,
    "dozen": 12, "hundred": 100,
}  # fmt: skip
_WORDS = "|".join(sorted([*_SMALL, *_FACTORS, *SCALES], key=len, reverse=True))
_IN_WORDS = any_case(rf"(?<![a-z])(?:{_WORDS})s?(?![a-z])")
_HARMLESS = frozenset({"one", "zero", "half"})


class _Read(NamedTuple):
    """What a text holds: amounts without signs, years, tokens with digits, numbers in words."""

    printed: frozenset[float]
    values: frozenset[float]
    years: frozenset[int]
    tokens: frozenset[str]
    words: frozenset[str]


def _word(match: re.Match[str]) -> str:
    return match[0].lower().removesuffix("s")


@lru_cache(maxsize=1024)
def _read(text: str) -> _Read:
    """A passage is a source of many sentences, so it is read once."""
    found = quantities(text)
    plain = plain_text(text)
    return _Read(
        frozenset(abs(one.printed) for one in found),
        frozenset(abs(one.value) for one in found),
        frozenset(years_in(text)),
        frozenset(token.lower() for token in _TOKEN.findall(plain)),
        frozenset(_word(match) for match in _IN_WORDS.finditer(plain)),
    )


class Sources:
    """Numbers that an answer may use: of the question, of passages, and of facts.

    ``facts`` are amounts in full units, ``fact_texts`` what they print: cells, periods, formulas, steps.
    """

    def __init__(
        self, question: str, texts: Sequence[str], facts: Iterable[float] = (), fact_texts: Sequence[str] = ()
    ) -> None:
        self._scale = asked_scale(question)
        self._facts = [abs(float(value)) for value in facts]
        every = zip(*(_read(text) for text in (question, *texts, *fact_texts)), strict=True)
        self._known = _Read(*(frozenset().union(*parts) for parts in every))
        self._scales = {1.0, *(value for word, value in SCALES.items() if word in self._known.words)}

    def unsupported(self, text: str) -> tuple[str, ...]:
        """Numbers of ``text`` that stand in no source, as written; names with digits and words come last."""
        found = [one.text for one in quantities(text) if not self._holds(one)]
        years = sorted(year for year in years_in(text) if not self._knows_year(year))
        found += [str(year) for year in years if not any(str(year) in one for one in found)]
        found += [
            token
            for token in _TOKEN.findall(without_numbers(text))
            if token.lower() not in self._known.tokens | _FORMS and not self._is_period(token)
        ]
        for match in _IN_WORDS.finditer(without_numbers(text)):
            word = _word(match)
            number = _SMALL.get(word, _FACTORS.get(word))
            known = word in self._known.words or (number is not None and float(number) in self._known.printed)
            if word not in _HARMLESS and not known:
                found.append(match[0])
        return tuple(dict.fromkeys(found))

    def _knows_year(self, year: int) -> bool:
        return year in self._known.years or float(year) in self._known.printed

    def _is_period(self, token: str) -> bool:
        """'FY2022' or '2Q22' where the year is known, and quarters and halves as such."""
        years = years_in(token)
        bare = re.fullmatch(r"(?:q[1-4]|[1-4]q|h[12]|[12]h|[1-4](?:st|nd|rd|th))", token, re.IGNORECASE)
        return bool(bare) or (bool(years) and all(self._knows_year(year) for year in years))

    def _holds(self, one: Quantity) -> bool:
        if one.year and self._knows_year(int(one.printed)):
            return True
        printed, value = abs(one.printed), abs(one.value)
        if self._near(value, self._facts, one, _DIGITS_TO_ROUND_FACTS):
            return True
        # '1,577' under a question for millions, where the fact is 1,577,000,000.
        if (
            one.scale is None
            and self._scale
            and self._near(value * self._scale, self._facts, one, _DIGITS_TO_ROUND_FACTS, self._scale)
        ):
            return True
        if _among(value, self._known.values):
            return True
        # '$1,577 million' where the table prints 1,577 and says 'in millions'.
        if _among(printed, self._known.printed) and (
            one.scale is None or one.scale in self._scales | {0.01, 1e-4}
        ):
            return True
        scaled = [known * scale for known in self._known.printed for scale in self._scales]
        return self._near(value, scaled, one, _DIGITS_TO_ROUND_TEXT)

    @staticmethod
    def _near(value: float, known: Iterable[float], one: Quantity, digits: int, factor: float = 1.0) -> bool:
        """Whether a known amount rounds to the number; a number of few digits must be it exactly."""
        significant = len(f"{abs(one.printed):.{one.decimals}f}".replace(".", "").lstrip("0"))
        allowed = one.half_unit * factor if significant >= digits else 0.0
        return any(abs(value - other) <= max(allowed, _EXACT * max(value, other)) for other in known)


def _among(value: float, known: Collection[float]) -> bool:
    return value in known or any(abs(value - other) <= _EXACT * max(value, other) for other in known)
