"""Words of a filing's pages, from the table ``filing_pages``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

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
