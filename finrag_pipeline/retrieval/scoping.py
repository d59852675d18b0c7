"""What a question says of where its answer stands, as a filter before the search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from finrag_pipeline.errors import Problem
from finrag_pipeline.resolver import RESOLVER_VERSION
from finrag_pipeline.retrieval.component import Component, Hit, Inputs, Query, Search
from finrag_pipeline.retrieval.spaces import Scope
from finrag_pipeline.retrieval.statement_pages import (
    STATEMENT_PAGES_VERSION,
    needed_statements,
    read_statement_pages,
)

if TYPE_CHECKING:
    from finrag_pipeline.chunking.registry import Chunking
    from finrag_pipeline.resolver.resolver import Resolution
    from finrag_pipeline.retrieval.corpus import Corpus

MOST_FILINGS = 3
"""Filings of the resolver that a search is narrowed to at most."""


@dataclass(frozen=True)
class Narrowed:
    """A scope and what it was narrowed by, for people; empty when it was not."""

    scope: Scope
    why: str = ""


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
        """What is found in the narrowed scope, with the reason told."""
        resolution = inputs.corpus.resolver.resolve(query.question)
        narrowed = self.narrow(resolution, inputs.corpus, scope)
        hits = inner(query, inputs, narrowed.scope, depth)
        return [replace(hit, why=f"{hit.why}; {narrowed.why}") for hit in hits] if narrowed.why else hits

    def narrow(self, resolution: Resolution, corpus: Corpus, scope: Scope) -> Narrowed:
        """``scope`` as what the question asks about narrows it."""
        allowed = resolution.allowed(MOST_FILINGS)
        if allowed is None:
            return Narrowed(scope)
        return _or_else(corpus, scope.within_filings(allowed), "filings asked about", Narrowed(scope))


@dataclass(frozen=True)
class NamedStatements(NamedFilings):
    """The search is narrowed also to the pages of the statements that the question's metric stands in.

    Attributes:
        periods: fiscal years of a question that are looked at, in the order of the question.
    """

    periods: int = 2

    def reads(self, chunking: Chunking) -> tuple[str, ...]:
        """The facts."""
        return ("statement_facts",)

    def problem(self, inputs: Inputs) -> Problem | None:
        """Where no filing has facts."""
        known = inputs.corpus.lake.partitions("statement_facts")
        return None if known else Problem("The lake holds no statement facts.")

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of the resolver, the rules and the facts."""
        return [super().fingerprint(inputs), STATEMENT_PAGES_VERSION, inputs.parts("statement_facts")]

    def narrow(self, resolution: Resolution, corpus: Corpus, scope: Scope) -> Narrowed:
        """``scope`` as what the question asks about narrows it."""
        narrowed = super().narrow(resolution, corpus, scope)
        statements = needed_statements(resolution.question)
        years = _fiscal_years(resolution.periods)[: self.periods]
        key = ("statement_pages", corpus.filings)
        pages = corpus.once(key, lambda: read_statement_pages(corpus.lake, corpus.filings))
        places = pages.places(narrowed.scope.filings, statements, years)
        names = ", ".join(statement.replace("_", " ") for statement in statements)
        return _or_else(corpus, narrowed.scope.within_places(places), f"pages of {names}", narrowed)


def _or_else(corpus: Corpus, scope: Scope, why: str, before: Narrowed) -> Narrowed:
    positions = corpus.positions(scope.filings, scope.pages, scope.places)
    if positions is not None and not len(positions):
        return before
    return Narrowed(scope, f"{before.why}, {why}" if before.why else why)


def _fiscal_years(periods: Iterable[Any]) -> list[int]:
    """Distinct fiscal years of the periods of a resolution, in their order."""
    return list(dict.fromkeys(period.fiscal_year for period in periods if period.fiscal_year is not None))
