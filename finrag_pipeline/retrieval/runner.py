"""Running a system over questions: rankings of chunks, with reasons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from finrag_pipeline.retrieval.bm25 import top_documents
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.fusion import reciprocal_rank_fusion
from finrag_pipeline.retrieval.spaces import Space, restriction
from finrag_pipeline.retrieval.systems import RetrievalSystem
from finrag_pipeline.schemas import RETRIEVAL_RUNS
from finrag_pipeline.storage.vectors import VectorFilter

_MOST_CHUNKS = 6400
"""Chunks ranked at most to find enough distinct pages."""


@dataclass(frozen=True)
class Hit:
    """One chunk of a ranking.

    Attributes:
        chunk_id: the chunk.
        filing: its filing.
        page: its zero-based page.
        score: score of the system; higher is better.
        why: what put it there, for people.
        passage: the part of the chunk that matched best, when the retriever knows it.
    """

    chunk_id: str
    filing: str
    page: int
    score: float
    why: str
    passage: str | None = None


def rank(
    system: RetrievalSystem,
    question: str,
    corpus: Corpus,
    filings: Sequence[str] | None = None,
    pages: Sequence[int] | None = None,
    depth: int | None = None,
    vector: np.ndarray | None = None,
) -> list[Hit]:
    """The chunks that ``system`` ranks first for a question.

    Args:
        system: what to run.
        question: the question.
        corpus: where to search.
        filings: filings to restrict the search to; the whole corpus when None.
        pages: zero-based pages to restrict it to, together with ``filings``.
        depth: length of the ranking; the setting's when None.
        vector: embedding of the question, when it is at hand.
    """
    depth = depth or corpus.settings.retrieval.depth
    if system.collapse == "page":
        return _best_of_pages(system, question, corpus, filings, pages, depth, vector)
    rankings = [
        _bm25(question, corpus, filings, pages, depth)
        if stage == "bm25"
        else _dense(question, corpus, filings, pages, depth, vector)
        for stage in system.first_stages
    ]
    if system.fusion is None:
        return rankings[0]
    # A chunk that shares no term with the question has no rank among those that do.
    rankings = [
        [hit for hit in ranking if stage != "bm25" or hit.score > 0]
        for stage, ranking in zip(system.first_stages, rankings, strict=True)
    ]
    return _fused(system, rankings, corpus.settings.retrieval.rrf_k, depth)


def _best_of_pages(
    system: RetrievalSystem,
    question: str,
    corpus: Corpus,
    filings: Sequence[str] | None,
    pages: Sequence[int] | None,
    depth: int,
    vector: np.ndarray | None,
) -> list[Hit]:
    """The best chunk of each page; more chunks are ranked until ``depth`` pages are found or none is left."""
    plain = replace(system, collapse=None)
    wanted = 4 * depth
    while True:
        hits = rank(plain, question, corpus, filings, pages, wanted, vector)
        best: dict[tuple[str, int], Hit] = {}
        for hit in hits:
            best.setdefault((hit.filing, hit.page), hit)
        if len(best) >= depth or len(hits) < wanted or wanted >= _MOST_CHUNKS:
            return list(best.values())[:depth]
        wanted *= 2


def _bm25(
    question: str, corpus: Corpus, filings: Sequence[str] | None, pages: Sequence[int] | None, depth: int
) -> list[Hit]:
    scores = corpus.bm25.scores(question)
    best = top_documents(scores, depth, corpus.positions(filings, pages))
    hits = []
    for position in best.tolist():
        terms = ", ".join(term for term, _ in corpus.bm25.matched_terms(question, position)[:5])
        hits.append(
            Hit(
                corpus.chunk_ids[position],
                corpus.chunk_filings[position],
                int(corpus.chunk_pages[position]),
                float(scores[position]),
                f"terms: {terms}" if terms else "no term of the question",
            )
        )
    return hits


def _dense(
    question: str,
    corpus: Corpus,
    filings: Sequence[str] | None,
    pages: Sequence[int] | None,
    depth: int,
    vector: np.ndarray | None,
) -> list[Hit]:
    index = corpus.vectors
    allowed = tuple(filings) if filings is not None else corpus.indexed_filings()
    where = VectorFilter(allowed, None if pages is None else tuple(pages), corpus.kinds)
    if vector is None:
        vector = corpus.encoder.embed_query(question)
    return [
        Hit(
            row["unit_id"],
            row["filing"],
            row["page"],
            row["score"],
            f"similarity {row['score']:.2f}",
            row["text"],
        )
        for row in index.search(vector, depth, where)
    ]


def _fused(system: RetrievalSystem, rankings: list[list[Hit]], k: int, depth: int) -> list[Hit]:
    known: dict[str, Hit] = {}
    for ranking in rankings:
        for hit in ranking:
            if hit.chunk_id not in known or known[hit.chunk_id].passage is None:
                known[hit.chunk_id] = hit
    fused = reciprocal_rank_fusion([[hit.chunk_id for hit in ranking] for ranking in rankings], k)
    places = [{hit.chunk_id: n for n, hit in enumerate(ranking, start=1)} for ranking in rankings]
    hits = []
    for chunk_id, score in fused[:depth]:
        why = ", ".join(
            f"{stage} rank {place[chunk_id]}"
            for stage, place in zip(system.first_stages, places, strict=True)
            if chunk_id in place
        )
        hit = known[chunk_id]
        hits.append(Hit(chunk_id, hit.filing, hit.page, score, why, hit.passage))
    return hits


def run_system(
    system: RetrievalSystem,
    corpus: Corpus,
    questions: Iterable[dict[str, Any]],
    spaces: Sequence[Space] = tuple(Space),
) -> pa.Table:
    """Rankings of ``system`` for every question in every space.

    Args:
        system: what to run.
        corpus: where to search.
        questions: rows of ``benchmark_questions``. Gold filing and pages are used for the oracle spaces
            alone.
        spaces: search spaces.

    Returns:
        Rows of ``retrieval_runs``.
    """
    questions = list(questions)
    vectors: dict[str, np.ndarray] = {}
    if system.needs_encoder() and questions:
        texts = [question["question"] for question in questions]
        vectors = dict(zip(texts, corpus.encoder.embed_queries(texts), strict=True))
    rows: list[dict[str, Any]] = []
    for space in spaces:
        for question in questions:
            filings, pages = restriction(space, question["filing"], question["gold_pages"])
            hits = rank(
                system, question["question"], corpus, filings, pages, vector=vectors.get(question["question"])
            )
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
