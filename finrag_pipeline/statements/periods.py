"""Fiscal periods: which facts are of one, and how amounts of spans that are printed give another's.

Quarterly reports print the year to date beside the quarter, or alone; a fourth quarter and twelve months up
to a quarter are hardly printed at all. All of them are sums and differences of spans that are (`spans_of`).
"""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from finrag_pipeline.statements.filed_facts import WEEK, Fact, FilingInfo
from finrag_pipeline.tables.fiscal_calendar import months_of


@dataclass(frozen=True, slots=True)
class FiscalPeriod:
    """A period or the instant at its end.

    Attributes:
        year: fiscal year, as the question or the filings name it; None for a day without a fiscal year.
        quarter: quarter that the period ends with, 1 to 4; None for a whole year.
        months: length where it is not that of the year or quarter: 6 and 9 for a half and nine months.
        end: last day, where a day was named.
    """

    year: int | None = None
    quarter: int | None = None
    months: int | None = None
    end: dt.date | None = None

    def shift(self, years: int) -> FiscalPeriod:
        """The same period ``years`` years later; earlier where negative."""
        end = self.end
        if end is not None:
            # The last day of February may not exist in the other year.
            day = 28 if (end.month, end.day) == (2, 29) else end.day
            end = end.replace(year=end.year + years, day=day)
        return replace(self, year=None if self.year is None else self.year + years, end=end)

    @property
    def length(self) -> int:
        """Months that it takes."""
        return self.months or (3 if self.quarter else 12)

    @property
    def of_year(self) -> int:
        """The fiscal year, or that of the last day; 0 where neither is known."""
        return self.year or (self.end.year if self.end else 0)

    @property
    def place(self) -> int:
        """Quarters from the year 0 to its end."""
        return 4 * (self.year or 0) + (self.quarter or (self.months or 12) // 3)

    @classmethod
    def up_to(cls, place: int, quarters: int = 1) -> FiscalPeriod:
        """One to four quarters that end with the one at a `place`; four are a year, or twelve months."""
        year, quarter = (place - 1) // 4, (place - 1) % 4 + 1
        if quarters == quarter == 4:
            return cls(year)
        return cls(year, quarter, None if quarters == 1 else 3 * quarters)

    @property
    def label(self) -> str:
        """For people: ``FY2019``, ``Q2 FY2023``, ``9 months of FY2023``, ``2023-06-30``."""
        if self.end is not None:
            return f"{self.months} months to {self.end}" if self.months else str(self.end)
        if self.months == 12 and self.quarter:
            return f"12 months to Q{self.quarter} FY{self.year}"
        if self.months:
            return f"{self.months} months of FY{self.year}"
        return f"Q{self.quarter} FY{self.year}" if self.quarter else f"FY{self.year}"

    @property
    def code(self) -> str:
        """As in formulas: ``2019``, ``2023Q2``, ``2023M9``, ``2023-06-30``."""
        if self.end is not None:
            return f"{self.end}" + (f"M{self.months}" if self.months else "")
        tail = f"M{self.months}" if self.months else f"Q{self.quarter}" if self.quarter else ""
        return f"{self.year}{tail}"


Span = tuple[int, FiscalPeriod]
"""A period, and whether its amount is added (1) or taken off (-1)."""

_MOST_SPANS = 5
_SLACK = dt.timedelta(days=WEEK)


def spans_of(period: FiscalPeriod, shown: Callable[[FiscalPeriod], bool]) -> list[Span]:
    """The fewest printed spans whose sum a period is, those that are added first; empty where there are none.

    The ends of quarters are places, and what is printed leads from one to another: a quarter, or the year up
    to it. The way from the beginning of a period to its end may go back.

    Args:
        period: of one to four quarters.
        shown: whether filings print the amount of a quarter, of a year, or of a year to date.
    """
    quarters = period.length // 3
    if period.year is None or period.end is not None or period.length % 3 or not 1 <= quarters <= 4:
        return []
    end = period.place
    start = end - quarters
    spans = {
        (place - long, place): FiscalPeriod.up_to(place, long)
        for place in range(4 * (start // 4) + 1, 4 * ((end - 1) // 4 + 1) + 1)
        for long in {1, (place - 1) % 4 + 1}
        if (place - long, place) != (start, end)
    }
    steps: dict[int, list[tuple[int, Span]]] = {}
    for (first, last), span in spans.items():
        steps.setdefault(first, []).append((last, (1, span)))
        steps.setdefault(last, []).append((first, (-1, span)))
    ways: deque[tuple[int, list[Span]]] = deque([(start, [])])
    reached = {start}
    known: dict[FiscalPeriod, bool] = {}
    while ways:
        place, way = ways.popleft()
        if len(way) == _MOST_SPANS:
            break
        for beyond, (sign, span) in steps.get(place, ()):
            if beyond in reached:
                continue
            if span not in known:
                known[span] = shown(span)
            if not known[span]:
                continue
            if beyond == end:
                return sorted([*way, (sign, span)], key=lambda step: (-step[0], step[1].place))
            reached.add(beyond)
            ways.append((beyond, [*way, (sign, span)]))
    return []


def told_way(period: FiscalPeriod, way: Sequence[Span]) -> str:
    """What `spans_of` found, in words."""
    if period.quarter == 4 and len(way) == 2 and [sign for sign, _ in way] == [1, -1]:
        return "the year less its first nine months"
    more, less = ([span.label for sign, span in way if sign == wanted] for wanted in (1, -1))
    return " less ".join(filter(None, (" plus ".join(more), " and ".join(less))))


def add_up(spans: Iterable[tuple[int, Fact]], quarters: int) -> bool:
    """Whether signed facts leave one stretch of so many quarters, day by day.

    Years and quarters that were named alike are not where a company has changed its fiscal year.
    """
    ends: list[tuple[dt.date, int]] = []
    for sign, fact in spans:
        if fact.period_start is None or fact.period_end is None:
            return False
        ends += [(fact.period_start, sign), (fact.period_end + dt.timedelta(days=1), -sign)]
    left: list[tuple[dt.date, int]] = []
    for day, sign in sorted(ends):
        if left and (day - left[-1][0]).days <= WEEK:
            left[-1] = (left[-1][0], left[-1][1] + sign)
        else:
            left.append((day, sign))
    match [one for one in left if one[1]]:
        case [(start, 1), (after, -1)]:
            return months_of(start, after - dt.timedelta(days=1)) == 3 * quarters
    return False


def name_by_company(
    filings: Sequence[tuple[FilingInfo, Sequence[Fact]]],
) -> list[tuple[FilingInfo, Sequence[Fact]]]:
    """Facts of filings of a company, without a fiscal year where they lie between two fiscal calendars.

    Until a company that has changed the end of its fiscal year closes its first new one, its reports name
    quarters by the old calendar; those of the new one have the same names and other days.
    """
    ends = sorted(
        {
            (info.period_end, "10-KT" in (info.form or ""))
            for info, _ in filings
            if info.annual and info.period_end
        }
    )
    between = [found for one, other in pairwise(ends) if (found := _transition(one[0], *other))]
    if not between:
        return list(filings)

    def named(fact: Fact) -> Fact:
        start, end = fact.period_start, fact.period_end
        if start and end and any(first - _SLACK <= start and end <= last + _SLACK for first, last in between):
            return replace(fact, fiscal_year=None, fiscal_quarter=None)
        return fact

    return [(info, [named(fact) for fact in facts]) for info, facts in filings]


def _transition(before: dt.date, end: dt.date, short: bool) -> tuple[dt.date, dt.date] | None:
    """First and last day between two calendars; ``end`` is that of a short year or of a whole one."""
    last = end if short else end - dt.timedelta(days=365)
    odd = (last - before).days % 365.25
    if _SLACK.days * 2 < odd < 365.25 - _SLACK.days * 2:
        return last - dt.timedelta(days=int(odd) - 1), last
    return None


def same_days(one: Fact, other: Fact) -> bool:
    """Whether two facts are of the same days, but for what a calendar of weeks may be off."""
    assert one.period_end and other.period_end
    return abs((one.period_end - other.period_end).days) <= WEEK


def fits(fact: Fact, info: FilingInfo, period: FiscalPeriod) -> int | None:
    """0 where a fact of a filing is of the period, 1 where only of the year to date, else None."""
    assert fact.period_end is not None
    if period.end is not None:
        if abs((fact.period_end - period.end).days) > WEEK:
            return None
        wanted = fact.months if fact.period_kind == "instant" else period.months or (12 if info.annual else 3)
        if fact.period_kind == "instant" or fact.months == wanted:
            return 0
        return 1 if period.months is None and (fact.months or 0) > (wanted or 0) else None
    if fact.period_kind == "instant":
        return 0 if _instant(fact, info, period) else None
    if fact.fiscal_year != period.year or fact.months is None:
        return None
    if period.months:
        return 0 if fact.months == period.months else None
    if period.quarter is None:
        return 0 if 11 <= fact.months <= 13 else None
    if fact.months == 3:
        return 0 if fact.fiscal_quarter == period.quarter else None
    # A statement of cash flows of a quarterly report shows the year to date alone.
    if fact.statement != "cash_flows":
        return None
    ends = _ends_quarter(fact.period_end, info, period)
    return 1 if ends and period.quarter > 1 and fact.months == 3 * period.quarter else None


def _instant(fact: Fact, info: FilingInfo, period: FiscalPeriod) -> bool:
    assert fact.period_end is not None
    if period.quarter is not None and period.quarter < 4:
        return _ends_quarter(fact.period_end, info, period)
    if fact.fiscal_year != period.year:
        return False
    if info.annual or info.period_end is None:
        return True
    # The balance sheet of a quarterly report shows the last year-end beside the quarter's end.
    apart = (info.period_end - fact.period_end).days
    return abs(apart) > WEEK and abs(apart - 365) > WEEK


def _ends_quarter(day: dt.date, info: FilingInfo, period: FiscalPeriod) -> bool:
    if info.fiscal_quarter != period.quarter or info.period_end is None or info.fiscal_year is None:
        return False
    behind = info.fiscal_year - (period.year or 0)
    return behind in (0, 1) and abs((info.period_end - day).days - 365 * behind) <= WEEK
