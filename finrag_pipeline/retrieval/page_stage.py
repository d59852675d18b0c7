"""Pages first: a ranker of pages decides where chunks are looked for, or in which order they are shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.hits import Hit
from finrag_pipeline.retrieval.queries import Query
from finrag_pipeline.retrieval.spaces import Scope
from finrag_pipeline.retrieval.system import RetrievalSystem
from finrag_pipeline.retrieval.trained import PageHit, PageRanker


def scope_of_pages(
    system: RetrievalSystem, ranker: PageRanker, query: Query, corpus: Corpus, scope: Scope
) -> Scope:
    """``scope`` in the first P pages of the ranker, for the search inside them.

    A filter before the search, as Kobeissi & Langlais describe it; their code drops chunks of other pages
    from a ranking of the whole corpus, which may leave fewer than k. Where the ranker knows no page of the
    scope, the scope stands.
    """
    pages = _ranked(ranker, query, corpus, scope, system.pages)
    inside = scope.within_places((page.filing, page.page) for page in pages[: system.pages])
    return inside if inside.places else scope


def chunks_of_pages(
    ranker: PageRanker,
    query: Query,
    corpus: Corpus,
    scope: Scope,
    depth: int,
    search: Callable[[Scope, int], list[Hit]],
) -> list[Hit]:
    """The best chunk of each of the ranker's pages, in the order of the pages.

    Pages without a chunk have nothing to show and are left out.

    Args:
        ranker: ranks pages.
        query: what is asked.
        corpus: where to search.
        scope: the search space.
        depth: pages at most.
        search: ranks so many chunks inside a scope, best first.
    """
    pages = _ranked(ranker, query, corpus, scope, depth)
    inside = scope.within_places((page.filing, page.page) for page in pages)
    positions = corpus.positions(inside.filings, inside.pages, inside.places)
    if positions is None or not len(positions):
        return []
    best: dict[tuple[str, int], Hit] = {}
    for hit in search(inside, len(positions)):
        best.setdefault((hit.filing, hit.page), hit)
    return [
        replace(best[page.filing, page.page], score=float(page.score), why=page.why)
        for page in pages
        if (page.filing, page.page) in best
    ][:depth]


def _ranked(ranker: PageRanker, query: Query, corpus: Corpus, scope: Scope, depth: int) -> list[PageHit]:
    # The vector at hand is the question's own only where the question itself is searched for.
    vector = query.vectors[0] if query.vectors and query.of_question else None
    return ranker.rank_pages(query.question, corpus, scope.filings, scope.pages, depth, vector)
