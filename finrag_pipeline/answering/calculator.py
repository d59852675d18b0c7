"""Answers questions by calculation over the facts of filings, without a language model."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from finrag_pipeline.answering.calculate import Calculation, Quantity
from finrag_pipeline.answering.derivation import Derivation, SeriesValue, listing
from finrag_pipeline.answering.inputs import FactBook
from finrag_pipeline.answering.wording import MONEY, PER_SHARE, SHARES, Worded, word_value
from finrag_pipeline.errors import LakeError
from finrag_pipeline.filings import TEXT_ONLY
from finrag_pipeline.questions.abbreviations import in_words, may_be_shortened
from finrag_pipeline.questions.abstention import Abstention, AbstentionKind
from finrag_pipeline.questions.directives import Directives
from finrag_pipeline.questions.expression import (
    At,
    Expression,
    ExpressionError,
    Name,
    names_in,
    parse_expression,
    print_expression,
)
from finrag_pipeline.questions.formula_lexicon import Formula, Lexicon, formula_lexicon
from finrag_pipeline.questions.line_reader import means_another, read_line
from finrag_pipeline.questions.parser import ParsedQuestion, parse_question
from finrag_pipeline.questions.question_reader import Form, naming_words, read_question
from finrag_pipeline.questions.series import SeriesAsked, read_series
from finrag_pipeline.questions.tokens import fiscal_period
from finrag_pipeline.resolver.lexicon import LEGAL, any_case
from finrag_pipeline.resolver.periods import read_periods
from finrag_pipeline.resolver.resolver import Resolution, Resolver
from finrag_pipeline.resolver.tokens import fold, plain
from finrag_pipeline.retrieval.question_text import check_question
from finrag_pipeline.statements.filed_facts import FACT_COLUMNS, Fact, FilingInfo, read_facts, read_info
from finrag_pipeline.statements.periods import FiscalPeriod
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.answering.open_calculator import OpenCalculator
    from finrag_pipeline.answering.printed_rows import PrintedRows

PageHits = Sequence[tuple[str, int]]
"""(filing, zero-based page), best first."""

_NO_ROW_ANSWERS = (AbstentionKind.UNKNOWN_COMPANY, AbstentionKind.DIVISION_BY_ZERO)
_LIKELY = 0.5
"""Share of the best filing's score from which a filing may be meant too, and be quoted from."""

_NAME_WORD = re.compile(r"[^\W_](?:[\w&.'-]*\w)?(?:'s|')?")
_SURELY = 0.8
"""Probability of the form of an answer that is enough."""

_AUXILIARY = any_case(
    r"(?:^|[.?!:,]\s+)(?:and |so )?(?:did|does|do|is|are|was|were|has|have|had|can|could|will|would)\b"
)
"""What begins a question for a yes or no."""

_NAMED_TOO = "the question names this too"


