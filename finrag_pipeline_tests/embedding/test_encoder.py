from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.embedding.model_files import encoder_fingerprint
from finrag_pipeline.settings import EncoderSettings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.tiny_encoder import DIMENSIONS, WINDOW


def test_windows_fit_the_encoder(tiny_encoder_settings: EncoderSettings, lake: Lake) -> None:
    encoder = Encoder(tiny_encoder_settings, lake)
    assert encoder.window_tokens == WINDOW - 2
    assert encoder.fingerprint == encoder_fingerprint(tiny_encoder_settings)
    windows = encoder.windows("revenue " * 100)
    assert [encoder.tokens.count(window) for window in windows] == [25, 25, 25, 25]


def test_vectors_are_kept_and_questions_too(tiny_encoder_settings: EncoderSettings, lake: Lake) -> None:
    encoder = Encoder(tiny_encoder_settings, lake)
    texts = ["net revenue", "capital expenditure", "net revenue"]
    assert encoder.missing(texts) == 2
    vectors = encoder.embed(texts)
    assert vectors.shape == (3, DIMENSIONS)
    assert encoder.missing(texts) == 0
    np.testing.assert_array_equal(vectors[0], vectors[2])
    questions = encoder.embed_queries(["  capital\nexpenditure "])
    assert encoder.missing(["capital expenditure"]) == 0
    np.testing.assert_array_equal(questions[0], vectors[1])
    again = Encoder(tiny_encoder_settings, lake)
    np.testing.assert_array_equal(again.embed(texts), vectors)
    assert "embedder" not in vars(again), "the weights were not loaded"


def test_a_single_question_is_not_kept(tiny_encoder_settings: EncoderSettings, lake: Lake) -> None:
    encoder = Encoder(tiny_encoder_settings, lake)
    vector = encoder.embed_query("net revenue of 2022?")
    assert vector.shape == (DIMENSIONS,)
    assert lake.partitions("embeddings") == []
    np.testing.assert_allclose(vector, encoder.embed_queries(["net revenue of 2022?"])[0], atol=1e-6)


def test_a_long_question_is_cut_where_the_encoder_s_window_ends(
    tiny_encoder_settings: EncoderSettings, lake: Lake
) -> None:
    encoder = Encoder(tiny_encoder_settings, lake)
    words = ["revenue", "income", "cash", "debt", "tax"] * 6
    whole, longer = (encoder.embed_query(" ".join(w)) for w in (words, [*words, "risk", "risk"]))
    np.testing.assert_allclose(whole, longer, atol=1e-6)


def test_an_encoder_is_cheap_until_it_embeds(tiny_model: Path, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from finrag_pipeline.embedding.encoder import Encoder\n"
        "from finrag_pipeline.settings import EncoderSettings\n"
        "from finrag_pipeline.storage.lake import Lake\n"
        f"encoder = Encoder(EncoderSettings(name={str(tiny_model)!r}), Lake({str(tmp_path)!r}))\n"
        "encoder.windows('net revenue ' * 50); encoder.fingerprint; encoder.missing(['x'])\n"
        "sys.exit(bool({'torch', 'openvino', 'transformers'} & set(sys.modules)))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


def test_the_calibration_texts_are_typical_and_always_the_same() -> None:
    from finrag_pipeline.embedding.calibration import CALIBRATION_TEXTS, calibration_texts

    texts = calibration_texts()
    assert 32 <= len(texts) <= CALIBRATION_TEXTS
    assert all(text.strip() for text in texts)
    assert max(map(len, texts)) <= 1200
    assert len(set(texts)) > len(texts) // 2
    assert texts == calibration_texts()
