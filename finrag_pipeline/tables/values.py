"""What one printed cell says: a number with its marks, nothing, or text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Kind = Literal["number", "missing", "text"]

DASH = "printed as a dash"
BROKEN = "broken encoding"


@dataclass(frozen=True, slots=True)
class ParsedValue:
    """A printed cell, read.

    Attributes:
        kind: ``number``; ``missing`` for a dash or a word such as 'N/A'; ``text`` for all else.
        number: as printed, sign applied, before any scale; 0.0 for a dash, None if there is none.
        currency: ISO 4217 code of a sign or code in the cell, or None.
        percent: carries a per cent sign, 'bps' or 'percentage points'.
        ratio: carries an x ('1.2x') or stands to one ('1.2:1').
        reason: why there is no number; for a dash, that it is one.
        factor: full units per printed unit where the cell itself says so: 0.01 for per cent, 0.0001 for
            basis points, 1e6 for '$1.2 million'; None otherwise.
        word: the words or sign behind ``factor``, 'per share', or a measure such as 'years'.
        decimals: digits printed behind the decimal mark.
        grouped: digits come in groups of three ('1,577').
    """

    kind: Kind
    number: float | None = None
    currency: str | None = None
    percent: bool = False
    ratio: bool = False
    reason: str | None = None
    factor: float | None = None
    word: str | None = None
    decimals: int = 0
    grouped: bool = False

    @property
    def looks_like_year(self) -> bool:
        """Four plain digits from 1900 to 2100, without sign or mark."""
        return (
            self.number is not None
            and 1900 <= self.number <= 2100
            and not (self.grouped or self.decimals or self.currency or self.word or self.percent)
        )


# A yen sign is read as Japan's; a yuan is recognised by its code only.
# fmt: off
CURRENCIES = {
    "US$": "USD", "U.S.$": "USD", "USD": "USD", "C$": "CAD", "CA$": "CAD", "CAD": "CAD", "CDN$": "CAD",
    "A$": "AUD", "AU$": "AUD", "AUD": "AUD", "NZ$": "NZD", "NZD": "NZD", "R$": "BRL", "BRL": "BRL",
    "HK$": "HKD", "HKD": "HKD", "S$": "SGD", "SGD": "SGD", "NT$": "TWD", "TWD": "TWD", "MX$": "MXN",
    "MXN": "MXN", "$": "USD", "€": "EUR", "EUR": "EUR", "£": "GBP", "GBP": "GBP", "¥": "JPY", "JPY": "JPY",
    "RMB": "CNY", "CNY": "CNY", "CHF": "CHF", "₹": "INR", "INR": "INR", "₩": "KRW", "KRW": "KRW",
    "₽": "RUB", "RUB": "RUB", "₺": "TRY", "TRY": "TRY", "₪": "ILS", "ILS": "ILS", "ZAR": "ZAR",
    "SEK": "SEK", "NOK": "NOK", "DKK": "DKK", "PLN": "PLN",
}
# fmt: on
CURRENCY_PATTERN = "|".join(re.escape(sign) for sign in sorted(CURRENCIES, key=len, reverse=True))

SCALE_WORDS = {
    "thousand": 1e3, "k": 1e3, "million": 1e6, "mm": 1e6, "mn": 1e6, "m": 1e6, "billion": 1e9, "bn": 1e9,
    "b": 1e9, "trillion": 1e12, "tn": 1e12,
}  # fmt: skip
_PER_CENT = frozenset({"%", "percent", "per cent", "pct", "pts", "pt", "pp", "ppt", "ppts", "ppl"}) | {
    "percentage points",
    "percentage point",
    "% pts",
    "points",
}
_BASIS_POINTS = frozenset({"bps", "bp", "basis points", "basis point"})
_RATIOS = frozenset({"x", "×", "times", ":1", "to 1", "to 1.0", "to 1.00", ": 1", ":1.0", ":1.00"})
_MEASURE = r"years?|yrs?\.?|months?|mos\.?|days?|weeks?|hours?"

_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−﹘﹣－─"), "-")
_SPACES = dict.fromkeys(map(ord, "\xa0\u2007\u2008\u2009\u200a\u202f\u3000\t\n\r"), " ")
_MARKS = (
    "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff\u00ad"
)
INVISIBLE = dict.fromkeys(map(ord, _MARKS), "")
"""Drops soft hyphens, joiners and marks of direction."""
_TABLE = _DASHES | _SPACES | INVISIBLE
_ODD = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff]|\\(cid:\\d+\\)")
_DASH_CELL = re.compile(
    rf"(?P<before>{CURRENCY_PATTERN})?\s*(?:-{{1,4}}|\(\s*-{{1,3}}\s*\))\s*(?P<mark>%|{CURRENCY_PATTERN}|x)?"
)
_NO_VALUE = re.compile(
    r"(?:n\.?\s?/\s?a\.?|n\.\s?a\.|na|n\.?\s?/?\s?m\.?f?\.?|nmf|n\.?/d\.?|not (?:meaningful|applicable"
    r"|available)|none"
    r"|nil|\*{1,3}|#|\.{2,}|x{2,})\s*%?",
    re.IGNORECASE,
)
_SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹ᵃᵇᶜᵈᵉ"
_FOOTNOTE_END = re.compile(
    r"(?<=[\d)%x.-])\s*(?:\((?P<round>[a-z]{1,2}|\d{1,2}|[ivx]{1,4}|[*†‡#]+)\)|\[\w{1,3}\]"
    rf"|[*†‡§#¹]+|[{_SUPERSCRIPTS}]+)\s*,?$",
    re.IGNORECASE,
)
_MARKED = re.compile(rf"\d[.,]\d|[)%x]|{CURRENCY_PATTERN}")
_FOOTNOTE_START = re.compile(r"^(?:\([a-z]\)|[*†‡§]+)\s+(?=[\d$(.-])", re.IGNORECASE)

_AMERICAN = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
_NUMBER = re.compile(
    rf"(?P<before>(?:[-+(]|{CURRENCY_PATTERN}|\s)*)"
    rf"(?P<plain>{_AMERICAN})(?![\d.,]\d)"
    r"(?P<after>.*)"
)
_AFTER = re.compile(
    r"\s*(?P<close>\)?)\s*(?:(?P<scale>thousand|million|billion|trillion|mm|mn|bn|tn|[kmb])\b\.?)?"
    r"\s*(?P<word>%\s?pts|%|per\s?cent\b|pct\b|percentage points?|ppts?\b|pp\b|pts?\b\.?|points\b|bps?\b"
    r"|basis points?"
    rf"|[x×](?!\w)|times\b|(?::|to)\s?1(?:\.0+)?\b|(?:{_MEASURE})(?!\w))?"
    rf"\s*(?P<currency>{CURRENCY_PATTERN})?"
    r"\s*(?P<per>(?:per|/|a)\s?(?:common |ordinary |diluted |basic )?(?:share|unit"
    r"|ads)\b)?\s*(?P<last>\)?)\s*",
    re.IGNORECASE,
)
_REASONS = {
    "a date": re.compile(
        r"\d{1,2}/\d{1,2}(?:/\d{2,4})?|\d{4}-\d\d-\d\d|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov"
        r"|dec)[a-z]*\.?\s*\d",
        re.IGNORECASE,
    ),
    "a range or several numbers": re.compile(r"[\d%]\s?(?:-|to|–)\s?[$(]?\d"),
    "several numbers": re.compile(r"[\d-]\)?%?\s+[($-]*\d"),
    "words beside the number": re.compile(r"[^\W\d_]{2,}"),
}
"""Why a cell with digits is no number, the first that holds."""


@lru_cache(maxsize=65536)
def parse_value(text: str) -> ParsedValue:
    """Read a printed cell.

    A parenthesis before or behind a number makes it negative, also when its partner was lost. A comma is
    the mark of thousands and a point that of decimals. Nothing is guessed: what fits no known form is text.
    """
    if _ODD.search(text):
        return ParsedValue("text", reason=BROKEN)
    plain = " ".join(text.translate(_TABLE).split())
    if not plain:
        return ParsedValue("missing", reason="empty")
    if _NO_VALUE.fullmatch(plain):
        return ParsedValue("missing", reason=f"printed as {plain}")
    plain = _without_footnotes(plain)
    if dash := _DASH_CELL.fullmatch(plain):
        return _dash(dash)
    match = _NUMBER.fullmatch(plain)
    after = _AFTER.fullmatch(match["after"]) if match else None
    if match is None or after is None or not _sound(match["before"]):
        return ParsedValue("text", reason=_why_text(plain))
    return _number(match, after)


def _dash(match: re.Match[str]) -> ParsedValue:
    mark = match["mark"]
    sign = match["before"] or (mark if mark in CURRENCIES else None)
    percent = mark == "%"
    return ParsedValue(
        "missing",
        number=0.0,
        currency=CURRENCIES[sign] if sign else None,
        percent=percent,
        ratio=mark == "x",
        reason=DASH,
        factor=0.01 if percent else None,
        word="%" if percent else None,
    )


def _without_footnotes(plain: str) -> str:
    """The cell without the marks of footnotes."""
    plain = _FOOTNOTE_START.sub("", plain)
    while end := _FOOTNOTE_END.search(plain):
        head = plain[: end.start()]
        # "(12)" is negative, "1,234 (1)" bears a footnote, and "12 (3)" may be two numbers.
        if not re.search(r"[\d-]", head) or ((end["round"] or "").isdigit() and not _MARKED.search(head)):
            break
        plain = head.rstrip()
    return plain


def _sound(before: str) -> bool:
    """Whether the marks before a number hold at most one of each kind.

    '- (5)' may be a dash and a footnote, or two cells.
    """
    if "- (" in before:
        return False
    signs = re.sub(r"\s", "", before)
    if signs.count("(") > 1 or signs.count("-") + signs.count("+") > 1:
        return False
    return len(re.findall(CURRENCY_PATTERN, signs)) <= 1


def _number(match: re.Match[str], after: re.Match[str]) -> ParsedValue:
    digits = match["plain"]
    size = float(digits.replace(",", ""))
    before = match["before"]
    closed = bool(after["close"] or after["last"])
    negative = "(" in before or "-" in before or closed
    sign = re.search(CURRENCY_PATTERN, before)
    word = " ".join((after["word"] or "").lower().split()).rstrip(".")
    currency = sign[0] if sign else after["currency"]
    percent, ratio = word in _PER_CENT, word in _RATIOS
    factor: float | None = None
    scale = after["scale"]
    if word in _BASIS_POINTS:
        percent, factor = True, 1e-4
    elif percent:
        factor = 0.01
    elif scale:
        # A lone letter is a scale only beside a currency: '5 m' may be metres.
        if len(scale) == 1 and not currency:
            return ParsedValue("text", reason="a letter behind the number")
        factor, word = SCALE_WORDS[scale.lower()], scale
    elif after["per"]:
        word = "per share"
    return ParsedValue(
        "number",
        number=-size if negative and size else size,
        currency=CURRENCIES[currency.upper()] if currency else None,
        percent=percent,
        ratio=ratio,
        factor=factor,
        word=word or None,
        decimals=len(digits.partition(".")[2]),
        grouped="," in digits,
    )


def _why_text(plain: str) -> str:
    """Reason for a cell that holds no single number."""
    if not re.search(r"\d", plain):
        return "currency sign without a number" if plain in CURRENCIES else "no number"
    return next((why for why, form in _REASONS.items() if form.search(plain)), "no known form of a number")
