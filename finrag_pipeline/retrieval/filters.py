"""What a question says of where its answer stands, as a filter before the search.

The Mixpeek technical guide (section 6) maps a metric to the statements it is computed from: ratios first,
because 'return on assets' holds the word 'assets'; then single metrics; all three statements where none is
named. It then adds keyword searches such as '2017 cash flow statement', ten chunks for each of the first two
years and each statement, to the fifteen chunks nearest to the question.

Here the pages of the statements are known, so that no keyword has to find them: the search, by keywords and
by meaning, is made inside the pages that hold facts of the primary statements for the first two fiscal years
asked about, in the filings that the resolver allows. What both searches find is fused, which drops doubles.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from finrag_pipeline.errors import Problem
from finrag_pipeline.resolver import RESOLVER_VERSION
from finrag_pipeline.retrieval.component import Component, Hit, Inputs, Query, Search
from finrag_pipeline.retrieval.query_expansion import LEXICON
from finrag_pipeline.retrieval.spaces import Scope
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.resolver.resolver import Resolution
    from finrag_pipeline.retrieval.corpus import Corpus

STATEMENT_PAGES_VERSION = "1"

INCOME, POSITION, CASH = "income_statement", "financial_position", "cash_flows"
STATEMENTS = (INCOME, POSITION, CASH)
"""The three statements of the guide, by the names of ``statement_facts``."""


def _compiled(*words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)")


_RATIO_PATTERNS = [(_compiled(words), statements) for words, statements in LEXICON["ratios"].items()]
_METRIC_PATTERNS = {statement: _compiled(*words) for statement, words in LEXICON["metrics"].items()}


def needed_statements(question: str) -> tuple[str, ...]:
    """Statements that a question's metric is computed from, in the order of `STATEMENTS`.

    Ratios are looked for first, then single metrics; all three where the question names neither.
    """
    text = re.sub(r"[-‐‑–—/]", " ", question.lower())
    for pattern, statements in _RATIO_PATTERNS:
        if pattern.search(text):
            return tuple(statement for statement in STATEMENTS if statement in statements)
    found = {statement for statement, pattern in _METRIC_PATTERNS.items() if pattern.search(text)}
    return tuple(statement for statement in STATEMENTS if statement in found) or STATEMENTS


StatementPages = Mapping[tuple[str, int, str], frozenset[int]]
"""Fiscal years whose facts stand on a page of a primary statement, by filing, page and statement."""


def statement_locations(
    pages: StatementPages,
    filings: Collection[str] | None,
    statements: Collection[str],
    years: Sequence[int] = (),
) -> tuple[tuple[str, int], ...]:
    """Pages of some statements in some filings, or all, as (filing, zero-based page), in order.

    A page must show one of the fiscal years; when no page does, years are left aside.
    """
    of_kind: dict[tuple[str, int], set[int]] = defaultdict(set)
    for (filing, page, statement), shown in pages.items():
        if statement in statements and (filings is None or filing in filings):
            of_kind[filing, page] |= shown
    of_years = [location for location, shown in of_kind.items() if shown & set(years)]
    return tuple(sorted(of_years or of_kind))


def read_statement_pages(lake: Lake, filings: Collection[str]) -> StatementPages:
    """Pages with facts of primary statements in ``filings``, from ``statement_facts``."""
    facts = lake.read_all(
        "statement_facts", ["filing", "page", "statement", "scope", "fiscal_year"], {"filing": filings}
    )
    years: dict[tuple[str, int, str], set[int | None]] = defaultdict(set)
    for row in facts.filter(pc.equal(facts["scope"], "primary")).to_pylist():
        years[row["filing"], row["page"], row["statement"]].add(row["fiscal_year"])
    return {where: frozenset(year for year in found if year is not None) for where, found in years.items()}


MOST_FILINGS = 3
"""Filings of the resolver that a search is narrowed to at most."""

Step = tuple[str, Callable[[Scope], Scope]]
"""What a scope is narrowed by, for people, and how."""


@dataclass(frozen=True)
class NamedFilings(Component):
    """The search is narrowed to the filings that the question names.

    It is intersected with the search space before the ranking. It never ends in nothing: where it leaves no
    chunk, the scope stands as it was.
    """

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of the resolver and what it reads."""
        return [RESOLVER_VERSION, inputs.parts("filings", "filing_pages")]

    def search(self, query: Query, inputs: Inputs, scope: Scope, depth: int, inner: Search) -> list[Hit]:
        """What is found in the narrowed scope, with the reason."""
        corpus, why = inputs.corpus, []
        for reason, narrow in self.steps(corpus.resolver.resolve(query.question), corpus):
            narrowed = narrow(scope)
            positions = corpus.positions(narrowed)
            if positions is None or len(positions):
                scope = narrowed
                why.append(reason)
        hits = inner(query, inputs, scope, depth)
        return [replace(hit, why=f"{hit.why}; {', '.join(why)}") for hit in hits] if why else hits

    def steps(self, resolution: Resolution, corpus: Corpus) -> Iterator[Step]:
        """How what the question asks about narrows a scope, one after the other."""
        allowed = self.allowed(resolution, corpus)
        if allowed is not None:
            yield "filings asked about", lambda scope: scope.within_filings(allowed)

    def allowed(self, resolution: Resolution, corpus: Corpus) -> tuple[str, ...] | None:
        """Filings to search; None for no filter."""
        return resolution.allowed(MOST_FILINGS)


