"""Scales that printed words set: thousands, millions, billions or none, and what they exempt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Literal

from finrag_pipeline.tables.values import CURRENCIES, INVISIBLE

Quantity = Literal["all", "currency", "shares", "count"]
Exempt = Literal["per share", "shares", "percent", "ratio", "count"]


@dataclass(frozen=True, slots=True)
class ScaleRule:
    """A scale as printed.

    Attributes:
        scale: full units per printed unit: 1, 1e3, 1e6, 1e9 or 1e12.
        words: the phrase that sets it, as printed.
        applies: to all quantities, or to those the phrase names: amounts of money, shares, or counts.
        exempt: quantities that the phrase takes out.
    """

    scale: float
    words: str
    applies: Quantity = "all"
    exempt: frozenset[Exempt] = frozenset()


_LONGEST_PHRASE = 160
_NOTE = re.compile(r"\W{0,2}(?P<mark>[a-z]|\d{1,2})[).]\s*(?P<text>.+)", re.IGNORECASE)
_MARKS = re.compile(r"\(([a-z]|\d{1,2})\)(?=(?:\s*\((?:[a-z]|\d{1,2})\))*$)", re.IGNORECASE)
_SIGNS = "|".join(re.escape(sign) for sign in CURRENCIES if not sign.isalpha())
_CODES = "|".join(sign for sign in CURRENCIES if sign.isalpha())
_CURRENCY = (
    r"(?:u\.?\s?s\.?\s*|united\sstates\s|canadian\s|australian\s)?"
    rf"(?:dollars?|euros?|pounds?(?:\ssterling)?|yen|francs?|kron(?:or|er|a)|{_SIGNS}|\b(?:{_CODES})\b)"
)
_SHARES = r"(?:shares?|options?|units?|awards?|warrants?|rsus?|psus?|adss?|share|stock\soptions)"
_SIZE = r"(?:thousand|million|billion|trillion)"
# fmt: off
_SCALES = {
    "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12,
    "mm": 1e6, "mn": 1e6, "mil": 1e6, "mils": 1e6, "mln": 1e6, "m": 1e6, "bn": 1e9, "b": 1e9, "bil": 1e9,
    "bils": 1e9,
    "k": 1e3, "000": 1e3, "000s": 1e3, "000's": 1e3, "000,000": 1e6, "000,000s": 1e6, "000,000's": 1e6,
}
# fmt: on
# A number before the word makes it prose: '$1.2 billion'.
_PHRASE = re.compile(
    rf"""
    (?:
        # in thousands; in U.S. $ millions; in thousands of dollars; in hundreds of millions
        (?:\bin\s+|\(in)(?:{_CURRENCY}\s*)?(?P<plural>{_SIZE})(?:s|(?=\s*(?:[),;]|(?:[A-Z]{{2,3}}\s)?{_CURRENCY})))
            (?:\s+of\s+(?P<of>[^\W\d]+\.?(?:\s?[^\W\d]\.)?(?:\s+dollars)?))?
      | \b(?:in|of)\s+(?:{_CURRENCY})\s*(?P<singular>{_SIZE})\b
        # $ millions; dollars millions; US$ million; thousands of dollars
      | (?:(?<=\()|(?<=[\s,;])|^)(?:{_CURRENCY})[\s'’]*(?:in\s+)?(?P<after>{_SIZE})s?\b
      | (?<!\d\s)(?<!of\s)\b(?P<before>{_SIZE})s?\s+of\s+(?P<money>{_CURRENCY}|{_SHARES})
        # (Millions); (Millions except per share); (Thousands, unaudited)
      | \(\s*(?P<alone>{_SIZE})s?\s*(?=[),;]|except|unless|where|as\ )
      | ^\s*(?P<line>{_SIZE})s\s*(?=$|[,;]|except)
        # shares millions; (000's omitted); $000; $ mm; (in 000s); in mm
      | (?:in\s+|\(\s*|{_CURRENCY}\s*)['’‘]?(?P<zeros>0{{3}}(?:,0{{3}})?(?:['’]?s)?)(?=[\s),;]|$)
      | (?:\bin\s+|{_CURRENCY}\s?(?:in\s)?)(?P<short>mm|mn|mils?|mln|bn|bils?|m|b|k)\b\.?(?=[\s),;]|$)
        # (in dollars); (in whole dollars); actual amounts
      | \(\s*(?:in\s+)?
            (?P<whole>(?:whole\s+|actual\s+)?(?:{_CURRENCY})|(?:whole|actual)\s+(?:amounts|numbers|units))
            \s*(?=[),;]|except|per)
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_QUICK = re.compile(
    r"thousand|million|billion|trillion|000|\b(?:mm|mn|bn|mil|mils|mln|bil|bils)\b"
    rf"|(?:{_SIGNS}|\b(?:{_CODES}))\s?(?:in\s)?[mbk]\b"
    r"|\(\s*(?:in\s+)?(?:whole|actual|(?:u\.?\s?s\.?\s*)?dollar|[$€£])",
    re.IGNORECASE,
)
_UNAUDITED = re.compile(r"\(?unaudited\)?", re.IGNORECASE)
_EXCEPT = re.compile(r"\b(?:except(?:ing)?(?:\s+for)?|other than|excluding)\b(?P<what>[^);]*)", re.IGNORECASE)
# '... of awards, with shares in' over 'thousands:'.
_IN_LAST = re.compile(r"(?:\bin|\bof|\$)$", re.IGNORECASE)
_SIZE_NEXT = re.compile(r"(?:thousand|million|billion)s\b", re.IGNORECASE)
_PER_SHARE = re.compile(
    r"per[\s-]?(?:common |ordinary |diluted |basic )?(?:share|unit|ads|stock)s?|\beps\b|par value"
    r"|per[\s-]?\w+\b(?=\s+(?:data|amounts))",
    re.IGNORECASE,
)
_OTHER_WORDS: dict[Exempt, str] = {
    "shares": r"\bshares?\b|\bstock data\b|\bunits?\b(?! sold)",
    "percent": r"percent|per cent|%|\brates?\b|\bmargins?\b",
    "ratio": r"\bratios?\b|\bmultiples?\b|\bturns\b",
    "count": r"number of|headcount|employees|stores?\b|customers|count|statistics|statistical|days|years"
    r"|volumes?|square",
}
_SUBJECT_SHARES = re.compile(
    r"\b(?:shares?|stock options?|options?|units|awards|rsus?)\b(?:\s+(?:data|amounts?|information|counts?"
    r"|numbers?))?"
    r"(?:\s+(?:are|is))?\s*[:\-]?\s*$",
    re.IGNORECASE,
)
_SUBJECT_MONEY = re.compile(
    rf"(?:{_CURRENCY}|\bdollar)(?:\s+(?:data|amounts?|figures|values?))?(?:\s+(?:are|is))?\s*$", re.IGNORECASE
)
_BOTH = re.compile(
    r"(?:\bdollars?|\bamounts?|\$)(?: amounts?)? (?:and|&) (?:number of )?"
    r"(?:shares?|units|\w+ square feet)\b",
    re.IGNORECASE,
)
_SUBJECT_COUNT = re.compile(
    r"\b(?:customers?|members|memberships|subscribers|accounts|barrels|tons|tonnes|gallons|gigawatt hours"
    r"|volumes?"
    r"|square feet|visits|transactions|headcount|employees|connections)\s*$",
    re.IGNORECASE,
)


