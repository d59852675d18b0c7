"""First stages: a ranking of chunks by BM25, by SPLADE or by vectors, inside a scope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from finrag_pipeline.embedding.tokens import WINDOWS_VERSION
from finrag_pipeline.errors import Problem
from finrag_pipeline.retrieval.bm25 import BM25_VERSION, build_bm25, top_documents
from finrag_pipeline.retrieval.component import VECTORS, Component, Hit, Inputs, Query, Search
from finrag_pipeline.retrieval.fusion import fuse_ranks
from finrag_pipeline.retrieval.spaces import Scope
from finrag_pipeline.retrieval.splade import VARIABLE, SpladeEncoder
from finrag_pipeline.storage.model_folders import model_problem
from finrag_pipeline.storage.vectors import VectorFilter

if TYPE_CHECKING:
    import numpy as np

    from finrag_pipeline.retrieval.corpus import Corpus


@dataclass(frozen=True)
class Bm25(Component):
    """Okapi BM25 over the words of the query."""

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of tokenizer, formula and backend."""
        return [BM25_VERSION, inputs.corpus.settings.bm25.backend]

    def search(self, query: Query, inputs: Inputs, scope: Scope, depth: int, inner: Search) -> list[Hit]:
        """Chunks by their score; those without a term of the query last."""
        index = inputs.corpus.bm25

        def why(position: int, _: float) -> str:
            terms = ", ".join(term for term, _ in index.matched_terms(query.text, position)[:5])
            return f"terms: {terms}" if terms else "no term of the question"

        return _best(index.scores(query.text), inputs.corpus, scope, depth, why)


@dataclass(frozen=True)
class Bm25OnPages(Component):
    """BM25 among the chunks of the pages in scope alone: which part of a page fits, not which page.

    Its statistics are those of these few chunks, so that no index of the corpus is read.
    """

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of tokenizer and formula."""
        return BM25_VERSION

    def search(self, query: Query, inputs: Inputs, scope: Scope, depth: int, inner: Search) -> list[Hit]:
        """Chunks by their score."""
        chunks = [
            (chunk_id, filing, page, text)
            for filing, page in scope.locations or ()
            for chunk_id, text in inputs.corpus.page_chunks(filing, page)
        ]
        scores = build_bm25(text for *_, text in chunks).scores(query.text)
        best = [(chunks[n], float(scores[n])) for n in top_documents(scores, depth).tolist()]
        return [
            Hit(chunk_id, filing, page, score, f"BM25 {score:.2f} on the page")
            for (chunk_id, filing, page, _), score in best
        ]


@dataclass(frozen=True)
class Splade(Component):
    """Learned sparse vectors."""

    def problem(self, inputs: Inputs) -> Problem | None:
        """Why its weights cannot be had."""
        name, revision = inputs.corpus.settings.splade.name, inputs.corpus.settings.splade.revision
        key = ("problem of splade", name)
        return inputs.corpus.once(key, lambda: model_problem(name, revision, VARIABLE))

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of the weights."""
        return SpladeEncoder(inputs.corpus.settings.splade, inputs.corpus.lake).fingerprint

    def search(self, query: Query, inputs: Inputs, scope: Scope, depth: int, inner: Search) -> list[Hit]:
        """Chunks by the product of their weights with the query's."""
        scores = inputs.corpus.splade.scores(query.text)
        return _best(scores, inputs.corpus, scope, depth, lambda _, score: f"weighted terms {score:.2f}")


@dataclass(frozen=True)
class Dense(Component):
    """Vectors of chunks, each as similar to the query as its best window."""

    embeds = True
    reads = (VECTORS,)

    def problem(self, inputs: Inputs) -> Problem | None:
        """Why the encoder cannot be had."""
        return inputs.corpus.encoder_problem()

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of the encoder, and of how texts are cut into windows and pooled."""
        corpus = inputs.corpus
        return [WINDOWS_VERSION, corpus.encoder.fingerprint, corpus.settings.encoder.pooling]

    def search(self, query: Query, inputs: Inputs, scope: Scope, depth: int, inner: Search) -> list[Hit]:
        """Chunks by their similarity; the rankings of several vectors are fused."""
        corpus, filings = inputs.corpus, scope.filings
        if filings is None and scope.locations is None:
            filings = corpus.indexed_filings()
        kinds = None if corpus.kinds is None else tuple(corpus.kinds)
        where = VectorFilter(filings, scope.pages, kinds, scope.locations)
        rankings = [
            [
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
            for vector in query.vectors
        ]
        if len(rankings) == 1:
            return rankings[0]
        names = [f"query {n}" for n in range(len(rankings))]
        return fuse_ranks(rankings, names, corpus.settings.retrieval.rrf_k, depth)


def _best(
    scores: np.ndarray, corpus: Corpus, scope: Scope, depth: int, why: Callable[[int, float], str]
) -> list[Hit]:
    """The best chunks by ``scores`` of all chunks of the corpus, shape (chunks,); ties by position."""
    return [
        Hit(
            corpus.chunk_ids[position],
            corpus.chunk_filings[position],
            int(corpus.chunk_pages[position]),
            float(scores[position]),
            why(position, float(scores[position])),
        )
        for position in top_documents(scores, depth, corpus.positions(scope)).tolist()
    ]
