"""A cross-encoder that reads the words of a question together with printed rows: how well each row fits.

MiniLM with low-rank adapters (Hu et al., LoRA, 2021, section 4.1) trained by
``benchmarks/row_cross_encoder.py``. The package ships the adapters; the weights below them are those of the
default encoder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np

from finrag_pipeline.embedding.bert import adapted_minilm, minilm_tokenizer
from finrag_pipeline.errors import ModelError
from finrag_pipeline.questions.question_reader import shipped
from finrag_pipeline.statements.filing_rows import FilingRow

if TYPE_CHECKING:
    from tokenizers import Tokenizer

ADAPTER_FILE = "row_cross_encoder.safetensors"
"""The shipped adapters, made by ``python -m benchmarks.row_cross_encoder``."""

ROWS_AT_ONCE = 10
"""Rows that are read together."""

MEASURE_TOKENS, QUESTION_TOKENS = 16, 32
ROW_TOKENS, FULL_ROW_TOKENS = 14, 45
"""Tokens of a row of many, and of one of the few that are read once more with all around it."""

CAPTION_WORDS = 16
"""Words of a caption that tell what a table shows."""

Texts = tuple[str, str, str, str, str, str]
"""Label, headings, columns, caption, statement and kind of number of a row."""

_PARTS = ((0, 10), (1, 6), (2, 6), (3, 8), (4, 3))
_FULL_PARTS = ((0, 16), (1, 12), (2, 10), (5, 5), (4, 3), (3, 20))
"""Parts of `Texts` with the tokens of each, as far as there is room for them."""


def row_texts(row: FilingRow) -> Texts:
    """The parts of a row that are read."""
    value = row.values[0] if row.values else None
    kind = value.unit or "" if value else ""
    if value and value.period_end:
        kind += " over months" if value.months else " at a date"
    parts = (
        row.label,
        " ".join(reversed(row.path[:-1])),
        " ".join(row.columns),
        " ".join(row.caption.split()[:CAPTION_WORDS]),
        row.statement or "",
        kind,
    )
    label, headings, columns, caption, statement, kind = (re.sub(r"\s+", " ", part).strip() for part in parts)
    return label, headings, columns, caption, statement, kind


class RowReaderTokens:
    """Token identifiers of questions and rows.

    Args:
        tokenizer: of the encoder, which neither cuts nor pads.

    Attributes:
        bar: the identifier that stands before each part of a row but the first.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._first, self._end, self.bar = (self._id(token) for token in ("[CLS]", "[SEP]", "|"))
        self._ids = lru_cache(1 << 15)(self._encoded)
        self.row = lru_cache(1 << 15)(partial(self._joined, _PARTS, ROW_TOKENS))
        self.full_row = lru_cache(1 << 15)(partial(self._joined, _FULL_PARTS, FULL_ROW_TOKENS))

    def _id(self, token: str) -> int:
        found = self._tokenizer.token_to_id(token)
        if found is None:
            raise ModelError(f"The tokenizer has no token '{token}'.", "Use the default encoder's.")
        return found

    def _encoded(self, text: str, most: int) -> tuple[int, ...]:
        return tuple(self._tokenizer.encode(text, add_special_tokens=False).ids[:most])

    def _joined(self, parts: Sequence[tuple[int, int]], room: int, texts: Texts) -> tuple[int, ...]:
        ids: list[int] = []
        for part, most in parts:
            if not part or (texts[part] and len(ids) < room - 1):
                ids += [*([self.bar] if part else []), *self._ids(texts[part], most)]
        return tuple(ids[:room] or [self.bar])

    def question(self, measure: str, question: str) -> list[int]:
        """Identifiers of a question, as they stand before those of rows."""
        ids = [self._first, *self._ids(measure, MEASURE_TOKENS), self._end]
        return [*ids, *self._ids(question, QUESTION_TOKENS), self._end]

    def measure_ends(self, ids: Sequence[int]) -> int:
        """Where the measure ends in the identifiers of a question."""
        return list(ids).index(self._end)

    def sequence(
        self, measure: str, question: str, rows: Sequence[tuple[int, ...]]
    ) -> tuple[list[int], int, list[tuple[int, int]]]:
        """Identifiers of a question with those of rows behind it, where the rows begin, and their spans."""
        ids = self.question(measure, question)
        start, spans = len(ids), []
        for own in rows:
            spans.append((len(ids), len(ids) + len(own)))
            ids += [*own, self._end]
        return ids, start, spans


class RowCrossEncoder:
    """Scores of rows for the words of a question.

    Args:
        arrays: see `adapted_minilm`, and ``head.weight`` and ``head.bias`` of the last layer over the mean
            state of a row and its product with that of the question, shape (2 × dimensions,).

    Raises:
        ModelError: the default encoder's weights are not to be had.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._bert, self._tokens = adapted_minilm(arrays), row_reader_tokens()
        self._weights = arrays["head.weight"].astype(np.float32).ravel()
        self._bias = float(arrays["head.bias"].ravel()[0])
        self.logits = lru_cache(256)(self._logits)

    def _logits(self, measure: str, question: str, rows: tuple[Texts, ...], full: bool = False) -> np.ndarray:
        """Log-odds that each row holds what a measure of a question names, shape (rows,).

        Rows that read alike are read once.

        Args:
            measure: words of the question that name a quantity.
            question: all of it, without companies.
            rows: any number.
            full: read each with all that is printed around it.
        """
        read_as = [self._tokens.full_row(row) if full else self._tokens.row(row) for row in rows]
        places = {ids: place for place, ids in enumerate(dict.fromkeys(read_as))}
        return self._of_ids(measure, question, tuple(places))[[places[ids] for ids in read_as]]

    def _of_ids(self, measure: str, question: str, rows: Sequence[tuple[int, ...]]) -> np.ndarray:
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
    return shipped(RowCrossEncoder, "finrag_pipeline.answering", ADAPTER_FILE)


@cache
def row_reader_tokens() -> RowReaderTokens:
    """Tokens of questions and rows by the default encoder's tokenizer.

    Raises:
        ModelError: it is not to be had.
    """
    return RowReaderTokens(minilm_tokenizer())
