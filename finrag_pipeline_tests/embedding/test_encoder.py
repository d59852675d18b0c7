from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from finrag_pipeline.embedding import backends, model_files
from finrag_pipeline.embedding.backends import TorchEmbedder
from finrag_pipeline.embedding.cache import EmbeddingCache
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


def test_an_encoder_is_cheap_until_it_embeds(
    tiny_model: Path, tmp_path: Path, tiny_encoder_settings: EncoderSettings
) -> None:
    # Where a lake has vectors, they say which precision it is; else OpenVINO is asked for the processor's.
    Encoder(tiny_encoder_settings, Lake(tmp_path)).embed(["net revenue"])
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


class TestAutomaticPrecision:
    @pytest.fixture
    def auto(self, tiny_model: Path) -> EncoderSettings:
        pytest.importorskip("openvino")
        return EncoderSettings(name=str(tiny_model))

    @pytest.mark.parametrize(("processor", "precision"), [(True, "bf16"), (False, "fp32")])
    def test_a_lake_without_vectors_takes_what_the_processor_is_best_at(
        self,
        auto: EncoderSettings,
        lake: Lake,
        monkeypatch: pytest.MonkeyPatch,
        processor: bool,
        precision: str,
    ) -> None:
        monkeypatch.setattr(model_files, "_processor_has_bf16", lambda: processor)
        encoder = Encoder(auto, lake)
        assert encoder.running.precision == precision
        assert encoder.fingerprint == encoder_fingerprint(auto.model_copy(update={"precision": precision}))
        torch = auto.model_copy(update={"backend": "torch"})
        assert Encoder(torch, lake).running.precision == "fp32", "PyTorch runs at nothing else"

    @pytest.mark.parametrize("made_at", ["bf16", "fp32"])
    def test_a_lake_with_vectors_keeps_their_precision_on_any_processor(
        self, auto: EncoderSettings, lake: Lake, monkeypatch: pytest.MonkeyPatch, made_at: str
    ) -> None:
        made = encoder_fingerprint(auto.model_copy(update={"precision": made_at}))
        EmbeddingCache(lake, made).vectors(["net revenue"], TorchEmbedder(auto).embed)
        for processor in (True, False):
            monkeypatch.setattr(model_files, "_processor_has_bf16", lambda found=processor: found)
            encoder = Encoder(auto, lake)
            assert encoder.fingerprint == made
            assert encoder.missing(["net revenue"]) == 0
        torch = Encoder(auto.model_copy(update={"backend": "torch"}), lake)
        assert torch.running.precision == "fp32", "PyTorch runs at nothing else"

    def test_what_was_asked_for_is_what_runs(self, auto: EncoderSettings, lake: Lake) -> None:
        made = encoder_fingerprint(auto.model_copy(update={"precision": "fp32"}))
        EmbeddingCache(lake, made).vectors(["net revenue"], TorchEmbedder(auto).embed)
        assert Encoder(auto.model_copy(update={"precision": "bf16"}), lake).running.precision == "bf16"


class TestPrompts:
    @pytest.fixture
    def prompted(self, tiny_model: Path, tmp_path: Path) -> Path:
        folder = Path(shutil.copytree(tiny_model, tmp_path / "prompted"))
        prompts = {"query": "net risk: ", "document": "cash: ", "clustering": "tax: "}
        contents = {"prompts": prompts, "default_prompt_name": "clustering"}
        (folder / "config_sentence_transformers.json").write_text(json.dumps(contents))
        return folder

    def test_questions_and_texts_get_those_that_the_model_was_trained_with(
        self, prompted: Path, lake: Lake, tiny_encoder_settings: EncoderSettings
    ) -> None:
        from sentence_transformers import SentenceTransformer

        settings = EncoderSettings(name=str(prompted), backend="torch")
        encoder, model = Encoder(settings, lake), SentenceTransformer(str(prompted), device="cpu")
        assert encoder.fingerprint != Encoder(tiny_encoder_settings, lake).fingerprint
        text = "operating margin of the segment"
        question = model.encode_query(text, normalize_embeddings=True)
        document = model.encode_document(text, normalize_embeddings=True)
        assert float(question @ document) < 0.999
        np.testing.assert_allclose(encoder.embed_query(text), question, atol=1e-5)
        np.testing.assert_allclose(encoder.embed_queries([text])[0], question, atol=1e-5)
        np.testing.assert_allclose(encoder.embed([text])[0], document, atol=1e-5)
        assert encoder.missing([text]) == 0
        assert encoder.window_tokens == WINDOW - 2 - encoder.tokens.count("cash: ")

    def test_a_model_with_a_default_prompt_alone_gets_it_for_both(self, prompted: Path) -> None:
        path = prompted / "config_sentence_transformers.json"
        path.write_text(json.dumps({"prompts": {"any": "tax: "}, "default_prompt_name": "any"}))
        model_files._prompts.cache_clear()
        assert model_files.prompts(EncoderSettings(name=str(prompted))) == ("tax: ", "tax: ")


def test_lakes_share_a_converted_model_and_keep_those_of_their_own(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openvino")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    settings = EncoderSettings(name=str(tiny_model), precision="fp32")
    first = Encoder(settings, Lake(tmp_path / "first")).embed_query("net revenue")
    (made,) = (tmp_path / "cache" / "finrag" / "encoders").iterdir()
    monkeypatch.setattr(backends, "_convert", lambda *_: pytest.fail("it is converted"))
    np.testing.assert_array_equal(
        Encoder(settings, Lake(tmp_path / "second")).embed_query("net revenue"), first
    )
    assert not (tmp_path / "first" / "models").exists()
    own = Path(shutil.copytree(tiny_model, tmp_path / "second" / "models" / "trained"))
    kept = own.parent / "encoders" / made.name
    shutil.copytree(made, kept)
    trained = settings.model_copy(update={"name": str(own)})
    shutil.rmtree(made)
    np.testing.assert_array_equal(
        Encoder(trained, Lake(tmp_path / "second")).embed_query("net revenue"), first
    )


def test_the_calibration_texts_are_typical_and_always_the_same() -> None:
    from finrag_pipeline.embedding.encoder import CALIBRATION_TEXTS, calibration_texts

    texts = calibration_texts()
    assert 32 <= len(texts) <= CALIBRATION_TEXTS
    assert all(text.strip() for text in texts)
    assert max(map(len, texts)) <= 1200
    assert len(set(texts)) > len(texts) // 2
    assert texts == calibration_texts()
