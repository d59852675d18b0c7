"""Answers over any printed row, for the companies that a question names; what is surely meant, or nothing."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial

from finrag_pipeline.answering.derivation import Derivation
from finrag_pipeline.answering.described_parts import describes_part, with_described_part
from finrag_pipeline.answering.open_answer import NO_MONEY, PlanReader, derive, known_name
from finrag_pipeline.answering.part_descriptions import PartDescriptions
from finrag_pipeline.answering.row_book import Match, OpenBook, ReadRows, RowBook, in_series
from finrag_pipeline.answering.series import OpenAnswer
from finrag_pipeline.questions.abbreviations import Abbreviations, has_vowel
from finrag_pipeline.questions.abstention import Abstention, AbstentionKind
from finrag_pipeline.questions.formula_lexicon import Formula, Lexicon, Line
from finrag_pipeline.questions.line_reader import (
    LEAST_LINE,
    SURE_LINE,
    disclosures,
    means_another,
    read_line,
)
from finrag_pipeline.questions.plan import Operation, QuestionPlan, read_plan, share_words
from finrag_pipeline.questions.question_reader import question_reader
from finrag_pipeline.questions.series import SeriesAsked
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.resolver.lexicon import any_case
from finrag_pipeline.resolver.resolver import Resolution, Resolver
from finrag_pipeline.resolver.tokens import one_line, plain
from finrag_pipeline.statements.filed_facts import Fact, FilingInfo, newest_last
from finrag_pipeline.statements.filing_rows import FILINGS_KEPT, FilingRow
from finrag_pipeline.statements.periods import FiscalPeriod

MOST_FILINGS = 4
"""Filings of a company whose rows are read, the likeliest first."""

MOST_STITCHED = 16
"""Filings of a company that a series is made of, the newest first."""

_CUSTOMER = any_case(
    r"\b(?:(?:comes?|came|coming|goes|went|going|sold|sells?|sales|derived|earned|generated|made|shipped) "
    r"(?:from|to|by|with|through)|(?:depend|rely|reli)\w*\b[^.?]*\bon) $"
)
"""What stands before the name of a customer: 'sales come from', 'how dependent is it on'."""

_OVER_TIME = (Operation.VALUE, Operation.RATIO, Operation.DIFFERENCE, Operation.SUM)

BOOKS_KEPT = 4
"""Rows of filings with what was looked up among them: an evidence card looks among those of the answer."""

MOST_LINES = 4
"""Lines of a formula that are looked for among rows."""

MOST_LOOKED_UP = 2
"""Measures that are looked up for a card alone."""

_BRACKETS = re.compile(r"\([^()]*\)")
_LONG = 3
"""Spaces of a label that is long enough to be no chance when a question says it."""

_CHANGE = any_case(r"\bchange in\b")
"""In labels of lines that are changes themselves."""

_DAYS_OFF = 8
"""Days by which the end of a year of 52 or 53 weeks moves."""

LEAST_FORMULA = 0.7
"""Least probability of a formula that is asked for, where the words name what it is made of."""

_OF_A_PART = any_case(r"\b(?:segments?|divisions?|arm|foreign|overseas|international|domestic|abroad)\b")

LEAST_NUMBER = 0.25
"""Least probability that a question asks for a number."""


class OpenCalculator:
    """Computes the plan of a question over printed rows.

    Args:
        infos: filings that may be used.
        facts: reads the facts of a filing.
        rows: reads the printed rows of a filing.
        resolver: tells the filings of a company.
        lexicon: lines and formulas.
        match: tells how likely each row is what words name.
        parts: tells what a filing says of its parts; None where nothing does.
    """

    def __init__(
        self,
        infos: Mapping[str, FilingInfo],
        facts: Callable[[str], Sequence[Fact]],
        rows: Callable[[str], Sequence[FilingRow]],
        resolver: Resolver,
        lexicon: Lexicon,
        match: Match,
        parts: Callable[[str], PartDescriptions] | None = None,
    ) -> None:
        self._infos = infos
        self._parts = parts
        self._facts = facts
        self._rows = lru_cache(FILINGS_KEPT)(lambda filing: in_series(rows(filing)))
        self._resolver = resolver
        self._lexicon = lexicon
        self._match = match
        self._abbreviations = lru_cache(FILINGS_KEPT)(self._abbreviated)
        self._labels = lru_cache(FILINGS_KEPT)(self._long_labels)
        self._row_book = lru_cache(BOOKS_KEPT)(self._made_row_book)
        self._read_rows = ReadRows()

    def answer(
        self,
        question: str,
        resolution: Resolution,
        filings: Sequence[str] | None = None,
        asked: SeriesAsked | None = None,
    ) -> Derivation:
        """The answer to a question.

        Args:
            question: as asked.
            resolution: as the resolver read it.
            filings: the only filings to use; those that the question means when None.
            asked: the series that it asks for.

        Raises:
            Abstention: it has no plan, or what is asked for is not surely found.
        """
        resolution = self._without_customers(question, resolution)
        plan = self._plan(question, resolution, asked)
        if asked is not None and plan is not None and not _is_told_over_time(plan):
            asked, plan = None, self._plan(question, resolution)
        if plan is None:
            raise Abstention(AbstentionKind.NOT_A_CALCULATION, "the question names no quantity")
        if asked is not None:
            return self._series(question, plan, asked, resolution, filings)
        parts = plan.one_of is not None  # which its table must surely show
        if not parts and plan.number_chance < LEAST_NUMBER:
            raise Abstention(
                AbstentionKind.NOT_A_CALCULATION, "the question asks for words, not for a number"
            )
        found: dict[str, OpenAnswer] = {}
        companies = self._companies(resolution, filings).items()
        for company, chosen in sorted(companies, key=lambda item: question.lower().find(item[0].lower())):
            own = plan.of_company.get(company)
            plan_of = replace(plan, periods=own) if own else plan
            found[company] = self._of_company(plan_of, chosen, len(companies) > 1)
        if not found:
            raise Abstention(AbstentionKind.UNKNOWN_COMPANY, "the question names no company of the index")
        return derive(question, plan, found)

    def _without_customers(self, question: str, resolution: Resolution) -> Resolution:
        """What a question asks about, where it names a company with filings as the customer of another."""
        text = plain(question)
        for name in resolution.printed_names if len(resolution.companies) > 1 else ():
            said = list(re.finditer(re.escape(name), text, re.IGNORECASE))
            if any(_CUSTOMER.search(text[: one.start()]) for one in said):
                asked = self._resolver.resolve(re.sub(re.escape(name), " ", text, flags=re.IGNORECASE))
                return asked if asked.companies else resolution
        return resolution

    def spelled_out(
        self, question: str, resolution: Resolution, filings: Sequence[str] | None, names: Collection[str]
    ) -> tuple[str, dict[str, str]]:
        """A question with its clipped words and initials in full, and what stands for what.

        ``names`` are words that name companies, in lower case; of the others `answer` speaks.
        """
        reader = question_reader()
        is_word = reader.is_word if reader else has_vowel
        return self._abbreviations(self._chosen(resolution, filings), is_word).spelled_out(question, names)

    def _chosen(self, resolution: Resolution, filings: Sequence[str] | None) -> tuple[str, ...]:
        """Filings whose rows are read, company by company."""
        companies = self._companies(resolution, filings).values()
        return tuple(filing for own in companies for filing in own[:MOST_FILINGS])

    def _abbreviated(self, filings: tuple[str, ...], is_word: Callable[[str], bool]) -> Abbreviations:
        rows = (row for filing in filings for row in self._rows(filing))
        printed = (part for row in rows for part in (*row.path, *row.columns))
        return Abbreviations(printed, (entry.label for entry in self._lexicon.entries.values()), is_word)

    def _plan(
        self, question: str, resolution: Resolution, asked: SeriesAsked | None = None
    ) -> QuestionPlan | None:
        left = asked.rest if asked else question
        label = self._label_said(question, resolution)
        names = resolution.printed_names
        plan = read_plan(left, names, self._knows, question, label)
        name, chance = read_line(question, names) or ("", 0.0)
        if chance < LEAST_LINE:
            return _over_time(plan) if asked and plan else plan
        if labels := disclosures().get(name):
            plan = plan or read_plan(left, names, self._knows, question, line=labels[0])
            if plan and len(plan.measures) == 1 and not self._knows(plan.measures[0]):
                unit = None if chance >= SURE_LINE else plan.unit  # 'how many orders' may be in dollars
                plan = replace(plan, meant=labels, meant_chance=chance, unit=unit)
        elif (entry := self._lexicon.entries.get(name)) and self._asks_for(
            entry, chance, plan, lambda named: means_another(named, question, names)
        ):
            line = read_plan(left, names, self._knows, question, line=entry.label)
            line = _of_change(line) if line and _CHANGE.search(entry.label) else line
            if line and self._lexicon.unit_of(name) in NO_MONEY and line.operation is Operation.RATIO:
                # 'Out of every dollar sold, how much was left as profit' asks for the margin alone.
                line = replace(line, operation=Operation.VALUE, measures=line.measures[:1])
            same = plan is not None and line is not None and line.operation is plan.operation
            spoken = plan.measures if plan and same and len(plan.measures) == 1 else ()
            plan = replace(line, measure_chance=chance, spoken=spoken) if line else plan
        return _over_time(plan) if asked and plan else plan

    def _asks_for(
        self,
        entry: Line | Formula,
        chance: float,
        plan: QuestionPlan | None,
        another: Callable[[str], bool],
    ) -> bool:
        """Whether a question asks for a line or formula in words of its own.

        Not where its words name a quantity, unless ``another`` than that is meant, or something of a part of
        the company.
        """
        if plan is None:
            return True
        several = len(plan.measures) > 1 and isinstance(entry, Line)
        moved = chance >= SURE_LINE and _CHANGE.search(entry.label) is not None
        if (several and not moved) or plan.one_of is not None or plan.names or _OF_A_PART.search(plan.asked):
            return False
        known = [known_name(one, self._lexicon) for one in plan.measures]
        if None not in known:
            named = known[0] if len(known) == 1 else None
            return (named is not None and another(named)) or self._is_made_of(entry, known, chance)
        if len(known) == 1 or isinstance(entry, Line):
            return True
        read = [name or self._read_measure(one) for name, one in zip(known, plan.measures, strict=True)]
        return self._is_made_of(entry, read, chance) if all(read) else chance >= SURE_LINE

    def _read_measure(self, measure: str) -> str:
        """The line, formula or disclosed quantity that words of a measure mean; '' for none."""
        name, chance = read_line(measure) or ("", 0.0)
        return name if chance >= LEAST_LINE else ""

    def _is_made_of(self, entry: Line | Formula, names: Collection[str | None], chance: float) -> bool:
        """Whether a formula, surely asked for, is made of quantities that a question names."""
        if (
            not isinstance(entry, Formula)
            or chance < LEAST_FORMULA
            or not self._lexicon.entries.keys() >= {*names}
        ):
            return False
        lines = {line.name for line in self._lexicon.lines_of(entry.name)}
        return {line.name for name in names if name for line in self._lexicon.lines_of(name)} <= lines

    def _label_said(self, question: str, resolution: Resolution) -> str:
        """The longest label of a row that a question says word for word; '' where it says none."""
        said = one_line(question).lower()
        labels = self._labels(self._chosen(resolution, None))
        return max((label for label in labels if label in said), key=len, default="")

    def _long_labels(self, filings: tuple[str, ...]) -> frozenset[str]:
        """Labels of four words and more, in lower case and without what stands in brackets."""
        labels = {row.label for filing in filings for row in self._rows(filing)}
        bare = (one_line(_BRACKETS.sub(" ", label)).lower() for label in labels)
        return frozenset(label for label in bare if label.count(" ") >= _LONG and label.isascii())

    def _knows(self, words: str) -> bool:
        return known_name(words, self._lexicon) is not None

    def _series(
        self,
        question: str,
        plan: QuestionPlan,
        asked: SeriesAsked,
        resolution: Resolution,
        filings: Sequence[str] | None,
    ) -> Derivation:
        """Values over time of each company and measure, out of all its filings."""
        verdict = plan.verdict if plan.among_periods else None  # 'the last eight quarters: which was best?'
        plan = replace(plan, verdict=verdict, each=True, partial=True)
        found: dict[str, OpenAnswer] = {}
        latest: dict[str, str] = {}
        if not resolution.companies:
            resolution = self._resolver.resolve(asked.rest)  # 'Acme TTM' is no name
        companies = self._companies(resolution, filings)
        for company, chosen in companies.items():
            order = newest_last([self._infos[filing] for filing in chosen])
            infos = [self._infos[filing] for filing in sorted(chosen, key=order.__getitem__, reverse=True)]
            reports = [info for info in infos if info.annual or info.fiscal_quarter]
            newest = max(reports, key=lambda one: one.newness, default=None)
            if newest is None or newest.fiscal_year is None:
                raise Abstention(AbstentionKind.NOT_REPORTED, "no report of the company is in the index")
            end = FiscalPeriod(newest.fiscal_year, None if newest.annual else newest.fiscal_quarter)
            own = replace(plan, periods=asked.periods(end))
            first = (own.periods[0].year or 0) - (asked.each == "twelve")
            infos = [info for info in infos if (info.fiscal_year or first) >= first][:MOST_STITCHED]
            for measure in _measures(plan, self._knows):
                of = " ".join(part for part in (company if len(companies) > 1 else "", measure) if part)
                one = replace(own, measures=(measure,), spoken=()) if measure else own
                book = self._book(one, infos, newest=True, lines_too=asked.each == "year")
                found[of] = PlanReader(book, self._lexicon, end).answer(one)
                if asked.last is None:
                    latest[of] = newest.filing
        if not found:
            raise Abstention(AbstentionKind.UNKNOWN_COMPANY, "the question names no company of the index")
        return derive(question, plan, found, latest)

    def _companies(self, resolution: Resolution, filings: Sequence[str] | None) -> dict[str, list[str]]:
        """Filings by company as the question calls it, the likeliest first."""
        if filings is not None:
            return {"": [filing for filing in filings if filing in self._infos]}
        if not resolution.companies and resolution.ties != 1:
            return {}
        groups: dict[str, list[str]] = {}
        for ranked in resolution.filings:
            if ranked.filing in self._infos:
                groups.setdefault(self._resolver.company_of(ranked.filing), []).append(ranked.filing)
        kept = list(groups.items())[: max(1, len(resolution.companies))]
        said = dict(zip(resolution.companies, resolution.printed_names, strict=True))
        return {said.get(company, company): chosen for company, chosen in kept}

    def _of_company(self, plan: QuestionPlan, chosen: Sequence[str], several: bool) -> OpenAnswer:
        if not chosen:
            raise Abstention(AbstentionKind.NOT_REPORTED, "no filing of the company holds tables")
        infos = [self._infos[filing] for filing in chosen[:MOST_FILINGS]]
        best = infos[0]
        if best.fiscal_year is None:
            raise Abstention(AbstentionKind.UNKNOWN_PERIOD, "the question names no period")
        plan, default = _with_periods(plan, infos)
        plan = self._with_described_part(plan, best)
        book = self._book(plan, infos)
        if several and len(plan.periods) > 1:  # each company has its own year-end
            plan = replace(plan, periods=tuple(filter(book.shows, plan.periods)) or plan.periods)
        return PlanReader(book, self._lexicon, default).answer(plan)

    def _with_described_part(self, plan: QuestionPlan, info: FilingInfo) -> QuestionPlan:
        """A plan that names the part of the company which its words describe by what it does."""
        if self._parts is None or not describes_part(plan):
            return plan
        return with_described_part(plan, self._parts(info.filing), self._quantity_stems)

    @cached_property
    def _quantity_stems(self) -> frozenset[str]:
        """Stems of words that name quantities, which describe no part."""
        return frozenset(terms(" ".join(self._lexicon.words)))

    def _book(
        self, plan: QuestionPlan, infos: Sequence[FilingInfo], newest: bool = False, lines_too: bool = True
    ) -> OpenBook:
        """Facts and rows of filings; their rows are read when first needed."""
        facts = [(info, self._facts(info.filing)) for info in infos]
        together = () if newest else plan.periods
        rows, percentages = (
            partial(self._row_book, tuple(infos), tuple(plan.names), together, unit, plan.asked)
            for unit in (plan.unit, "percent")
        )
        statements = plan.directives.statements
        return OpenBook(facts, self._lexicon, rows, statements, newest, plan.asked, lines_too, percentages)

    def _made_row_book(
        self,
        infos: tuple[FilingInfo, ...],
        names: tuple[str, ...],
        together: tuple[FiscalPeriod, ...],
        unit: str | None,
        asked: str,
    ) -> RowBook:
        read = [(info, self._rows(info.filing)) for info in infos]
        return RowBook(read, self._match, names, together, unit, asked, self._read_rows)

    def names_part(self, question: str, resolution: Resolution) -> bool:
        """Whether a question has a name, of a segment or product, that rows of its company print."""
        plan = self._plan(question, resolution)
        if plan is None or not plan.names:
            return False
        for chosen in self._companies(resolution, None).values():
            infos = [self._infos[filing] for filing in chosen[:MOST_FILINGS]]
            own, _ = _with_periods(plan, infos)
            if infos and any(map(self._book(own, infos).rows.says, plan.names)):
                return True
        return False

    def closest(
        self, question: str, resolution: Resolution, filings: Sequence[str] | None = None
    ) -> Iterator[FilingRow]:
        """Rows that come closest to what a question names, best first; of each company and measure in turn.

        Of the parameters `answer` speaks.
        """
        resolution = self._without_customers(question, resolution)
        plan = self._plan(question, resolution)
        if plan is None:
            plan = QuestionPlan(Operation.VALUE, (_undated(resolution),), (), asked=question)
        rankings: list[list[FilingRow]] = []
        for company, chosen in self._companies(resolution, filings).items():
            infos = tuple(self._infos[filing] for filing in chosen[:MOST_FILINGS])
            if not infos:
                continue
            own = plan.of_company.get(company)
            asked, default = _with_periods(replace(plan, periods=own) if own else plan, infos)
            asked = self._with_described_part(asked, infos[0])
            book = self._row_book(infos, tuple(asked.names), asked.periods, asked.unit, asked.asked)
            last = asked.periods[-1] if asked.periods else default
            said = self._looked_for((*asked.measures, *asked.meant[:1]))
            known = [words for words in said if book.looked_up(words, last)]
            said = [words for words in said if words in known or words in said[:MOST_LOOKED_UP]]
            rankings += [book.closest(words, last) for words in said]
        turns = itertools.zip_longest(*rankings)
        return _once(row for turn in turns for row in turn if row is not None)

    def _looked_for(self, measures: Sequence[str]) -> tuple[str, ...]:
        """Measures, with the lines of a formula in its place."""
        found: list[str] = []
        for measure in measures:
            name = known_name(measure, self._lexicon)
            lines = self._lexicon.lines_of(name) if name else []
            found += [measure] if len(lines) < 2 else [line.label for line in lines[:MOST_LINES]]
        return tuple(dict.fromkeys(found))


def _over_time(plan: QuestionPlan) -> QuestionPlan:
    """A plan of values over time: 'how did revenue develop' asks for each."""
    one = plan.operation is Operation.CHANGE and len(plan.measures) == 1
    return replace(plan, operation=Operation.VALUE) if one else plan


def _of_change(plan: QuestionPlan) -> QuestionPlan | None:
    """The plan of a line that is a change itself; None where it is a change over several periods."""
    if plan.operation is Operation.VALUE:
        return plan
    last = plan.periods[-1:]
    within = len(plan.periods) < 2 or plan.periods == (last[0].shift(-1), *last)
    return replace(plan, operation=Operation.VALUE, periods=last) if within else None


def _undated(resolution: Resolution) -> str:
    """The question without the names of companies and the periods that the resolver read."""
    text = one_line(resolution.question)
    for part in sorted((*resolution.printed_names, *(p.text for p in resolution.periods)), key=len)[::-1]:
        if part:
            text = re.sub(rf"(?<!\w){re.escape(part)}(?:'s)?(?!\w)", " ", text, flags=re.IGNORECASE)
    return " ".join(text.split())


def _once(rows: Iterable[FilingRow]) -> Iterator[FilingRow]:
    """Rows without those that print no other numbers than one before them."""
    shown: list[set[float]] = []
    for row in rows:
        numbers = {abs(value.value) for value in row.values}
        if not any(numbers <= before for before in shown):
            shown.append(numbers)
            yield row


def _with_periods(plan: QuestionPlan, infos: Sequence[FilingInfo]) -> tuple[QuestionPlan, FiscalPeriod]:
    """A plan with its quarters as periods, and the period meant without any: the likeliest filing's."""
    best = infos[0]
    default = FiscalPeriod(best.fiscal_year or 0, None if best.annual else best.fiscal_quarter)
    if plan.quarters:  # the last ones of that name
        year = (best.fiscal_year or 0) - (max(plan.quarters) > (default.quarter or 4))
        plan = replace(plan, periods=tuple(FiscalPeriod(year, quarter) for quarter in plan.quarters))
    annual = next((info for info in infos if info.annual and info.period_end), None)
    return replace(plan, periods=tuple(_as_fourth(period, annual) for period in plan.periods)), default


def _is_told_over_time(plan: QuestionPlan) -> bool:
    """Whether a plan is of values that follow upon each other, and not of one number made of them."""
    return plan.operation in _OVER_TIME and not (plan.yes_no or plan.one_of or plan.periods)


def _as_fourth(period: FiscalPeriod, annual: FilingInfo | None) -> FiscalPeriod:
    """Three months to the end of a fiscal year as its fourth quarter, which is made of other periods."""
    if annual is None or annual.period_end is None or period.end is None or period.months != 3:
        return period
    years = round((period.end - annual.period_end).days / 365.25)
    off = (period.end - annual.period_end).days - 365.25 * years
    return (
        FiscalPeriod((annual.fiscal_year or period.end.year) + years, 4) if abs(off) <= _DAYS_OFF else period
    )


def _measures(plan: QuestionPlan, known: Callable[[str], bool]) -> tuple[str, ...]:
    """The measures of which each has its own series; one '' where the plan is of one."""
    measure = plan.measures[0]
    parts = measure.split(" and ")
    if plan.operation is not Operation.VALUE or len(parts) < 2 or known(measure):
        return ("",)
    shared = share_words(parts)
    return shared if shared != tuple(parts) or all(map(known, parts)) else ("",)
