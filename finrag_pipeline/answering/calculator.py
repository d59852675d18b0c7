"""Answers questions by calculation over the facts of filings, without a language model."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from finrag_pipeline.answering.calculate import Calculation, Quantity, Unit
from finrag_pipeline.answering.derivation import Derivation, Input, SeriesValue
from finrag_pipeline.answering.inputs import FACT_COLUMNS, Fact, FactBook, FilingInfo, read_facts, read_info
from finrag_pipeline.answering.wording import (
    Worded,
    word_money,
    word_per_share,
    word_ratio,
    word_shares,
)
from finrag_pipeline.errors import LakeError
from finrag_pipeline.filings import TEXT_ONLY
from finrag_pipeline.questions.abstention import CANNOT_BE_DETERMINED, Abstention, AbstentionKind
from finrag_pipeline.questions.directives import Directives
from finrag_pipeline.questions.expression import (
    At,
    Expression,
    ExpressionError,
    FiscalPeriod,
    Name,
    parse_expression,
    print_expression,
)
from finrag_pipeline.questions.formula_lexicon import Formula, Lexicon, formula_lexicon
from finrag_pipeline.questions.parser import ParsedQuestion, parse_question
from finrag_pipeline.questions.series import SeriesAsked, read_series
from finrag_pipeline.questions.tokens import fiscal_period
from finrag_pipeline.resolver.lexicon import LEGAL
from finrag_pipeline.resolver.periods import read_periods
from finrag_pipeline.resolver.resolver import Resolution, Resolver
from finrag_pipeline.resolver.tokens import fold, plain
from finrag_pipeline.retrieval.question_text import check_question
from finrag_pipeline.statements.filing_rows import FilingRows
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.answering.open_calculator import OpenCalculator

CALCULATOR_VERSION = "14"
"""Changes whenever a question may be answered differently."""

PageHits = Sequence[tuple[str, int]]
"""(filing, zero-based page), best first."""

_ROWS_MAY_ANSWER = (
    AbstentionKind.NOT_A_CALCULATION,
    AbstentionKind.NOT_REPORTED,
    AbstentionKind.NO_LINE,
    AbstentionKind.UNDEFINED_NAME,
    AbstentionKind.SEVERAL_COMPANIES,
    AbstentionKind.NOT_UNDERSTOOD,
    AbstentionKind.UNREADABLE,
)
_LIKELY = 0.5
"""Share of the best filing's score from which a filing may be meant too, and be quoted from."""

_NAME_WORD = re.compile(r"[^\W_](?:[\w&.'-]*\w)?(?:'s|')?")
_NAMED_TOO = "the question names this too"


