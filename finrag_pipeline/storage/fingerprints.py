"""Fingerprints: what a result was made from, as one short hash.

The same fingerprint means that nothing has to be done again: it covers the fingerprints of the
inputs, the version of the code, the configuration and the model.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, Path):
        return value.as_posix()
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"cannot fingerprint a {type(value).__name__}")


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no white space, so that equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_plain)


def fingerprint(*parts: Any) -> str:
    """Hash of the canonical JSON of ``parts``: 32 hexadecimal digits (BLAKE2b-128)."""
    return hashlib.blake2b(canonical_json(parts).encode(), digest_size=16).hexdigest()


def text_hash(text: str) -> str:
    """Hash of a text: 32 hexadecimal digits (BLAKE2b-128 of its UTF-8 bytes)."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, read in blocks."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
