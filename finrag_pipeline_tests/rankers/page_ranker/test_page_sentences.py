"""Sentences of pages: what is kept, what is embedded, and how a page is scored by its best ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from finrag_pipeline.rankers.page_ranker.library import mean_of_best
from finrag_pipeline.rankers.page_ranker.page_sentences import LEAST_WORDS, MOST_WORDS, page_sentences, pieces
from finrag_pipeline.schemas import conform

PROSE = "One customer accounted for a fifth of sales. No other customer did so this year."


def pages(*texts: str, needs_ocr: Sequence[int] = ()) -> pa.Table:
    return pa.table(
        {
            "filing": ["a"] * len(texts),
            "page": pa.array(range(len(texts)), pa.int32()),
            "text": list(texts),
            "needs_ocr": [n in needs_ocr for n in range(len(texts))],
        }
    )


class Encoder:
    """Unit vectors that tell texts apart; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        vectors = np.array([[len(text), text.count("e") + 1.0] for text in texts], np.float32)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def test_every_sentence_has_the_vector_of_its_text() -> None:
    encoder = Encoder()
    table = page_sentences(pages(PROSE, "", PROSE), encoder.embed)
    assert conform(table, "page_sentences").equals(table)
    assert len(encoder.asked) == 2, "equal sentences are embedded once"
    rows = table.to_pylist()
    assert [(row["page"], row["ordinal"]) for row in rows] == [(0, 0), (0, 1), (2, 0), (2, 1)]
    for row in rows:
        assert row["vector"] == pytest.approx(encoder.embed([row["text"]])[0].tolist(), abs=1e-3)


def test_pages_that_cannot_be_read_have_none() -> None:
    table = page_sentences(pages(PROSE, PROSE, needs_ocr=(0,)), Encoder().embed)
    assert set(table["page"].to_pylist()) == {1}
    empty = page_sentences(pages("", "7"), Encoder().embed)
    assert empty.num_rows == 0 and conform(empty, "page_sentences").equals(empty)


def test_figures_and_scraps_are_left_out_and_long_rows_cut() -> None:
    assert pieces("Net sales 4,366 4,034 3,985 3,712 3,650 8,211") == []
    assert pieces(" ".join(["word"] * (LEAST_WORDS - 1))) == []
    long = [f"w{'o' * (n % 5)}rd" for n in range(2 * MOST_WORDS + LEAST_WORDS)]
    cut = pieces(" ".join(long))
    assert [len(piece.split()) for piece in cut] == [MOST_WORDS, MOST_WORDS, LEAST_WORDS]
    assert " ".join(cut).split() == long


def test_a_page_is_scored_by_the_mean_of_its_best_sentences() -> None:
    found = np.array([0, 0, 0, 0, 2], np.int64)
    scores = np.array([0.1, 0.9, 0.5, 0.7, 0.4], np.float32)
    mean = mean_of_best(found, scores, count=3, best=3)
    assert mean.tolist() == pytest.approx([0.7, -0.2, (0.4 - 0.2 - 0.2) / 3], abs=1e-6)
    assert mean_of_best(np.empty(0, np.int64), np.empty(0, np.float32), count=2).tolist() == pytest.approx(
        [-0.2, -0.2]
    )
