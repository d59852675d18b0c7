"""Words that tell titles, units and periods apart."""

from __future__ import annotations

import re

_UNITS = re.compile(
    r"\(?\s*(?:(?:all|u\.?s\.?|tabular|canadian)\s+)*(?:"
    r"(?:[a-z]+\s+){0,4}?(?:and\s+[a-z]+\s+)?in\s+(?:(?:whole\s+)?(?:u\.?s\.?\s+)?dollars|thousands?|millions?|billions?"
    r"|percent|%|[$€£¥]|000).*"
    r"|(?:dollars|amounts)\)?"
    r"|(?:us)?[$€£¥]\s?(?:in|m\b|bn\b|million|billion|thousand|000).*"
    r"|(?:millions|thousands|billions)\b.*"
    r"|unaudited.*|(?:except|percent)\b.{0,60})",
    re.I,
)
_PERIOD = re.compile(
    r"(?:(?:for\s+)?(?:the\s+)?(?:fiscal\s+)?(?:years?|quarters?|months?|weeks?|periods?|(?:three|six|nine|twelve|thirteen"
    r"|twenty-six|thirty-nine|\d+)[\s-](?:months?|weeks?))\s+end(?:ed|ing)?.*|(?:as\s+)?(?:of|at)\s+(?:january|february"
    r"|march|april|may|june|july|august|september|october|november|december|fiscal|year).*|(?:january|february|march|april"
    r"|may|june|july|august|september|october|november|december)\s+\d{1,2},?(?:\s+(?:19|20)\d\d)?|fiscal(?:\s+years?)?)",
    re.I,
)
_TITLE = re.compile(
    r"\b(?:consolidated|condensed|statements?|balance sheets?|inc\.|corporation|company|subsidiaries|notes? to"
    r"|schedule|unaudited|continued|note \d+|item \d+|table of contents|reconciliation|summary|segments?)\b|\bco\.",
    re.I,
)


def is_units(text: str) -> bool:
    """Whether a text says in what units figures are, such as '(in millions)'."""
    return len(text) < 160 and bool(_UNITS.fullmatch(text))


def is_period(text: str) -> bool:
    """Whether a text is a date or a period that heads a column, such as 'Year ended December 31,'."""
    return bool(_PERIOD.fullmatch(text))


def is_title(text: str) -> bool:
    """Whether a text uses words of titles rather than of column headers."""
    return bool(_TITLE.search(text))


_NUMBERED = re.compile(
    r"\b(?:january|february|march|april|may|june|july|august|september|october|november|december|jan\.?|feb\.?"
    r"|mar\.?|apr\.?|jun\.?|jul\.?|aug\.?|sept?\.?|oct\.?|nov\.?|dec\.?|level|levels|tier|stage|class|series"
    r"|phase|note|notes|item|part|section|schedule|exhibit|asc|asu|ifrs|ias|topic|no\.?)$",
    re.I,
)


def calls_for_number(text: str) -> bool:
    """Whether a text ends in a word that a number completes: a month, 'Level', 'Note'."""
    return bool(_NUMBERED.search(text))
