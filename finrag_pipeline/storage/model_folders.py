"""Folders of models that transformers can load: finding them, telling them apart, saying what is missing.

Only safetensors weights count; a model whose weights are pickles is as good as absent.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from finrag_pipeline.errors import ModelError
from finrag_pipeline.storage.fingerprints import file_sha256, fingerprint
from finrag_pipeline.storage.torch_models import first_line

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_PROXIES = {"ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY"}
_PORTS = {"http": 80}


def cached_model(name: str, revision: str | None, files: Sequence[str], variable: str) -> Path | None:
    """Folder of a model in the hub's cache; None where it is not there with its weights.

    Args:
        name: on the hub.
        revision: None takes the newest one in the cache.
        files: patterns of the files that belong to it.
        variable: of the environment, with which another model is chosen.

    Raises:
        ModelError: the name cannot be one of the hub.
    """
    from huggingface_hub.constants import HF_HUB_CACHE

    # Its client takes half a second to import: not for a name whose folder is not in the cache.
    if _NAME.fullmatch(name) and not (Path(HF_HUB_CACHE) / f"models--{name.replace('/', '--')}").is_dir():
        return None
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        cached = Path(
            snapshot_download(name, revision=revision, allow_patterns=list(files), local_files_only=True)
        )
    except (LocalEntryNotFoundError, FileNotFoundError):
        return None
    except HFValidationError as error:
        raise ModelError(
            f"'{name}' is neither a folder nor the name of a model on the hub.", f"Set {variable}."
        ) from error
    return cached if any(cached.rglob("*.safetensors")) else None  # else only part of it was ever fetched


def offline_problem(name: str) -> str | None:
    """Why a model that is not on this machine must not be fetched; None when the hub may be asked."""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
        return f"Model {name} is not on this machine and HF_HUB_OFFLINE is set."
    return None


def unreachable(wait: float) -> str | None:
    """Why the hub's address takes no connection; None when it does, or when a proxy stands between.

    Asked before the hub's client is, which takes a fifth of a second to import.

    Args:
        wait: seconds to wait for a connection.
    """
    from huggingface_hub.constants import ENDPOINT

    url = urlsplit(ENDPOINT)
    if url.hostname is None or any(name.upper() in _PROXIES for name in os.environ):
        return None
    try:
        socket.create_connection((url.hostname, url.port or _PORTS.get(url.scheme, 443)), wait).close()
    except OSError as error:
        return str(error)
    return None


def fetched_model(name: str, revision: str | None, files: Sequence[str], remedy: str) -> Path:
    """Folder of a model after it was fetched from the hub.

    Args:
        name: on the hub.
        revision: None takes the newest one.
        files: patterns of the files that belong to it.
        remedy: what people can do where the hub is out of reach.

    Raises:
        ModelError: the hub cannot be asked or does not have it.
    """
    from huggingface_hub import snapshot_download

    if problem := offline_problem(name):
        raise ModelError(problem, remedy)
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=list(files), etag_timeout=10))
    except Exception as error:
        raise ModelError(f"Model {name} cannot be had: {first_line(error)}.", remedy) from error


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
        return f"{lost}: {first_line(error)}."
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
    # Size and time are part of the key: a model may be trained again into the same folder.
    return file_sha256(path)
