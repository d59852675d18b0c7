"""Running a system over questions: rankings of chunks, with reasons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from finrag_pipeline.chunking.parent_child import CHILD, parent_of
from finrag_pipeline.errors import ModelError
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.first_stages import first_stage, fuse_ranks, fuse_scores
from finrag_pipeline.retrieval.hits import Hit
from finrag_pipeline.retrieval.page_stage import chunks_of_pages, scope_of_pages
from finrag_pipeline.retrieval.queries import Query, make_query, query_vectors
from finrag_pipeline.retrieval.scoping import narrow
from finrag_pipeline.retrieval.second_stages import reranked, selected
from finrag_pipeline.retrieval.spaces import Scope, Space, restriction
from finrag_pipeline.retrieval.system import RetrievalSystem
from finrag_pipeline.retrieval.trained import UNTRAINED, Trained
from finrag_pipeline.schemas import RETRIEVAL_RUNS

__all__ = ["Hit", "rank", "run_system"]

_MOST_CHUNKS = 6400
"""Chunks ranked at most to find enough distinct pages or parents."""


def rank(
    system: RetrievalSystem,
    question: str,
    corpus: Corpus,
    filings: Sequence[str] | None = None,
    pages: Sequence[int] | None = None,
    depth: int | None = None,
    vector: np.ndarray | None = None,
    trained: Trained | None = None,
) -> list[Hit]:
    """The chunks that ``system`` ranks first for a question.

    Args:
        system: what to run.
        question: the question.
        corpus: where to search.
        filings: filings to restrict the search to; the whole corpus when None.
        pages: zero-based pages to restrict it to, together with ``filings``.
        depth: length of the ranking; the setting's when None.
        vector: embedding of what the system searches for, when it is at hand; shape (dimensions,).
        trained: what the system has learned; nothing when None.

    Raises:
        ModelError: the system needs a model that was not trained, or cannot be had.
    """
    query = make_query(system, question, corpus, None if vector is None else (vector,))
    scope = Scope(
        None if filings is None else tuple(filings), None if pages is None else tuple(int(p) for p in pages)
    )
    return _rank(system, query, corpus, scope, depth or corpus.settings.retrieval.depth, trained or UNTRAINED)


def _rank(
    system: RetrievalSystem, query: Query, corpus: Corpus, space: Scope, depth: int, trained: Trained
) -> list[Hit]:
    if problem := trained.problem(system):
        raise ModelError(problem, "Train it first, or choose another system: finrag systems.")
    narrowed = narrow(system, query.question, corpus, space)
    scope, ranker = narrowed.scope, trained.ranker(system)
    # Steps that look at the first N need them all, however few are asked for.
    wanted = max(
        depth,
        system.rerank_depth if system.rerank else 0,
        system.select_depth if system.select else 0,
    )
    weight = trained.alphas.get(_space(space).value) if system.fusion == "alpha" else None
    if system.shows_pages() and ranker is not None:
        by_chunk = replace(system, collapse=None) if system.collapse == "page" else system
        hits = chunks_of_pages(
            ranker,
            query,
            corpus,
            scope,
            wanted,
            lambda inside, count: _candidates(by_chunk, query, corpus, inside, count, weight),
        )
    else:
        if system.page_stage == "page_scorer" and ranker is not None:
            scope = scope_of_pages(system, ranker, query, corpus, scope)
        hits = _candidates(system, query, corpus, scope, wanted, weight)
    hits = reranked(system, query.question, corpus, hits)
    hits = selected(system, query.question, corpus, hits)[:depth]
    return [replace(hit, why=f"{hit.why}; {narrowed.why}") for hit in hits] if narrowed.why else hits


def _space(scope: Scope) -> Space:
    """The search space that a restriction is like, for what was learned space by space."""
    if scope.filings is None:
        return Space.CORPUS
    return Space.FILING if scope.pages is None else Space.PAGES


def _candidates(
    system: RetrievalSystem, query: Query, corpus: Corpus, scope: Scope, depth: int, weight: float | None
) -> list[Hit]:
    """Rankings of the first stages as one, collapsed as the system asks."""
    match system.collapse:
        case "page":
            return _best_of_groups(system, query, corpus, scope, depth, weight)
        case "parent":
            return _parents(system, query, corpus, scope, depth, weight)
    rankings = [first_stage(stage, query, corpus, scope, depth) for stage in system.first_stages]
    if system.fusion is None:
        return rankings[0]
    # A chunk that shares no term with the question has no rank among those that do.
    rankings = [
        [hit for hit in ranking if stage == "dense" or hit.score > 0]
        for stage, ranking in zip(system.first_stages, rankings, strict=True)
    ]
    if system.fusion == "rrf":
        return fuse_ranks(rankings, list(system.first_stages), corpus, depth)
    return fuse_scores(rankings, system.first_stages, depth, weight)


def _best_of_groups(
    system: RetrievalSystem, query: Query, corpus: Corpus, scope: Scope, depth: int, weight: float | None
) -> list[Hit]:
    """The best chunk of each page or parent; more are ranked until ``depth`` are found or none is left."""
    plain = replace(system, collapse=None)
    wanted = 4 * depth
    while True:
        hits = _candidates(plain, query, corpus, scope, wanted, weight)
        best: dict[tuple[str, int] | str, Hit] = {}
        for hit in hits:
            group = parent_of(hit.chunk_id) if system.collapse == "parent" else (hit.filing, hit.page)
            best.setdefault(group, hit)
        if len(best) >= depth or len(hits) < wanted or wanted >= _MOST_CHUNKS:
            return list(best.values())[:depth]
        wanted *= 2


def _parents(
    system: RetrievalSystem, query: Query, corpus: Corpus, scope: Scope, depth: int, weight: float | None
) -> list[Hit]:
    """Parents by the score of their best child, which is also their passage."""
    searched = replace(system, kinds=(CHILD,))
    children = _best_of_groups(searched, query, corpus.children, scope, depth, weight)
    return [replace(hit, chunk_id=parent_of(hit.chunk_id), why=f"best child: {hit.why}") for hit in children]


def run_system(
    system: RetrievalSystem,
    corpus: Corpus,
    questions: Iterable[dict[str, Any]],
    spaces: Sequence[Space] = tuple(Space),
    trained: Trained | None = None,
) -> pa.Table:
    """Rankings of ``system`` for every question in every space.

    Args:
        system: what to run.
        corpus: where to search.
        questions: rows of ``benchmark_questions``. Gold filing and pages are used for the oracle spaces
            alone.
        spaces: search spaces.
        trained: what the system has learned, without these questions; nothing when None.

    Returns:
        Rows of ``retrieval_runs``.

    Raises:
        ModelError: the system needs a model that was not trained, or cannot be had.
    """
    questions = list(questions)
    trained = trained or UNTRAINED
    vectors = query_vectors(system, [question["question"] for question in questions], corpus)
    queries = {
        text: make_query(system, text, corpus, vectors.get(text, ()))
        for text in dict.fromkeys(question["question"] for question in questions)
    }
    rows: list[dict[str, Any]] = []
    for space in spaces:
        for question in questions:
            scope = Scope(*restriction(space, question["filing"], question["gold_pages"]))
            query = queries[question["question"]]
            hits = _rank(system, query, corpus, scope, corpus.settings.retrieval.depth, trained)
            rows.extend(
                {
                    "system": system.name,
                    "space": space.value,
                    "question_id": question["question_id"],
                    "rank": place,
                    "chunk_id": hit.chunk_id,
                    "filing": hit.filing,
                    "page": hit.page,
                    "score": hit.score,
                }
                for place, hit in enumerate(hits, start=1)
            )
    return pa.Table.from_pylist(rows, schema=RETRIEVAL_RUNS)
