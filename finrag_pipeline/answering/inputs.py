"""Inputs of a calculation: the fact that shows a line of a statement for a period, and those against it."""

from __future__ import annotations

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import pyarrow as pa
from rapidfuzz import fuzz

from finrag_pipeline.errors import LakeError
from finrag_pipeline.questions.expression import FiscalPeriod
from finrag_pipeline.questions.formula_lexicon import Lexicon, Line
from finrag_pipeline.statements.concepts import normal_label

SCOPES = ("primary", "condensed", "summary", "mdna", "note")
"""Where facts are taken from, best first; those of the parent alone or of other entities never are."""

SAME_LABEL = 93.0
"""Least similarity (0 to 100) of words of a question to a printed label."""
DISAGREE = 0.0005
"""Relative difference from which two facts contradict each other; less is rounding."""

_WEEK = 8


@dataclass(frozen=True, slots=True)
class Fact:
    """A row of ``statement_facts``; see its schema."""

    fact_id: str
    filing: str
    statement: str
    scope: str
    concept: str | None
    line: str | None
    label: str
    path: tuple[str, ...]
    qualifier: str | None
    period_start: dt.date | None
    period_end: dt.date | None
    period_kind: str | None
    fiscal_year: int | None
    fiscal_quarter: int | None
    value: float
    unit: str
    currency: str | None
    printed: str
    scale: float
    page: int
    row: int
    column: int
    box: tuple[float, float, float, float] | None

    @property
    def months(self) -> int | None:
        """Length in months, rounded; None for an instant."""
        if self.period_start is None or self.period_end is None:
            return None
        return round(((self.period_end - self.period_start).days + 1) / 30.44)

    def cited(self) -> dict[str, Any]:
        """Where it stands, for programs: ``page`` is zero-based, ``page_label`` counts from one."""
        place = {"filing": self.filing, "page": self.page, "page_label": str(self.page + 1)}
        return {**place, "fact_id": self.fact_id}


_BOX = ("x0", "y0", "x1", "y1")
FACT_COLUMNS = [*(one.name for one in fields(Fact) if one.name != "box"), *_BOX]


@dataclass(frozen=True, slots=True)
class FilingInfo:
    """What matters of a filing; see the schema ``filings``."""

    filing: str
    form: str | None
    fiscal_year: int | None
    fiscal_quarter: int | None
    period_end: dt.date | None
    source: str = "pdf"

    @property
    def annual(self) -> bool:
        """Whether it shows a whole year."""
        return self.form == "10-K" or (self.form == "EARNINGS" and self.fiscal_quarter == 4)


@dataclass(frozen=True, slots=True)
class FoundFact:
    """A fact for a line and period.

    Attributes:
        others: candidates that contradict it, best first.
        note: what is special about it, such as a longer period than asked for.
    """

    fact: Fact
    others: tuple[Fact, ...] = ()
    note: str | None = None


def read_facts(table: pa.Table) -> list[Fact]:
    """Rows of ``statement_facts`` as facts, without those of the parent alone and of other entities.

    Raises:
        LakeError: they were made by another version, which had other columns.
    """
    if missing := sorted(set(FACT_COLUMNS) - set(table.column_names)):
        raise LakeError(
            f"The facts of the lake were made by another version: no column {', '.join(missing)}.",
            "Run 'finrag run', which makes them anew.",
        )
    facts = []
    for row in table.select(FACT_COLUMNS).to_pylist():
        if row["scope"] not in SCOPES or row["period_end"] is None:
            continue
        edges = tuple(row.pop(edge) for edge in _BOX)
        box = None if None in edges else edges
        facts.append(Fact(**{**row, "path": tuple(row["path"] or ()), "box": box}))
    return facts


def read_info(row: Mapping[str, Any]) -> FilingInfo:
    """What matters of a row of ``filings``; what its cover does not say is taken as declared."""
    end = row.get("period_end")
    year, quarter = (
        row.get(f"declared_{name}") if row.get(f"fiscal_{name}") is None else row[f"fiscal_{name}"]
        for name in ("year", "quarter")
    )
    return FilingInfo(
        str(row["filing"]),
        row.get("form") or row.get("declared_form"),
        year,
        quarter,
        end.date() if isinstance(end, dt.datetime) else end,
        str(row.get("source") or "pdf"),
    )


