"""Pages of filings ready for features: profiles and sentences, loaded on first use and kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from finrag_pipeline.errors import LakeError
from finrag_pipeline.rankers.page_ranker.features import FilingPages, filing_pages
from finrag_pipeline.rankers.texts import page_scores
from finrag_pipeline.retrieval.page_stage import sentence_vectors
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

BEST_SENTENCES = 3
"""Sentences of a page that are compared together."""

_LEAST_SIMILARITY = -0.2
"""Similarity of a page that has no sentence."""


class PageLibrary:
    """Profiles and sentences of the pages of the filings of a lake."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._pages: dict[str, FilingPages] = {}
        self._vectors: dict[str, tuple[np.ndarray, np.ndarray]] = {}

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
            self._pages[filing] = filing_pages(row, profiles)
        return self._pages[filing]

    def similarities(self, filing: str, vector: np.ndarray) -> dict[str, np.ndarray]:
        """Cosine similarities of each page with a question, shape (pages,) each.

        ``sentence`` is that of its best sentence, ``sentences`` the mean of its best three.

        Raises:
            LakeError: the filing has no sentences.
        """
        if filing not in self._vectors:
            self._vectors[filing] = sentence_vectors(self._lake, filing)
        count, (pages, vectors) = self.pages(filing).pages, self._vectors[filing]
        scores = vectors @ vector.astype(np.float32) if len(pages) else np.empty(0, np.float32)
        best = page_scores(scores, pages, count, _LEAST_SIMILARITY)
        return {"sentence": best, "sentences": mean_of_best(pages, scores, count)}

    def fingerprint(self, filings: Sequence[str]) -> str:
        """What the profiles and sentences of ``filings`` consist of; the encoder is part of the latter."""
        tables = ("filings", "page_profiles", "page_sentences")
        parts = [self._lake.info(table, {"filing": filing}) for filing in sorted(filings) for table in tables]
        return fingerprint([part.fingerprint if part else None for part in parts])


def mean_of_best(pages: np.ndarray, scores: np.ndarray, count: int, best: int = BEST_SENTENCES) -> np.ndarray:
    """Mean of the ``best`` highest scores of each page, shape (count,), float32.

    ``pages`` has the page of each score. A missing score counts as the least similarity.
    """
    order = np.lexsort((-scores, pages))
    ranked = pages[order]
    starts = np.searchsorted(ranked, np.arange(count))
    place = np.arange(len(order)) - starts[ranked]
    kept = np.full((count, best), _LEAST_SIMILARITY, np.float32)
    chosen = place < best
    kept[ranked[chosen], place[chosen]] = scores[order][chosen]
    return np.asarray(kept.mean(axis=1), np.float32)
