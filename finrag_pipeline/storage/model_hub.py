"""Files of a model by its name on the hub: from the cache of this machine, or from the hub itself."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from urllib.parse import urlsplit

from finrag_pipeline.errors import ModelError

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_PROXIES = {"ALL_PROXY", "HTTP_PROXY", "HTTPS_PROXY"}
_PORTS = {"http": 80}
_FILES = ["*.json", "*.txt", "*.model", "*.jinja", "*.safetensors", "[0-9]*_*/pytorch_model.bin"]
"""Patterns of the files that belong to a model; a star also stands for folders."""
PICKLE = "pytorch_model.bin"
"""Name of weights that were published before there were safetensors."""


def cached_model(name: str, revision: str | None, variable: str) -> Path | None:
    """Folder of a model in the hub's cache; None where it is not there with its weights.

    Args:
        name: on the hub.
        revision: None takes the newest one in the cache.
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
            snapshot_download(name, revision=revision, allow_patterns=_FILES, local_files_only=True)
        )
    except (LocalEntryNotFoundError, FileNotFoundError):
        return None
    except HFValidationError as error:
        raise ModelError(
            f"'{name}' is neither a folder nor the name of a model on the hub.", f"Set {variable}."
        ) from error
    return cached if _has_weights(cached) else None  # else only part of it was ever fetched


def _has_weights(folder: Path) -> bool:
    return (folder / PICKLE).is_file() or any(folder.rglob("*.safetensors"))


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


def fetched_model(name: str, revision: str | None, remedy: str) -> Path:
    """Folder of a model after it was fetched from the hub; pickled weights only where it has no others.

    Args:
        name: on the hub.
        revision: None takes the newest one.
        remedy: what people can do where the hub is out of reach.

    Raises:
        ModelError: the hub cannot be asked or does not have it.
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
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise ModelError(f"Model {name} cannot be had: {reason}.", remedy) from error
