"""How well a filing fits the periods and the form a question asks for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
        years: names of its fiscal year and how sure each is.
        quarters: fiscal quarter as the filing and others state it.
        end: last day of the period, or day of the event.
        dates: complete dates on the first pages.
        items: items of Form 8-K on the first pages.
    """

    filing: str
    form: str | None
    years: Mapping[int, tuple[float, str]]
    quarters: frozenset[int]
    end: dt.date | None
    dates: frozenset[dt.date]
    items: frozenset[str]


@dataclass(frozen=True, slots=True)
class Fit:
    """Fit of a filing in [0, 1], and why."""

    score: float
    reasons: tuple[str, ...]


def read_facts(row: Mapping[str, Any], dates: frozenset[dt.date], items: frozenset[str]) -> Facts:
    """Take what matters from a row of ``filings``; absent or odd values count as unknown."""
    years: dict[int, tuple[float, str]] = {}
    end = row.get("period_end")
    end = end.date() if isinstance(end, dt.datetime) else end if isinstance(end, dt.date) else None
    if isinstance(end, dt.date):
        years[end.year] = (_CALENDAR_LABEL, "the calendar year of its end")
    if isinstance(declared := row.get("declared_year"), int):
        years[declared] = (0.97, "as declared")
    if isinstance(stated := row.get("fiscal_year"), int):
        years[stated] = (1.0, "of the cover")
    quarters = {row.get("fiscal_quarter"), row.get("declared_quarter")}
    return Facts(
        filing=str(row["filing"]),
        form=form_family(row.get("form")) or form_family(row.get("declared_form")),
        years=years,
        quarters=frozenset(quarter for quarter in quarters if isinstance(quarter, int)),
        end=end,
        dates=dates,
        items=items,
    )


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
        others = [period for period in periods if period is not naming]
        if others:
            second = [_match(facts, period, asked)[0] for period in others]
            score = _ANCHOR_SHARE * score + (1 - _ANCHOR_SHARE) * sum(second) / len(second)
    weight, why = _form_weight(facts, asked, naming)
    score *= weight
    if facts.form == CURRENT and (items := facts.items & set(asked.items)):
        item = min(items)
        score = score + (1 - score) * (0.55 if score > 0.15 or naming is None else 0.2)
        why = (*why, f'item {item} of the 8-K: "{asked.items[item]}"')
    return Fit(round(min(max(score, 0.0), 1.0), 4), (*reasons, *why))


def _without_period(facts: Facts, recency: int, alone: bool) -> tuple[float, tuple[str, ...]]:
    if alone:
        return 0.8, ("the company's only filing",)
    base = {ANNUAL: 0.5, QUARTERLY: 0.44, EARNINGS: 0.42, CURRENT: 0.36}.get(facts.form or "", 0.3)
    score = base * 0.85**recency
    return score, ("no period asked: the latest first",) if recency == 0 else ("no period asked",)


def _match(facts: Facts, period: AskedPeriod, asked: AskedForm) -> tuple[float, tuple[str, ...]]:
    if period.date is not None:
        return _match_date(facts, period, period.date)
    if period.fiscal_year is None:
        return _match_bare_quarter(facts, period)
    best: tuple[float, tuple[str, ...]] = (0.02, ())
    for year, (sure, label) in facts.years.items():
        shape = _match_year if period.last_quarter is None else _match_quarter
        score, how = shape(facts, period, period.fiscal_year - year, asked)
        score *= sure
        if score > best[0]:
            best = (score, (_year_reason(period, year, label), *how))
    return best


def _year_reason(period: AskedPeriod, year: int, label: str) -> str:
    if period.fiscal_year == year:
        return f"fiscal year {period.fiscal_year} = FY{year} {label}"
    return f"fiscal year {period.fiscal_year} beside FY{year} {label}"


def _match_year(
    facts: Facts, period: AskedPeriod, ahead: int, asked: AskedForm
) -> tuple[float, tuple[str, ...]]:
    """Fit of a filing to a whole year that is ``ahead`` years after its own."""
    form, quarter = facts.form, max(facts.quarters, default=0)
    whole = form == ANNUAL or (form == EARNINGS and quarter == 4)
    score: float
    how: tuple[str, ...] = ()
    if ahead == 0:
        score = {ANNUAL: 1.0, CURRENT: 0.34, QUARTERLY: 0.36, None: 0.7}.get(form, 0.4) + 0.01 * quarter * (
            form != ANNUAL
        )
        if form == EARNINGS and quarter == 4:
            score, how = 0.82, ("results of the fourth quarter show the year",)
        if form != ANNUAL and form == asked.form:
            score = 0.75 + 0.01 * quarter
        if period.future and form in (QUARTERLY, EARNINGS) and not whole:
            score, how = 0.66 + 0.01 * quarter, (f'looks ahead: "{asked.forward}"',)
        if period.future and whole:
            score *= 0.75
    elif ahead == 1:
        score = 0.16 if whole else 0.06
        if period.future and whole:
            score, how = (0.85 if form == EARNINGS else 0.7), (f'looks ahead: "{asked.forward}"',)
    elif ahead == -1:
        score = {ANNUAL: 0.5, QUARTERLY: 0.26, EARNINGS: 0.22}.get(form or "", 0.04)
        how = ("shown as comparative",)
    elif ahead == -2 and form == ANNUAL:
        score, how = 0.42, ("shown as comparative",)
    else:
        score = 0.12 if form == ANNUAL and -5 <= ahead < 0 else 0.03
        if period.future and whole and 1 < ahead <= 5:
            score = 0.3
    return score, how


