"""Series that a question asks for: so many of the latest quarters or years, all since one, twelve months."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from finrag_pipeline.questions.tokens import fiscal_period
from finrag_pipeline.resolver.lexicon import NUMBERS, any_case
from finrag_pipeline.resolver.periods import find_periods
from finrag_pipeline.resolver.tokens import MOST_CHARACTERS, one_line
from finrag_pipeline.statements.periods import FiscalPeriod

USUAL_QUARTERS = 8
"""Quarters of a question for quarters that says neither how many nor which."""

MOST = 40
"""Periods of the longest series."""


@dataclass(frozen=True)
class SeriesAsked:
    """Which periods a series is of.

    Attributes:
        each: what follows upon what; ``twelve`` are the twelve months up to the latest quarter.
        rest: the question without the words that say so, and without its periods.
        count: how many of the latest; None where the ends say it.
        first: where it begins.
        last: where it ends; None for the latest that the filings show.
    """

    each: Literal["quarter", "year", "twelve"]
    rest: str
    count: int | None = None
    first: FiscalPeriod | None = None
    last: FiscalPeriod | None = None

    def periods(self, latest: FiscalPeriod) -> tuple[FiscalPeriod, ...]:
        """Its periods in order of time.

        Args:
            latest: quarter or year that the newest filing ends with.
        """
        end = latest.place
        if self.each == "twelve":
            return (FiscalPeriod.up_to(end, 4),)
        # A year that is under way is none yet.
        step = 4 if self.each == "year" else 1
        end -= end % step
        if self.last is not None:
            end = self.last.place if step == 4 else min(end, self.last.place)
        start = end - step * ((self.count or 1) - 1)
        if self.first is not None:
            start = self.first.place if step == 4 or self.first.quarter else self.first.place - 3
        places = range(max(start, end - step * (MOST - 1)), end + 1, step)
        return tuple(FiscalPeriod.up_to(place, step) for place in places)


_COUNT = rf"(?P<count>\d\d?|{'|'.join(list(NUMBERS)[1:])})"
_TWELVE = any_case(
    r"\b(?:(?:over|for|in|during) )?(?:the |its )?(?:trailing|last|past|latest|most recent)[ -](?:twelve|12)"
    r"[ -]months?\b(?:'s?)?(?! (?:ended|to|through)\b)|\b(?:ttm|ltm)\b"
)
_LAST = any_case(
    r"(?:\b(?:over|for|in|during|across|of|through|take|from) )?(?:\b(?:each|all|every one) of )?"
    rf"\b(?:the |its |their |all )?(?:last|past|latest|most recent|previous|recent|trailing) {_COUNT} "
    r"(?:fiscal |full |calendar |consecutive |reported |completed )?(?P<what>quarter|year)s?\b(?:'s?)?"
)
_BACK = any_case(rf"\b{_COUNT} (?P<what>quarter|year)s back\b")
_LATEST = any_case(
    r"\b(?:in |for |of )?(?:the |its )?(?:latest|most recent|last reported|newest)"
    r"(?: (?:quarterly|quarter(?:'s)?|reported quarter)\b)"
)
_BY_QUARTER = any_case(
    r"\b(?:quarter[- ](?:by|over|on|after)[- ]quarter|(?:by|per) (?:fiscal )?quarter|quarterly|"
    r"(?:(?:in|for|of|during) )?(?:each|every)(?: of the)? (?:single |fiscal )?quarters?|"
    r"all (?:the )?quarters)\b(?: (?:of|in|for)\b)?"
)
_BY_YEAR = any_case(
    r"\byear[- ](?:by|after)[- ]year\b|\b(?:(?:in|for|of|during) )?(?:each|every)(?: of the)? "
    r"(?:single |fiscal |full )?years?\b(?: (?:of|in|for)\b)?|\bannual(?:ly)?\b"
)
_SINCE = any_case(r"\b(?:since|starting (?:in|with|from)|beginning (?:in|with)|from)\b")
_SINCE_ALONE = any_case(r"\b(?:since|onwards?)\b")
_RANGED = any_case(r"\b(?:to|through|until|till|between|from)\b|[-\u2013]")
_DEVELOPS = any_case(
    r"\b(?:develop(?:s|ed|ing)?|(?<!research and )(?<!research & )(?<!product )developments?(?= of| in)|"
    r"evol(?:ve[sd]?|ving|ution)|trends?|trending|progress(?:ed|ion)?|"
    r"trajector(?:y|ies)|fluctuat\w+|over time|histor(?:y|ic|ical)|time series|series|course)\b"
    r"(?: (?:of|in|for)\b)?"
)
_MOVED = any_case(
    r"\bhow (?:has|have|did|does|do)\b(?P<what>.*?)"
    r"\b(?:(?:been )?(?:chang(?:e[sd]?|ing)|mov(?:e[sd]?|ing)|run|ran|going|gone|look(?:ed)?|var(?:y|ied)|"
    r"perform(?:ed)?|doing|done)\b)"
)
_TALK = any_case(
    r"\b(?:moved|changed|varied|went|gone|lately|so far|to date|recently|of late|"
    r"which (?:direction|way)|(?:please )?(?:lay out|chart|plot|graph)|the beginning of|the start of)\b"
)
_NO_SERIES = any_case(
    r"\b(?:why|average|mean|sum|total(?:l?ed)? (?:over|across|for) the|cumulative(?:ly)?|combined|"
    r"cagr|compound\w*|by how (?:much|many)|how (?:much|many) (?:did|has|have|more|less)|"
    r"(?:which|what) (?:of the )?(?:\w+ )?(?:quarter|year)|in which|"
    r"highest|lowest|largest|smallest|most(?! recent)|least|the (?:best|worst)|dividends?)\b|"
    r"^(?:did|does|do|was|were|is|are|has|have|had)\b|\bgr[eo]w\b|\bgrow(?:th|n|ing)\b"
)
"""What asks for one number or one period of several, or for words."""


_AUXILIARY = any_case(r"^\W*(?:have|has|had|did|does|do|was|were|is|are)\b")
_DANGLING = any_case(
    r"(?:\b(?:between|from|since|starting|over|to|through|until|in|of|for|and|during|each|the)\s+)*"
    r"\b(?:between|from|since|starting|over|to|through|until|in|of|for|and|during|the)\s*(?=[.,;?!]|$)"
)


def read_series(question: str) -> SeriesAsked | None:
    """The series that a question asks for; None where it asks for none.

    'In 2021, 2022 and 2023' is no series but three periods, which plans and formulas know themselves.

    Args:
        question: as asked.
    """
    text = one_line(question[:MOST_CHARACTERS])
    if _NO_SERIES.search(text):
        return None
    places = find_periods(text)
    if match := _TWELVE.search(text):
        return None if places else SeriesAsked("twelve", _cut(text, [match.span()]), 1)
    named = [made for place in places for asked in place.periods if (made := fiscal_period(asked))]
    spans = [(place.start, place.end) for place in places]
    if match := _LAST.search(text) or _BACK.search(text):
        if places:
            return None  # what the periods named say
        count = min(NUMBERS.get(match["count"].lower()) or int(match["count"]), MOST)
        each: Literal["quarter", "year"] = "quarter" if match["what"].lower() == "quarter" else "year"
        by = _BY_QUARTER if each == "quarter" else _BY_YEAR
        return SeriesAsked(
            each, _cut(text, [match.span(), *(one.span() for one in by.finditer(text))]), count
        )
    if match := _LATEST.search(text):
        return None if places else SeriesAsked("quarter", _cut(text, [match.span()]), 1)
    quarters, years = list(_BY_QUARTER.finditer(text)), list(_BY_YEAR.finditer(text))
    if any(period.end is not None or period.months for period in named):
        return None
    if quarters:
        cut = _cut(text, [*spans, *(one.span() for one in quarters)])
        if not named:
            return SeriesAsked("quarter", cut, USUAL_QUARTERS)
        ends = _ends(named, text)
        return SeriesAsked("quarter", cut, None, *ends) if ends else None
    moved = _MOVED.search(text)  # 'how did it change between two years' asks for the change alone
    develops = bool(years or _DEVELOPS.search(text) or (moved and "chang" not in moved[0].lower()))
    if not develops or not named or any(period.quarter for period in named):
        return None
    ends = _ends(named, text)
    if ends is None or (len(named) == 1 and not _SINCE_ALONE.search(text)):
        return None
    return SeriesAsked("year", _cut(text, [*spans, *(one.span() for one in years)]), None, *ends)


def _ends(named: Sequence[FiscalPeriod], text: str) -> tuple[FiscalPeriod, FiscalPeriod | None] | None:
    """The first and the last period meant, the latter None for the latest; None where it is not plain."""
    ordered = sorted(dict.fromkeys(named), key=lambda period: (period.year or 0, period.quarter or 0))
    first, last = ordered[0], ordered[-1]
    if _SINCE.search(text) and len(ordered) == 1 and _SINCE_ALONE.search(text):
        return first, None
    if len(ordered) == 1:
        return (first, first) if first.quarter is None else None
    together = len(ordered) == (last.year or 0) - (first.year or 0) + 1  # every year between is named
    return (first, last) if together or _RANGED.search(text) else None


def _cut(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """A question without the characters of ``spans`` and the words of telling a course."""
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]} {text[end:]}"
    text = _MOVED.sub(lambda match: f"what was {match['what']}", text)
    for words in (_DEVELOPS, _TALK):
        text = words.sub(" ", text)
    text = _AUXILIARY.sub("what was ", _DANGLING.sub(" ", text))
    return " ".join(re.sub(r"\s*[,;:]\s*(?=[.?!,;]|$)", " ", text).split())
