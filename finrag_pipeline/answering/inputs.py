"""Inputs of a calculation: the fact that shows a line of a statement for a period, and those against it."""

from __future__ import annotations

import datetime as dt
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rapidfuzz import fuzz

from finrag_pipeline.questions.formula_lexicon import Lexicon, Line
from finrag_pipeline.statements.concepts import normal_label
from finrag_pipeline.statements.filed_facts import (
    SCOPES,
    Fact,
    FilingInfo,
    align_balances,
    disagree,
    newest_last,
)
from finrag_pipeline.statements.periods import FiscalPeriod, fits, name_by_company, same_days

SAME_LABEL = 93.0
"""Least similarity (0 to 100) of words of a question to a printed label."""


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


def _is_untouched(fact: Fact) -> bool:
    """Whether a number is the zero of a part of equity that its row does not change."""
    return fact.statement == "equity" and fact.qualifier is not None and not fact.value


class FactBook:
    """Facts of the filings of one company, in order of preference.

    Args:
        filings: filings with their facts.
        lexicon: phrases, for rows that are no line.
        statements: kinds of statement that the question names.
        pages: (filing, zero-based page) that retrieval found, best first; they win ties.
        only_pages: take nothing from other pages.
        newest: of several filings that show a period the newest wins, and so what it restates.
        asked: the question, whose own words for a line may be the label of another row.
    """

    def __init__(
        self,
        filings: Sequence[tuple[FilingInfo, Sequence[Fact]]],
        lexicon: Lexicon,
        statements: Sequence[str] = (),
        pages: Sequence[tuple[str, int]] = (),
        only_pages: bool = False,
        newest: bool = False,
        asked: str = "",
    ) -> None:
        self._named = lexicon.named(asked.lower())
        self._filings = [info for info, _ in filings]
        self._infos = {info.filing: info for info, _ in filings}
        allowed = set(pages) if only_pages else None
        self._facts = [
            fact
            for info, facts in name_by_company(filings)
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
        self._until: dt.date | None = None
        self._order = newest_last(self._filings)

    @contextmanager
    def as_first_reported(self, period: FiscalPeriod) -> Iterator[None]:
        """Inside, no filing is read that is newer than the first whose own period ends with one, or later."""
        ends = [
            info.period_end
            for info in self._filings
            if info.period_end and info.own_place and info.own_place >= period.place
        ]
        self._until = min(ends, default=None)
        try:
            yield
        finally:
            self._until = None

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
        """The fact of a line for a period; by its names, else by the label of a row that is none.

        Before both, by a label that a user says to mean the line.
        """
        if line.mapped:
            own = [fact for fact in self._facts if normal_label(fact.label) in line.mapped]
            if mapped := self._best(
                [f for f in own if f.statement in line.statements], period, line.statements
            ):
                return mapped
        found: list[tuple[int, tuple[int, ...], int, FoundFact]] = []
        for place, concept in enumerate(line.concepts):
            facts = [fact for fact in self._by_line.get(concept, ()) if fact.statement in line.statements]
            if best := self._best(facts, period, line.statements):
                order = self._filing_order(best.fact.filing, period)
                found.append((SCOPES.index(best.fact.scope), order, place, best))
        if found:
            # A lesser concept of the filing asked for is nearer than a better one of another filing.
            best = min(found, key=lambda item: item[:3])[3]
            return self._called(self._named.get(line.name, ""), line, period, best.fact) or best
        if not by_label:
            return None
        patterns = [phrase.pattern for phrase in self._lexicon.phrases_of(line.name)]
        patterns += [line.labels] if line.labels else []
        return self._best(self._labelled(line, patterns), period, line.statements)

    def _called(self, words: str, line: Line, period: FiscalPeriod, instead: Fact) -> FoundFact | None:
        """The fact of a row that is called what a question calls a line, where the line's own row is not.

        Of 'Net sales', 'Membership fees' and 'Total revenue' the line is the total, and net sales are not.
        """
        asked = normal_label(words)
        if not asked or normal_label(instead.label).removeprefix("total ").startswith(asked):
            return None
        called = [
            fact
            for fact in self._facts
            if (fact.filing, fact.page, fact.statement) == (instead.filing, instead.page, instead.statement)
            and normal_label(fact.label) == asked
        ]
        return self._best(called, period, line.statements)

    def _labelled(self, line: Line, patterns: Sequence[re.Pattern[str]]) -> list[Fact]:
        """Facts of the statements of a line that are none, whose labels meet a pattern."""
        facts = [
            fact
            for fact in self._facts
            if fact.line is None and fact.statement in line.statements and not _is_untouched(fact)
        ]
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

    def find_named(self, name: str, period: FiscalPeriod) -> FoundFact | None:
        """The fact of a row that prints what a formula computes; None without one."""
        return None

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
            if self._may_use(fact) and (fit := fits(fact, self._infos[fact.filing], period)) is not None
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
            if not same_days(other, best):
                continue  # the company has changed its fiscal year
            if all(disagree(fact.value, other.value) for fact in (best, *others)):
                others.append(other)
        note = None
        if fit == 1:
            note = f"{best.filing} prints this only for the {best.months} months to {best.period_end}"
        return FoundFact(best, tuple(others), note)

    def _may_use(self, fact: Fact) -> bool:
        end = self._infos[fact.filing].period_end
        return self._until is None or end is None or end <= self._until

    def _key(self, fact: Fact, fit: int, period: FiscalPeriod, statements: Sequence[str]) -> tuple[Any, ...]:
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

    def _filing_order(self, filing: str, period: FiscalPeriod) -> tuple[int, ...]:
        """The filing asked for or its amendment, that of the year, the next (restated), then earlier ones."""
        info = self._infos[filing]
        if self._newest:
            return tuple(-part for part in self._order[filing])
        first = self._filings[0]
        if filing == first.filing or (info.form, info.period_end) == (f"{first.form}/A", first.period_end):
            return (-info.newness[1],)
        year = period.year if period.year is not None else period.end.year if period.end else 0
        behind = (info.fiscal_year or 0) - year
        return (1 + (2 * behind if behind >= 0 else 40) + (0 if info.annual else 1),)
