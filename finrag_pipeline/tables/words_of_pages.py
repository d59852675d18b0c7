"""Words of a filing's pages: from the table ``filing_pages``, or from a picture by Tesseract."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from finrag_pipeline.filings.pdf import ocr_words
from finrag_pipeline.tables.model import PageWords

_COLUMNS = ["page", "text", "width", "height", "needs_ocr", "words"]


def page_words(pages: pa.Table) -> list[PageWords]:
    """The pages of a filing as detectors see them, from its rows of ``filing_pages``."""
    pages = pages.select(_COLUMNS).sort_by("page").combine_chunks()
    found = []
    for row, words in zip(pages.drop_columns("words").to_pylist(), pages["words"], strict=True):
        boxes, tokens = np.zeros((0, 4), np.float32), ()
        if words.is_valid and len(words):
            fields = words.values
            edges = [fields.field(edge).to_numpy() for edge in ("x0", "y0", "x1", "y1")]
            boxes = np.stack(edges, axis=1).astype(np.float32)
            tokens = tuple(fields.field("text").to_pylist())
        sizes = {name: row[name] or 0 for name in ("width", "height")}
        found.append(PageWords(**(row | sizes), boxes=boxes, words=tokens))
    return found


def words_by_ocr(path: Path, page: PageWords) -> PageWords:
    """The page with the words that Tesseract reads in its picture.

    Raises:
        FilingError: Tesseract is not installed, or the page cannot be drawn.
    """
    found = ocr_words(path, page.page)
    return replace(
        page,
        text=" ".join(word[4] for word in found),
        boxes=np.array([word[:4] for word in found], np.float32).reshape(-1, 4),
        words=tuple(str(word[4]) for word in found),
        needs_ocr=False,
    )
