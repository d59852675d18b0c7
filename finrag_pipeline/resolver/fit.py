"""How well a filing fits the periods and the form a question asks for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from finrag_pipeline.filings.forms import ANNUAL, CURRENT, EARNINGS, QUARTERLY, form_family
from finrag_pipeline.resolver.forms import AskedForm
from finrag_pipeline.resolver.periods import AskedPeriod, anchor

# Shares of a filing's fit that the naming period and the others asked for have.
_ANCHOR_SHARE = 0.8
_FEW_DAYS = 7
_DAYS_TO_REPORT = 21
_DAYS_AFTER = 120
_CALENDAR_LABEL = 0.85
"""Weight of the calendar year of a fiscal year's end as its name, where the filing names it otherwise."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a filing.

    Attributes:
        filing: identifier.
        form: ``10-K``, ``10-Q``, ``8-K`` or ``EARNINGS``; None if unknown.
        filed_as: the same but for an 8-K that encloses an earnings release, which is ``EARNINGS`` above.
        years: names of its fiscal year, how sure each is, and what is said of it where its cover has another.
        quarters: fiscal quarter as the filing and others state it.
        end: last day of the period, or day of the event.
        dates: complete dates on the first pages.
        items: items of Form 8-K on the first pages.
    """

    filing: str
    form: str | None
    filed_as: str | None
    years: Mapping[int, tuple[float, str]]
    quarters: frozenset[int]
    end: dt.date | None
    dates: frozenset[dt.date]
    items: frozenset[str]


class Fit(NamedTuple):
    """Fit of a filing in [0, 1], and why."""

    score: float
    reasons: tuple[str, ...] = ()


def read_facts(row: Mapping[str, Any], dates: frozenset[dt.date], items: frozenset[str]) -> Facts:
    """Take what matters from a row of ``filings``; absent or odd values count as unknown."""
    years: dict[int, tuple[float, str]] = {}
    end = row.get("period_end")
    end = end.date() if isinstance(end, dt.datetime) else end if isinstance(end, dt.date) else None
    if isinstance(end, dt.date):
        years[end.year] = (_CALENDAR_LABEL, " (the calendar year in which it ends)")
    if isinstance(declared := row.get("declared_year"), int):
        years[declared] = (0.97, " (as declared)")
    if isinstance(stated := row.get("fiscal_year"), int):
        years[stated] = (1.0, "")
    quarters = {row.get("fiscal_quarter"), row.get("declared_quarter")}
    form = next(filter(form_family, (row.get("form"), row.get("declared_form"))), None)
    return Facts(
        filing=str(row["filing"]),
        form=form_family(form, row.get("fiscal_quarter")),
        filed_as=form_family(form),
        years=years,
        quarters=frozenset(quarter for quarter in quarters if isinstance(quarter, int)),
        end=end,
        dates=dates,
        items=items,
    )


def may_fit(facts: Facts, naming: AskedPeriod | None, asked: AskedForm) -> bool:
    """Whether a filing may be meant where no company is named: it has the period, or the event, asked for."""
    if naming is None:
        return not facts.items.isdisjoint(asked.items)
    if day := naming.date:
        around = dt.timedelta(31 if naming.whole_month else _DAYS_TO_REPORT)
        days = (*facts.dates, facts.end)
        return any(one is not None and abs(one - day) <= around for one in days)
    quarters = {None, *facts.quarters, *([4] if facts.form == ANNUAL else [])}
    year = naming.fiscal_year
    ahead = naming.future and naming.last_quarter is None and year is not None and year - 1 in facts.years
    return naming.last_quarter in quarters and (year is None or year in facts.years or ahead)


def fit(facts: Facts, periods: Sequence[AskedPeriod], asked: AskedForm, recency: int, alone: bool) -> Fit:
    """Rate how likely a filing of the right company is the one a question asks for.

    Args:
        facts: the filing.
        periods: periods asked for.
        asked: form asked for or suggested.
        recency: number of filings of the company and form with a later end.
        alone: the company has no other filing.
    """
    naming = anchor(tuple(periods))
    if naming is None:
        score, reasons = _without_period(facts, recency, alone)
    else:
        score, reasons = _match(facts, naming, asked)
        if others := [_match(facts, period, asked).score for period in periods if period is not naming]:
            score = _ANCHOR_SHARE * score + (1 - _ANCHOR_SHARE) * sum(others) / len(others)
    weight, why = _form_weight(facts, asked, naming)
    score *= weight
    if facts.filed_as == CURRENT and (items := facts.items & set(asked.items)):
        item = min(items)
        score = score + (1 - score) * (0.55 if score > 0.15 or naming is None else 0.2)
        why = (*why, f'item {item} of the 8-K: "{asked.items[item]}"')
    return Fit(round(min(max(score, 0.0), 1.0), 4), (*reasons, *why))


def _without_period(facts: Facts, recency: int, alone: bool) -> Fit:
    if alone:
        return Fit(0.8, ("the company's only filing",))
    base = {ANNUAL: 0.5, QUARTERLY: 0.44, EARNINGS: 0.42, CURRENT: 0.36}.get(facts.form or "", 0.3)
    return Fit(base * 0.85**recency, ("no period asked" + ("" if recency else ": the latest first"),))


def _match(facts: Facts, period: AskedPeriod, asked: AskedForm) -> Fit:
    quarter = period.last_quarter
    if period.date is not None:
        return _match_date(facts, period, period.date)
    if period.fiscal_year is None:
        if facts.form == ANNUAL:
            return Fit(0.5 if quarter == 4 else 0.2)
        return Fit(0.7, (f"quarter {quarter}, year not asked",)) if quarter in facts.quarters else Fit(0.1)
    best = Fit(0.02)
    for year, (sure, label) in facts.years.items():
        ahead = period.fiscal_year - year
        rated = (
            _match_year(facts, period, ahead, asked)
            if quarter is None
            else _match_quarter(facts, period, ahead)
        )
        if rated.score * sure > best.score:
            same = f"the fiscal year asked for, {year}"
            reason = (f"fiscal year {year}, not {period.fiscal_year}" if ahead else same) + label
            best = Fit(rated.score * sure, (reason, *rated.reasons))
    return best


def _match_year(facts: Facts, period: AskedPeriod, ahead: int, asked: AskedForm) -> Fit:
    """Fit of a filing to a whole year that is ``ahead`` years after its own."""
    form, quarter = facts.form, max(facts.quarters, default=0)
    whole = form == ANNUAL or (form == EARNINGS and quarter == 4)
    looks_ahead = (f'looks ahead: "{asked.forward}"',)
    if ahead == 0:
        if period.future and form in (QUARTERLY, EARNINGS) and not whole:
            return Fit(0.66 + 0.01 * quarter, looks_ahead)
        found = Fit(1.0)
        if form == EARNINGS and quarter == 4:
            found = Fit(0.82, ("results of the fourth quarter show the year",))
        elif form != ANNUAL:
            found = Fit({CURRENT: 0.34, QUARTERLY: 0.36, None: 0.7}.get(form, 0.4) + 0.01 * quarter)
        if form != ANNUAL and form == asked.form:
            found = Fit(0.75 + 0.01 * quarter, found.reasons)
        return Fit(found.score * (0.75 if period.future and whole else 1.0), found.reasons)
    if ahead == 1 and period.future and whole:
        return Fit(0.85 if form == EARNINGS else 0.7, looks_ahead)
    if ahead == 1:
        return Fit(0.16 if whole else 0.06)
    if ahead == -1:
        score = {ANNUAL: 0.5, QUARTERLY: 0.26, EARNINGS: 0.22}.get(form or "", 0.04)
        return Fit(score, ("shown as comparative",))
    if ahead == -2 and form == ANNUAL:
        return Fit(0.42, ("shown as comparative",))
    if period.future and whole and 1 < ahead <= 5:
        return Fit(0.3)
    return Fit(0.12 if form == ANNUAL and -5 <= ahead < 0 else 0.03)


def _match_quarter(facts: Facts, period: AskedPeriod, ahead: int) -> Fit:
    """Fit to a quarter (or the quarter a half ends with) of a year ``ahead`` years after the filing's own."""
    form, quarter = facts.form, period.last_quarter or 0
    if form == CURRENT:
        if ahead == 0 and facts.end is not None and (facts.end.month + 2) // 3 == quarter:
            return Fit(0.35, ("in the quarter asked for",))
        return Fit(0.08 if ahead == 0 else 0.03)
    if form is None:
        return Fit(0.5 if ahead == 0 else 0.05)
    if form == ANNUAL:
        if ahead:
            return Fit(0.12 if ahead == -1 else 0.03)
        if quarter == 4:
            return Fit(0.88, ("the fourth quarter ends the year",))
        return Fit(0.4, ("the year holds the quarter",))
    own = max(facts.quarters, default=0)
    name = f"quarter {quarter}" if period.half is None else f"half {period.half}"
    if own == quarter:
        comparative = Fit(0.45, (f"{name} shown as comparative",)) if ahead == -1 else Fit(0.04)
        return comparative if ahead else Fit(1.0, (name,))
    if ahead == 0:
        return Fit(0.26 if own > quarter else 0.14, ("another quarter of the year",))
    return Fit(0.05)