class Calculator:
    """Computes answers from facts; those of a filing are read when first needed, and kept.

    Args:
        filings: rows of ``filings``.
        known: filings with facts that may be used.
        load: rows of ``statement_facts`` of a filing.
        resolver: reads company and periods out of a question.
        rows: makes the reader of a filing's printed rows, when a question first needs them; without it only
            facts answer.
    """

    def __init__(
        self,
        filings: Iterable[Mapping[str, Any]],
        known: Collection[str],
        load: Callable[[str], pa.Table],
        resolver: Resolver,
        rows: Callable[[], PrintedRows] | None = None,
    ) -> None:
        by_name = {str(row["filing"]): row for row in filings}
        self._every = {name: read_info(row) for name, row in by_name.items()}
        self._infos = {name: info for name, info in self._every.items() if name in known}
        self._declared = {name: row.get("declared_year") for name, row in by_name.items()}
        self._facts = cache(lambda filing: read_facts(load(filing)))
        self._rows = rows
        self.resolver = resolver
        self._lexicon = formula_lexicon()

    @classmethod
    def of_lake(
        cls,
        lake: Lake,
        resolver: Resolver,
        only: Iterable[str] | None = None,
        filings: Iterable[Mapping[str, Any]] | None = None,
    ) -> Calculator:
        """A calculator over a lake, or ``only`` some filings of it; ``filings`` are rows read already."""
        every = lake.read_all("filings").to_pylist() if filings is None else filings
        kept = None if only is None else set(only)
        return cls(
            every if kept is None else [row for row in every if row["filing"] in kept],
            {keys["filing"] for keys in lake.partitions("statement_facts")},
            lambda filing: lake.read("statement_facts", {"filing": filing}, FACT_COLUMNS),
            resolver,
            partial(_printed_rows, lake),
        )

    @cached_property
    def rows(self) -> PrintedRows | None:
        """Reads the printed rows of a filing; None where only facts answer."""
        return self._rows() if self._rows else None

    def answer(
        self,
        question: str,
        pages: PageHits | None = None,
        filings: Sequence[str] | None = None,
        only_pages: bool = False,
    ) -> Derivation:
        """Answer a question, or abstain and say why.

        Facts on ``pages`` that retrieval found win ties, the best page first; with ``only_pages`` they alone
        are used. ``filings`` are the only ones to use; those that the question names when None.

        Raises:
            UsageError: the question is empty, no text, or too long.
        """
        start = time.perf_counter()
        question = check_question(question, "ask")
        if (lexicon := formula_lexicon()) is not self._lexicon:  # a user's definitions were changed
            self._lexicon = lexicon
            self.__dict__.pop("opened", None)
        resolution = self.resolver.resolve(question)
        names = self._company_words(question, resolution)
        asked_as = question
        question = _under_one_name(question, resolution)
        question, spelled = self._spelled_out(question, resolution, filings, names)
        asked = None if only_pages else read_series(question)
        of_rows = cache(lambda: self._from_rows(question, resolution, filings))
        try:
            found = self._series(question, resolution, filings, asked) if asked is not None else None
            asked = asked if found else None
            form = _form(question, resolution) if asked is None else None
            if form is Form.WHICH and " or " in question:
                raise Abstention(AbstentionKind.NOT_A_CALCULATION, "the question asks which of several")
            verdict = of_rows() if form is Form.YES_NO else None  # formulas give the number alone
            if verdict is not None and verdict.answer.startswith(("Yes", "No.")):
                found = verdict
            if found is None:
                parsed = parse_question(question, names, self._lexicon)
                self._check_meant(question, parsed, resolution, names)
                found = self._calculated(question, parsed, resolution, pages or (), filings, only_pages)
        except Abstention as abstention:
            may_answer = asked is None and abstention.kind not in _NO_ROW_ANSWERS
            if len(resolution.companies) > 1 and abstention.kind is AbstentionKind.NOT_A_CALCULATION:
                # A sentence of one company compares nothing.
                abstention = Abstention(
                    AbstentionKind.SEVERAL_COMPANIES, abstention.why, abstention.looked_for
                )
            found = (of_rows() if may_answer else None) or _abstained(question, abstention)
        meant = tuple(filings) if filings is not None else self._meant(resolution)
        seconds = round(time.perf_counter() - start, 4)
        steps = (*(f"'{short}' read as '{full}'" for short, full in spelled.items()), *found.steps)
        return replace(found, question=asked_as, steps=steps, filings=meant, names=names, seconds=seconds)

    def _spelled_out(
        self, question: str, resolution: Resolution, filings: Sequence[str] | None, names: frozenset[str]
    ) -> tuple[str, dict[str, str]]:
        """A question with its clipped words and initials in full, where rows can be read."""
        if self._rows is None:
            return question, {}
        if not may_be_shortened(question, names):  # as most are not, no row is read
            return in_words(question), {}
        try:
            return self.opened.spelled_out(question, resolution, filings, names)
        except LakeError:  # a damaged table leaves the question as it is
            return question, {}

    def _from_rows(
        self, question: str, resolution: Resolution, filings: Sequence[str] | None
    ) -> Derivation | None:
        """The answer that any printed row gives; None where none surely does."""
        if self.rows is None:
            return None
        try:
            return self.opened.answer(question, resolution, filings)
        except (Abstention, LakeError):  # a damaged table leaves the abstention as it is
            return None

    def _series(
        self, question: str, resolution: Resolution, filings: Sequence[str] | None, asked: SeriesAsked
    ) -> Derivation | None:
        """The values over time that are asked for; None where formulas and plans may tell them too.

        It abstains where the quarters asked for cannot be told: no other period stands for them.
        """
        try:
            return self.opened.answer(question, resolution, filings, asked)
        except (Abstention, LakeError) as missing:
            if asked.each != "year" and isinstance(missing, Abstention):
                raise
            return None

    @cached_property
    def opened(self) -> OpenCalculator:
        """What answers from any printed row."""
        # Imported here: most questions are answered without.
        from finrag_pipeline.answering.open_calculator import OpenCalculator
        from finrag_pipeline.answering.row_matcher import row_matcher

        printed, infos = self.rows, self._infos
        if printed is not None:
            infos = {filing: info for filing, info in self._every.items() if filing in printed.filings}
        rows = printed.of if printed is not None else lambda filing: ()
        match = row_matcher().rate
        parts = printed.parts if printed is not None else None
        return OpenCalculator(infos, self._facts_of, rows, self.resolver, self._lexicon, match, parts)

    def _facts_of(self, filing: str) -> Sequence[Fact]:
        """Facts of a filing; none of one whose tables alone are read."""
        return self._facts(filing) if filing in self._infos else ()

    def _company_words(self, question: str, resolution: Resolution) -> frozenset[str]:
        """Words of the question that name companies; 'Works' in 'Acme Works' is none where it means Acme."""
        names = " ".join((*resolution.companies, *resolution.printed_names)).lower()
        known = {word.strip(".,'").removesuffix("'s") for word in names.split()}
        run = company_words(plain(question), self.resolver.named_at(question))
        return frozenset(known | {word for word in run if fold(word) in LEGAL})

    def _meant(self, resolution: Resolution) -> tuple[str, ...] | None:
        """Filings that a question may mean; None where it names no company and there are several."""
        best = max((found.score for found in resolution.filings), default=0.0)
        ranked = [found.filing for found in resolution.filings if found.score >= _LIKELY * best]
        if resolution.companies or (ranked and resolution.ties == 1):
            return tuple(ranked)
        only = self.resolver.filings_of(ranked[0]) if ranked and resolution.unknown_company is None else ()
        return tuple(ranked) if only and set(self._infos) <= set(only) else None

    def evaluate(
        self, formula: str, company: str, period: str, filings: Sequence[str] | None = None
    ) -> Derivation:
        """The value of a formula in names of lines, or an abstention.

        Such as ``365 * avg(inventory) / cost_of_revenue`` or ``revenue@2023 - revenue@2022``; other names
        than those of ``formulas.toml`` are labels in double quotes. The latest period is meant where it is
        empty.
        """
        question = " ".join(f"{formula}, {company} {period}".split())
        try:
            resolution = self.resolver.resolve(f"What was the revenue of {company}?")
            named = (fiscal_period(asked) for asked in read_periods(period))
            periods = tuple(sorted(filter(None, named), key=lambda one: one.code))[-1:]
            expression = parse_expression(formula)
            expression = At(expression, periods[0]) if periods else expression
            asked = ParsedQuestion(expression, formula, None, {}, periods, Directives())
            return self._calculated(question, asked, resolution, (), filings, False)
        except Abstention as missing:
            return _abstained(question, missing)
        except ExpressionError as error:
            why = f"the formula cannot be read: {error}"
            return _abstained(question, Abstention(AbstentionKind.UNREADABLE, why))

    def _calculated(
        self,
        question: str,
        parsed: ParsedQuestion,
        resolution: Resolution,
        pages: PageHits,
        filings: Sequence[str] | None,
        only_pages: bool,
    ) -> Derivation:
        if filings is None and len(self.resolver.named_at(question)) > 1:
            named = " and ".join(f"'{company}'" for company in resolution.companies[:3])
            why = f"the question names several companies, {named}; ask about one at a time"
            raise Abstention(AbstentionKind.SEVERAL_COMPANIES, why)
        chosen = self._filings(resolution, filings)
        infos = [self._infos[filing] for filing in chosen]
        period, shift = self._period(parsed, infos)
        facts = [(info, self._facts(info.filing)) for info in infos]
        statements = parsed.directives.statements
        book = FactBook(facts, self._lexicon, statements, pages, only_pages, asked=question)
        # A word left out may change the answer: participles do not, unless a line is named so.
        left = [one for one in parsed.left_over if not one.lower().endswith(("ed", "ing")) or book.names(one)]
        if left:
            named = ", ".join(f"'{one}'" for one in left)
            why = f"no number is given, as a part of the question is not understood: {named}"
            raise Abstention(AbstentionKind.NOT_UNDERSTOOD, why)
        case = _Case(_over_years(parsed, period), book, self._lexicon, shift, period)
        try:
            return case.derivation(question)
        except Abstention as missing:
            if infos[0].source != "pdf":
                told = f"{missing.why}; {infos[0].filing} is {TEXT_ONLY}"
                raise Abstention(missing.kind, told, missing.looked_for) from missing
            if missing.kind is AbstentionKind.NOT_REPORTED and parsed.otherwise_zero:
                return Derivation(
                    question, "0", 0.0, "ratio", "0", (missing.why,), looked_for=missing.looked_for
                )
            raise

    def _check_meant(
        self, question: str, parsed: ParsedQuestion, resolution: Resolution, companies: Collection[str]
    ) -> None:
        """Abstain where a question asks for a part of the company, or surely for another line than it names.

        'How much debt was paid back' asks for no balance of debt. Where no other word says anything, no
        model is loaded.
        """
        if self._rows is None:
            return
        said = " ".join((*self._lexicon.named(question.lower()).values(), *companies)).split()
        others = [word.removesuffix("'s") for word in naming_words(question).split()]
        others = [word for word in others if word.isalpha() and word.lower() not in said]
        if any(word[:1].isupper() for word in others) and self.opened.names_part(question, resolution):
            why = "the question asks for a part of the company, which no statement shows"
            raise Abstention(AbstentionKind.NO_LINE, why)  # nor does a sentence that is quoted
        named = {*names_in(parsed.expression)} - parsed.definitions.keys()
        if len(named) != 1 or parsed.also or not others:
            return
        meant, _ = read_line(question, resolution.printed_names) or ("", 0.0)
        (line,) = named
        if meant in self._lexicon.entries and means_another(line, question, resolution.printed_names):
            raise Abstention(
                AbstentionKind.NOT_UNDERSTOOD, "the question asks for a line that it does not name"
            )

    def _filings(self, resolution: Resolution, filings: Sequence[str] | None) -> list[str]:
        """Filings of the company asked about with facts, the one most likely meant first."""
        if filings is not None:
            chosen = [filing for filing in filings if filing in self._infos]
            if chosen:
                return chosen
            raise Abstention(
                AbstentionKind.NOT_REPORTED, "the filings given hold no facts of statements", tuple(filings)
            )
        if not resolution.companies and not (resolution.filings and resolution.ties == 1):
            name = resolution.unknown_company
            unknown = f"no filing of '{name}' is in the index"
            why = unknown if name else "the question names no company of the index"
            raise Abstention(AbstentionKind.UNKNOWN_COMPANY, why)
        ranked = [found.filing for found in resolution.filings]
        same = set(self.resolver.filings_of(ranked[0]))
        chosen = [filing for filing in ranked if filing in same and filing in self._infos]
        if not chosen:
            why = "no filing of the company holds facts of statements"
            raise Abstention(AbstentionKind.NOT_REPORTED, why, tuple(ranked[:3]))
        return chosen

    def _period(self, parsed: ParsedQuestion, infos: Sequence[FilingInfo]) -> tuple[FiscalPeriod, int]:
        """The period that a bare name means, and the shift from the question's years to the facts' years."""
        best = infos[0]
        if not parsed.periods:
            quarter = None if best.annual else best.fiscal_quarter
            if best.fiscal_year is None:
                raise Abstention(AbstentionKind.UNKNOWN_PERIOD, "the question names no period")
            return FiscalPeriod(best.fiscal_year, quarter), 0
        last, own = parsed.periods[-1], best.fiscal_year
        declared = self._declared.get(best.filing)
        if last.year is None or own is None or declared != last.year or declared == own:
            return last, 0
        # The filing is named by another year than its cover gives; nothing else reports on the year named.
        others = any(info.fiscal_year == last.year for info in infos)
        return last, 0 if others else own - last.year


