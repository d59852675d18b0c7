"""Periods that the rows of a table name or shift: balances, beginnings and ends."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from finrag_pipeline.tables.fiscal_calendar import DAY, FiscalCalendar
from finrag_pipeline.tables.periods import Period, day_of, month_and_day, parse_periods, without_days
from finrag_pipeline.tables.scale import without_scale

_BALANCE = re.compile(
    r"\bbalances?\b|\b(?:outstanding|nonvested|unvested|shares) (?:at|as of),?\b|\bas of\b|^at\b",
    re.IGNORECASE,
)
_BEGINNING = re.compile(
    r"\b(?:at |, )?(?:the )?(?:beginning|start) of (?:the )?(?:fiscal )?(?:year|period|quarter)"
    r"|\b(?:beginning|opening) balances?\b"
    r"|\bbalances?,? (?:at )?(?:the )?beginning\b",
    re.IGNORECASE,
)
_END = re.compile(
    r"\b(?:at |, )?(?:the )?end of (?:the )?(?:fiscal )?(?:year|period|quarter)\b|\b(?:ending"
    r"|closing) balances?\b|\bbalances?,? (?:at )?(?:the )?end\b",
    re.IGNORECASE,
)
_ONLY_PERIOD = re.compile(
    r"(?:fiscal(?: year)?s?|fy|year|quarter|as of|at|for the|the|ended|ending|three|six|nine|twelve"
    r"|\d{1,2}|months?|weeks?|[,().*:'’-]"
    r"|first|second|third|fourth|q[1-4]|[1-4]q|(?:19|20)\d\d|january|february|march|april|may|june|july"
    r"|august|september|october"
    r"|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|\s)+",
    re.IGNORECASE,
)


# Quantities that exist on a day: a column headed by a year shows them at its end.
_STOCK = re.compile(
    r"(?:total )?(?:(?:current|non-?current|long-lived) )?(?:assets"
    r"|liabilities)(?: and (?:total )?(?:share|stock)holders[’'] equity)?"
    r"|(?:total )?(?:(?:share|stock|share)(?:holders|owners)[’'] )?equity(?: \(deficit\))?|total (?:debt"
    r"|capitalization|deposits|capital)"
    r"|working capital|cash and cash equivalents|cash, cash equivalents,? and (?:short-term investments"
    r"|marketable securities)",
    re.IGNORECASE,
)
# Quantities that only a span of time has.
_FLOW = re.compile(
    r"(?:total )?(?:net )?(?:sales|revenues?)(?: from| \(|$)|(?:net|operating|comprehensive) (?:income"
    r"|earnings|loss)\b(?!.*\baccum)"
    r"|gross (?:profit|margin)\b|cost of (?:sales|revenues?|goods)|(?:segment |adjusted )*ebitda\b"
    r"|(?:diluted|basic) (?:eps|earnings)\b"
    r"|(?:net )?cash (?:provided|used|flows? from)",
    re.IGNORECASE,
)
_AHEAD_DAYS = 200
_FOOTNOTES = re.compile(r"\s*\(\w{1,2}\)$")
_BESIDE_TIME = re.compile(
    r"\(\w\)|\(?\b(?:un)?audited\b\)?|(?<=\bquarter)s\b|\b(?:1st|2nd|3rd|4th|full)\b", re.IGNORECASE
)
_STATED_DAY = re.compile(
    r"\bend(?:ed|ing)\b|\bas (?:of|at)\b|\bat (?=[a-z]{3,9}\.? \d)|\bbalances?\b", re.IGNORECASE
)
_DATES = re.compile(r"(?:19|20)\d\d")


def only_period(text: str) -> bool:
    """Whether a text is nothing but a period: 'June 30, 2018', 'Fiscal Year 2017'."""
    return bool(_ONLY_PERIOD.fullmatch(text))


def tells_only_time(header: str) -> bool:
    """Whether a header is a period or a part of one, marks aside: '2nd Quarter (a), unaudited'."""
    rest = _BESIDE_TIME.sub("", header).strip()
    return only_period(rest) if rest else bool(header.strip())


def stated_above(lines: Sequence[str], calendar: FiscalCalendar) -> Period | None:
    """The one period that caption or lines above a table state: 'for the year ended June 30, 2016'."""
    for line in lines:
        if len(set(_DATES.findall(line))) != 1:
            continue
        line = without_scale(line)
        if _STATED_DAY.search(line) or (_ONLY_PERIOD.fullmatch(line) and line != ""):
            return parse_periods([line], calendar)
    return None


def shifted(period: Period | None, label: str | None, calendar: FiscalCalendar) -> Period | None:
    """The period of a row whose label names the beginning or the end of its column's period, or a flow.

    A column headed by the last day of a fiscal year shows sales or income of that year, assets of that day.
    """
    if period is None or label is None or period.end is None:
        return period
    if period.kind == "instant":
        year = period.fiscal_year
        if year is None or calendar.year_end(year) != period.end:
            return period
        before = calendar.year_end(year - 1)
        if _BEGINNING.search(label):
            return Period("instant", None, before, year - 1) if before else None
        if not _FLOW.match(label):
            return period
        return Period("duration", before + DAY if before else None, period.end, year)
    if _BEGINNING.search(label):
        if period.start is None:
            return None
        day = period.start - DAY
        return Period("instant", None, day, calendar.year_of(day))
    if period.start and not (_DATES.search(label) or "ended" in label):
        # 'Cash at January 1', 'Balance at June 30' below 'Six months ended June 30, 2025'
        first, before, last = period.start, period.start - DAY, period.end
        for named, day in ((last, last), (first, before), (before, before)):
            if month_and_day(label) == (named.month, named.day):
                return Period("instant", None, day, calendar.year_of(day))
    if _END.search(label) or _STOCK.fullmatch(_FOOTNOTES.sub("", label)):
        return Period("instant", None, period.end, period.fiscal_year)
    return period


def row_periods(
    row_paths: Sequence[Sequence[str]], calendar: FiscalCalendar, hints: Sequence[str]
) -> list[Period | None]:
    """Period of each row where its own label or a heading above it is one.

    A balance on a day is an instant; the rows between two balances are about the time between them.

    Args:
        row_paths: of each row.
        calendar: of the filing.
        hints: as for `parse_periods`.
    """
    periods: list[Period | None] = []
    balances: list[int] = []
    wordings = [without_days(path[-1]) if path else "" for path in row_paths]
    for path, wording in zip(row_paths, wordings, strict=True):
        period = None
        # Rows that differ in their day alone are one balance on several days, whatever it is called.
        if path and (_BALANCE.search(path[-1]) or (wording and wordings.count(wording) > 1)):
            above = periods[balances[-1]] if balances else None
            if period := _balance(path[-1], above, calendar):
                balances.append(len(periods))
        if period is None:
            for label in reversed(path):
                bare = without_scale(label)
                if _ONLY_PERIOD.fullmatch(bare) and (period := parse_periods([bare], calendar, hints)):
                    break
            if period and period.kind == "instant" and _far_ahead(period, calendar):
                # A day years ahead is one on which something falls due.
                period = None
        periods.append(period)
    for first, last in itertools.pairwise(balances):
        start, end = periods[first], periods[last]
        if start is None or end is None or start.end is None or end.end is None or start.end >= end.end:
            continue
        days = (end.end - start.end).days
        quarter = calendar.quarter_of(end.end) if 80 <= days <= 100 else None
        between = Period("duration", start.end + DAY, end.end, end.fiscal_year, quarter)
        for row in range(first + 1, last):
            periods[row] = periods[row] or between
    return periods


def _balance(label: str, above: Period | None, calendar: FiscalCalendar) -> Period | None:
    """The day of a balance; one that names no year is the first such day after the balance above."""
    found = parse_periods([label], calendar)
    day = found.end if found and not label.startswith("(") else None
    if found is None and above and above.end and (named := month_and_day(label)):
        days = (day_of(above.end.year, *named), day_of(above.end.year + 1, *named))
        day = next((one for one in days if one and one > above.end), None)
    if day is None or _far_ahead(Period("instant", None, day), calendar):
        return None
    # The balance at January 1 is that of the evening before; weekly years may end on a first day.
    if day.day == 1 and not calendar.weekly and calendar.quarter_of(day - DAY) is not None:
        day -= DAY
    return Period("instant", None, day, calendar.year_of(day) or (found.fiscal_year if found else None))


def _far_ahead(period: Period, calendar: FiscalCalendar) -> bool:
    last = calendar.period_end
    return last is not None and period.end is not None and (period.end - last).days > _AHEAD_DAYS
