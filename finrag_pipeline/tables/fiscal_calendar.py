"""A company's fiscal years and quarters as days."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import lru_cache

from finrag_pipeline.filings.cover_text import add_months
from finrag_pipeline.filings.forms import CURRENT, form_family

DAY = dt.timedelta(days=1)
_QUARTER_DAYS = 91
_YEAR_DAYS = 365.2425
# Weekly calendars end a year on the same weekday, up to so many days off its anniversary.
_SLACK_DAYS = 10


@dataclass(frozen=True)
class FiscalCalendar:
    """How a filing counts its years.

    Attributes:
        fiscal_year: name of the fiscal year the filing reports on, as the filing names it.
        fiscal_quarter: 1 to 4 for a quarterly report; None or 4 where the year ends on ``period_end``.
        period_end: last day of the period reported on.
        form: form of the filing; the year and day of an 8-K without results are those of an event and say
            nothing of the fiscal year.
        year_ends: last days of fiscal years that the filing itself prints, as (name of the year, day).
    """

    fiscal_year: int | None = None
    fiscal_quarter: int | None = None
    period_end: dt.date | None = None
    form: str | None = None
    year_ends: tuple[tuple[int, dt.date], ...] = ()

    @property
    def anchor(self) -> tuple[int, dt.date] | None:
        """Name and last day of the fiscal year that the filing's period belongs to."""
        if (
            self.fiscal_year is None
            or self.period_end is None
            or form_family(self.form, self.fiscal_quarter) == CURRENT
        ):
            return self.year_ends[-1] if self.year_ends else None
        missing = 4 - (self.fiscal_quarter or 4)
        return self.fiscal_year, shift_quarters(self.period_end, missing)

    @property
    def weekly(self) -> bool:
        """Whether years end on a weekday (52 or 53 weeks) and not at the end of a month."""
        ends = [day for _, day in self.year_ends] + ([self.period_end] if self.period_end else [])
        return any(not ends_month(day) for day in ends)

    def year_end(self, year: int) -> dt.date | None:
        """Last day of the fiscal year named ``year``; None where the filing gives nothing to tell."""
        return _year_end(self, year)

    def year_of(self, day: dt.date) -> int | None:
        """Name of the fiscal year that ``day`` falls in."""
        if self.anchor is None:
            return None
        year, end = self.anchor
        guess = year + round((day - end).days / _YEAR_DAYS)
        slack = _SLACK_DAYS * DAY if self.weekly else 0 * DAY
        for candidate in (guess - 1, guess, guess + 1, guess + 2):
            last = self.year_end(candidate)
            if last is not None and day <= last + slack:
                return candidate
        return None

    def quarter_end(self, year: int, quarter: int) -> dt.date | None:
        """Last day of a fiscal quarter."""
        if year == self.fiscal_year and quarter == self.fiscal_quarter and self.period_end:
            return self.period_end
        end = self.year_end(year)
        return shift_quarters(end, quarter - 4, self.weekly) if end else None

    def quarter_of(self, end: dt.date) -> int | None:
        """Number of the fiscal quarter that ends on ``end``, within four weeks."""
        year = self.year_of(end)
        last = self.year_end(year) if year is not None else None
        if last is None:
            return None
        back = round((last - end).days / (_YEAR_DAYS / 4))
        off = abs((last - end).days - back * _YEAR_DAYS / 4)
        return 4 - back if 0 <= back <= 3 and off <= 28 else None


def ends_month(day: dt.date) -> bool:
    """Whether ``day`` is the last of its month."""
    return (day + DAY).day == 1


def month_end(year: int, month: int) -> dt.date:
    """Last day of a month."""
    return add_months(dt.date(year, month, 1), 1) - DAY


def shift_quarters(day: dt.date, quarters: int, weekly: bool | None = None) -> dt.date:
    """The end of the quarter ``quarters`` later; by months for month ends, by 13 weeks otherwise."""
    if quarters == 0:
        return day
    if ends_month(day) and not weekly:
        return add_months(day + DAY, 3 * quarters) - DAY
    return day + quarters * _QUARTER_DAYS * DAY


def start_of(end: dt.date, months: int | None, weeks: int | None, weekly: bool) -> dt.date:
    """First day of a period of ``weeks``, or of ``months``, that ends on ``end``."""
    if weeks:
        return end - (7 * weeks - 1) * DAY
    months = months or 12
    if ends_month(end):
        return add_months(end + DAY, -months)
    if weekly and months % 3 == 0:
        return end - (months // 3 * _QUARTER_DAYS - 1) * DAY
    return add_months(end, -months) + DAY


def months_of(start: dt.date | None, end: dt.date | None) -> int | None:
    """Length of a duration in months, rounded; None where a day is missing.

    A quarter of 12 to 17 weeks, and what so many quarters make up, counts as three months each.
    """
    if start is None or end is None:
        return None
    days = (end - start).days + 1
    quarters = round(days / _QUARTER_DAYS)
    # Some calendars have 16 or 17 weeks in the first or the last quarter and 12 in each of the others.
    if 1 <= quarters <= 4 and -21 <= days - quarters * _QUARTER_DAYS <= 28:
        return 3 * quarters
    return round(days / (_YEAR_DAYS / 12))


@lru_cache(maxsize=4096)
def _year_end(calendar: FiscalCalendar, year: int) -> dt.date | None:
    for name, day in calendar.year_ends:
        if name == year:
            return day
    if calendar.anchor is None:
        return None
    name, end = calendar.anchor
    if ends_month(end) and not calendar.weekly:
        return month_end(end.year + year - name, end.month)
    # The same weekday nearest to the anniversary.
    anniversary = add_months(end, 12 * (year - name))
    off = (end.weekday() - anniversary.weekday() + 3) % 7 - 3
    return anniversary + off * DAY