def _form(question: str, resolution: Resolution) -> Form | None:
    """The form of the answer that is asked for, where that is sure; most ask for a number."""
    if " or " not in question and not _AUXILIARY.search(question):
        return None
    reading = read_question(question, resolution.printed_names)
    return reading.form if reading.forms[reading.form] >= _SURELY else None


@dataclass(frozen=True)
class _Case:
    """A question over the facts that answer it.

    Attributes:
        shift: from the years of the question to those of the facts.
        period: what a bare name means.
    """

    parsed: ParsedQuestion
    book: FactBook
    lexicon: Lexicon
    shift: int
    period: FiscalPeriod

    def derivation(self, question: str) -> Derivation:
        """The answer.

        Raises:
            Abstention: there is none.
        """
        parsed = self.parsed
        calculation, result, worded = self._computed(parsed.expression, self.period)
        _check_unit(result, parsed)
        _check_part(question, result, worded.unit)
        steps, inputs = calculation.trace.steps, calculation.trace.inputs
        if result.inner != result.text:
            steps.append(f"{parsed.label} = {result.text} = {worded.answer}")
        others = self._conventions(worded)
        own = parsed.label if parsed.also or not parsed.periods else parsed.periods[-1].label
        series = [SeriesValue(own, worded.answer, float(result.value))]
        for label, expression, period in self._named_too():
            if (made := self._tried(expression, period)) is not None:
                further, exact, told = made
                named = {"what": label, "answer": told.answer, "value": float(told.value)}
                others.append({**named, "why": _NAMED_TOO, "named": label})
                value = SeriesValue(label, told.answer, float(exact.value))
                series.insert(len(series) if parsed.also else -1, value)
                inputs += further.trace.inputs
        return Derivation(
            question=question,
            answer=listing(series) if len(series) > 1 else worded.answer,
            value=float(worded.value),
            unit=worded.unit,
            formula=self._formula_text(),
            steps=tuple(dict.fromkeys(steps)),
            inputs=tuple(dict.fromkeys(inputs)),
            alternatives=(*calculation.trace.alternatives, *others),
            exact=float(result.value),
            series=tuple(series) if len(series) > 1 else (),
        )

    def _computed(self, expression: Expression, period: FiscalPeriod) -> tuple[Calculation, Quantity, Worded]:
        calculation = Calculation(self.book, self.lexicon, self.parsed.definitions, self.shift)
        result = calculation.compute(expression, period)
        unit = self.parsed.unit if self.parsed.unit in ("percent", "points", "days", "times") else "ratio"
        worded = word_value(result.value, result.unit, unit, calculation.currency, self.parsed.directives)
        return calculation, result, worded

    def _tried(
        self, expression: Expression, period: FiscalPeriod
    ) -> tuple[Calculation, Quantity, Worded] | None:
        try:
            return self._computed(expression, period)
        except Abstention:
            return None

    def _conventions(self, main: Worded) -> list[dict[str, Any]]:
        """Values by other conventions, where the question left its term undefined."""
        inner, place = self.parsed.expression, self.period
        if isinstance(inner, At):
            place = inner.period or place.shift(inner.offset)
            inner = inner.of
        if not isinstance(inner, Name) or inner.name in self.parsed.definitions:
            return []
        entry = self.lexicon.entries.get(inner.name)
        found: list[dict[str, Any]] = []
        for other in entry.others if isinstance(entry, Formula) else ():
            made = self._tried(other, place)
            if made is not None and made[2].value != main.value:
                told = {"what": f"{self.parsed.label} as {print_expression(other)}", "answer": made[2].answer}
                found.append({**told, "value": float(made[2].value), "why": "another convention"})
        return found

    def _named_too(self) -> Iterator[tuple[str, Expression, FiscalPeriod]]:
        """The other periods, and the other quantities, that a question names side by side."""
        parsed = self.parsed
        if isinstance(parsed.expression, At):
            yield from ((other.label, parsed.expression.of, other) for other in parsed.periods[:-1])
        place = parsed.periods[-1] if parsed.periods else self.period
        yield from ((self.lexicon.entries[name.name].label, name, place) for name in parsed.also)

    def _formula_text(self) -> str:
        expression, definitions = self.parsed.expression, self.parsed.definitions
        text = print_expression(expression)
        inner = expression.of if isinstance(expression, At) else expression
        name = inner.name if isinstance(inner, Name) else None
        entry = (definitions.get(name) or self.lexicon.entries.get(name)) if name else None
        if isinstance(entry, Formula):
            text = f"{text} = {print_expression(entry.expression)}"
        others = (
            f", {other} = {print_expression(formula.expression)}"
            for other, formula in definitions.items()
            if other != name
        )
        return text + "".join(others)


