"""Answers over any printed row, for the companies that a question names; what is surely meant, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from finrag_pipeline.answering.derivation import Derivation
from finrag_pipeline.answering.inputs import Fact, FilingInfo
from finrag_pipeline.answering.open_answer import OpenAnswer, PlanReader, derive, known_name
from finrag_pipeline.answering.row_book import Match, OpenBook, RowBook
from finrag_pipeline.questions.abstention import Abstention, AbstentionKind
from finrag_pipeline.questions.answer_kind import asks_for_number
from finrag_pipeline.questions.expression import FiscalPeriod
from finrag_pipeline.questions.formula_lexicon import Lexicon
from finrag_pipeline.questions.plan import QuestionPlan, read_plan
from finrag_pipeline.resolver.resolver import Resolution, Resolver
from finrag_pipeline.statements.filing_rows import FilingRow

MOST_FILINGS = 4
"""Filings of a company whose rows are read, the likeliest first."""

LEAST_NUMBER = 0.25
"""Least probability that a question asks for a number. Of the questions of TAT-QA's development part it lets
.99 of those for numbers pass, and a quarter of those for words."""


class OpenCalculator:
    """Computes the plan of a question over printed rows.

    Args:
        infos: filings that may be used.
        facts: reads the facts of a filing.
        rows: reads the printed rows of a filing.
        resolver: tells the filings of a company.
        lexicon: lines and formulas.
        match: tells how likely each row is what words name.
    """

    def __init__(
        self,
        infos: Mapping[str, FilingInfo],
        facts: Callable[[str], Sequence[Fact]],
        rows: Callable[[str], Sequence[FilingRow]],
        resolver: Resolver,
        lexicon: Lexicon,
        match: Match,
    ) -> None:
        self._infos = infos
        self._facts = facts
        self._rows = rows
        self._resolver = resolver
        self._lexicon = lexicon
        self._match = match

    def answer(
        self, question: str, resolution: Resolution, filings: Sequence[str] | None = None
    ) -> Derivation:
        """The answer to a question.

        Args:
            question: as asked.
            resolution: as the resolver read it.
            filings: the only filings to use; those that the question means when None.

        Raises:
            Abstention: it has no plan, or what is asked for is not surely found.
        """
        plan = read_plan(
            question, resolution.printed_names, lambda words: known_name(words, self._lexicon) is not None
        )
        if plan is None:
            raise Abstention(AbstentionKind.NOT_A_CALCULATION, "the question names no quantity")
        if plan.verdict is None and asks_for_number(plan.asked) < LEAST_NUMBER:
            raise Abstention(
                AbstentionKind.NOT_A_CALCULATION, "the question asks for words, not for a number"
            )
        found: dict[str, OpenAnswer] = {}
        for company, chosen in self._companies(resolution, filings).items():
            own = plan.of_company.get(company)
            found[company] = self._of_company(replace(plan, periods=own) if own else plan, chosen)
        if not found:
            raise Abstention(AbstentionKind.UNKNOWN_COMPANY, "the question names no company of the index")
        return derive(question, plan, found)

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

    def _of_company(self, plan: QuestionPlan, chosen: Sequence[str]) -> OpenAnswer:
        if not chosen:
            raise Abstention(AbstentionKind.NOT_REPORTED, "no filing of the company holds tables")
        infos = [self._infos[filing] for filing in chosen[:MOST_FILINGS]]
        best = infos[0]
        if best.fiscal_year is None:
            raise Abstention(AbstentionKind.UNKNOWN_PERIOD, "the question names no period")
        default = FiscalPeriod(best.fiscal_year, None if best.annual else best.fiscal_quarter)
        book = OpenBook(
            [(info, self._facts(info.filing)) for info in infos], self._lexicon, plan.directives.statements
        )
        rows = [(info, self._rows(info.filing)) for info in infos]
        book.open_rows(RowBook(rows, self._match, plan.names, plan.periods, plan.unit, plan.asked))
        return PlanReader(book, self._lexicon, default).answer(plan)
