"""Pages by their sentence that is most like the question: dense retrieval that needs no vectors of chunks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from finrag_pipeline.chunking.registry import Chunking
from finrag_pipeline.errors import LakeError
from finrag_pipeline.retrieval.component import Hit, Inputs, Query, Search
from finrag_pipeline.retrieval.page_stage import PageHit, PageOrder
from finrag_pipeline.retrieval.spaces import Scope
from finrag_pipeline.storage.lake import Lake


def sentence_vectors(lake: Lake, filing: str) -> tuple[np.ndarray, np.ndarray]:
    """Pages of the sentences of a filing, shape (sentences,), and their vectors, (sentences, dimensions).

    Raises:
        LakeError: the filing has no sentences.
    """
    keys = {"filing": filing}
    if lake.info("page_sentences", keys) is None:
        raise LakeError(f"'{filing}' has no sentences of pages.", "Materialise page_sentences.")
    rows = lake.read("page_sentences", keys, ["page", "vector"])
    flat = rows["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False).astype(np.float32)
    vectors = flat.reshape(rows.num_rows, -1) if rows.num_rows else flat[:, None]
    return rows["page"].to_numpy(), vectors


@dataclass(frozen=True)
class PagesBySentence(PageOrder):
    """Pages in the order of their best sentence, each shown by its best chunk."""

    def reads(self, chunking: Chunking) -> tuple[str, ...]:
        """Sentences of pages with their vectors."""
        return ("page_sentences",)

    def fingerprint(self, inputs: Inputs) -> object:
        """Of the sentences; their encoder is part of that."""
        return inputs.parts("page_sentences")

    def search(self, query: Query, inputs: Inputs, scope: Scope, depth: int, inner: Search) -> list[Hit]:
        """The best chunk of each of the first pages."""
        corpus, vector = inputs.corpus, query.vectors[0].astype(np.float32)
        filings = corpus.filings if scope.filings is None else scope.filings
        named = {filing for filing, _ in scope.places} if scope.places is not None else set(filings)
        found: list[PageHit] = []
        for filing in sorted(named & set(filings) & set(corpus.filings)):
            load = partial(sentence_vectors, corpus.lake, filing)
            pages, vectors = corpus.once(("sentences", filing), load)
            if not len(pages):
                continue
            best = np.full(int(pages.max()) + 1, -np.inf, np.float32)
            np.maximum.at(best, pages, vectors @ vector)
            found += [
                PageHit(filing, page, float(best[page]), f"sentence {best[page]:.2f}")
                for page in np.flatnonzero(np.isfinite(best)).tolist()
                if scope.within_places([(filing, page)]).places
            ]
        found.sort(key=lambda page: (-page.score, page.filing, page.page))
        return self.shown(found[:depth], query, inputs, scope, inner)
