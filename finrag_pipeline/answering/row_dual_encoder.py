"""A dual encoder of questions and printed rows: which of all rows of a filing may hold what a question names.

Question and row become vectors apart (Karpukhin et al., Dense Passage Retrieval, 2020, section 3.1), trained
by ``benchmarks/row_dual_encoder.py``: a question by MiniLM with low-rank adapters, a row by the mean of what
its tokens say alone (Iyyer et al., Deep Unordered Composition, 2015, section 2.1). Rows so cost hardly
anything, and all of a filing are compared when it is asked about; the cross-encoder reads the likeliest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from finrag_pipeline.answering.row_cross_encoder import Texts, row_reader_tokens
from finrag_pipeline.embedding.bert import adapted_minilm, gelu, minilm_embeddings
from finrag_pipeline.questions.question_reader import shipped

WEIGHTS_FILE = "row_dual_encoder.safetensors"
"""The shipped weights, made by ``python -m benchmarks.row_dual_encoder``."""

PARTS = 8
"""Parts of a row that tokens are told apart by, the label being the first."""

EMBEDDINGS_TIMES = np.float32(20)
"""By which embeddings of tokens are multiplied: so they are as large as what is learned beside them."""

_ROWS_AT_ONCE = 512
_MOST_KEPT = 1 << 16


class RowDualEncoder:
    """How alike questions and rows are.

    Args:
        arrays: of questions, see `adapted_minilm`, and what rows are read by: ``row.part`` of each part,
            shape (parts, dimensions), ``row.inner`` and ``row.outer``, each a ``weight`` and a ``bias``,
            ``row.of_token`` and ``row.of_part``, logarithms of how much tokens and parts count, and
            ``scale``, by which likeness is multiplied.

    Raises:
        ModelError: the default encoder's weights are not to be had.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._bert, self._embeddings = adapted_minilm(arrays), minilm_embeddings()
        self._tokens = row_reader_tokens()
        self._row = {
            name.removeprefix("row."): array.astype(np.float32)
            for name, array in arrays.items()
            if name.startswith("row.")
        }
        self._scale = float(arrays["scale"].ravel()[0])
        self._kept: dict[Texts, np.ndarray] = {}

    def likeness(self, measure: str, question: str, rows: Sequence[Texts]) -> np.ndarray:
        """How alike each row and what a measure of a question names are, shape (rows,).

        It is the cosine of their vectors times what training made of it: logarithms of chances but for a
        constant, if one of the rows were right.

        Args:
            measure: words of the question that name a quantity.
            question: all of it, without companies.
            rows: any number.
        """
        if not rows:
            return np.zeros(0)
        places = {row: place for place, row in enumerate(dict.fromkeys(rows))}
        likeness = self.of_rows(tuple(places)) @ self.of_question(measure, question) * self._scale
        return np.asarray(likeness[[places[row] for row in rows]], dtype=float)

    def of_question(self, measure: str, question: str) -> np.ndarray:
        """The vector of a question, of length 1: the mean state of what names the measure."""
        ids = self._tokens.question(measure, question)
        return _of_length_one(self._bert.of_text(ids)[: self._tokens.measure_ends(ids)].mean(0))

    def of_rows(self, rows: Sequence[Texts]) -> np.ndarray:
        """Vectors of rows, of length 1 each, shape (rows, dimensions); kept for the next question."""
        if len(self._kept) > _MOST_KEPT:
            self._kept = {}
        kept = self._kept  # what another thread drops stays with this one
        missing = [row for row in rows if row not in kept]
        for start in range(0, len(missing), _ROWS_AT_ONCE):
            part = missing[start : start + _ROWS_AT_ONCE]
            kept.update(zip(part, self._read(part), strict=True))
        return np.array([kept[row] for row in rows])

    def _read(self, rows: Sequence[Texts]) -> np.ndarray:
        """Vectors of rows; each token of a part is read once, however many rows have it."""
        read = [self._tokens.full_row(row) for row in rows]
        ids = np.fromiter((token for row in read for token in row), int)
        begins = np.cumsum([0, *map(len, read)])[:-1]
        bars = np.cumsum(ids == self._tokens.bar)
        before = np.concatenate([[0], bars])[begins]
        parts = np.minimum(bars - np.repeat(before, [len(row) for row in read]), PARTS - 1)
        pairs, which = np.unique(ids * PARTS + parts, return_inverse=True)
        token, part = np.divmod(pairs, PARTS)
        weights = np.exp(self._row["of_token"][token] + self._row["of_part"][part])[:, None]
        inner = EMBEDDINGS_TIMES * self._embeddings[token] + self._row["part"][part]
        said = gelu(inner @ self._row["inner.weight"].T + self._row["inner.bias"])
        said = said @ self._row["outer.weight"].T * weights
        means = np.add.reduceat(said[which], begins) / np.add.reduceat(weights[which], begins)
        return _of_length_one(means + self._row["outer.bias"])


def _of_length_one(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)


@cache
def row_dual_encoder() -> RowDualEncoder | None:
    """The shipped dual encoder; None where the default encoder's weights are not to be had."""
    return shipped(RowDualEncoder, "finrag_pipeline.answering", WEIGHTS_FILE)
