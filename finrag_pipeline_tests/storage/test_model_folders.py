from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from finrag_pipeline.errors import ModelError
from finrag_pipeline.storage import model_folders
from finrag_pipeline.storage.model_folders import model_fingerprint, model_folder, model_problem, unreachable
from finrag_pipeline.storage.torch_models import first_line, read_config, usable_length

VARIABLE = "FINRAG_SOME__NAME"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model in two shards, with a layer of its own."""
    folder = tmp_path / "model"
    (folder / "2_Dense").mkdir(parents=True)
    shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    for name in shards:
        (folder / name).write_text(name)
    index = {"weight_map": {"a": shards[0], "b": shards[1], "c": shards[1]}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "config.json").write_text('{"model_type": "bert"}')
    (folder / "tokenizer.json").write_text("{}")
    (folder / "2_Dense" / "model.safetensors").write_text("dense")
    return folder


def _name_of(folder: Path) -> tuple[str, None, str]:
    return str(folder), None, VARIABLE


class TestFolder:
    def test_a_whole_one(self, folder: Path) -> None:
        assert model_folder(*_name_of(folder)) == folder
        assert model_problem(*_name_of(folder)) is None

    def test_a_missing_shard(self, folder: Path) -> None:
        (folder / "model-00002-of-00002.safetensors").unlink()
        with pytest.raises(ModelError, match="lacks 1 parts of the weights, model-00002"):
            model_folder(*_name_of(folder))
        assert "lacks 1 parts" in (model_problem(*_name_of(folder)) or "")

    @pytest.mark.parametrize("contents", ["{", "[]", "{}", '{"weight_map": 3}'])
    def test_a_damaged_list_of_shards(self, folder: Path, contents: str) -> None:
        (folder / "model.safetensors.index.json").write_text(contents)
        assert "is damaged" in (model_problem(*_name_of(folder)) or "")
        with pytest.raises(ModelError, match="is damaged"):
            model_folder(*_name_of(folder))

    def test_pickles_of_another_name(self, folder: Path) -> None:
        (folder / "2_Dense" / "model.safetensors").rename(folder / "2_Dense" / "weights.pt")
        assert "weights.pt is neither safetensors nor" in (model_problem(*_name_of(folder)) or "")

    def test_no_weights(self, tmp_path: Path) -> None:
        (tmp_path / "colbert_linear.pt").touch()
        assert "holds neither safetensors nor" in (model_problem(*_name_of(tmp_path)) or "")

    def test_an_unknown_name_offline(self) -> None:
        problem = model_problem("nobody/no-such-model", None, VARIABLE)
        assert problem == "Model nobody/no-such-model is not on this machine and HF_HUB_OFFLINE is set."
        with pytest.raises(ModelError, match="is not on this machine") as caught:
            model_folder("nobody/no-such-model", None, VARIABLE)
        assert VARIABLE in caught.value.remedy

    def test_an_unknown_name_without_a_connection(self) -> None:
        """The hub is told to be where nobody listens."""
        code = (
            "from finrag_pipeline.storage.model_folders import model_problem\n"
            "print(model_problem('nobody/no-such-model', None, 'X'))"
        )
        environment = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "0", "HF_HOME": "/nonexistent"}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        assert done.stdout.startswith(
            "Model nobody/no-such-model is not on this machine and the hub cannot give it: "
        )

    @pytest.mark.parametrize("proxy", [None, "https_proxy"])
    def test_a_hub_behind_a_proxy_is_asked_without_a_look_at_its_own_address(
        self, proxy: str | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in list(os.environ):
            if name.upper().endswith("_PROXY"):
                monkeypatch.delenv(name)
        if proxy:
            monkeypatch.setenv(proxy, "http://127.0.0.1:9")

        def refused(*_: object) -> None:
            raise OSError("nobody listens")

        monkeypatch.setattr(socket, "create_connection", refused)
        assert unreachable(1.0) == (None if proxy else "nobody listens")

    def test_a_name_that_can_be_none(self) -> None:
        assert "neither a folder nor the name of a model" in (
            model_problem("what is this?", None, VARIABLE) or ""
        )

    def test_a_download_that_was_broken_off_is_taken_up_again(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (folder / "model-00002-of-00002.safetensors").rename(folder / "later")
        monkeypatch.setattr(model_folders, "cached_model", lambda *_: folder)

        def fetched(*_: object) -> Path:
            (folder / "later").rename(folder / "model-00002-of-00002.safetensors")
            return folder

        monkeypatch.setattr(model_folders, "fetched_model", fetched)
        assert model_folder("some/model", None, VARIABLE) == folder
        assert model_problem("some/model", None, VARIABLE) is None


class TestPickles:
    """Models that were published as ``pytorch_model.bin``, as BAAI/bge-m3 was."""

    @pytest.fixture
    def published(self, tmp_path: Path) -> Path:
        folder = tmp_path / "published"
        (folder / "1_Dense").mkdir(parents=True)
        tied = torch.arange(6.0).reshape(2, 3)
        state = {"embeddings.weight": tied, "decoder.weight": tied, "turned": tied.T}
        torch.save(state, folder / "pytorch_model.bin")
        torch.save({"linear.weight": tied}, folder / "1_Dense" / "pytorch_model.bin")
        torch.save({"weight": tied}, folder / "colbert_linear.pt")
        (folder / "config.json").write_text("{}")
        (folder / "1_Dense" / "config.json").write_text("{}")
        return folder

    def test_they_are_converted_once_and_their_sums_are_kept(self, published: Path) -> None:
        assert model_problem(*_name_of(published)) is None
        made = model_folder(*_name_of(published))
        names = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
        layer = {"1_Dense/config.json", "1_Dense/model.safetensors"}
        assert names == {"config.json", "converted.json", "model.safetensors", *layer}
        weights = load_file(made / "model.safetensors")
        assert weights["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]
        assert weights["decoder.weight"].tolist() == weights["embeddings.weight"].tolist()
        card = json.loads((made / "converted.json").read_text())["weights"]["pytorch_model.bin"]
        assert card["sha256"] == model_folders.file_sha256(published / "pytorch_model.bin")
        assert card["safetensors_sha256"] == model_folders.file_sha256(made / "model.safetensors")
        before = (made / "model.safetensors").stat().st_mtime_ns
        assert model_folder(*_name_of(published)) == made
        assert (made / "model.safetensors").stat().st_mtime_ns == before
        torch.save({"other": torch.ones(1)}, published / "pytorch_model.bin")
        assert list(load_file(model_folder(*_name_of(published)) / "model.safetensors")) == ["other"]

    def test_the_old_format_of_pytorch(self, published: Path) -> None:
        state = {"weight": torch.ones(2)}
        torch.save(state, published / "pytorch_model.bin", _use_new_zipfile_serialization=False)
        assert load_file(model_folder(*_name_of(published)) / "model.safetensors")["weight"].tolist() == [
            1,
            1,
        ]

    @pytest.mark.parametrize("what", ["code", "numbers", "bytes"])
    def test_more_than_tensors_is_refused_and_its_code_is_not_run(
        self, published: Path, tmp_path: Path, what: str
    ) -> None:
        class Intruder:
            def __reduce__(self) -> tuple:
                return (Path.touch, (tmp_path / "intruder was here",))

        if what == "bytes":
            (published / "pytorch_model.bin").write_bytes(b"no weights")
        else:
            state = {"weight": torch.ones(1), "more": Intruder() if what == "code" else 3}
            torch.save(state, published / "pytorch_model.bin")
        with pytest.raises(
            ModelError, match=r"pytorch_model\.bin (is damaged or holds more|holds something)"
        ):
            model_folder(*_name_of(published))
        assert not (tmp_path / "intruder was here").exists()
        assert not list(model_folders.user_cache("weights").glob("*"))

    def test_safetensors_beside_them_go_first(self, published: Path) -> None:
        for path in (published, published / "1_Dense"):
            save_file({"safe": torch.ones(1)}, path / "model.safetensors")
        assert model_folder(*_name_of(published)) == published


class TestFingerprint:
    def test_every_file_counts_and_the_place_does_not(self, folder: Path, tmp_path: Path) -> None:
        first = model_fingerprint(folder)
        assert model_fingerprint(folder.rename(tmp_path / "elsewhere")) == first
        folder = tmp_path / "elsewhere"
        seen = {first}
        for name in (
            "model-00002-of-00002.safetensors",
            "config.json",
            "tokenizer.json",
            "2_Dense/model.safetensors",
        ):
            (folder / name).write_text("changed")
            seen.add(model_fingerprint(folder))
        assert len(seen) == 5
        (folder / "notes.md").write_text("not part of the model")
        assert model_fingerprint(folder) in seen

    def test_blobs_of_the_hub_s_cache_are_known_by_their_name(self, folder: Path, tmp_path: Path) -> None:
        """The cache holds a file under the sum of its contents and links to it from the snapshot."""
        expected = model_fingerprint(folder)
        blobs = tmp_path / "blobs"
        blobs.mkdir()
        weights = folder / "model-00001-of-00002.safetensors"
        blob = blobs / model_folders.file_sha256(weights)
        weights.rename(blob)
        weights.symlink_to(blob)
        assert model_fingerprint(folder) == expected
        blob.write_text("what the name says is not read")
        assert model_fingerprint(folder) == expected


class TestConfig:
    @pytest.mark.parametrize("contents", [None, "", "{", "[]"])
    def test_unreadable(self, tmp_path: Path, contents: str | None) -> None:
        if contents is not None:
            (tmp_path / "config.json").write_text(contents)
        with pytest.raises(ModelError, match=r"no readable config\.json"):
            read_config(tmp_path)

    @pytest.mark.parametrize(
        ("config", "length"),
        [
            ({}, 512),
            ({"model_type": "bert", "max_position_embeddings": 256, "pad_token_id": 1}, 256),
            ({"model_type": "bert", "max_position_embeddings": 8192}, 512),
            ({"model_type": "xlm-roberta", "max_position_embeddings": 514, "pad_token_id": 1}, 512),
            ({"model_type": "xlm-roberta", "max_position_embeddings": 130, "pad_token_id": 1}, 128),
        ],
    )
    def test_length(self, config: dict[str, object], length: int) -> None:
        assert usable_length(config, 512) == length

    def test_first_line(self) -> None:
        assert first_line(ValueError("one\ntwo")) == "one"
        assert first_line(ValueError()) == "ValueError"
