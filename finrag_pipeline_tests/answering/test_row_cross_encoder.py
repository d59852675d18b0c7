"""Questions and printed rows read together."""

from __future__ import annotations

import numpy as np

from finrag_pipeline.answering import row_cross_encoder as module
from finrag_pipeline.answering.row_cross_encoder import (
    FULL_ROW_TOKENS,
    ROW_TOKENS,
    ROWS_AT_ONCE,
    RowCrossEncoder,
    Texts,
    row_cross_encoder,
    row_texts,
)
from finrag_pipeline.answering.row_matcher import row_matcher
from finrag_pipeline.errors import ModelError
from finrag_pipeline.statements.filing_rows import FilingRow

ROWS: tuple[Texts, ...] = (
    ("Merchandise inventories", "Current assets", "", "Balance sheets", "financial_position", ""),
    ("Interest expense on notes", "", "", "Note 6: Debt", "", ""),
    ("Employees at year end", "", "", "Workforce", "", ""),
)


def _reader() -> RowCrossEncoder:
    reader = row_cross_encoder()
    assert reader is not None
    return reader


def test_a_row_in_other_words_is_the_best() -> None:
    for words, best in (("stock of goods", 0), ("cost of borrowings", 1), ("staff", 2)):
        assert int(_reader().logits(words, f"how big was the {words}?", ROWS).argmax()) == best


def test_every_row_is_read_in_however_many_parts() -> None:
    many = tuple((f"Row of item {place}", "", "", "", "", "") for place in range(2 * ROWS_AT_ONCE + 1))
    found = _reader().logits("item 3", "what was item 3?", many)
    assert found.shape == (len(many),) and np.isfinite(found).all()
    alone = _reader().logits("item 3", "what was item 3?", many[-1:])
    np.testing.assert_allclose(found[-1:], alone, atol=1e-3)


def test_long_and_empty_rows_are_cut_and_kept() -> None:
    long = FilingRow(
        "A", 0, 0, 0, "a caption " * 40, ("heading " * 9, "label " * 50), ("column " * 9,), None, None, ()
    )
    tokens = _reader()._tokens
    assert len(tokens.row(row_texts(long))) == ROW_TOKENS
    assert len(tokens.full_row(row_texts(long))) == FULL_ROW_TOKENS
    longest = tokens.question("measure " * 99, "question " * 99)
    assert len(longest) + ROWS_AT_ONCE * (FULL_ROW_TOKENS + 1) <= 512, "more than the encoder has positions"
    assert len(tokens.row(("", "", "", "", "", ""))) == 1


def test_without_the_encoder_rows_are_told_by_their_words(monkeypatch) -> None:
    def missing(adapters: object) -> None:
        raise ModelError("no weights", "install them")

    monkeypatch.setattr(module, "adapted_minilm", missing)
    row_cross_encoder.cache_clear()
    try:
        assert row_cross_encoder() is None
        rows = [
            FilingRow("A", 0, 0, n, "", (text,), (), None, None, ())
            for n, text in enumerate(["Claims paid", "Depots"])
        ]
        chances = row_matcher().rate("claims paid", rows, "what were the claims paid?").chances
        assert chances[0] > 0.3 > chances[1]
    finally:
        row_cross_encoder.cache_clear()