def align_balances(info: FilingInfo, facts: Sequence[Fact]) -> Sequence[Fact]:
    """Facts with the columns of a balance sheet at the filing's own year-end.

    Above columns '2022' and '2021' a statement may print 'at January 1, 2023 and January 2, 2022'; read
    column by column, that gives days a year too early. The latest column is the end of the year reported.
    """
    if info.form != "10-K" or info.period_end is None:
        return facts
    sheet = {
        id(fact) for fact in facts if fact.statement == "financial_position" and fact.period_kind == "instant"
    }
    ends = [fact.period_end for fact in facts if id(fact) in sheet and fact.scope == "primary"]
    latest = max(filter(None, ends), default=None)
    if latest is None or abs((info.period_end - latest).days - 365) > _WEEK:
        return facts
    behind = info.period_end - latest
    return [
        replace(fact, period_end=fact.period_end + behind, fiscal_year=fact.fiscal_year + 1)
        if id(fact) in sheet and fact.period_end and fact.fiscal_year is not None
        else fact
        for fact in facts
    ]


class FactBook:
    """Facts of the filings of one company, in order of preference.

    Args:
        filings: filings with their facts.
        lexicon: phrases, for rows that are no line.
        statements: kinds of statement that the question names.
        pages: (filing, zero-based page) that retrieval found, best first; they win ties.
        only_pages: take nothing from other pages.
        newest: of several filings that show a period the newest wins, and so what it restates.
    """

    def __init__(
        self,
        filings: Sequence[tuple[FilingInfo, Sequence[Fact]]],
        lexicon: Lexicon,
        statements: Sequence[str] = (),
        pages: Sequence[tuple[str, int]] = (),
        only_pages: bool = False,
        newest: bool = False,
    ) -> None:
        self._filings = [info for info, _ in filings]
        self._infos = {info.filing: info for info, _ in filings}
        allowed = set(pages) if only_pages else None
        self._facts = [
            fact
            for info, facts in filings
            for fact in align_balances(info, facts)
            if allowed is None or (fact.filing, fact.page) in allowed
        ]
        self._by_line: dict[str, list[Fact]] = defaultdict(list)
        for fact in self._facts:
            if fact.line:
                self._by_line[fact.line].append(fact)
        self._lexicon = lexicon
        self._statements = tuple(statements)
        self._newest = newest
        self._pages = {page: place for place, page in enumerate(pages)}

    def names(self, word: str) -> bool:
        """Whether a word stands in any printed label."""
        return word.lower() in self._words

    @cached_property
    def _words(self) -> set[str]:
        return {part for fact in self._facts for part in normal_label(fact.label).split()}

    def shows(self, period: FiscalPeriod) -> bool:
        """Whether any fact is of the period."""
        return any(fits(fact, self._infos[fact.filing], period) is not None for fact in self._facts)

    def find_line(self, line: Line, period: FiscalPeriod, by_label: bool = True) -> FoundFact | None:
        """The fact of a line for a period; by its names, else by the label of a row that is none."""
        found: list[tuple[int, int, int, FoundFact]] = []
        for place, concept in enumerate(line.concepts):
            facts = [fact for fact in self._by_line.get(concept, ()) if fact.statement in line.statements]
            if best := self._best(facts, period, line.statements):
                order = self._filing_order(best.fact.filing, period)
                found.append((SCOPES.index(best.fact.scope), order, place, best))
        if found:
            # A lesser concept of the filing asked for is nearer than a better one of another filing.
            return min(found, key=lambda item: item[:3])[3]
        if not by_label:
            return None
        patterns = [phrase.pattern for phrase in self._lexicon.phrases_of(line.name)]
        patterns += [line.labels] if line.labels else []
        return self._best(self._labelled(line, patterns), period, line.statements)

    def _labelled(self, line: Line, patterns: Sequence[re.Pattern[str]]) -> list[Fact]:
        """Facts of the statements of a line that are none, whose labels meet a pattern."""
        facts = [fact for fact in self._facts if fact.line is None and fact.statement in line.statements]
        return [fact for fact in facts if any(one.fullmatch(normal_label(fact.label)) for one in patterns)]

    def find_components(self, line: Line, period: FiscalPeriod) -> list[FoundFact]:
        """Rows of one statement that together make a line, in order; none where it names no components."""
        if line.components is None:
            return []
        named = [fact for fact in self._labelled(line, [line.components]) if fact.scope == "primary"]
        first = self._best(named, period, line.statements)
        if first is None:
            return []
        place = (first.fact.filing, first.fact.page, first.fact.statement)
        rows: dict[int, FoundFact | None] = {}
        for fact in named:
            if (fact.filing, fact.page, fact.statement) == place and not rows.get(fact.row):
                rows[fact.row] = self._best([fact], period, line.statements)
        return [part for _, part in sorted(rows.items()) if part is not None]

    def find_label(self, words: str, period: FiscalPeriod) -> FoundFact | None:
        """The fact whose printed label is what the words say; None if no label is near enough."""
        wanted = normal_label(words)
        if len(wanted) < 3:
            return None
        rated: dict[float, list[Fact]] = defaultdict(list)
        for fact in self._facts:
            label = normal_label(fact.label)
            rating = 100.0 if label == wanted else fuzz.token_sort_ratio(wanted, label)
            if rating >= SAME_LABEL:
                rated[rating].append(fact)
        found = (self._best(rated[rating], period, ()) for rating in sorted(rated, reverse=True))
        return next(filter(None, found), None)

    def _best(
        self, facts: Iterable[Fact], period: FiscalPeriod, statements: Sequence[str]
    ) -> FoundFact | None:
        rated = [
            (self._key(fact, fit, period, statements), fit, fact)
            for fact in facts
            if (fit := fits(fact, self._infos[fact.filing], period)) is not None
        ]
        if not rated:
            return None
        rated.sort(key=lambda item: item[0])
        _, fit, best = rated[0]
        others: list[Fact] = []
        for _, other_fit, other in rated[1:]:
            same_place = other.statement == best.statement and other.qualifier == best.qualifier
            if other_fit != fit or other.scope != "primary" or not same_place or other.unit != best.unit:
                continue
            seen = [abs(fact.value) for fact in (best, *others)]
            if all(abs(abs(other.value) - value) > DISAGREE * max(value, 1e-9) for value in seen):
                others.append(other)
        note = None
        if fit == 1:
            note = f"{best.filing} prints this only for the {best.months} months to {best.period_end}"
        return FoundFact(best, tuple(others), note)

    def _key(
        self, fact: Fact, fit: int, period: FiscalPeriod, statements: Sequence[str]
    ) -> tuple[int | float, ...]:
        preferred = [kind for kind in statements if kind in self._statements] or list(statements)
        order = preferred + [kind for kind in statements if kind not in preferred]
        statement = order.index(fact.statement) if fact.statement in order else len(order)
        return (
            SCOPES.index(fact.scope),
            fit,
            statement,
            self._filing_order(fact.filing, period),
            fact.qualifier is not None,
            self._pages.get((fact.filing, fact.page), len(self._pages)),
            fact.page,
            fact.row,
            fact.column,
        )

    def _filing_order(self, filing: str, period: FiscalPeriod) -> int:
        """The filing asked for, then that of the year, then the next ones (restated), then earlier ones."""
        info = self._infos[filing]
        if self._newest:
            return -info.period_end.toordinal() if info.period_end else 0
        if self._filings and filing == self._filings[0].filing:
            return 0
        year = period.year if period.year is not None else period.end.year if period.end else 0
        behind = (info.fiscal_year or 0) - year
        return 1 + (2 * behind if behind >= 0 else 40) + (0 if info.annual else 1)


def fits(fact: Fact, info: FilingInfo, period: FiscalPeriod) -> int | None:
    """0 where a fact of a filing is of the period, 1 where only of the year to date, else None."""
    assert fact.period_end is not None
    if period.end is not None:
        if abs((fact.period_end - period.end).days) > _WEEK:
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
    return abs(apart) > _WEEK and abs(apart - 365) > _WEEK


def _ends_quarter(day: dt.date, info: FilingInfo, period: FiscalPeriod) -> bool:
    if info.fiscal_quarter != period.quarter or info.period_end is None or info.fiscal_year is None:
        return False
    behind = info.fiscal_year - (period.year or 0)
    return behind in (0, 1) and abs((info.period_end - day).days - 365 * behind) <= _WEEK
