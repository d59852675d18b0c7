"""A cross-encoder that reads the words of a question together with printed rows: how well each row fits.

MiniLM with low-rank adapters (Hu et al., LoRA, 2021, section 4.1) trained by
``benchmarks/row_cross_encoder.py``. The package ships the adapters; the weights below them are those of the
default encoder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from finrag_pipeline.embedding.bert import Bert, adapted_minilm
from finrag_pipeline.errors import ModelError
from finrag_pipeline.statements.filing_rows import FilingRow

if TYPE_CHECKING:
    from tokenizers import Tokenizer

ADAPTER_FILE = "row_cross_encoder.safetensors"
"""The shipped adapters, made by ``python -m benchmarks.row_cross_encoder``."""

ROWS_AT_ONCE = 10
"""Rows that are read together."""

MEASURE_TOKENS, QUESTION_TOKENS, ROW_TOKENS = 16, 32, 14
_LABEL_TOKENS = 10
_PARTS = (6, 6, 8, 3)
"""Tokens of the headings, columns, caption and statement of a row, as far as there is room for them."""

_CAPTION_WORDS = 12
_HEADINGS = 2

Texts = tuple[str, str, str, str, str]
"""Label, headings, columns, caption and statement of a row."""


def row_texts(row: FilingRow) -> Texts:
    """The parts of a row that are read."""
    parts = (
        row.label,
        " ".join(reversed(row.path[:-1][-_HEADINGS:])),
        " ".join(row.columns),
        " ".join(row.caption.split()[:_CAPTION_WORDS]),
        row.statement or "",
    )
    label, headings, columns, caption, statement = (re.sub(r"\s+", " ", part).strip() for part in parts)
    return label, headings, columns, caption, statement


class RowReaderTokens:
    """Token identifiers of questions and rows.

    Args:
        tokenizer: of the encoder.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._first, self._end, self._bar = (self._id(token) for token in ("[CLS]", "[SEP]", "|"))
        self.row = lru_cache(1 << 15)(self._row)

    def _id(self, token: str) -> int:
        found = self._tokenizer.token_to_id(token)
        if found is None:
            raise ModelError(f"The tokenizer has no token '{token}'.", "Use the default encoder's.")
        return int(found)

    def _ids(self, text: str, most: int) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids[:most])

    def _row(self, texts: Texts) -> tuple[int, ...]:
        ids = self._ids(texts[0], _LABEL_TOKENS)
        for part, most in zip(texts[1:], _PARTS, strict=True):
            if part and len(ids) < ROW_TOKENS - 1:
                ids += [self._bar, *self._ids(part, most)]
        return tuple(ids[:ROW_TOKENS] or [self._bar])

    def sequence(
        self, measure: str, question: str, rows: Sequence[Texts]
    ) -> tuple[list[int], int, list[tuple[int, int]]]:
        """Identifiers of a question with rows behind it, where the rows begin, and the span of each."""
        ids = [self._first, *self._ids(measure, MEASURE_TOKENS), self._end]
        ids += [*self._ids(question, QUESTION_TOKENS), self._end]
        start, spans = len(ids), []
        for row in rows:
            own = self.row(row)
            spans.append((len(ids), len(ids) + len(own)))
            ids += [*own, self._end]
        return ids, start, spans


class RowCrossEncoder:
    """Scores of rows for the words of a question.

    Args:
        bert: the encoder with its adapters.
        tokens: of questions and rows.
        weights: of the last layer over the mean state of a row and its product with that of the question,
            shape (2 × dimensions,).
        bias: of the last layer.
    """

    def __init__(self, bert: Bert, tokens: RowReaderTokens, weights: np.ndarray, bias: float) -> None:
        self._bert = bert
        self._tokens = tokens
        self._weights = weights
        self._bias = bias
        self.logits = lru_cache(256)(self._logits)

    def _logits(self, measure: str, question: str, rows: tuple[Texts, ...]) -> np.ndarray:
        """Log-odds that each row holds what a measure of a question names, shape (rows,)."""
        parts = [rows[start : start + ROWS_AT_ONCE] for start in range(0, len(rows), ROWS_AT_ONCE)]
        read = [self._tokens.sequence(measure, question, part) for part in parts]
        longest = max(len(ids) for ids, _, _ in read)
        shape = (len(read), longest)
        ids, types, mask = np.zeros(shape, int), np.zeros(shape, int), np.zeros(shape, int)
        for place, (own, start, _) in enumerate(read):
            ids[place, : len(own)] = own
            types[place, start : len(own)] = 1
            mask[place, : len(own)] = 1
        states = self._bert.hidden(ids, types, mask)
        found = []
        for own_states, (_, _, spans) in zip(states, read, strict=True):
            means = np.stack([own_states[begin:end].mean(0) for begin, end in spans])
            found.append(np.concatenate([means, means * own_states[0]], axis=1) @ self._weights + self._bias)
        return np.concatenate(found)


@cache
def row_cross_encoder() -> RowCrossEncoder | None:
    """The shipped cross-encoder; None where the default encoder's weights are not to be had."""
    from safetensors.numpy import load

    adapters = load((files("finrag_pipeline.answering") / ADAPTER_FILE).read_bytes())
    try:
        bert, tokenizer = adapted_minilm(adapters)
    except ModelError:
        return None
    head = adapters["head.weight"].astype(np.float32).ravel()
    return RowCrossEncoder(bert, RowReaderTokens(tokenizer), head, float(adapters["head.bias"].ravel()[0]))
