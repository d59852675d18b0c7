"""Words of pages that are pictures, where Tesseract is installed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from finrag_pipeline.filings.pdf import ocr_words
from finrag_pipeline.tables.model import PageWords


def words_by_ocr(path: Path, page: PageWords, dpi: int = 300, language: str = "eng") -> PageWords:
    """The page with the words that Tesseract reads in its picture.

    Raises:
        FilingError: Tesseract is not installed, or the page cannot be drawn.
    """
    found = ocr_words(path, page.page, dpi, language)
    return replace(
        page,
        text=" ".join(word[4] for word in found),
        boxes=np.array([word[:4] for word in found], np.float32).reshape(-1, 4),
        words=tuple(str(word[4]) for word in found),
        blocks=np.array([word[5] for word in found], np.int32),
        lines=np.array([word[6] for word in found], np.int32),
        needs_ocr=False,
    )
