"""Folders of models that transformers can load: finding them, telling them apart, saying what is missing.

Only safetensors are loaded. Weights that were published as ``pytorch_model.bin`` are converted once, by a
reader that refuses everything but tensors.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import uuid
import zipfile
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit

from finrag_pipeline.errors import ModelError, Problem
from finrag_pipeline.storage.fingerprints import file_sha256, fingerprint
from finrag_pipeline.storage.torch_models import first_line

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_PROXIES = {"ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY"}
_PORTS = {"http": 80}
_FILES = ["*.json", "*.txt", "*.model", "*.jinja", "*.safetensors", "[0-9]*_*/pytorch_model.bin"]
"""Patterns of the files that belong to a model; a star also stands for folders."""
PICKLE = "pytorch_model.bin"
"""Name of weights that were published before there were safetensors."""


def cached_model(name: str, revision: str | None, variable: str) -> Path | None:
    """Folder of a model in the hub's cache; None where it is not there with its weights.

    Raises:
        ModelError: the name cannot be one of the hub; the ``variable`` of the environment chooses another.
    """
    from huggingface_hub.constants import HF_HUB_CACHE

    # Its client takes half a second to import: not for a name whose folder is not in the cache.
    if _NAME.fullmatch(name) and not (Path(HF_HUB_CACHE) / f"models--{name.replace('/', '--')}").is_dir():
        return None
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        folder = snapshot_download(name, revision=revision, allow_patterns=_FILES, local_files_only=True)
    except (LocalEntryNotFoundError, FileNotFoundError):
        return None
    except HFValidationError as error:
        raise ModelError(
            f"'{name}' is neither a folder nor the name of a model on the hub.", f"Set {variable}."
        ) from error
    return Path(folder) if _has_weights(Path(folder)) else None  # else only part of it was ever fetched


def _has_weights(folder: Path) -> bool:
    return (folder / PICKLE).is_file() or any(folder.rglob("*.safetensors"))


def offline_problem(name: str) -> str | None:
    """Why a model that is not on this machine must not be fetched; None when the hub may be asked."""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
        return f"Model {name} is not on this machine and HF_HUB_OFFLINE is set."
    return None


def unreachable(wait: float) -> str | None:
    """Why the hub's address takes no connection; None when it does, or when a proxy stands between.

    Asked before the hub's client is, which takes a fifth of a second to import. Waits some seconds at most.
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


def fetched_model(name: str, revision: str | None, remedy: str) -> Path:
    """Folder of a model after it was fetched from the hub; pickled weights only where it has no others.

    Raises:
        ModelError: the hub cannot be asked or does not have it; with ``remedy``.
    """
    from huggingface_hub import snapshot_download

    if problem := offline_problem(name):
        raise ModelError(problem, remedy)
    try:
        for files in (_FILES, [*_FILES, PICKLE]):
            folder = Path(snapshot_download(name, revision=revision, allow_patterns=files, etag_timeout=10))
            if _has_weights(folder):
                break
        return folder
    except Exception as error:
        raise ModelError(f"Model {name} cannot be had: {first_line(error)}.", remedy) from error


_INDEX = "model.safetensors.index.json"
_PICKLES = {".bin", ".pt", ".pth", ".pkl", ".ckpt"}
_BLOB = re.compile(r"[0-9a-f]{64}")
_LAYER = re.compile(r"\d+_")
"""Layers of sentence-transformers models have folders of their own, such as ``1_Pooling``."""


