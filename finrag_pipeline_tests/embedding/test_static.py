"""Static encoders: the mean of a text's token vectors, without PyTorch, and a window of the settings' length."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from finrag_pipeline.embedding.backends import StaticEmbedder, TorchEmbedder, load_embedder
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.embedding.model_files import chosen_backend, encoder_fingerprint, max_tokens
from finrag_pipeline.errors import ModelError
from finrag_pipeline.settings import EncoderSettings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.tiny_encoder import DIMENSIONS, write_tiny_static

TEXTS = [
    "the net revenue of the company",
    "",
    "capital expenditure 2022 " * 100,
    "$1,577.0 million (3 %)",
    "株式会社",
    *[f"risk {n} " * (n % 9 + 1) for n in range(40)],
]


@pytest.fixture(params=["", "0_StaticEmbedding"])
def static(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = write_tiny_static(tmp_path / "static", request.param)
    _without_truncation(folder / request.param / "tokenizer.json")
    return folder


def _without_truncation(path: Path) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "truncation": None}))


def _settings(folder: Path, **changes: object) -> EncoderSettings:
    return EncoderSettings(name=str(folder), **changes)


def _never() -> list[str]:
    raise AssertionError("nothing is quantised")


def test_it_gives_what_sentence_transformers_gives(static: Path, tmp_path: Path) -> None:
    settings = _settings(static, window=48)
    embedder = load_embedder(settings, tmp_path, _never)
    assert isinstance(embedder, StaticEmbedder)
    assert (embedder.dimensions, embedder.max_tokens) == (DIMENSIONS, 48)
    done: list[int] = []
    vectors = embedder.embed(TEXTS, done.append)
    reference = TorchEmbedder(_settings(static, window=48, backend="torch"))
    assert reference.max_tokens == 48
    np.testing.assert_allclose(vectors, reference.embed(TEXTS), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [float(bool(t)) for t in TEXTS], atol=1e-6)
    assert sum(done) == len(TEXTS) and embedder.embed([]).shape == (0, DIMENSIONS)
    longer = embedder.embed(["revenue " * 48, "revenue " * 48 + "goodwill " * 9])
    np.testing.assert_array_equal(longer[0], longer[1])


def test_a_model2vec_folder_is_read_with_its_mapping_and_weights(tmp_path: Path) -> None:
    plain = write_tiny_static(tmp_path / "plain")
    folder = write_tiny_static(tmp_path / "model2vec", model2vec=True)
    vectors = load_embedder(_settings(folder), tmp_path, _never).embed(TEXTS)
    assert (vectors * load_embedder(_settings(plain), tmp_path, _never).embed(TEXTS)).sum(1)[0] > 0.9999
    stored = load_file(folder / "model.safetensors")["embeddings"].astype(np.float32)
    scale = np.linspace(0.5, 2.0, len(stored), dtype=np.float32)
    shared = {"embeddings": stored[::-1] / scale[::-1, None], "weights": scale}
    save_file(
        {
            **{k: np.ascontiguousarray(v) for k, v in shared.items()},
            "mapping": np.arange(len(stored))[::-1].copy(),
        },
        folder / "model.safetensors",
    )
    np.testing.assert_allclose(StaticEmbedder(_settings(folder)).embed(TEXTS), vectors, atol=1e-5)


def test_its_window_is_the_settings_or_the_tokenizer_s_where_that_is_shorter(
    static: Path, lake: Lake
) -> None:
    assert max_tokens(_settings(static)) == 256
    assert max_tokens(_settings(static, window=64)) == 64
    prints = {encoder_fingerprint(_settings(static, window=n)) for n in (64, 128)}
    assert len(prints) == 2, "other windows are other vectors"
    encoder = Encoder(_settings(static, window=64), lake)
    windows = encoder.windows("net revenue " * 100)
    assert max(encoder.tokens.count(window) for window in windows) <= 62
    assert encoder.embed(windows).shape == (len(windows), DIMENSIONS)
    cut = write_tiny_static(lake.local_path("cut"))
    assert max_tokens(_settings(cut)) == 16, "its tokenizer cuts there"
    assert StaticEmbedder(_settings(cut)).max_tokens == 16


def test_neither_pytorch_nor_openvino_is_loaded(static: Path, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from finrag_pipeline.embedding.encoder import Encoder\n"
        "from finrag_pipeline.settings import EncoderSettings\n"
        "from finrag_pipeline.storage.lake import Lake\n"
        f"encoder = Encoder(EncoderSettings(name={str(static)!r}), Lake({str(tmp_path / 'lake')!r}))\n"
        "encoder.embed(encoder.windows('net revenue ' * 500)); encoder.embed_query('net revenue?')\n"
        "sys.exit(bool({'torch', 'openvino', 'transformers'} & set(sys.modules)))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


def test_what_it_cannot_do_is_said(static: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="numpy runs at fp32 here, not int8") as caught:
        load_embedder(_settings(static, precision="int8"), tmp_path, _never)
    assert "PRECISION=auto" in caught.value.remedy
    with pytest.raises(ModelError, match="static encoder, which OpenVINO does not run"):
        load_embedder(_settings(static, backend="openvino", precision="fp32"), tmp_path, _never)
    weights = next(static.rglob("model.safetensors"))
    weights.write_bytes(b"nothing")
    with pytest.raises(ModelError, match="cannot be loaded"):
        StaticEmbedder(_settings(static))


def test_a_layer_with_weights_after_it_is_left_to_sentence_transformers(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, StaticEmbedding
    from tokenizers import Tokenizer

    static = write_tiny_static(tmp_path / "static")
    tokenizer = Tokenizer.from_file(str(static / "tokenizer.json"))
    tokenizer.no_truncation()
    model = SentenceTransformer(
        modules=[StaticEmbedding(tokenizer, embedding_dim=DIMENSIONS), Dense(DIMENSIONS, 8)], device="cpu"
    )
    model.save(str(tmp_path / "dense"))
    settings = _settings(tmp_path / "dense", window=48)
    assert chosen_backend(settings) == "torch"
    vectors = load_embedder(settings, tmp_path, _never).embed(TEXTS[:1])
    np.testing.assert_allclose(vectors, model.encode(TEXTS[:1], normalize_embeddings=True), atol=1e-6)
