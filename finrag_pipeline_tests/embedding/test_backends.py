from __future__ import annotations

import importlib.util
import shutil
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from finrag_pipeline.embedding import backends, model_files
from finrag_pipeline.embedding.backends import (
    Embedder,
    OpenVinoEmbedder,
    TorchEmbedder,
    conversion_key,
    load_embedder,
)
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.engine import Engine
from finrag_pipeline.errors import ModelError
from finrag_pipeline.settings import EncoderSettings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.tiny_encoder import DIMENSIONS, WINDOW

TEXTS = [
    "the net revenue of the company",
    "capital expenditure 2022 " * 30,
    "",
    "$1,577.0 million (3 %)",
    "naïve 株式会社 \u200b …",
    *[f"risk {n} " * (n % 9 + 1) for n in range(60)],
]


def _no_calibration() -> list[str]:
    raise AssertionError("only int8 needs typical texts")


@pytest.fixture(scope="module")
def torch_vectors(tiny_encoder_settings: EncoderSettings) -> np.ndarray:
    return TorchEmbedder(tiny_encoder_settings).embed(TEXTS)


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder in which converted models are kept."""
    return tmp_path_factory.mktemp("encoders")


@pytest.fixture(scope="module")
def openvino(tiny_encoder_settings: EncoderSettings, converted: Path) -> Embedder:
    """The first run, where an earlier one has left an incomplete conversion: it is made again."""
    pytest.importorskip("openvino")
    settings = tiny_encoder_settings.model_copy(
        update={"backend": "openvino", "precision": "fp32", "batch_size": 8}
    )
    incomplete = converted / conversion_key(settings)
    incomplete.mkdir()
    (incomplete / "model.bin").write_bytes(b"half")
    handed_on: list[object] = []

    class Here(Engine):
        """Does in this process, which has PyTorch, what an engine is asked for."""

        def begin(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
            handed_on.append(function)
            future: Future[Any] = Future()
            future.set_result(function(*arguments))
            return future

        def outcome(self, future: Future[Any]) -> Any:
            return future.result()

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        patch.setattr(backends, "Engine", Here)
        patch.setattr(backends, "sys", SimpleNamespace(modules={}))  # a command has not loaded PyTorch
        found = load_embedder(settings, converted, _no_calibration)
    assert handed_on == [backends._convert], "what PyTorch takes is not kept by what runs the model"
    assert not said, "a first run begins with a page of warnings"
    return found


def _assert_unit(vectors: np.ndarray) -> None:
    assert vectors.shape == (len(TEXTS), DIMENSIONS)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)


def test_torch_gives_unit_vectors(torch_vectors: np.ndarray) -> None:
    _assert_unit(torch_vectors)
    assert np.unique(torch_vectors.round(4), axis=0).shape[0] > 50, "texts are told apart"


def test_openvino_equals_torch(openvino: Embedder, torch_vectors: np.ndarray) -> None:
    vectors = openvino.embed(TEXTS)
    _assert_unit(vectors)
    np.testing.assert_allclose(vectors, torch_vectors, atol=1e-4)
    assert (openvino.dimensions, openvino.max_tokens) == (DIMENSIONS, WINDOW)


def test_a_vector_does_not_depend_on_its_batch(openvino: Embedder) -> None:
    together = openvino.embed(TEXTS)
    alone = np.concatenate([openvino.embed([text]) for text in TEXTS[:8]])
    np.testing.assert_allclose(alone, together[:8], atol=1e-5)


def test_longer_texts_are_cut_at_the_window(
    openvino: Embedder, tiny_encoder_settings: EncoderSettings
) -> None:
    inside, beyond = "revenue " * (WINDOW - 2), "revenue " * (WINDOW - 2) + "goodwill " * 50
    for embedder in (openvino, TorchEmbedder(tiny_encoder_settings)):
        one, two = embedder.embed([inside, beyond])
        np.testing.assert_allclose(one, two, atol=1e-5)


@pytest.mark.parametrize("backend", ["torch", "openvino"])
def test_progress_and_no_texts(
    backend: str, openvino: Embedder, tiny_encoder_settings: EncoderSettings
) -> None:
    embedder = openvino if backend == "openvino" else TorchEmbedder(tiny_encoder_settings)
    done: list[int] = []
    embedder.embed(TEXTS, done.append)
    assert sum(done) == len(TEXTS)
    assert embedder.embed([]).shape == (0, DIMENSIONS)


def test_a_converted_model_is_kept_and_loaded_again(
    openvino: Embedder, tiny_encoder_settings: EncoderSettings, converted: Path, torch_vectors: np.ndarray
) -> None:
    settings = tiny_encoder_settings.model_copy(update={"backend": "openvino", "precision": "fp32"})
    folder = converted / conversion_key(settings)
    made = (folder / "model.xml").stat().st_mtime_ns
    again = OpenVinoEmbedder(settings, converted, _no_calibration)
    assert (folder / "model.xml").stat().st_mtime_ns == made
    assert [path.name for path in converted.iterdir()] == [folder.name], "no temporary folder is left"
    np.testing.assert_allclose(again.embed(TEXTS), torch_vectors, atol=1e-4)


def test_a_damaged_conversion_is_told(
    openvino: Embedder, tiny_encoder_settings: EncoderSettings, converted: Path, tmp_path: Path
) -> None:
    settings = tiny_encoder_settings.model_copy(update={"backend": "openvino", "precision": "fp32"})
    copy = tmp_path / "encoders"
    shutil.copytree(converted, copy)
    folder = copy / conversion_key(settings)
    (folder / "model.xml").write_text("<net")
    with pytest.raises(ModelError, match=f"converted model in {folder} cannot be loaded") as caught:
        OpenVinoEmbedder(settings, copy, _no_calibration)
    assert "Delete that folder" in caught.value.remedy


def test_bf16_is_close(
    openvino: Embedder,
    tiny_encoder_settings: EncoderSettings,
    converted: Path,
    torch_vectors: np.ndarray,
) -> None:
    base = tiny_encoder_settings.model_copy(update={"backend": "openvino", "precision": "fp32"})
    settings = base.model_copy(update={"precision": "bf16"})
    assert conversion_key(settings) == conversion_key(base), "only the arithmetic differs"
    assert conversion_key(base.model_copy(update={"precision": "int8"})) != conversion_key(base)
    vectors = load_embedder(settings, converted, _no_calibration).embed(TEXTS)
    _assert_unit(vectors)
    assert (vectors * torch_vectors).sum(axis=1).min() > 0.99


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("nncf") is None, reason="NNCF is not installed")
def test_int8_is_close_and_is_calibrated_once(
    tiny_encoder_settings: EncoderSettings, tmp_path: Path, torch_vectors: np.ndarray
) -> None:
    settings = tiny_encoder_settings.model_copy(update={"backend": "openvino", "precision": "int8"})
    asked = []

    def calibration() -> list[str]:
        asked.append(1)
        return [text for text in TEXTS if text][:24]

    vectors = load_embedder(settings, tmp_path, calibration).embed(TEXTS)
    _assert_unit(vectors)
    assert (vectors * torch_vectors).sum(axis=1).min() > 0.9
    assert not np.allclose(vectors, torch_vectors, atol=1e-6), "it is quantised"
    load_embedder(settings, tmp_path, calibration)
    assert asked == [1]


class TestChoice:
    @pytest.fixture
    def without(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
        """Make a package look as if it were not installed."""
        find = importlib.util.find_spec

        def hide(hidden: str) -> None:
            monkeypatch.setattr(
                importlib.util, "find_spec", lambda name, *rest: None if name == hidden else find(name, *rest)
            )

        return hide

    @pytest.mark.parametrize("precision", ["int8", "bf16"])
    def test_torch_without_a_gpu_runs_at_fp32_only(
        self, tiny_encoder_settings: EncoderSettings, tmp_path: Path, precision: str
    ) -> None:
        settings = tiny_encoder_settings.model_copy(update={"precision": precision})
        with pytest.raises(ModelError, match=f"torch runs at fp32 here, not {precision}"):
            load_embedder(settings, tmp_path, _no_calibration)

    def test_a_gpu_is_used_in_bf16_before_openvino(
        self,
        tiny_encoder_settings: EncoderSettings,
        lake: Lake,
        torch_vectors: np.ndarray,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """The device is the CPU all the same: what PyTorch would run on the GPU runs here."""
        monkeypatch.setattr(model_files, "has_gpu", lambda: True)
        encoder = Encoder(tiny_encoder_settings.model_copy(update={"backend": "auto"}), lake)
        assert (model_files.chosen_backend(encoder.settings), encoder.running.precision) == ("torch", "bf16")
        assert isinstance(encoder.embedder, TorchEmbedder)
        assert "bfloat16" in str(next(encoder.embedder._model.parameters()).dtype)
        vectors = encoder.embedder.embed(TEXTS)
        _assert_unit(vectors)
        assert (vectors * torch_vectors).sum(axis=1).min() > 0.99
        assert not np.allclose(vectors, torch_vectors, atol=1e-6)

    def test_auto_takes_torch_where_openvino_is_missing(
        self, tiny_encoder_settings: EncoderSettings, tmp_path: Path, without: Callable[[str], None]
    ) -> None:
        without("openvino")
        settings = tiny_encoder_settings.model_copy(update={"backend": "auto"})
        assert isinstance(load_embedder(settings, tmp_path, _no_calibration), TorchEmbedder)

    def test_openvino_asked_for_and_missing(
        self, tiny_encoder_settings: EncoderSettings, tmp_path: Path, without: Callable[[str], None]
    ) -> None:
        without("openvino")
        settings = tiny_encoder_settings.model_copy(update={"backend": "openvino", "precision": "fp32"})
        with pytest.raises(ModelError, match="OpenVINO is not installed") as caught:
            load_embedder(settings, tmp_path, _no_calibration)
        assert "fast extra" in caught.value.remedy
