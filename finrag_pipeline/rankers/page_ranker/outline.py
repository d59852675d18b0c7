"""Outline of a filing: the section, note and headings that each page stands under."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from finrag_pipeline.chunking.prose import is_heading

SECTIONS = (
    "cover",
    "contents",
    "business",
    "risk_factors",
    "properties",
    "legal_proceedings",
    "market_for_equity",
    "selected_data",
    "mdna",
    "market_risk",
    "statements",
    "notes",
    "controls",
    "governance",
    "exhibits",
    "other",
)
"""Sections of reports under Regulation S-K and S-X, in the order of a 10-K."""

_ANNUAL_ITEMS = {
    "1": "business",
    "1a": "risk_factors",
    "2": "properties",
    "3": "legal_proceedings",
    "5": "market_for_equity",
    "6": "selected_data",
    "7": "mdna",
    "7a": "market_risk",
    "8": "statements",
    **dict.fromkeys(("9", "9a"), "controls"),
    **dict.fromkeys(("10", "11", "12", "13", "14"), "governance"),
    **dict.fromkeys(("15", "16"), "exhibits"),
    **dict.fromkeys(("1b", "1c", "4", "9b", "9c"), "other"),
}
_QUARTERLY_ITEMS = {
    1: {"1": "statements", "2": "mdna", "3": "market_risk", "4": "controls"},
    2: {
        "1": "legal_proceedings",
        "1a": "risk_factors",
        "2": "market_for_equity",
        "5": "other",
        "6": "exhibits",
    },
}
_NAMES: tuple[tuple[str, str], ...] = (
    ("risk_factors", r"riskfactors"),
    ("properties", r"properties"),
    ("legal_proceedings", r"legalproceedings"),
    ("market_for_equity", r"marketfor(?:the)?(?:registrants|companys|our)?commonequity"),
    ("selected_data", r"selected(?:consolidated|historical)*financialdata"),
    ("market_risk", r"quantitativeandqualitativedisclosuresaboutmarketrisk"),
    (
        "mdna",
        r"managementsdiscussionandanalysis(?:offinancialconditionandresultsofoperations|ofresults)?"
        r"|mdanda|financialreview|operatingandfinancialreview",
    ),
    (
        "notes",
        r"(?:condensed)?notesto(?:the)?(?:unaudited|condensed|consolidated|interim)*financialstatements",
    ),
    ("statements", r"(?:consolidated)?financialstatementsandsupplementarydata|reportofindependentregistered"),
    ("controls", r"controlsandprocedures"),
    ("exhibits", r"exhibit(?:s|index)(?:and|financialstatement|schedules)*"),
    ("governance", r"directorsexecutiveofficersandcorporategovernance|executivecompensation"),
)
_NAMED = tuple((section, re.compile(f"^(?:{pattern})")) for section, pattern in _NAMES)
_ITEM = re.compile(r"^item\s*(\d{1,2}[a-c]?)(?!\.?\d)[.:)\s—–-]*", re.IGNORECASE)
_REFERENCE = re.compile(r"^(?:of|to|in|and|or|is|for|under|above|below|has|provides|,)\b|^[,;“”\"]")
_PART = re.compile(r"^part\s+(i{1,2})\b", re.IGNORECASE)
_NOTE = re.compile(r"^(?:note\s+)?(\d{1,2})\s*[.:)—–-]\s*(?=[A-Z])|^note\s+(\d{1,2})\b", re.IGNORECASE)
_RUNNING = ("risk_factors", "mdna", "market_risk", "statements", "notes", "exhibits")
"""Sections that a page's head may open without an item number."""
_CONTENTS_ITEMS = 6
_WORDS_OF_CONTENTS, _NUMBERS_OF_CONTENTS = 32, 1.6
"""Words beside an item in contents at most, or page numbers at the ends of lines at least."""
_HEAD_LINES = 4
_LONGEST = 130
_MOST_HEADINGS = 40
_LETTERS = re.compile(r"[^a-z]+")


@dataclass(frozen=True, slots=True)
class PageOutline:
    """Where a page stands.

    Attributes:
        sections: of `SECTIONS`: the one that is open when the page begins, unless its first lines open
            another, and those that open on it.
        note: heading of the note to the statements that is open at the end of the page; '' outside notes.
        headings: lines of the page that read like headings, in order.
    """

    sections: tuple[str, ...]
    note: str
    headings: tuple[str, ...]


def outline(texts: Sequence[str], form: str | None) -> list[PageOutline]:
    """Section, note and headings of every page, in order.

    Item numbers mean different things in annual and quarterly reports (``form``).
    """
    pages = []
    section, part, note = "cover", 1, ""
    for number, text in enumerate(texts):
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        headings = tuple(line for line in lines if is_heading(line))[:_MOST_HEADINGS]
        if _are_contents(lines):
            pages.append(PageOutline(("contents",), "", headings))
            continue
        if number and section == "cover":
            section = "other"
        found = [] if _opens_at_top(lines, form, part) else [section]
        for place, line in enumerate(lines):
            if len(line) > _LONGEST:
                continue
            if form == "10-Q" and (met := _PART.match(line)):
                part = len(met.group(1))
            opened = _opened(line, lines[place + 1] if place + 1 < len(lines) else "", place, form, part)
            if (
                opened is None
                and section in ("notes", "statements")
                and (met := _NOTE.match(line))
                and is_heading(line)
                and not _REFERENCE.match(line[met.end() :].strip())
            ):
                note, opened = line, "notes"
            if opened:
                found.append(opened)
                if opened in _RUNNING or _ITEM.match(line):
                    section = opened
        if section not in ("notes", "statements"):
            note = ""
        pages.append(PageOutline(tuple(dict.fromkeys(found)), note, headings))
    return pages


def _are_contents(lines: Sequence[str]) -> bool:
    """Whether a page lists items, rather than holds short ones that refer to the proxy statement."""
    items = sum(bool(_ITEM.match(line)) for line in lines)
    if items < _CONTENTS_ITEMS:
        return False
    words = [line.split() for line in lines]
    numbers = sum(one[-1].strip(".").isdigit() for one in words)
    return sum(map(len, words)) <= _WORDS_OF_CONTENTS * items or numbers >= _NUMBERS_OF_CONTENTS * items


def _opens_at_top(lines: Sequence[str], form: str | None, part: int) -> bool:
    return any(
        _opened(line, lines[place + 1] if place + 1 < len(lines) else "", place, form, part)
        for place, line in enumerate(lines[:_HEAD_LINES])
        if len(line) <= _LONGEST
    )


def _opened(line: str, after: str, place: int, form: str | None, part: int) -> str | None:
    """Section that a line opens: an item anywhere, or the name of a section as head of the page."""
    letters = _LETTERS.sub("", line.lower())
    met = _ITEM.match(line)
    if met and form in ("10-K", "10-Q", None):
        items = _QUARTERLY_ITEMS[part] if form == "10-Q" else _ANNUAL_ITEMS
        title = line[met.end() :].strip() or after
        if _REFERENCE.match(title):
            return None
        rest = _LETTERS.sub("", title.lower())
        named = next((section for section, pattern in _NAMED if pattern.match(rest)), None)
        if rest.startswith("business"):
            return "business"
        return named or items.get(met.group(1).lower())
    if place < _HEAD_LINES and len(letters) < 90:
        for section, pattern in _NAMED:
            if (match := pattern.match(letters)) and match.end() >= len(letters) - 24:
                return section
    return None
