"""What a question says of where its answer stands, as a filter before the search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.spaces import Scope
from finrag_pipeline.retrieval.statement_pages import needed_statements
from finrag_pipeline.retrieval.system import FILTER_PERIODS, RetrievalSystem

MOST_FILINGS = 3
"""Filings of the resolver that a search is narrowed to at most."""


@dataclass(frozen=True)
class Narrowed:
    """A scope and what it was narrowed by, for people; empty when it was not."""

    scope: Scope
    why: str = ""


def narrow(system: RetrievalSystem, question: str, corpus: Corpus, scope: Scope) -> Narrowed:
    """``scope`` as the filter of ``system`` leaves it for a question.

    A filter is intersected with the search space before the ranking. It never ends in nothing: where it
    leaves no chunk, the scope stands as it was.

    Args:
        system: says which filter.
        question: the question; nothing else is known of it.
        corpus: where to search.
        scope: the search space.
    """
    if system.filter is None:
        return Narrowed(scope)
    resolution = corpus.tools.resolver.resolve(question)
    allowed = resolution.allowed(MOST_FILINGS)
    narrowed = Narrowed(scope)
    if allowed is not None:
        narrowed = _or_else(corpus, scope.within_filings(allowed), "filings asked about", narrowed)
    if system.filter == "statements":
        statements = needed_statements(question)
        years = _fiscal_years(resolution.periods)[:FILTER_PERIODS]
        places = corpus.tools.statement_pages.places(narrowed.scope.filings, statements, years)
        names = ", ".join(statement.replace("_", " ") for statement in statements)
        narrowed = _or_else(corpus, narrowed.scope.within_places(places), f"pages of {names}", narrowed)
    return narrowed


def _or_else(corpus: Corpus, scope: Scope, why: str, before: Narrowed) -> Narrowed:
    positions = corpus.positions(scope.filings, scope.pages, scope.places)
    if positions is not None and not len(positions):
        return before
    return Narrowed(scope, f"{before.why}, {why}" if before.why else why)


def _fiscal_years(periods: Iterable[Any]) -> list[int]:
    """Distinct fiscal years of the periods of a resolution, in their order."""
    return list(dict.fromkeys(period.fiscal_year for period in periods if period.fiscal_year is not None))