def _match_quarter(
    facts: Facts, period: AskedPeriod, ahead: int, asked: AskedForm
) -> tuple[float, tuple[str, ...]]:
    """Fit to a quarter (or the quarter a half ends with) of a year ``ahead`` years after the filing's own."""
    form, quarter = facts.form, period.last_quarter
    own = 4 if form == ANNUAL else max(facts.quarters, default=0)
    if form == CURRENT:
        near = facts.end is not None and ahead == 0 and (facts.end.month + 2) // 3 == quarter
        return (0.35, ("in the quarter asked for",)) if near else (0.08 if ahead == 0 else 0.03, ())
    if form is None:
        return (0.5 if ahead == 0 else 0.05), ()
    name = f"quarter {quarter}" if period.half is None else f"half {period.half}"
    if own == quarter and form != ANNUAL:
        if ahead == 0:
            return 1.0, (name,)
        return (0.45, (f"{name} shown as comparative",)) if ahead == -1 else (0.04, ())
    if form == ANNUAL:
        if ahead == 0:
            return (
                (0.88, ("the fourth quarter ends the year",))
                if quarter == 4
                else (0.4, ("the year holds the quarter",))
            )
        return 0.12 if ahead == -1 else 0.03, ()
    if ahead == 0:
        return (0.26 if own > (quarter or 0) else 0.14), ("another quarter of the year",)
    return 0.05, ()


def _match_bare_quarter(facts: Facts, period: AskedPeriod) -> tuple[float, tuple[str, ...]]:
    quarter = period.last_quarter
    own = {4} if facts.form == ANNUAL else facts.quarters
    if facts.form == ANNUAL:
        return (0.5 if quarter == 4 else 0.2), ()
    return (0.7, (f"quarter {quarter}, year not asked",)) if quarter in own else (0.1, ())


def _match_date(facts: Facts, period: AskedPeriod, day: dt.date) -> tuple[float, tuple[str, ...]]:
    if facts.end is None:
        return (0.5, (f"prints {day}",)) if day in facts.dates else (0.1, ())
    apart = (day - facts.end).days
    tolerance = 31 if period.whole_month else 0
    if facts.form == CURRENT:
        return _match_event(facts, day, apart, period)
    if abs(apart) <= max(_FEW_DAYS if period.months or period.whole_month else 1, 0):
        return _exact_end(facts, period, day)
    if period.whole_month and (day.year, day.month) == (facts.end.year, facts.end.month):
        return _exact_end(facts, period, day)
    if abs(apart) <= _FEW_DAYS:
        return 0.85, (f"date {day} is {abs(apart)} days from the period end {facts.end}",)
    covered = 366 if facts.form == ANNUAL or 4 in facts.quarters else 92
    if -370 - tolerance <= apart <= -360:
        return (0.48 if facts.form == ANNUAL else 0.4), (f"date {day} shown as comparative",)
    if facts.form != ANNUAL and 0 < -apart <= 366 and day in facts.dates:
        return 0.45, (f"prints {day}",)
    if day in facts.dates:
        return 0.7, (f"the first pages print {day}",)
    if -covered <= apart <= 0:
        return 0.5, (f"date {day} lies in the period to {facts.end}",)
    if 0 < apart <= _DAYS_AFTER:
        return 0.3, (f"date {day} is {apart} days after the period end {facts.end}",)
    return (0.2 if facts.form == ANNUAL and -800 <= apart < 0 else 0.04), ()


def _exact_end(facts: Facts, period: AskedPeriod, day: dt.date) -> tuple[float, tuple[str, ...]]:
    reason = (f"date {day} = period end {facts.end}",)
    if facts.form == ANNUAL:
        return (1.0 if period.months in (None, 12) else 0.6), reason
    wanted = period.months is not None and period.months < 12
    return (1.0 if wanted else 0.85 if period.months is None else 0.75), reason


def _match_event(
    facts: Facts, day: dt.date, apart: int, period: AskedPeriod
) -> tuple[float, tuple[str, ...]]:
    assert facts.end is not None
    if apart == 0:
        return 1.0, (f"date {day} = event of the 8-K",)
    if period.whole_month and (day.year, day.month) == (facts.end.year, facts.end.month):
        return 0.9, (f"event of {facts.end} in the month asked for",)
    if day in facts.dates:
        return 0.95, (f"the first pages print {day}",)
    relation = "after" if apart > 0 else "before"
    reason = (f"date {day} is {abs(apart)} days {relation} the event of {facts.end}",)
    if -_FEW_DAYS <= apart <= _FEW_DAYS:
        return 0.9, reason
    if abs(apart) <= _DAYS_TO_REPORT:
        return 0.6, reason
    return (0.2 if abs(apart) <= 60 else 0.04), ()


def _form_weight(facts: Facts, asked: AskedForm, naming: AskedPeriod | None) -> tuple[float, tuple[str, ...]]:
    form = facts.form
    if asked.form is not None:
        if form == asked.form:
            return 1.0, (f'form {form}: "{asked.words}"',)
        near = {asked.form, form} in ({EARNINGS, CURRENT}, {EARNINGS, ANNUAL}, {EARNINGS, QUARTERLY})
        return (0.6 if near or form is None else 0.4), ()
    weight = 1.0
    why: tuple[str, ...] = ()
    if form == EARNINGS and asked.release:
        weight, why = 1.3, (f'usual in earnings releases: "{asked.release}"',)
    elif form == EARNINGS and asked.report:
        weight = 0.8
    elif form in (ANNUAL, QUARTERLY) and asked.release and not asked.report:
        weight = 0.95
    if naming is None and asked.interim and form == QUARTERLY:
        weight, why = 1.2, (f'asks for a part of the year: "{asked.interim}"',)
    return weight, why
