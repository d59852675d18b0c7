"""Real data beside the repository, for tests that compare with published figures; they skip without it."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from finrag_pipeline_tests.console import REPOSITORY

DATA = Path(os.environ.get("FINRAG_RECORDED_DATA") or REPOSITORY.parent / "shared" / "data")


def needs_data(*parts: str) -> pytest.MarkDecorator:
    """Skips a test where ``parts`` is not among the recorded data."""
    where = DATA.joinpath(*parts)
    return pytest.mark.skipif(not where.exists(), reason=f"{'/'.join(parts)} is not beside the repository")


def read_json(*parts: str) -> Any:
    path = DATA.joinpath(*parts)
    raw = path.read_bytes()
    return json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)


def read_lines(*parts: str) -> list[dict[str, Any]]:
    path = DATA.joinpath(*parts)
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    return [json.loads(line) for line in text.splitlines() if line.strip()]
