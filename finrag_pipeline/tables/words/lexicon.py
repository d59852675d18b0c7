"""Words that tell titles, units and periods apart."""

from __future__ import annotations

import re

_UNITS = re.compile(
    r"\(?\s*(?:(?:all|u\.?s\.?|tabular|canadian)\s+)*(?:"
    r"(?:[a-z]+\s+){0,6}?in\s+"
    r"(?:(?:whole\s+)?(?:u\.?s\.?\s+)?dollars|thousands?|millions?|billions?|percent|%|[$€£¥]|000).*"
    r"|(?:dollars|amounts)\)?"
    r"|['’‘]?000(?:['’]?s)?(?:\s+omitted)?\)?:?"
    r"|(?:us)?[$€£¥]\s?(?:in|m\b|bn\b|million|billion|thousand|000).*"
    r"|(?:millions|thousands|billions)\b.*"
    r"|unaudited.*|(?:except|percent)\b.{0,60})",
    re.I,
)
_MONTHS = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.?)"
)
_PERIOD = re.compile(
    r"(?:[a-z\d-]+[\s/]+){0,8}?(?:years?|quarters?|months?|weeks?|periods?)\s+end(?:ed|ing)?\b.*"
    rf"|(?:as\s+)?(?:of|at)\s+(?:{_MONTHS}|fiscal|year).*"
    rf"|{_MONTHS}\s+\d{{1,2}},?(?:\s+(?:19|20)\d\d)?"
    r"|fiscal(?:\s+years?)?"
    r"|(?:first|second|third|fourth|1st|2nd|3rd|4th)\s+(?:fiscal\s+)?quarter(?:\s+(?:of\s+)?(?:fiscal\s+)?(?:19|20)\d\d)?"
    rf"|(?:[a-z]+\s+){{0,3}}through\s+(?:{_MONTHS}\s+\d{{1,2}},?\s+(?:19|20)\d\d|\d{{1,2}}/\d{{1,2}}/(?:\d{{4}}|\d\d))",
    re.I,
)
_TITLE = re.compile(
    r"\b(?:consolidated|condensed|statements?|balance sheets?|inc\.|corporation|company|subsidiaries"
    r"|notes? to|schedule|unaudited|continued|note \d+|item \d+|table of contents|reconciliation"
    r"|summary|segments?)\b|\bco\.",
    re.I,
)
_NUMBERED = re.compile(
    rf"\b(?:{_MONTHS}|levels?|tier|stage|class|series|phase|notes?|item|part|section|schedule|exhibit"
    r"|asc|asu|ifrs|ias|topic|no\.?)$",
    re.I,
)


def is_units(text: str) -> bool:
    """Whether a text says in what units figures are, such as '(in millions)'."""
    return len(text) < 160 and bool(_UNITS.fullmatch(text))


def is_period(text: str) -> bool:
    """Whether a text is a date or a period that heads a column, such as 'Year ended December 31,'."""
    return len(text) < 90 and bool(_PERIOD.fullmatch(text))


def is_title(text: str) -> bool:
    """Whether a text uses words of titles rather than of column headers."""
    return bool(_TITLE.search(text))


def calls_for_number(text: str) -> bool:
    """Whether a text ends in a word that a number completes: a month, 'Level', 'Note'."""
    return bool(_NUMBERED.search(text))