class Calculator:
    """Computes answers from the facts of a lake; facts of a filing are read when first needed, and kept.

    Args:
        lake: holds ``filings`` and ``statement_facts``.
        resolver: reads company and periods out of a question.
        filings: filings that may be used; all of the lake when None.
        lexicon: lines and formulas; those of ``formulas.toml`` when None.
        rows: all rows of ``filings``, where they were read already.
    """

    def __init__(
        self,
        lake: Lake,
        resolver: Resolver,
        filings: Iterable[str] | None = None,
        lexicon: Lexicon | None = None,
        rows: Iterable[Mapping[str, Any]] | None = None,
    ) -> None:
        rows = list(lake.read_all("filings").to_pylist() if rows is None else rows)
        known = {keys["filing"] for keys in lake.partitions("statement_facts")}
        if filings is not None:
            known &= set(filings)

        def load(filing: str) -> pa.Table:
            return lake.read("statement_facts", {"filing": filing}, FACT_COLUMNS)

        self._set_up(rows, known, load, resolver, lexicon, FilingRows(lake))

    @classmethod
    def of_tables(
        cls,
        filings: Iterable[Mapping[str, Any]],
        facts: Mapping[str, pa.Table],
        resolver: Resolver,
        lexicon: Lexicon | None = None,
    ) -> Calculator:
        """A calculator over rows of ``filings`` and tables of ``statement_facts`` by filing."""
        made = cls.__new__(cls)
        made._set_up(list(filings), set(facts), facts.__getitem__, resolver, lexicon)
        return made

    def _set_up(
        self,
        rows: Iterable[Mapping[str, Any]],
        known: set[str],
        load: Callable[[str], pa.Table],
        resolver: Resolver,
        lexicon: Lexicon | None,
        printed: FilingRows | None = None,
    ) -> None:
        self._infos = {str(row["filing"]): read_info(row) for row in rows if str(row["filing"]) in known}
        self._declared = {str(row["filing"]): row.get("declared_year") for row in rows}
        self._load = load
        self.rows = printed
        self.resolver = resolver
        self._lexicon = lexicon or formula_lexicon()
        self._facts: dict[str, list[Fact]] = {}
        self._open: OpenCalculator | None = None

    def answer(
        self,
        question: str,
        pages: PageHits | None = None,
        filings: Sequence[str] | None = None,
        only_pages: bool = False,
    ) -> Derivation:
        """Answer a question, or abstain and say why.

        Args:
            question: the question.
            pages: pages that retrieval found, best first; facts on them win ties.
            filings: the only filings to use; those that the question names when None.
            only_pages: use facts of ``pages`` alone.

        Raises:
            UsageError: the question is empty, no text, or too long.
        """
        start = time.perf_counter()
        question = check_question(question, "ask")
        resolution = self.resolver.resolve(question)
        names = self._company_words(question, resolution)
        asked = None if only_pages else read_series(question)
        try:
            found = self._series(question, resolution, filings, asked) or self._answer(
                question, resolution, names, tuple(pages or ()), filings, only_pages
            )
        except Abstention as abstention:
            rows = self._from_rows(question, resolution, filings, abstention) if asked is None else None
            found = rows or Derivation(
                question,
                abstention.sentence(),
                abstained=True,
                kind=str(abstention.kind),
                why=abstention.why,
                looked_for=abstention.looked_for,
            )
        meant = tuple(filings) if filings is not None else self._meant(resolution)
        seconds = round(time.perf_counter() - start, 4)
        return replace(found, filings=meant, names=names, seconds=seconds)

    def _from_rows(
        self, question: str, resolution: Resolution, filings: Sequence[str] | None, abstention: Abstention
    ) -> Derivation | None:
        """The answer that any printed row gives where lines of statements give none."""
        if self.rows is None or abstention.kind not in _ROWS_MAY_ANSWER:
            return None
        try:
            return self._opened().answer(question, resolution, filings)
        except (Abstention, LakeError):  # a damaged table leaves the abstention as it is
            return None

    def _series(
        self,
        question: str,
        resolution: Resolution,
        filings: Sequence[str] | None,
        asked: SeriesAsked | None,
    ) -> Derivation | None:
        """The values over time that are asked for; None where formulas and plans may tell them too.

        Raises:
            Abstention: the quarters asked for cannot be told; no other period stands for them.
        """
        if asked is None:
            return None
        try:
            return self._opened().answer(question, resolution, filings, asked)
        except (Abstention, LakeError) as missing:
            if asked.each != "year" and isinstance(missing, Abstention):
                raise
            return None

    def _opened(self) -> OpenCalculator:
        if self._open is None:
            # Imported here: most questions are answered without.
            from finrag_pipeline.answering.open_calculator import OpenCalculator
            from finrag_pipeline.answering.row_matcher import row_matcher

            printed = self.rows
            infos = self._infos
            if printed is not None:
                infos = {filing: info for filing, info in infos.items() if filing in printed.filings}
            rows = printed.of if printed is not None else lambda filing: ()
            match = row_matcher().probabilities
            self._open = OpenCalculator(infos, self._facts_of, rows, self.resolver, self._lexicon, match)
        return self._open

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

    def _answer(
        self,
        question: str,
        resolution: Resolution,
        names: frozenset[str],
        pages: PageHits,
        filings: Sequence[str] | None,
        only_pages: bool,
    ) -> Derivation:
        parsed = parse_question(question, names, self._lexicon)
        return self._calculated(question, parsed, resolution, pages, filings, only_pages)

    def evaluate(
        self, formula: str, company: str, period: str, filings: Sequence[str] | None = None
    ) -> Derivation:
        """The value of a formula in names of lines, or an abstention.

        Args:
            formula: such as ``365 * avg(inventory) / cost_of_revenue`` or ``revenue@2023 - revenue@2022``;
                other names than those of ``formulas.toml`` are labels in double quotes.
            company: whose filings.
            period: such as ``FY2023`` or ``Q2 2023``; the latest where it is empty.
            filings: the only filings to use; all of the company when None.
        """
        question = " ".join(f"{formula}, {company} {period}".split())
        try:
            resolution = self.resolver.resolve(f"What was the revenue of {company}?")
            named = (fiscal_period(asked) for asked in read_periods(period))
            periods = tuple(sorted(filter(None, named), key=lambda one: one.code))[-1:]
            expression = parse_expression(formula)
            expression = At(expression, periods[0]) if periods else expression
            asked = ParsedQuestion(question, expression, formula, None, {}, periods, Directives())
            found = self._calculated(question, asked, resolution, (), filings, False)
        except (Abstention, ExpressionError) as error:
            missing = (
                error
                if isinstance(error, Abstention)
                else Abstention(AbstentionKind.UNREADABLE, f"the formula cannot be read: {error}")
            )
            return Derivation(
                question, missing.sentence(), abstained=True, kind=str(missing.kind), why=missing.why
            )
        return found

    def _calculated(
        self,
        question: str,
        parsed: ParsedQuestion,
        resolution: Resolution,
        pages: PageHits,
        filings: Sequence[str] | None,
        only_pages: bool,
    ) -> Derivation:
        places = self.resolver.named_at(question)
        if filings is None and len(places) > 1:
            named = " and ".join(f"'{company}'" for company in resolution.companies[:3])
            why = f"the question names several companies, {named}; ask about one at a time"
            raise Abstention(AbstentionKind.SEVERAL_COMPANIES, why)
        chosen = self._filings(resolution, filings)
        infos = [self._infos[filing] for filing in chosen]
        period, shift = self._period(parsed, infos)
        book = FactBook(
            [(info, self._facts_of(info.filing)) for info in infos],
            self._lexicon,
            parsed.directives.statements,
            pages,
            only_pages,
        )
        if left := [word for word in parsed.left_over if _may_matter(word, book)]:
            named = ", ".join(f"'{word}'" for word in left)
            why = f"no number is given, as a part of the question is not understood: {named}"
            raise Abstention(AbstentionKind.NOT_UNDERSTOOD, why)
        parsed = _over_years(parsed, period)
        calculation = Calculation(book, self._lexicon, parsed.definitions, shift)
        try:
            result = calculation.compute(parsed.expression, period)
        except Abstention as missing:
            if infos[0].source != "pdf":
                told = f"{missing.why}; {infos[0].filing} is {TEXT_ONLY}"
                raise Abstention(missing.kind, told, missing.looked_for) from missing
            if missing.kind is AbstentionKind.NOT_REPORTED and parsed.otherwise_zero:
                return Derivation(
                    question, "0", 0.0, "ratio", "0", (missing.why,), looked_for=missing.looked_for
                )
            raise
        _check_unit(result, parsed)
        worded = word(result, parsed, calculation.currency)
        steps = list(calculation.trace.steps)
        if result.inner != result.text:
            steps.append(f"{parsed.label} = {result.text} = {worded.answer}")
        inputs = tuple(dict.fromkeys(calculation.trace.inputs))
        others = self._conventions(parsed, book, shift, period, worded)
        too = self._named_too(parsed, book, shift, period)
        others += [told for told, _, _ in too]
        inputs = tuple(dict.fromkeys([*inputs, *(item for _, used, _ in too for item in used)]))
        own = parsed.label if parsed.also or not parsed.periods else parsed.periods[-1].label
        main = SeriesValue(own, worded.answer, float(result.value))
        also = tuple(one for _, _, one in too)
        series = () if not also else (main, *also) if parsed.also else (*also, main)
        return Derivation(
            question=question,
            answer=_with_named(worded.answer, parsed, others),
            value=float(worded.value),
            unit=worded.unit,
            formula=self._formula_text(parsed),
            steps=tuple(dict.fromkeys(steps)),
            inputs=inputs,
            alternatives=(*calculation.trace.alternatives, *others),
            exact=float(result.value),
            series=series,
        )

    def _facts_of(self, filing: str) -> list[Fact]:
        if filing not in self._facts:
            self._facts[filing] = read_facts(self._load(filing))
        return self._facts[filing]

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
            why = (
                f"no filing of '{name}' is in the index"
                if name
                else "the question names no company of the index"
            )
            raise Abstention(AbstentionKind.UNKNOWN_COMPANY, why)
        ranked = [found.filing for found in resolution.filings]
        same = set(self.resolver.filings_of(ranked[0]))
        chosen = [filing for filing in ranked if filing in same and filing in self._infos]
        if not chosen:
            raise Abstention(
                AbstentionKind.NOT_REPORTED,
                "no filing of the company holds facts of statements",
                tuple(ranked[:3]),
            )
        return chosen

    def _period(self, parsed: ParsedQuestion, infos: Sequence[FilingInfo]) -> tuple[FiscalPeriod, int]:
        """The period that a bare name means, and the shift from the question's years to the facts' years."""
        best = infos[0]
        if not parsed.periods:
            quarter = None if best.annual else best.fiscal_quarter
            if best.fiscal_year is None:
                raise Abstention(AbstentionKind.UNKNOWN_PERIOD, "the question names no period")
            return FiscalPeriod(best.fiscal_year, quarter), 0
        last = parsed.periods[-1]
        declared = self._declared.get(best.filing)
        if (
            last.year is None
            or best.fiscal_year is None
            or declared != last.year
            or declared == best.fiscal_year
        ):
            return last, 0
        # The filing is named by another year than its cover gives; nothing else reports on the year named.
        if any(info.fiscal_year == last.year for info in infos):
            return last, 0
        return last, best.fiscal_year - last.year

    def _formula_text(self, parsed: ParsedQuestion) -> str:
        text = print_expression(parsed.expression)
        inner = parsed.expression.of if isinstance(parsed.expression, At) else parsed.expression
        if isinstance(inner, Name):
            entry = parsed.definitions.get(inner.name) or self._lexicon.entries.get(inner.name)
            if isinstance(entry, Formula):
                text = f"{text} = {print_expression(entry.expression)}"
        for name, formula in parsed.definitions.items():
            if not (isinstance(inner, Name) and inner.name == name):
                text += f", {name} = {print_expression(formula.expression)}"
        return text

    def _conventions(
        self, parsed: ParsedQuestion, book: FactBook, shift: int, period: FiscalPeriod, main: Worded
    ) -> list[dict[str, Any]]:
        """Values by other conventions, where the question left its term undefined."""
        inner, place = parsed.expression, period
        if isinstance(inner, At):
            place = inner.period or period.shift(inner.offset)
            inner = inner.of
        if not isinstance(inner, Name) or inner.name in parsed.definitions:
            return []
        entry = self._lexicon.entries.get(inner.name)
        found: list[dict[str, Any]] = []
        for other in entry.others if isinstance(entry, Formula) else ():
            made = self._try(other, parsed, book, shift, place)
            if made is not None and made[0].value != main.value:
                worded = made[0]
                told = {"what": f"{parsed.label} as {print_expression(other)}", "answer": worded.answer}
                found.append({**told, "value": float(worded.value), "why": "another convention"})
        return found

    def _named_too(
        self, parsed: ParsedQuestion, book: FactBook, shift: int, period: FiscalPeriod
    ) -> list[tuple[dict[str, Any], tuple[Input, ...], SeriesValue]]:
        """Values in the other periods, and of the other quantities, that a question names side by side."""
        found = []
        wanted: list[tuple[str, Expression, FiscalPeriod]] = []
        if isinstance(parsed.expression, At) and len(parsed.periods) > 1:
            wanted += [(other.label, parsed.expression.of, other) for other in parsed.periods[:-1]]
        place = parsed.periods[-1] if parsed.periods else period
        wanted += [(self._lexicon.entries[name.name].label, name, place) for name in parsed.also]
        for label, expression, when in wanted:
            if (made := self._try(expression, parsed, book, shift, when)) is not None:
                worded, inputs, exact = made
                told = {"what": label, "answer": worded.answer, "value": float(worded.value)}
                value = SeriesValue(label, worded.answer, exact)
                found.append(({**told, "why": _NAMED_TOO, "named": label}, inputs, value))
        return found

    def _try(
        self, expression: Expression, parsed: ParsedQuestion, book: FactBook, shift: int, period: FiscalPeriod
    ) -> tuple[Worded, tuple[Input, ...], float] | None:
        calculation = Calculation(book, self._lexicon, parsed.definitions, shift)
        try:
            result = calculation.compute(expression, period)
        except Abstention:
            return None
        worded = word(result, parsed, calculation.currency)
        return worded, tuple(calculation.trace.inputs), float(result.value)