def find_scale(lines: Sequence[str]) -> list[ScaleRule]:
    """The scales that lines of text set, in the order printed.

    A phrase that opens a bracket and ends on one of the next two lines counts as one.

    Args:
        lines: caption, units line, header cells or a row label, as printed.
    """
    return [rule for line in _joined(lines) for rule in _of_line(line)]


@lru_cache(maxsize=16384)
def scales_in(text: str) -> tuple[ScaleRule, ...]:
    """The scales that one text sets, as `find_scale`; results are kept."""
    return tuple(find_scale([text])) if _QUICK.search(text) else ()


def noted_scales(lines: Sequence[str]) -> dict[str, tuple[ScaleRule, ...]]:
    """The scales that footnotes set, by mark: '(a) In thousands.' sets that of what is marked '(a)'."""
    found: dict[str, tuple[ScaleRule, ...]] = {}
    for line in lines:
        note = _NOTE.match(line.translate(INVISIBLE))
        if note and only_scale(note["text"].rstrip(". ")):
            found[note["mark"].lower()] = scales_in(note["text"])
    return found


def marks_of(text: str) -> tuple[str, ...]:
    """Footnote marks in parentheses at the end of a text: 'RSUs/PSUs (a)' has 'a'."""
    return tuple(mark.lower() for mark in _MARKS.findall(text))


def only_scale(text: str) -> bool:
    """Whether a text does nothing but set a scale: '(in millions, except per share data)', 'Millions'."""
    bare = _UNAUDITED.sub("", text).strip()
    rules = scales_in(bare)
    return bool(rules) and len(rules[0].words) >= 0.8 * len(bare)


@lru_cache(maxsize=16384)
def without_scale(text: str) -> str:
    """A text without the phrases in it that set a scale."""
    for rule in scales_in(text):
        text = text.replace(rule.words, " ")
    return text.strip()


