"""Texts of pages as the page scorer reads them: cut, as in the paper, or as windows over the whole page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from finrag_pipeline.embedding.encoder import SPECIAL_TOKENS
from finrag_pipeline.embedding.tokens import split_windows, token_counter
from finrag_pipeline.settings import EncoderSettings, TrainingSettings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

Pieces = tuple[str, ...]
"""What is embedded of a page: one text when it is cut, its windows otherwise, nothing of a blank page."""

UNSEEN = -1.0
"""Score of a page without text: the least cosine there is."""


@dataclass
class PageTexts:
    """Pieces of the pages of filings of at most ``max_tokens``, special ones included; read on first use."""

    lake: Lake
    settings: TrainingSettings
    base: EncoderSettings
    max_tokens: int
    _pages: dict[str, list[Pieces]] = field(init=False, default_factory=dict)

    def pieces(self, text: str) -> Pieces:
        """What is embedded of a page with this text; white space is collapsed to single spaces."""
        text = " ".join(text.split())
        if not text:
            return ()
        if self.settings.text == "cut":
            return (text[: self.settings.max_characters].rstrip(),)
        return tuple(split_windows(text, self.max_tokens - SPECIAL_TOKENS, token_counter(self.base)))

    def pages(self, filing: str) -> list[Pieces]:
        """Pieces of each page of a filing, by zero-based page.

        Raises:
            LakeError: the lake holds no pages of it.
        """
        if filing not in self._pages:
            table = self.lake.read("filing_pages", {"filing": filing}, ["page", "text"]).sort_by("page")
            self._pages[filing] = [self.pieces(text) for text in table["text"].to_pylist()]
        return self._pages[filing]


def pages_fingerprint(lake: Lake, filings: Sequence[str]) -> str:
    """What the pages of ``filings`` consist of."""
    parts = {filing: lake.info("filing_pages", {"filing": filing}) for filing in sorted(filings)}
    return fingerprint({filing: part and part.fingerprint for filing, part in parts.items()})


def flatten(pages: Sequence[Pieces]) -> tuple[list[str], np.ndarray]:
    """All pieces of some pages, and for each the position of its page; shape (pieces,)."""
    texts = [piece for pieces in pages for piece in pieces]
    owners = np.repeat(np.arange(len(pages)), np.array([len(pieces) for pieces in pages], np.int64))
    return texts, owners


def page_scores(
    similarities: np.ndarray, owners: np.ndarray, pages: int, unseen: float = UNSEEN
) -> np.ndarray:
    """Score of each page, that of its best piece, shape (pages,), float32; ``unseen`` without a piece.

    ``similarities`` are of a question with each piece, and ``owners`` the positions of their pages; both of
    shape (pieces,).
    """
    scores = np.full(pages, unseen, np.float32)
    np.maximum.at(scores, owners, similarities)
    return scores