def _may_matter(word: str, book: FactBook) -> bool:
    """Whether a word left out may change the answer: participles do not, unless a line is named so."""
    return not word.lower().endswith(("ed", "ing")) or book.names(word)


def _over_years(parsed: ParsedQuestion, period: FiscalPeriod) -> ParsedQuestion:
    """The question with each of the years that it counts back from the period asked for."""
    if parsed.span is None or period.year is None:
        return parsed
    of = parsed.expression.of if isinstance(parsed.expression, At) else parsed.expression
    years = tuple(period.shift(-back) for back in reversed(range(parsed.span)))
    return replace(parsed, expression=At(of, period), periods=years)


_PURE = ("percent", "points", "basis_points", "days", "ratio", "times")


def _check_unit(result: Quantity, parsed: ParsedQuestion) -> None:
    """Nothing, where a result is of the unit asked for.

    Raises:
        Abstention: days, per cent or a ratio are asked for and the result is an amount, or the reverse.
    """
    asked = parsed.directives.unit or (parsed.unit if parsed.unit in _PURE else None)
    amount = result.unit in (Unit(1, 0), Unit(1, -1), Unit(0, 1))
    if asked is not None and (asked in _PURE if amount else asked == "currency"):
        given = "an amount" if amount else "no amount"
        why = f"the question asks for {asked.replace('_', ' ')}, and what it could be read as is {given}"
        raise Abstention(AbstentionKind.NOT_UNDERSTOOD, why)