@dataclass(frozen=True)
class NamedCompanies(NamedFilings):
    """The search is narrowed to all filings of the companies that the question names, of whatever period."""

    def allowed(self, resolution: Resolution, corpus: Corpus) -> tuple[str, ...] | None:
        """Their filings; None where no company is named."""
        return tuple(found.filing for found in resolution.filings) if resolution.companies else None


@dataclass(frozen=True)
class NamedYears(NamedFilings):
    """The search is narrowed to all filings for the fiscal years that the question names, of any company."""

    def allowed(self, resolution: Resolution, corpus: Corpus) -> tuple[str, ...] | None:
        """Their filings; None where no year is named."""
        years = _fiscal_years(resolution)
        columns = ["filing", "fiscal_year"]
        rows = corpus.once("fiscal years", lambda: corpus.lake.read_all("filings", columns).to_pylist())
        found = tuple(row["filing"] for row in rows if row["fiscal_year"] in years)
        return found if years else None


@dataclass(frozen=True)
class NamedStatements(NamedFilings):
    """The search is narrowed also to the pages of the statements that the question's metric stands in.

    Of the fiscal years of a question the first ``periods`` are looked at.
    """

    periods: int = 2
    reads = ("statement_facts",)

    def problem(self, inputs: Inputs) -> Problem | None:
        """Where no filing has facts."""
        known = inputs.corpus.lake.partitions("statement_facts")
        return None if known else Problem("The lake holds no statement facts.")

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of the resolver, the rules and the facts."""
        return [super().fingerprint(inputs), STATEMENT_PAGES_VERSION, inputs.parts("statement_facts")]

    def steps(self, resolution: Resolution, corpus: Corpus) -> Iterator[Step]:
        """To the filings, then to the pages of statements in what is left."""
        yield from super().steps(resolution, corpus)
        statements = self.statements(resolution.question)
        years = _fiscal_years(resolution)[: self.periods]
        key = ("statement_pages", corpus.filings)
        pages = corpus.once(key, lambda: read_statement_pages(corpus.lake, corpus.filings))
        names = ", ".join(statement.replace("_", " ") for statement in statements)
        yield (
            f"pages of {names}",
            lambda scope: scope.within_locations(
                statement_locations(pages, scope.filings, statements, years)
            ),
        )

    def statements(self, question: str) -> tuple[str, ...]:
        """Statements whose pages are searched."""
        return needed_statements(question)


@dataclass(frozen=True)
class AllStatements(NamedStatements):
    """The search is narrowed to the pages of all primary statements, whatever the question's metric."""

    def statements(self, question: str) -> tuple[str, ...]:
        """All three."""
        return STATEMENTS


def _fiscal_years(resolution: Resolution) -> list[int]:
    """Distinct fiscal years that a question names, in their order."""
    years = (period.fiscal_year for period in resolution.periods)
    return list(dict.fromkeys(year for year in years if year is not None))
