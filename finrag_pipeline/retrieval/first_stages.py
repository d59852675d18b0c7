"""First stages: a ranking of chunks by BM25, by SPLADE or by vectors, inside a scope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from finrag_pipeline.errors import ModelError
from finrag_pipeline.retrieval.bm25 import top_documents
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.fusion import reciprocal_rank_fusion, weighted_fusion
from finrag_pipeline.retrieval.hits import Hit
from finrag_pipeline.retrieval.queries import Query
from finrag_pipeline.retrieval.spaces import Scope
from finrag_pipeline.retrieval.system import Stage
from finrag_pipeline.storage.vectors import VectorFilter


def first_stage(stage: Stage, query: Query, corpus: Corpus, scope: Scope, depth: int) -> list[Hit]:
    """The first ``depth`` chunks of a retriever inside ``scope``, best first."""
    return _STAGES[stage](query, corpus, scope, depth)


def _bm25(query: Query, corpus: Corpus, scope: Scope, depth: int) -> list[Hit]:
    index = corpus.bm25

    def why(position: int, _: float) -> str:
        terms = ", ".join(term for term, _ in index.matched_terms(query.text, position)[:5])
        return f"terms: {terms}" if terms else "no term of the question"

    return _best(index.scores(query.text), corpus, scope, depth, why)


def _splade(query: Query, corpus: Corpus, scope: Scope, depth: int) -> list[Hit]:
    scores = corpus.splade.scores(query.text)
    return _best(scores, corpus, scope, depth, lambda _, score: f"weighted terms {score:.2f}")


def _best(
    scores: np.ndarray, corpus: Corpus, scope: Scope, depth: int, why: Callable[[int, float], str]
) -> list[Hit]:
    """The best chunks by ``scores`` of all chunks of the corpus, shape (chunks,); ties by position."""
    allowed = corpus.positions(scope.filings, scope.pages, scope.places)
    return [
        Hit(
            corpus.chunk_ids[position],
            corpus.chunk_filings[position],
            int(corpus.chunk_pages[position]),
            float(scores[position]),
            why(position, float(scores[position])),
        )
        for position in top_documents(scores, depth, allowed).tolist()
    ]


def _dense(query: Query, corpus: Corpus, scope: Scope, depth: int) -> list[Hit]:
    rankings = [_nearest(vector, corpus, scope, depth) for vector in query.vectors]
    if len(rankings) == 1:
        return rankings[0]
    return fuse_ranks(rankings, [f"query {n}" for n in range(len(rankings))], corpus, depth)


def _nearest(vector: np.ndarray, corpus: Corpus, scope: Scope, depth: int) -> list[Hit]:
    filings = scope.filings
    if filings is None and scope.places is None:
        filings = corpus.indexed_filings()
    where = VectorFilter(filings, scope.pages, corpus.kinds, scope.places)
    return [
        Hit(
            row["unit_id"],
            row["filing"],
            row["page"],
            row["score"],
            f"similarity {row['score']:.2f}",
            row["text"],
        )
        for row in corpus.vectors.search(vector, depth, where)
    ]


_STAGES: dict[Stage, Callable[[Query, Corpus, Scope, int], list[Hit]]] = {
    "bm25": _bm25,
    "splade": _splade,
    "dense": _dense,
}


def fuse_ranks(rankings: list[list[Hit]], names: list[str], corpus: Corpus, depth: int) -> list[Hit]:
    """Rankings fused by reciprocal rank, each named in the reasons."""
    known = by_chunk(rankings)
    k = corpus.settings.retrieval.rrf_k
    fused = reciprocal_rank_fusion([[hit.chunk_id for hit in ranking] for ranking in rankings], k)
    places = [{hit.chunk_id: n for n, hit in enumerate(ranking, start=1)} for ranking in rankings]
    hits = []
    for chunk_id, score in fused[:depth]:
        why = ", ".join(
            f"{name} rank {place[chunk_id]}"
            for name, place in zip(names, places, strict=True)
            if chunk_id in place
        )
        hit = known[chunk_id]
        hits.append(Hit(chunk_id, hit.filing, hit.page, score, why, hit.passage))
    return hits


def fuse_scores(
    rankings: list[list[Hit]], stages: Sequence[Stage], depth: int, alpha: float | None
) -> list[Hit]:
    """A dense and a lexical ranking fused by the weighted sum of their scores.

    Args:
        rankings: best first, one per stage.
        stages: the stage of each ranking; one of two is dense.
        depth: length of the result.
        alpha: weight of the dense score.

    Raises:
        ModelError: the weight was not tuned for this search space.
    """
    if alpha is None:
        raise ModelError("The weight of the hybrid was not tuned for this space.", "Run: finrag run.")
    known = by_chunk(rankings)
    scores = {
        "dense" if stage == "dense" else "lexical": [(hit.chunk_id, hit.score) for hit in ranking]
        for stage, ranking in zip(stages, rankings, strict=True)
    }
    parts = {name: dict(pairs) for name, pairs in scores.items()}
    hits = []
    for chunk_id, score in weighted_fusion(scores["dense"], scores["lexical"], alpha)[:depth]:
        found = ", ".join(f"{name} {part[chunk_id]:.2f}" for name, part in parts.items() if chunk_id in part)
        hits.append(replace(known[chunk_id], score=score, why=f"{found}; weight of dense {alpha:.2f}"))
    return hits


def by_chunk(rankings: list[list[Hit]]) -> dict[str, Hit]:
    """A hit of each chunk, one that knows its passage where there is any."""
    known: dict[str, Hit] = {}
    for ranking in rankings:
        for hit in ranking:
            if hit.chunk_id not in known or known[hit.chunk_id].passage is None:
                known[hit.chunk_id] = hit
    return known