def _with_named(answer: str, parsed: ParsedQuestion, others: Sequence[Mapping[str, Any]]) -> str:
    """The answer with the values of the other periods and quantities that the question names."""
    named = [f"{other['named']}: {other['answer']}" for other in others if other["why"] == _NAMED_TOO]
    if not named:
        return answer
    own = parsed.label if parsed.also else parsed.periods[-1].label
    main = f"{own}: {answer}"
    return "; ".join([main, *named] if parsed.also else [*named, main])


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


def word(result: Quantity, parsed: ParsedQuestion, currency: str | None) -> Worded:
    """A result in the unit and rounding that the question asks for, else as usual for its formula."""
    directives = parsed.directives
    if result.unit == Unit(1, 0):
        return word_money(result.value, currency, directives)
    if result.unit == Unit(1, -1):
        return word_per_share(result.value, currency, directives.decimals)
    if result.unit == Unit(0, 1):
        return word_shares(result.value, directives)
    unit = directives.unit
    if unit not in ("percent", "points", "basis_points", "days", "ratio"):
        unit = parsed.unit if parsed.unit in ("percent", "days", "times") else "ratio"
    return word_ratio(result.value, unit, directives.decimals)


__all__ = ["CANNOT_BE_DETERMINED", "Calculator", "PageHits", "word"]
