"""Filings by the days, quarters, years and events they report on, for questions that name no company."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Hashable, Iterable

from finrag_pipeline.resolver.fit import Facts
from finrag_pipeline.resolver.forms import ANNUAL, AskedForm
from finrag_pipeline.resolver.periods import AskedPeriod, anchor

MOST_CANDIDATES = 200
"""What more filings than this share narrows nothing."""

_DAYS_AROUND = 21
_DAYS_OF_A_MONTH = 31


class CalendarIndex:
    """Candidates for a question without company, without a look at every filing.

    Args:
        facts: the filings.
    """

    def __init__(self, facts: Iterable[Facts]) -> None:
        self._by: dict[Hashable, list[Facts]] = defaultdict(list)
        for filing in facts:
            for mark in _marks(filing):
                self._by[mark].append(filing)

    def candidates(self, periods: tuple[AskedPeriod, ...], asked: AskedForm) -> list[Facts]:
        """Filings that may fit, in order of their identifiers; none where too many do or nothing is asked.

        Args:
            periods: periods asked for.
            asked: form and events asked for.
        """
        naming = anchor(periods)
        found: dict[str, Facts] = {}
        for mark in _asked_marks(naming, asked):
            for filing in self._by.get(mark, ()):
                found[filing.filing] = filing
            if len(found) > MOST_CANDIDATES:
                return []
        return [found[name] for name in sorted(found)]


def _marks(facts: Facts) -> set[Hashable]:
    days = set(facts.dates) | ({facts.end} if facts.end else set())
    quarters = facts.quarters | ({4} if facts.form == ANNUAL else set())
    return {
        *days,
        *facts.items,
        *facts.years,
        *((year, quarter) for year in facts.years for quarter in quarters),
        *(("quarter", quarter) for quarter in quarters),
    }


def _asked_marks(naming: AskedPeriod | None, asked: AskedForm) -> list[Hashable]:
    if naming is None:
        return list(asked.items)
    if naming.date is not None:
        around = _DAYS_OF_A_MONTH if naming.whole_month else _DAYS_AROUND
        first = max(naming.date.toordinal() - around, 1)
        return [dt.date.fromordinal(day) for day in range(first, naming.date.toordinal() + around + 1)]
    if naming.fiscal_year is None:
        return [("quarter", naming.last_quarter)]
    if naming.last_quarter is not None:
        return [(naming.fiscal_year, naming.last_quarter)]
    return [naming.fiscal_year, *([naming.fiscal_year - 1] if naming.future else [])]
