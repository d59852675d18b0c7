"""What a whole filing says about its tables: calendar, currency, and scales stated once for all."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from finrag_pipeline.filings.cover_text import add_months
from finrag_pipeline.tables.fiscal_calendar import DAY, FiscalCalendar
from finrag_pipeline.tables.periods import MONTHS
from finrag_pipeline.tables.scale import ScaleRule, find_scale, only_scale, scales_in


@dataclass(frozen=True)
class TableContext:
    """Identity of a filing, as far as its tables need it.

    Attributes:
        calendar: fiscal years and quarters.
        currency: ISO 4217 code of amounts without a sign, or None where the filing shows none.
        defaults: scales stated for all tables from a page on, as (page, rule), in order; None where the
            part of the filing ends that a scale was stated for.
        page_scales: scales printed at the head of a page, by zero-based page.
        running_heads: pages whose scale belongs to a head that comes back on other pages, so that it is
            not just the units line of the page's first table.
    """

    calendar: FiscalCalendar = field(default_factory=FiscalCalendar)
    currency: str | None = None
    defaults: tuple[tuple[int, ScaleRule | None], ...] = ()
    page_scales: Mapping[int, tuple[ScaleRule, ...]] = field(default_factory=dict)
    running_heads: frozenset[int] = frozenset()

    def default_scale(self, page: int) -> ScaleRule | None:
        """The last scale stated for all tables on ``page`` or before."""
        rules = [rule for place, rule in self.defaults if place <= page]
        return rules[-1] if rules else None


_HEAD_LINES = 8
_LONGEST_HEAD = 110
_SIZES = r"(?:thousand|million|billion)s?"
_SENTENCE = re.compile(
    rf"(?:unless|(?:except|or) (?:where|as|when))\s+otherwise\s+\w+[^.;]{{0,80}}?(?:amounts?|dollars?|figures"
    rf"|tables?|data|numbers)[^.;]{{0,80}}?"
    rf"\b(?:in|nearest)\s+(?:u\.s\.\s+|us\s+)?(?:dollars?\s+|\$\s*)?{_SIZES}[^.;)]{{0,60}}"
    rf"|(?:amounts?|dollars?|figures|tables?|data|numbers|\$)[^.;]{{0,120}}?\b(?:in"
    rf"|nearest)\s+(?:u\.s\.\s+)?(?:dollars?\s+|\$\s*)?{_SIZES}"
    rf"[^.;]{{0,100}}?\b(?:unless|(?:except|or) (?:where|as|when))\s+otherwise\s+(?:noted|indicated|stated"
    rf"|specified)",
    re.IGNORECASE,
)
# (Unless otherwise noted, in millions, except per share data)
_BRACKET = re.compile(
    rf"\((?:unless|except (?:where|as)) otherwise \w+,?[^()]{{0,60}}?\bin {_SIZES}[^()]{{0,100}}\)",
    re.IGNORECASE,
)
_PART = re.compile(r"notes to .*financial statements|management[’']s discussion and analysis", re.IGNORECASE)
# 'Item 7. Discussion and Analysis (amounts in millions)', wherever on its page it stands.
_PART_LINE = re.compile(
    rf"^[ \t]*(?:(?:part\s+[iv]+\W+)?item\s+\d{{1,2}}[a-z]?\b|notes\s+to\s|management[’']s\s+discussion"
    rf"|results\s+of\s+operations\b)"
    rf"[^\n()]{{0,120}}(?:\n[^\n()]{{0,80}})?(?P<units>\([^()]{{0,60}}\bin\s+[^()\n]{{0,20}}{_SIZES}[^()]{{0,100}}\))",
    re.IGNORECASE | re.MULTILINE,
)
_UNITS_ALONE = re.compile(
    rf"^(?:u\.s\.\s+)?(?:dollars?|amounts?|\$)(?:\s+and\s+shares)?\s+in\s+{_SIZES}\b[^.]{{0,60}}$",
    re.IGNORECASE,
)
_RUNNING = re.compile(
    r"\b(?:inc|corp|corporation|company|companies|co|plc|llc|ltd|subsidiaries|group|notes to"
    r"|item \d+[a-z]?|discussion and analysis)\b",
    re.IGNORECASE,
)
_FEWEST_HEADS = 3
_STATEMENTS_ITEM = 8
# A part's title on its own line, not a reference to it in a sentence.
_ITEM = re.compile(
    r"^[ \t]*(?:part\s+[iv]+\W+)?item\s+(\d{1,2})[a-c]?\s*[.:–—-]+\s*[A-Z][^.\n]{3,100}\.?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_DATE = re.compile(
    r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(\d{1,2}),?\s+((?:19|20)\d\d)(?!\d)",
    re.IGNORECASE,
)
_YEAR_ENDED = re.compile(r"\byears?\s+end(?:ed|ing)\s+", re.IGNORECASE)
_NEAR_DAYS = 10
_YEARS_BACK = 12
_SIGNS = (("USD", re.compile(r"\$|\bU\.?S\. dollars?\b")), ("EUR", re.compile("€")), ("GBP", re.compile("£")))


def filing_context(filings_row: Mapping[str, Any], pages_text: Sequence[str]) -> TableContext:
    """Read what holds for all tables of a filing.

    Args:
        filings_row: row of the table ``filings``; ``fiscal_year``, ``fiscal_quarter``, ``period_end`` and
            ``form`` are used, each may be missing or None.
        pages_text: texts of its pages, in order.
    """
    names = ("fiscal_year", "fiscal_quarter", "period_end", "form")
    known: dict[str, Any] = {name: filings_row.get(name) for name in names}
    calendar = FiscalCalendar(**known)
    signs: Counter[str] = Counter()
    defaults: list[tuple[int, ScaleRule | None]] = []
    general: ScaleRule | None = None
    item, opened = 0, 0
    heads: dict[int, tuple[ScaleRule, ...]] = {}
    running: defaultdict[str, set[int]] = defaultdict(set)
    for page, text in enumerate(pages_text):
        for code, pattern in _SIGNS:
            signs[code] += len(pattern.findall(text))
        items = [int(match[1]) for match in _ITEM.finditer(text)]
        # Discussion and statements (items 7 and 8 of a 10-K) share their units; later items have their own.
        if opened and any(number > max(opened, _STATEMENTS_ITEM) for number in items):
            defaults.append((page, general))
            opened = 0
        item = items[-1] if items else item
        before = len(defaults)
        lines = [line for line in text.split("\n", _HEAD_LINES)[:_HEAD_LINES] if len(line) <= _LONGEST_HEAD]
        # The title of a statement and its units may be the last lines of the page before.
        last = text.rstrip().rsplit("\n", 1)[-1]
        if only_scale(last) and last.startswith("("):
            heads.setdefault(page + 1, scales_in(last))
        if rules := [rule for rule in find_scale(lines) if _heads_page(rule)]:
            heads[page] = tuple(rules)
            if words := _running_words(lines, rules[0]):
                running[words].add(page)
            # 'Notes to Consolidated Financial Statements (dollars in millions)' opens a part of the filing.
            if any(_PART.search(line) for line in lines):
                defaults += [(page, rule) for rule in rules[:1]]
        for part in _PART_LINE.finditer(text):
            defaults += [(page, rule) for rule in find_scale([" ".join(part["units"].split())])[:1]]
        if len(defaults) > before:
            opened = item
        if "therwise" in text or "OTHERWISE" in text:
            flat = " ".join(text.split())
            for pattern in (_SENTENCE, _BRACKET):
                for match in pattern.finditer(flat):
                    if rules := find_scale([match[0]]):
                        general = replace(rules[0], words=match[0].strip())
                        defaults.append((page, general))
    currency = signs.most_common(1)[0][0] if signs.total() else None
    repeated = frozenset().union(*(pages for pages in running.values() if len(pages) >= _FEWEST_HEADS))
    return TableContext(_with_year_ends(calendar, pages_text), currency, tuple(defaults), heads, repeated)


def _running_words(lines: Sequence[str], rule: ScaleRule) -> str | None:
    """The name of a company or part in whose head a scale stands, on its line or the one before."""
    for place, line in enumerate(lines):
        if rule.words in line:
            for words in (line.replace(rule.words, ""), lines[place - 1] if place else ""):
                if _RUNNING.search(words):
                    return f"{' '.join(words.casefold().split())} {rule.words.casefold()}"
    return None


def _heads_page(rule: ScaleRule) -> bool:
    """Whether a scale stands alone at the head of a page rather than in a sentence."""
    return rule.words.startswith("(") or bool(_UNITS_ALONE.match(rule.words))


def _with_year_ends(calendar: FiscalCalendar, pages: Sequence[str]) -> FiscalCalendar:
    """The calendar with the last days of fiscal years that the filing prints.

    Only years of 52 or 53 weeks need them: those that end with a month can be told.
    """
    anchor = calendar.anchor
    if anchor is None:
        return _from_words(calendar, pages)
    if not calendar.weekly:
        return calendar
    year, end = anchor
    counts: defaultdict[int, Counter[dt.date]] = defaultdict(Counter)
    anniversaries = {year + off: add_months(end, 12 * off) for off in range(-_YEARS_BACK, 3)}
    for page in pages:
        for match in _DATE.finditer(page):
            day = _date(match)
            if day is None:
                continue
            off = round((day - end).days / 365.2425)
            near = anniversaries.get(year + off)
            if near is not None and abs((day - near).days) <= _NEAR_DAYS:
                counts[year + off][day] += 1
    ends = {name: days.most_common(1)[0][0] for name, days in counts.items()}
    # The same weekday as the anchor's, unless the calendar follows a date.
    known = {name: day for name, day in ends.items() if name == year or (day - end).days % 7 == 0}
    known[year] = end
    return replace(calendar, year_ends=tuple(sorted(known.items())))


def _from_words(calendar: FiscalCalendar, pages: Sequence[str]) -> FiscalCalendar:
    """The calendar of a filing without a period of its own: the year end it names most."""
    ends: Counter[dt.date] = Counter()
    for page in pages:
        for match in _YEAR_ENDED.finditer(page):
            date = _DATE.match(page, match.end())
            day = _date(date) if date else None
            if day:
                ends[day] += 1
    if not ends:
        return calendar
    end = max(ends.items(), key=lambda item: (item[1], item[0]))[0]
    return replace(calendar, fiscal_quarter=None, year_ends=(((end - 8 * DAY).year, end),))


def _date(match: re.Match[str]) -> dt.date | None:
    try:
        return dt.date(int(match[3]), MONTHS.index(match[1].lower()[:3]) + 1, int(match[2]))
    except ValueError:
        return None
