"""A concept over all filings of a company: printed, or told from what is printed of other spans."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from finrag_pipeline.answering.calculate import NOT_SHOWN, Calculation
from finrag_pipeline.answering.derivation import Input
from finrag_pipeline.answering.inputs import FactBook
from finrag_pipeline.questions.abstention import Abstention
from finrag_pipeline.questions.expression import Name
from finrag_pipeline.questions.formula_lexicon import Line, formula_lexicon
from finrag_pipeline.statements.filed_facts import Fact, FilingInfo, newest_last
from finrag_pipeline.statements.page_evidence import KINDS
from finrag_pipeline.statements.periods import FiscalPeriod, name_by_company

Each = Literal["quarter", "year", "twelve"]


@dataclass(frozen=True)
class PeriodValue:
    """What filings tell of a concept for a period.

    Attributes:
        value: in full units, with the sign of the statement; None where they do not tell it.
        how: the sum that gives it, in words; '' where it is printed.
        inputs: the facts it is, or is computed from; the newest filing that shows each.
        others: what other filings or rows show instead.
    """

    period: FiscalPeriod
    value: float | None
    how: str = ""
    inputs: tuple[Input, ...] = ()
    others: tuple[dict[str, Any], ...] = ()

    @property
    def end(self) -> dt.date | None:
        """Last day of what it is made of."""
        return max((one.fact.period_end for one in self.inputs if one.fact.period_end), default=None)

    def as_json(self) -> dict[str, Any]:
        """``{period, code, value, unit, currency, how, sources, others}``."""
        first = self.inputs[0].fact if self.inputs else None
        return {
            "period": self.period.label,
            "code": self.period.code,
            "value": self.value,
            "unit": first.unit if first else None,
            "currency": first.currency if first else None,
            "how": self.how,
            "sources": [
                {
                    **one.fact.cited(),
                    "period": one.period,
                    "value": one.value,
                    "printed": one.fact.printed,
                    "box": list(one.fact.box) if one.fact.box else None,
                    "period_start": one.fact.period_start and one.fact.period_start.isoformat(),
                    "period_end": one.fact.period_end and one.fact.period_end.isoformat(),
                }
                for one in self.inputs
            ],
            "others": list(self.others),
        }


def fact_series(
    filings: Sequence[tuple[FilingInfo, Sequence[Fact]]], concept: str, each: Each
) -> list[PeriodValue]:
    """A concept by quarters, by years, or over the twelve months up to each quarter, in order of time.

    Args:
        filings: those of one company.
        concept: us-gaap name, or that of a line of the lexicon, in any case.
        each: what follows upon what.

    Returns:
        From the first period that is told to the last; those between that are not told have no value. What
        lies between two fiscal calendars is named by its last day.
    """
    named = concept.lower()
    order = newest_last([info for info, _ in filings])
    own = name_by_company(
        [
            (info, [replace(fact, line=concept) for fact in facts if named in _names(fact)])
            for info, facts in sorted(filings, key=lambda one: order[one[0].filing], reverse=True)
        ]
    )
    years = {fact.fiscal_year for _, facts in own for fact in facts if fact.fiscal_year}
    if not years:
        return []
    last = max((info.own_place for info, _ in own if info.own_place), default=4 * max(years))
    book = FactBook(own, formula_lexicon(), newest=True)
    line = Line(concept, concept, (concept,), KINDS)
    step, long = (4, 4) if each == "year" else (1, 4 if each == "twelve" else 1)
    told = [
        _told(book, line, FiscalPeriod.up_to(place, long))
        for place in range(4 * (min(years) - 1) + step, last + 1, step)
    ]
    for period in _between_calendars([fact for _, facts in own for fact in facts], each):
        after = (at for at, one in enumerate(told) if one.end and period.end and one.end > period.end)
        told.insert(next(after, len(told)), _told(book, line, period))
    shown = [at for at, one in enumerate(told) if one.value is not None]
    return told[shown[0] : shown[-1] + 1] if shown else []


def _between_calendars(facts: Sequence[Fact], each: Each) -> list[FiscalPeriod]:
    """Quarters, or for years the whole time, between two fiscal calendars, in order."""
    found = {
        (fact.period_end, fact.months)
        for fact in facts
        if fact.fiscal_year is None and fact.months and fact.period_end
    }
    if each == "year":
        found = {max(found)} if found else set()
    kept = [one for one in sorted(found) if each == "year" or (each == "quarter" and one[1] == 3)]
    return [FiscalPeriod(None, None, months, end) for end, months in kept]


def _names(fact: Fact) -> set[str]:
    return {name.lower() for name in (fact.concept, fact.line) if name}


def _told(book: FactBook, line: Line, period: FiscalPeriod) -> PeriodValue:
    calculation = Calculation(book, formula_lexicon(), {line.name: line}, discrete=True)
    try:
        quantity = calculation.compute(Name(line.name), period)
    except Abstention as missing:
        if missing.kind not in NOT_SHOWN:
            raise
        return PeriodValue(period, None)
    trace = calculation.trace
    how = "; ".join(step.partition(" = ")[2].rpartition(": ")[2] for step in trace.steps)
    return PeriodValue(period, float(quantity.value), how, tuple(trace.inputs), tuple(trace.alternatives))
