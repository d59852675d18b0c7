import numpy as np
import pytest

from finrag_pipeline.answering import row_dual_encoder as module
from finrag_pipeline.answering.row_cross_encoder import Texts, row_reader_tokens
from finrag_pipeline.answering.row_dual_encoder import (
    EMBEDDINGS_TIMES,
    PARTS,
    RowDualEncoder,
    row_dual_encoder,
)
from finrag_pipeline.answering.row_matcher import row_matcher
from finrag_pipeline.embedding.bert import gelu, minilm_embeddings
from finrag_pipeline.errors import ModelError
from finrag_pipeline.statements.filing_rows import FilingRow

ROWS: tuple[Texts, ...] = (
    ("Cost of ferries sold", "Costs", "", "Consolidated Statements of Income", "income_statement", ""),
    ("Acquisitions, net of cash acquired", "Investing activities", "", "", "cash_flows", ""),
    ("Ferries | tugs", "", "North", "", "", "currency"),
    ("", "", "", "", "", ""),
)


def _encoder() -> RowDualEncoder:
    found = row_dual_encoder()
    assert found is not None
    return found


@pytest.mark.parametrize("row", ROWS)
def test_a_row_is_the_weighed_mean_of_what_its_tokens_say(row: Texts) -> None:
    encoder, tokens = _encoder(), row_reader_tokens()
    arrays = encoder._row
    total, weights, part = np.zeros(384), 0.0, 0
    for token in tokens.full_row(row):
        part = min(part + (token == tokens.bar), PARTS - 1)
        said = EMBEDDINGS_TIMES * minilm_embeddings()[token] + arrays["part"][part]
        weight = np.exp(arrays["of_token"][token] + arrays["of_part"][part])
        total += (
            weight * gelu(arrays["inner.weight"] @ said + arrays["inner.bias"]) @ arrays["outer.weight"].T
        )
        weights += weight
    expected = total / weights + arrays["outer.bias"]
    np.testing.assert_allclose(
        encoder.of_rows([*ROWS, row])[-1], expected / np.linalg.norm(expected), atol=1e-5
    )


def test_likeness_is_the_cosine_times_the_scale_however_often_a_row_comes() -> None:
    encoder = _encoder()
    asked = encoder.of_question("ferry costs", "what did the ferries cost?")
    assert np.linalg.norm(asked) == pytest.approx(1, abs=1e-5)
    found = encoder.likeness("ferry costs", "what did the ferries cost?", [*ROWS, ROWS[1], ROWS[0]])
    np.testing.assert_allclose(found[:4], encoder.of_rows(ROWS) @ asked * encoder._scale, atol=1e-4)
    assert found[4] == found[1] and found[5] == found[0]
    assert encoder.likeness("ferry costs", "", []).shape == (0,)


@pytest.mark.parametrize(
    ("measure", "meant", "others"),
    [
        (
            "money spent on taking over rivals",
            "Acquisitions, net of cash acquired",
            ["Goodwill", "Net sales"],
        ),
        ("unsold stock", "Inventories", ["Accounts receivable", "Common stock", "Treasury stock"]),
        ("top line", "Total revenues", ["Net income", "Total assets", "Operating expenses"]),
    ],
)
def test_a_row_in_other_words_is_more_alike_than_others(measure: str, meant: str, others: list[str]) -> None:
    rows: list[Texts] = [(label, "", "", "", "", "currency") for label in (meant, *others)]
    found = _encoder().likeness(measure, f"how large was the {measure} in the year?", rows)
    assert int(found.argmax()) == 0


def test_vectors_are_kept_and_given_up_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = _encoder()
    first = encoder.of_rows(ROWS)
    assert all(row in encoder._kept for row in ROWS)
    monkeypatch.setattr(module, "_MOST_KEPT", 0)
    np.testing.assert_array_equal(encoder.of_rows(ROWS), first)
    encoder.of_rows(ROWS[:1])
    assert set(encoder._kept) == {ROWS[0]}


def test_without_the_encoder_rows_are_found_by_their_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(adapters: object) -> None:
        raise ModelError("no weights", "install them")

    monkeypatch.setattr(module, "adapted_minilm", missing)
    row_dual_encoder.cache_clear()
    try:
        assert row_dual_encoder() is None
        rows = [
            FilingRow("A", 0, 0, n, "", (text,), (), None, None, ())
            for n, text in enumerate(["Claims paid", "Depots"])
        ]
        chances = row_matcher().rate("claims paid", rows, "what were the claims paid?").chances
        assert chances[0] > 3 * chances[1]
    finally:
        row_dual_encoder.cache_clear()
