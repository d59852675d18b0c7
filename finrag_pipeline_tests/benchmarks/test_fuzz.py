"""Inputs that made a fuzzer find something, tried again."""

from __future__ import annotations

import pytest

from benchmarks.fuzz import CORPUS, TARGETS

KEPT = sorted(CORPUS.glob("*/*"))


@pytest.mark.parametrize("target", TARGETS)
def test_what_was_found_once_is_mended(target: str) -> None:
    kept = [path for path in KEPT if path.parent.name == target]
    assert kept
    for path in kept:
        TARGETS[target](path.read_bytes())
