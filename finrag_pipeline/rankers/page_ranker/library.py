"""Pages of filings ready for features: profiles and vectors, loaded on first use and kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from finrag_pipeline.chunking.registry import CONTEXTUAL, FIXED
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.errors import LakeError
from finrag_pipeline.rankers.page_ranker.features import FilingPages, filing_pages
from finrag_pipeline.rankers.page_ranker.labels import filing_labels
from finrag_pipeline.retrieval.chunk_index import open_chunk_index
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.vectors import VectorIndex

VECTOR_KINDS = ("window", "text", "table_row", "table", "sentence")
"""Vectors a page is compared by: windows of plain chunks, kinds of context-aware chunks, and sentences."""

SENTENCES = "sentences"
"""Similarity of a page that stands for its best sentences together."""
BEST_SENTENCES = 3

_LEAST_SIMILARITY = -0.2
"""Similarity of a page that has no vector of a kind."""


class PageLibrary:
    """Profiles and vectors of the pages of filings.

    Args:
        lake: where they are.
        settings: encoder and chunkings of the vectors.
        encoder: embeds questions.
    """

    def __init__(self, lake: Lake, settings: Settings, encoder: Encoder) -> None:
        self._lake = lake
        self._settings = settings
        self._encoder = encoder
        self._pages: dict[str, FilingPages] = {}
        self._vectors: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]] = {}

    @cached_property
    def _indexes(self) -> list[tuple[VectorIndex, bool]]:
        return [
            (open_chunk_index(self._lake, self._encoder, self._settings, chunking), chunking == FIXED)
            for chunking in (FIXED, CONTEXTUAL)
        ]

    def pages(self, filing: str) -> FilingPages:
        """The pages of a filing.

        Raises:
            LakeError: the filing has no profiles.
        """
        if filing not in self._pages:
            keys = {"filing": filing}
            if self._lake.info("page_profiles", keys) is None:
                raise LakeError(f"'{filing}' has no page profiles.", "Materialise page_profiles.")
            row = self._lake.read("filings", keys).to_pylist()[0]
            profiles = self._lake.read("page_profiles", keys).sort_by("page").to_pylist()
            labels = filing_labels(self._lake, filing, len(profiles))
            self._pages[filing] = filing_pages(row, profiles, labels)
        return self._pages[filing]

    def similarities(self, filing: str, vector: np.ndarray) -> dict[str, np.ndarray]:
        """Best cosine similarity of each page with a question, by kind of vector; shape (pages,) each."""
        count = self.pages(filing).pages
        found = {}
        for kind, (pages, vectors) in self._vectors_of(filing).items():
            best = np.full(count, _LEAST_SIMILARITY, np.float32)
            scores = vectors @ vector.astype(np.float32) if len(pages) else np.empty(0, np.float32)
            np.maximum.at(best, pages, scores)
            found[kind] = best
            if kind == "sentence":
                found[SENTENCES] = mean_of_best(pages, scores, count)
        return found

    def _vectors_of(self, filing: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        if filing not in self._vectors:
            found = {kind: (np.empty(0, np.int64), np.empty((0, 0), np.float32)) for kind in VECTOR_KINDS}
            for index, fixed in self._indexes:
                rows = index.vectors_of(filing)
                pages = rows["page"].to_numpy()
                flat = rows["vector"].combine_chunks().flatten().to_numpy()
                vectors = flat.reshape(len(pages), -1) if len(pages) else np.empty((0, 0), np.float32)
                kinds = np.array(rows["kind"].to_pylist())
                for kind in ("window",) if fixed else VECTOR_KINDS[1:4]:
                    chosen = np.ones(len(pages), bool) if fixed else kinds == kind
                    found[kind] = (pages[chosen], np.ascontiguousarray(vectors[chosen]))
            found["sentence"] = self._sentences_of(filing)
            self._vectors[filing] = found
        return self._vectors[filing]

    def _sentences_of(self, filing: str) -> tuple[np.ndarray, np.ndarray]:
        keys = {"filing": filing}
        if self._lake.info("page_sentences", keys) is None:
            raise LakeError(f"'{filing}' has no sentences of pages.", "Materialise page_sentences.")
        rows: pa.Table = self._lake.read("page_sentences", keys, ["page", "vector"])
        flat = rows["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False).astype(np.float32)
        return rows["page"].to_numpy(), flat.reshape(rows.num_rows, -1) if rows.num_rows else flat[:, None]

    def fingerprint(self, filings: Sequence[str]) -> str:
        """What the profiles and vectors of ``filings`` consist of."""
        tables = ("filings", "page_tables", "page_profiles", "page_sentences", FIXED.table, CONTEXTUAL.table)
        parts = [self._lake.info(table, {"filing": filing}) for filing in sorted(filings) for table in tables]
        found = [part.fingerprint if part else None for part in parts]
        return fingerprint(found, self._encoder.fingerprint, self._settings.encoder.pooling)


def mean_of_best(pages: np.ndarray, scores: np.ndarray, count: int, best: int = BEST_SENTENCES) -> np.ndarray:
    """Mean of the ``best`` highest scores of each page; a missing one counts as the least similarity.

    Args:
        pages: page of each score, shape (scores,).
        scores: shape (scores,).
        count: number of pages.
        best: how many scores of a page count.

    Returns:
        float32, shape (count,).
    """
    order = np.lexsort((-scores, pages))
    ranked = pages[order]
    starts = np.searchsorted(ranked, np.arange(count))
    place = np.arange(len(order)) - starts[ranked]
    kept = np.full((count, best), _LEAST_SIMILARITY, np.float32)
    chosen = place < best
    kept[ranked[chosen], place[chosen]] = scores[order][chosen]
    return np.asarray(kept.mean(axis=1), np.float32)
