"""Sentences of pages and their vectors: a narrative answer is one sentence of a page about much else.

Windows of 256 tokens and more blur such a sentence. The vectors stand beside their texts, so that a search
compares a question with sentences without embedding any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from finrag_pipeline.filings.sentences import sentences
from finrag_pipeline.schemas import PAGE_SENTENCES

MOST_WORDS = 50
"""Longer sentences are cut into pieces of so many words: rows of tables read like one long sentence."""
LEAST_WORDS = 5
LEAST_LETTERS = 0.55
"""Share of letters among the characters of a piece; pieces of figures say nothing to an encoder."""


def page_sentences(pages: pa.Table, embed: Callable[[Sequence[str]], np.ndarray]) -> pa.Table:
    """Rows of ``page_sentences`` of rows of ``filing_pages``, in order; equal ones are embedded once.

    ``embed`` gives unit-length vectors of texts, shape (texts, dimensions).
    """
    columns = (pages[name].to_pylist() for name in ("filing", "page", "text", "needs_ocr"))
    rows = [
        (filing, page, ordinal, piece)
        for filing, page, text, needs_ocr in zip(*columns, strict=True)
        if not needs_ocr
        for ordinal, piece in enumerate(pieces(text))
    ]
    texts = sorted({piece for *_, piece in rows}, key=lambda piece: (len(piece), piece))
    vectors = embed(texts) if texts else np.empty((0, 1), np.float32)
    place = {text: n for n, text in enumerate(texts)}
    chosen = vectors[[place[piece] for *_, piece in rows]] if rows else vectors
    arrays = [pa.array([row[n] for row in rows], PAGE_SENTENCES.field(n).type) for n in range(4)]
    flat = pa.array(chosen.astype(np.float16).reshape(-1), pa.float16())
    offsets = pa.array(np.arange(len(rows) + 1) * chosen.shape[1], pa.int32())
    return pa.Table.from_arrays([*arrays, pa.ListArray.from_arrays(offsets, flat)], schema=PAGE_SENTENCES)


def pieces(text: str) -> list[str]:
    """What is compared of a page: its sentences, cut where they are long, without those of figures."""
    found = []
    for sentence in sentences(text):
        words = sentence.split()
        for start in range(0, len(words), MOST_WORDS):
            piece = words[start : start + MOST_WORDS]
            letters = "".join(piece)
            share = sum(character.isalpha() for character in letters) / max(len(letters), 1)
            if len(piece) >= LEAST_WORDS and share >= LEAST_LETTERS:
                found.append(" ".join(piece))
    return found