def _match_date(facts: Facts, period: AskedPeriod, day: dt.date) -> Fit:
    end, printed = facts.end, day in facts.dates
    if end is None:
        return Fit(0.5, (f"prints {day}",)) if printed else Fit(0.1)
    apart = (day - end).days
    within_month = period.whole_month and (day.year, day.month) == (end.year, end.month)
    if facts.form == CURRENT:
        return _match_event(end, day, apart, printed, within_month)
    if within_month or abs(apart) <= (_FEW_DAYS if period.months or period.whole_month else 1):
        short = period.months not in (None, 12)
        sure = 1.0 if short == (facts.form != ANNUAL) else 0.6 if short else 0.75 if period.months else 0.85
        return Fit(sure, (f"its period ends on {end}",))
    if abs(apart) <= _FEW_DAYS:
        return Fit(0.85, (f"date {day} is {abs(apart)} days from the period end {end}",))
    if -370 - (31 if period.whole_month else 0) <= apart <= -360:
        return Fit(0.48 if facts.form == ANNUAL else 0.4, (f"date {day} shown as comparative",))
    if facts.form != ANNUAL and 0 < -apart <= 366 and printed:
        return Fit(0.45, (f"prints {day}",))
    if printed:
        return Fit(0.7, (f"the first pages print {day}",))
    if -(366 if facts.form == ANNUAL or 4 in facts.quarters else 92) <= apart <= 0:
        return Fit(0.5, (f"date {day} lies in the period to {end}",))
    if 0 < apart <= _DAYS_AFTER:
        return Fit(0.3, (f"date {day} is {apart} days after the period end {end}",))
    return Fit(0.2 if facts.form == ANNUAL and -800 <= apart < 0 else 0.04)