def _abstained(question: str, missing: Abstention) -> Derivation:
    return Derivation(
        question,
        missing.sentence(),
        abstained=True,
        kind=str(missing.kind),
        why=missing.why,
        looked_for=missing.looked_for,
    )


def _over_years(parsed: ParsedQuestion, period: FiscalPeriod) -> ParsedQuestion:
    """The question with each of the years that it counts back from the period asked for."""
    if parsed.span is None or period.year is None:
        return parsed
    of = parsed.expression.of if isinstance(parsed.expression, At) else parsed.expression
    years = tuple(period.shift(-back) for back in reversed(range(parsed.span)))
    return replace(parsed, expression=At(of, period), periods=years)


_PURE = ("percent", "points", "basis_points", "days", "ratio", "times")


def _check_unit(result: Quantity, parsed: ParsedQuestion) -> None:
    """Abstain where days, per cent or a ratio are asked for and the result is an amount, or the reverse."""
    asked = parsed.directives.unit or (parsed.unit if parsed.unit in _PURE else None)
    amount = result.unit in (MONEY, PER_SHARE, SHARES)
    if asked is not None and (asked in _PURE if amount else asked == "currency"):
        given = "an amount" if amount else "no amount"
        why = f"the question asks for {asked.replace('_', ' ')}, and what it could be read as is {given}"
        raise Abstention(AbstentionKind.NOT_UNDERSTOOD, why)


