"""Kinds of words: what tells a number of a table from text, and titles, units and periods apart."""

from __future__ import annotations

import re
from functools import lru_cache

TEXT, NUMBER, DASH, PREFIX, SUFFIX, YEAR, MARK, LEADER = range(8)
"""Kinds. DASH: a dash or another sign for 'none' or 'not meaningful'. PREFIX: a currency sign or an opening
parenthesis that stands apart. SUFFIX: a per cent sign or a closing parenthesis that stands apart. YEAR: a
year, quarter or short date, which heads columns as often as it is a value. MARK: a footnote mark. LEADER: a
row of dots that leads to a number."""

_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|\.\d+"
_CURRENCY = r"(?:US|CA?|AU?|HK|NZ|R)?[$€£¥₹]|EUR|USD|GBP|CHF|JPY"
_NUMBER = re.compile(
    rf"[(\[]?[-–−—+~<>≈±]?(?:{_CURRENCY})?[-–−+]?\(?(?:{_DIGITS})(?:[-–−](?:{_CURRENCY})?(?:{_DIGITS}))?"
    r"[x¢]?\s?[)\]]?\s?%?\)?(?:bps?|pts?|[MBKx])?[*†‡]*(?:\([a-z\d]{1,2}\))*",
    re.I,
)
_DASH = re.compile(
    rf"[(\[]?(?:{_CURRENCY})?[-–−—‐‑‒―─]{{1,3}}\)?\s?%?\)?[*†‡]*|n\.?/?[am]\.?[*†‡]*|n\.m\.?f?\.?|nil|\*{{1,3}}|†|‡|#|[•✓✔●■]",
    re.I,
)
_PREFIX = re.compile(rf"(?:{_CURRENCY})[(\[]?|[(\[](?:{_CURRENCY})?", re.I)
_SUFFIX = re.compile(r"[)\]]|[)\]]?%[)\]]?|pts?\.?|bps?|ppts?|pp|¢", re.I)
_YEAR = re.compile(
    r"(?:(?:FY|CY)?\s?['’]?(?:19|20)\d\d(?:[EAFP]|\([a-z\d]{1,2}\)|[*†])?|FY\s?['’]?\d\d|[1-4]Q(?:['’]?\d\d)?"
    r"|Q[1-4](?:['’]?\d\d)?|\d{1,2}/\d{1,2}/(?:\d\d|\d{4})|(?:19|20)\d\d[-–](?:(?:19|20)\d\d|\d\d))"
)
_MARK = re.compile(r"(?:\((?:[a-zA-Z]|\d{1,2}|[ivx]{1,4})\)[,;]?)+|[¹²³⁴-⁹]+|[*†‡§]{1,3}|\[\d{1,2}\]")
_LEADER = re.compile(r"(?:[.…·‧_]\s?){2,}|[.…·_]")

UNITS = re.compile(
    r"years?|yrs|months?|mos|days|weeks|thousand|million|billion|shares|bps|basis|points|pts|x|times", re.I
)
"""Words that may follow a number within its cell."""
_KINDS = (
    (_YEAR, YEAR),
    (_DASH, DASH),
    (_NUMBER, NUMBER),
    (_PREFIX, PREFIX),
    (_SUFFIX, SUFFIX),
    (_MARK, MARK),
    (_LEADER, LEADER),
)


@lru_cache(maxsize=1 << 17)
def kind_of(word: str) -> int:
    """Kind of a word by itself."""
    if word[0].isalpha() and word[0] not in "nNQFCEUGJHARfyuqpb":
        return TEXT
    return next((kind for pattern, kind in _KINDS if pattern.fullmatch(word)), TEXT)


@lru_cache(maxsize=1 << 14)
def is_mark(word: str) -> bool:
    """Whether the word may be a footnote mark: ``(1)``, ``(a)``, ``*``; raised type decides on digits."""
    return bool(_MARK.fullmatch(word)) or (word.isdigit() and len(word) == 1)


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