def _match_event(end: dt.date, day: dt.date, apart: int, printed: bool, within_month: bool) -> Fit:
    if apart == 0:
        return Fit(1.0, (f"its event is of {day}",))
    if within_month:
        return Fit(0.9, (f"event of {end} in the month asked for",))
    if printed:
        return Fit(0.95, (f"the first pages print {day}",))
    if abs(apart) > _DAYS_TO_REPORT:
        return Fit(0.2 if abs(apart) <= 60 else 0.04)
    reason = f"date {day} is {abs(apart)} days {'after' if apart > 0 else 'before'} the event of {end}"
    return Fit(0.9 if abs(apart) <= _FEW_DAYS else 0.6, (reason,))


def _form_weight(facts: Facts, asked: AskedForm, naming: AskedPeriod | None) -> Fit:
    """Factor of a filing's fit for its form; above 1 where the question suggests the form."""
    form = facts.form
    if asked.form is not None:
        if asked.form in (form, facts.filed_as):
            return Fit(1.0, (f'form {asked.form}: "{asked.words}"',))
        near = {asked.form, form} in ({EARNINGS, CURRENT}, {EARNINGS, ANNUAL}, {EARNINGS, QUARTERLY})
        return Fit(0.6 if near or form is None else 0.4)
    if naming is None and asked.interim and form == QUARTERLY:
        return Fit(1.2, (f'asks for a part of the year: "{asked.interim}"',))
    if form == EARNINGS and asked.release:
        return Fit(1.3, (f'usual in earnings releases: "{asked.release}"',))
    if form == EARNINGS and asked.report:
        return Fit(0.8)
    return Fit(0.95 if form in (ANNUAL, QUARTERLY) and asked.release and not asked.report else 1.0)