_OF_WHOLE = any_case(
    r"^\W*(?:out )?of (?:all|everything|the|its|their|every)\b|"
    r"\b(?:went|goes?|came|comes?|coming) (?:to|from)\b"
)


def _check_part(question: str, result: Quantity, unit: str) -> None:
    """Abstain where a part of a whole that is asked for would be larger than it."""
    if unit == "percent" and result.value > 1 and _OF_WHOLE.search(question):
        raise Abstention(AbstentionKind.NOT_UNDERSTOOD, "the part that it names is larger than the whole")


def company_words(text: str, places: Iterable[int]) -> set[str]:
    """Words in lower case of the names that begin at ``places``: the capitalised words there, at most six."""
    words: set[str] = set()
    for place in places:
        end = place
        for match in list(_NAME_WORD.finditer(text, place))[:6]:
            word = match[0]
            named = match.start() == place or word[0].isupper() or word.lower() in ("of", "and", "the")
            if not named or text[end : match.start()].strip(" &-."):
                break
            words.add(word.lower().removesuffix("'s").removesuffix("'"))
            end = match.end()
            if "'" in word:
                break
    return words


def _under_one_name(question: str, resolution: Resolution) -> str:
    """A question that calls a company by one of its names alone: 'Acme, once Widget' says Acme twice.

    Names that share a word are left: 'Acme Paper' may be a part of Acme.
    """
    for other, name in resolution.other_names:
        if {*other.lower().split()}.isdisjoint(name.lower().split()):
            question = re.sub(rf"(?<!\w){re.escape(other)}(?!\w)", lambda _, name=name: name, question)
    return question


def _printed_rows(lake: Lake) -> PrintedRows:
    from finrag_pipeline.answering.printed_rows import PrintedRows  # most questions are answered without

    return PrintedRows(lake)
