"""Pages of filings ready for features: profiles and sentences, loaded on first use and kept."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np

from finrag_pipeline.errors import LakeError
from finrag_pipeline.rankers.page_ranker.features import FilingPages, filing_pages
from finrag_pipeline.rankers.texts import page_scores
from finrag_pipeline.retrieval.page_stage import cosines, sentence_vectors
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

BEST_SENTENCES = 3
"""Sentences of a page that are compared together."""

FILINGS_KEPT, KEPT_IN_A_RUN = 400, 24
"""Filings whose pages stay in memory, 5 MB of an annual report: where anything may be asked next, also
without a company, which reads all of them; and in a run, which asks of one filing after the other."""

_LEAST_SIMILARITY = -0.2
"""Similarity of a page that has no sentence."""


class PageLibrary:
    """Profiles and sentences of the pages of the filings of a lake.

    Args:
        lake: that holds them.
        kept: filings whose pages are kept, those that were asked for last.
    """

    def __init__(self, lake: Lake, kept: int = FILINGS_KEPT) -> None:
        self._lake = lake
        self.pages = lru_cache(kept)(self._read)
        self._vectors = lru_cache(kept)(partial(sentence_vectors, lake))

    def _read(self, filing: str) -> FilingPages:
        """The pages of a filing.

        Raises:
            LakeError: the filing has no profiles.
        """
        keys = {"filing": filing}
        if self._lake.info("page_profiles", keys) is None:
            raise LakeError(f"'{filing}' has no page profiles.", "Materialise page_profiles.")
        row = self._lake.read("filings", keys).to_pylist()[0]
        profiles = self._lake.read("page_profiles", keys).sort_by("page").to_pylist()
        return filing_pages(row, profiles)

    def similarities(self, filing: str, vector: np.ndarray) -> dict[str, np.ndarray]:
        """Cosine similarities of each page with a question, shape (pages,) each.

        ``sentence`` is that of its best sentence, ``sentences`` the mean of its best three.

        Raises:
            LakeError: the filing has no sentences.
        """
        count, (pages, vectors) = self.pages(filing).pages, self._vectors(filing)
        scores = cosines(vectors, vector) if len(pages) else np.empty(0, np.float32)
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