def _joined(lines: Sequence[str]) -> list[str]:
    joined: list[str] = []
    open_for = 0
    for line in lines:
        line = " ".join(line.translate(INVISIBLE).split())
        if joined and _SIZE_NEXT.match(line) and _IN_LAST.search(joined[-1]):
            joined[-1] += " " + line
        elif open_for and joined[-1].count("(") > joined[-1].count(")"):
            joined[-1] += " " + line
            open_for -= 1
        else:
            joined.append(line)
            open_for = 2 if line.count("(") > line.count(")") else 0
    return joined


@lru_cache(maxsize=16384)
def _of_line(line: str) -> tuple[ScaleRule, ...]:
    if not _QUICK.search(line):
        return ()
    found = []
    for match in _PHRASE.finditer(line):
        scale, applies = _reading(match, line)
        start, end = _phrase(line, match)
        found.append((scale, applies, line[start:end].strip(" ,;:-–—"), _exempt(line[match.end() : end])))
    # 'dollars in millions, shares in thousands, except per share': the exception is everybody's.
    shared: frozenset[Exempt] = frozenset().union(*(exempt for *_, exempt in found))
    shared -= {"shares"} if any(applies == "shares" for _, applies, *_ in found) else frozenset()
    rules: dict[Quantity, ScaleRule] = {}
    for scale, applies, words, _ in found:
        rules.setdefault(applies, ScaleRule(scale, words, applies, shared))
    return tuple(rules.values())


def _reading(match: re.Match[str], line: str) -> tuple[float, Quantity]:
    """Scale of a phrase and the quantity it is said of."""
    named = match.groupdict()
    if named["whole"]:
        return 1.0, "currency" if re.search(_CURRENCY, named["whole"], re.IGNORECASE) else "all"
    size = next(named[key] for key in _SIZE_GROUPS if named[key])
    scale = _SCALES[size.lower().replace("’", "'")]
    of = named["of"] or named["money"]
    if of:
        if re.fullmatch(_SHARES, of, re.IGNORECASE):
            return scale, "shares"
        if re.match(_CURRENCY, of, re.IGNORECASE) or of.lower().startswith(("u.", "us", "u.s")):
            return scale, "currency"
        # 'in millions of barrels' speaks of barrels; 'in thousands of employees' of people.
        return scale, "count"
    head = line[: match.start()].rstrip()
    clauses = [clause.strip() for clause in re.split(r"[,;(]", head)]
    # 'number of shares, which are reflected in thousands'
    clause = clauses[-2] if len(clauses) > 1 and clauses[-1].startswith("which ") else clauses[-1]
    if _BOTH.search(clause):
        return scale, "all"
    clause = re.split(r"\band\b", clause)[-1].strip()
    if clause and _SUBJECT_SHARES.search(clause):
        return scale, "shares"
    if clause and _SUBJECT_COUNT.search(clause):
        return scale, "count"
    if (clause and _SUBJECT_MONEY.search(clause)) or re.match(rf"\(?\s*{_CURRENCY}", match[0], re.IGNORECASE):
        return scale, "currency"
    return scale, "all"


_SIZE_GROUPS = ("plural", "singular", "after", "before", "alone", "line", "zeros", "short")


def _phrase(line: str, match: re.Match[str]) -> tuple[int, int]:
    """Bounds of the words to keep: the bracket around the phrase, or its clause up to the line's end."""
    opened = line.rfind("(", 0, match.start() + 1)
    if opened >= 0 and ")" not in line[opened : match.start()]:
        depths = accumulate({"(": 1, ")": -1}.get(character, 0) for character in line[opened:])
        end = next((opened + place for place, depth in enumerate(depths, 1) if not depth), len(line))
        return opened, min(end, opened + _LONGEST_PHRASE)
    start = max(
        line.rfind(mark, 0, match.start()) + len(mark) for mark in (". ", ";", ") ", "- ", "– ", "— ")
    )
    if start < 2:
        start = 0
    stop = re.compile(r"\.(?:\s|$)|;|:\s*$|\s\(").search(line, match.end())
    end = stop.start() if stop else len(line)
    start = max(start, match.start() - 60) if match.start() - start > 60 else start
    return start, min(end, match.end() + _LONGEST_PHRASE)


def _exempt(behind: str) -> frozenset[Exempt]:
    match = _EXCEPT.search(behind)
    if not match:
        return frozenset()
    # 'except share and per share data' exempts both.
    rest, prices = _PER_SHARE.subn(" ", match["what"])
    exempt = {name for name, words in _OTHER_WORDS.items() if re.search(words, rest, re.IGNORECASE)}
    if prices:
        exempt.add("per share")
    return frozenset(exempt)