def user_cache(kind: str) -> Path:
    """Folder for what is made once of downloaded models, for all lakes of the user."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "finrag" / kind


def model_folder(name: str, revision: str | None, variable: str, remedy: str | None = None) -> Path:
    """Folder with the files of the model ``name``: itself a folder, in the hub's cache, or fetched.

    Where its weights are ``pytorch_model.bin`` alone, a folder with the same files and these weights as
    safetensors. Without a revision, the cached or newest one is taken. The ``variable`` of the environment
    chooses another model; ``remedy`` is what people can do where the hub is out of reach.

    Raises:
        ModelError: the model is nowhere to be had, or its weights are incomplete or more than tensors.
    """
    folder = model_here(name, revision, variable)
    if folder is None:
        remedy = remedy or f"Download it on a machine with access and set {variable} to its folder."
        folder = fetched_model(name, revision, remedy)
    if problem := _unusable(folder):
        raise ModelError(problem, "Download the model again, or convert its weights to safetensors.")
    return _converted(folder)


def provide(name: str, variable: str) -> str:
    """The one line that provides a model where the hub is out of reach."""
    if Path(name).is_absolute():
        return f"export {variable}=FOLDER"
    folder = f"models/{name.rsplit('/', 1)[-1]}"
    return f"hf download {name} --local-dir {folder} && export {variable}={folder}"


def model_problem(name: str, revision: str | None, variable: str, wait: float = 5.0) -> Problem | None:
    """Why the model ``name`` cannot run here; None when it is here or can be fetched. Fetches nothing.

    Takes a folder or a hub name, as `model_folder` does, and waits some seconds at most for the hub.
    """
    reason = _reason(name, revision, variable, wait)
    return Problem(reason, provide(name, variable)) if reason else None


def _reason(name: str, revision: str | None, variable: str, wait: float) -> str | None:
    try:
        folder = model_here(name, revision, variable)
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
        files = HfApi().model_info(name, revision=revision, timeout=wait).siblings or ()
    except Exception as error:  # every kind of network and hub trouble
        return f"{lost}: {first_line(error)}."
    if not any(file.rfilename.endswith((".safetensors", PICKLE)) for file in files):
        return f"Model {name} has neither safetensors nor a {PICKLE} on the hub."
    return None


def model_here(name: str, revision: str | None, variable: str) -> Path | None:
    """Folder of a model on this machine; None where it would have to be fetched.

    Raises:
        ModelError: the name can be neither a folder nor one of the hub, or a list of weights is damaged.
    """
    local = Path(name).expanduser()
    if local.is_dir():
        return local
    cached = cached_model(name, revision, variable)
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
    files: dict[Path, list[Path]] = {}
    for path in _parts(folder):
        files.setdefault(path.parent, []).append(path)
    usable = {
        place
        for place, of in files.items()
        if any(path.suffix == ".safetensors" or path.name == PICKLE for path in of)
    }
    if not any(place == folder or place.name.startswith("0_") for place in usable):
        return f"{folder} holds neither safetensors nor a {PICKLE}."
    others = (path for place, of in files.items() if place not in usable for path in of)
    bad = next((path for path in others if path.suffix in _PICKLES), None)
    return f"{bad} is neither safetensors nor a {PICKLE}." if bad else None


def _parts(folder: Path) -> list[Path]:
    """Files of a model and of its layers."""
    layers = [place for place in folder.iterdir() if place.is_dir() and _LAYER.match(place.name)]
    return [path for place in (folder, *layers) for path in place.iterdir() if path.is_file()]


def _converted(folder: Path) -> Path:
    """``folder``, or one that differs from it in pickled weights, which are safetensors there.

    Made once in the user's cache; ``converted.json`` there holds the SHA-256 of each file of weights before
    and after.

    Raises:
        ModelError: a file of weights is damaged, or holds more than tensors.
    """
    parts = _parts(folder)
    safe = {path.parent for path in parts if path.suffix == ".safetensors"}
    pickles = [path for path in parts if path.name == PICKLE and path.parent not in safe]
    if not pickles:
        return folder
    states = [(path.resolve(), path.stat()) for path in pickles]
    key = fingerprint(folder.resolve(), [(path, one.st_size, one.st_mtime_ns) for path, one in states])
    made = user_cache("weights") / key
    if (made / "converted.json").is_file():
        return made
    temporary = made.with_name(f"{key}.{uuid.uuid4().hex}.tmp")
    try:
        card = {}
        for path in parts:
            place = temporary / path.relative_to(folder)
            place.parent.mkdir(parents=True, exist_ok=True)
            if path in pickles:
                _convert(path, weights := place.with_name("model.safetensors"))
                name = path.relative_to(folder).as_posix()
                card[name] = {"sha256": file_hash(path), "safetensors_sha256": file_sha256(weights)}
            elif path.suffix not in _PICKLES:
                place.symlink_to(path.resolve())
        told = {"folder": str(folder.resolve()), "weights": card}
        (temporary / "converted.json").write_text(json.dumps(told, indent=1), "utf-8")
        if not made.exists():  # else another process was faster
            temporary.rename(made)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return made


def _convert(pickle: Path, target: Path) -> None:
    import torch
    from safetensors.torch import save_file

    try:
        # Refuses whatever would need code to be run.
        state = torch.load(pickle, "cpu", weights_only=True, mmap=zipfile.is_zipfile(pickle))
    except Exception as error:  # the library raises nothing narrower
        raise ModelError(
            f"{pickle} is damaged or holds more than tensors, and was not loaded: {first_line(error)}.",
            "Download the model again, or choose one with safetensors.",
        ) from error
    if not isinstance(state, dict) or not all(isinstance(one, torch.Tensor) for one in state.values()):
        raise ModelError(f"{pickle} holds something else than tensors.", "Choose another model.")
    # Copies: tied weights share their memory, which safetensors do not allow.
    tensors = {name: one.contiguous().clone() for name, one in state.items()}
    save_file(tensors, target, metadata={"format": "pt"})


def model_fingerprint(folder: Path) -> str:
    """Hash of everything in ``folder`` that decides what the model says: weights, tokenizer, configuration.

    Equal files have equal fingerprints wherever they lie.
    """
    weights = sorted(path for path in folder.rglob("*.safetensors") if path.is_file())
    others = sorted(
        path
        for pattern in ("*.json", "*.jinja", "*.model", "vocab.txt", "merges.txt")
        for path in folder.rglob(pattern)
        if path.is_file() and path.name not in {_INDEX, "README.md", "converted.json"}
    )
    files = {path.relative_to(folder).as_posix(): file_hash(path) for path in (*weights, *others)}
    return fingerprint(files)


def file_hash(path: Path) -> str:
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
