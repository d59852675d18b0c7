"""The encoder of questions: taught for sentences of the default encoder, and for no other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.embedding.model_files import MINILM
from finrag_pipeline.rankers.page_ranker.question_encoder import question_encoder
from finrag_pipeline.settings import EncoderSettings
from finrag_pipeline.storage.lake import Lake

PAIRS = {
    "How much did the firm hand back to its owners by buying in its own stock?": "During the year we repurchased "
    "2.1 million shares of common stock for $310 million.",
    "Which lawsuits might cost the group money?": "We are a defendant in several actions, and an unfavorable "
    "outcome could have a material effect.",
    "Why did margins shrink?": "Gross profit as a percentage of net sales decreased primarily because of higher "
    "freight costs.",
    "How many people work there?": "We had approximately 12,400 full-time employees at December 31, 2023.",
}
ASKED, *_ = PAIRS


@pytest.fixture
def encoder(tmp_path: Path) -> Encoder:
    return Encoder(EncoderSettings(name=MINILM), Lake(tmp_path))


def margins(sentences: np.ndarray, questions: np.ndarray) -> np.ndarray:
    """How much nearer each question is to its own sentence than to the best of the others."""
    similar = questions @ sentences.T
    own = np.diag(similar).copy()
    np.fill_diagonal(similar, -1.0)
    return np.asarray(own - similar.max(axis=1))


def test_names_before_a_question_hide_its_answer_less(encoder: Encoder) -> None:
    sentences, taught = encoder.embed(list(PAIRS.values())), question_encoder(encoder)
    named = [f"In Lumenbrook Industries, Inc.'s 2023 filing: {question}" for question in PAIRS]
    before, after = margins(sentences, encoder.embed_short(named)), margins(sentences, taught(named))
    assert (after > 0).all() and after.mean() > before.mean() + 0.05
    plain = encoder.embed_short(list(PAIRS))
    assert ((plain * taught(list(PAIRS))).sum(1) > 0.8).all(), "it looks for what the encoder looks for"


@pytest.mark.parametrize("question", ["", " ", "?", "株式会社の売上", "\x00", "goodwill " * 3000])
def test_any_question_has_a_vector_of_unit_length(encoder: Encoder, question: str) -> None:
    vectors = question_encoder(encoder)([question, ASKED])
    assert vectors.shape == (2, 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_other_encoders_embed_questions_themselves(tmp_path: Path) -> None:
    other = Encoder(EncoderSettings(name=str(tmp_path / "other")), Lake(tmp_path))
    assert question_encoder(other) == other.embed_short
