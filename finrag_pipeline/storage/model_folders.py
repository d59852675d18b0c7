"""Folders of models that transformers can load: finding them, telling them apart, saying what is missing.

Only safetensors weights count; a model whose weights are pickles is as good as absent.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path

from finrag_pipeline.errors import ModelError
from finrag_pipeline.storage.fingerprints import file_sha256, fingerprint
from finrag_pipeline.storage.model_hub import cached_model, fetched_model, offline_problem, unreachable

FILES = ("*.json", "*.txt", "*.model", "*.jinja", "*.safetensors")
"""Patterns of the files that belong to a model; a star also stands for folders."""

_INDEX = "model.safetensors.index.json"
_PICKLES = {".bin", ".pt", ".pth", ".pkl", ".ckpt"}
_BLOB = re.compile(r"[0-9a-f]{64}")


def model_folder(name: str, revision: str | None, variable: str) -> Path:
    """Folder with the files of the model ``name``: itself a folder, in the hub's cache, or fetched.

    Args:
        name: local folder or hub name.
        revision: on the hub; None takes the cached or newest one.
        variable: of the environment, with which another model is chosen.

    Raises:
        ModelError: the model is nowhere to be had, or its weights are incomplete or no safetensors.
    """
    folder = _here(name, revision, variable)
    if folder is None:
        remedy = f"Download it on a machine with access and set {variable} to its folder."
        folder = fetched_model(name, revision, FILES, remedy)
    if problem := _unusable(folder):
        raise ModelError(problem, "Download the model again, or convert its weights to safetensors.")
    return folder


def model_problem(name: str, revision: str | None, variable: str, wait: float = 5.0) -> str | None:
    """Why the model ``name`` cannot run here; None when it is here or can be fetched. Fetches nothing.

    Args:
        name: local folder or hub name.
        revision: on the hub.
        variable: of the environment, with which another model is chosen.
        wait: seconds to wait for the hub.
    """
    try:
        folder = _here(name, revision, variable)
    except ModelError as error:
        return error.reason
    if folder is not None:
        return _unusable(folder)
    if problem := offline_problem(name):
        return problem
    lost = f"Model {name} is not on this machine and the hub cannot give it"
    if problem := unreachable(wait):
        return f"{lost}: {problem}."
    from huggingface_hub import HfApi

    try:
        files = [
            file.rfilename
            for file in HfApi().model_info(name, revision=revision, timeout=wait).siblings or ()
        ]
    except Exception as error:  # every kind of network and hub trouble
        reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        return f"{lost}: {reason}."
    if not any(file.endswith(".safetensors") for file in files):
        return f"Model {name} has no safetensors weights on the hub."
    return None


def _here(name: str, revision: str | None, variable: str) -> Path | None:
    local = Path(name).expanduser()
    if local.is_dir():
        return local
    cached = cached_model(name, revision, FILES, variable)
    # Part of the shards: a download was broken off, and fetching takes it up again.
    return None if cached is not None and _missing_shards(cached) else cached


def _missing_shards(folder: Path) -> list[str]:
    index = folder / _INDEX
    if not index.is_file():
        return []
    try:
        shards = set(json.loads(index.read_text("utf-8"))["weight_map"].values())
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(f"{index} is damaged.", "Download the model again.") from error
    return sorted(shard for shard in shards if not (folder / shard).is_file())


def _unusable(folder: Path) -> str | None:
    """What keeps the model in a folder from being loaded, as one sentence."""
    try:
        missing = _missing_shards(folder)
    except ModelError as error:
        return error.reason
    if missing:
        return f"{folder} lacks {len(missing)} parts of the weights, {missing[0]} among them."
    if not any(folder.glob("*.safetensors")):
        return f"{folder} holds no safetensors weights."
    for part in folder.iterdir():
        # Layers that sentence-transformers puts after the transformer have folders of their own.
        if part.is_dir() and re.match(r"\d+_", part.name):
            names = [file.suffix for file in part.iterdir()]
            if ".safetensors" not in names and _PICKLES.intersection(names):
                return f"{part} holds weights as a pickle."
    return None


def model_fingerprint(folder: Path) -> str:
    """Hash of everything in ``folder`` that decides what the model says: weights, tokenizer, configuration.

    Equal files have equal fingerprints wherever they lie.
    """
    weights = sorted(path for path in folder.rglob("*.safetensors") if path.is_file())
    others = sorted(
        path
        for pattern in ("*.json", "*.jinja", "*.model", "vocab.txt", "merges.txt")
        for path in folder.rglob(pattern)
        if path.is_file() and path.name not in {_INDEX, "README.md"}
    )
    files = {path.relative_to(folder).as_posix(): _content(path) for path in (*weights, *others)}
    return fingerprint(files)


def _content(path: Path) -> str:
    """SHA-256 of a file; large ones in the hub's cache are named by it, which saves reading gigabytes."""
    target = path.resolve()
    if target.parent.name == "blobs" and _BLOB.fullmatch(target.name):
        return target.name
    state = target.stat()
    return _sha256(target, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=256)
def _sha256(path: Path, size: int, modified: int) -> str:
    # Size and time are part of the key: a model may be trained anew into the same folder.
    return file_sha256(path)
