"""Words of a filing's pages: from the table ``filing_pages``, or from a picture by Tesseract."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from finrag_pipeline.filings.pdf import ocr_words
from finrag_pipeline.tables.model import FilingWords, PageWords

COLUMNS = ["page", "text", "rotation", "width", "height", "needs_ocr", "words"]
"""What `filing_words` reads of ``filing_pages``."""


def filing_words(filing: str, pages: pa.Table, path: Path | None = None) -> FilingWords:
    """The words of each page as arrays.

    Args:
        filing: identifier.
        pages: rows of ``filing_pages`` with at least `COLUMNS`.
        path: the PDF, for detectors that look at pictures.
    """
    pages = pages.select(COLUMNS).sort_by("page").combine_chunks()
    texts, rotations = pages["text"].to_pylist(), pages["rotation"].to_pylist()
    widths, heights = pages["width"].to_pylist(), pages["height"].to_pylist()
    needs_ocr, numbers = pages["needs_ocr"].to_pylist(), pages["page"].to_pylist()
    words = pages["words"]
    found = []
    for place, number in enumerate(numbers):
        scalar = words[place]
        if scalar.is_valid and len(scalar):
            fields = scalar.values
            boxes = np.stack(
                [fields.field(edge).to_numpy() for edge in ("x0", "y0", "x1", "y1")], axis=1
            ).astype(np.float32)
            tokens = tuple(fields.field("text").to_pylist())
            blocks, lines = fields.field("block").to_numpy(), fields.field("line").to_numpy()
        else:
            boxes, tokens = np.zeros((0, 4), np.float32), ()
            blocks = lines = np.zeros(0, np.int32)
        found.append(
            PageWords(
                page=number,
                width=widths[place] or 0.0,
                height=heights[place] or 0.0,
                text=texts[place],
                boxes=boxes,
                words=tokens,
                blocks=blocks,
                lines=lines,
                rotation=rotations[place] or 0,
                needs_ocr=needs_ocr[place],
            )
        )
    return FilingWords(filing, tuple(found), path)


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
