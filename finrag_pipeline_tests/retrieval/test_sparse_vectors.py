from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from finrag_pipeline.retrieval.splade import SparseVectorCache
from finrag_pipeline.storage.fingerprints import text_hash
from finrag_pipeline.storage.lake import Lake

FOLDER = ("sparse", "e")
WIDTH = 50


class CountingEncoder:
    """Sparse vectors that follow from the text, and a count of how often each text was encoded."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def __call__(self, texts: list[str]) -> csr_matrix:
        self.seen.update(texts)
        return csr_matrix(expected(texts))


def expected(texts: list[str]) -> np.ndarray:
    rows = []
    for text in texts:
        random = np.random.default_rng(int(text_hash(text), 16) % 2**32)
        rows.append(random.random(WIDTH) * (random.random(WIDTH) < 0.1))
    return np.array(rows, np.float32)


def _texts(count: int) -> list[str]:
    return [f"text {n} " + "x" * (n % 13) for n in range(count)]


@pytest.mark.parametrize("root", ["folder", "memory"])
def test_no_text_is_encoded_twice(tmp_path: Path, root: str) -> None:
    lake = Lake(tmp_path / "lake" if root == "folder" else f"memory://{uuid.uuid4().hex}/lake")
    encode, texts = CountingEncoder(), [*_texts(20), *_texts(5), "", "\ud800"]
    cache = SparseVectorCache(lake, FOLDER)
    for asked in (texts, texts[::-1], [*_texts(30)[::-1], *texts]):
        found = cache.vectors(asked, encode)
        assert found.shape == (len(asked), WIDTH) and found.dtype == np.float32
        np.testing.assert_array_equal(found.toarray(), expected(asked))
    found = SparseVectorCache(lake, FOLDER).vectors(texts, encode)
    np.testing.assert_array_equal(found.toarray(), expected(texts))
    assert max(encode.seen.values()) == 1


def test_what_is_missing(lake: Lake) -> None:
    cache = SparseVectorCache(lake, FOLDER)
    cache.vectors(_texts(3), CountingEncoder())
    other = SparseVectorCache(lake, FOLDER)
    assert other.missing(["new", *_texts(3), "new", "newer"]) == ["new", "newer"]
    cache.vectors(["new"], CountingEncoder())
    assert other.missing(["new"]) == [], "shards of others are seen"


def test_encoders_are_apart(lake: Lake) -> None:
    encode = CountingEncoder()
    for name in ("e", "f"):
        SparseVectorCache(lake, ("sparse", name)).vectors(_texts(2), encode)
    assert set(encode.seen.values()) == {2}


@pytest.mark.parametrize("damage", ["empty", "half", "flipped", "pickle", "terms"])
def test_a_damaged_shard_is_a_miss(lake: Lake, damage: str) -> None:
    encode, texts = CountingEncoder(), _texts(40)
    SparseVectorCache(lake, FOLDER).vectors(texts, encode)
    (path,) = Path(lake.path(*FOLDER)).glob("*.npz")
    whole = bytearray(path.read_bytes())
    if damage == "flipped":
        whole[len(whole) // 2] ^= 0xFF
        path.write_bytes(bytes(whole))
    elif damage in ("pickle", "terms"):
        with np.load(path) as arrays:
            parts = dict(arrays)
        parts["terms"] = parts["terms"].astype(object) if damage == "pickle" else parts["terms"] + WIDTH
        np.savez(path, **parts)
    else:
        path.write_bytes(bytes(whole[: 0 if damage == "empty" else len(whole) // 2]))
    for _ in range(2):
        found = SparseVectorCache(lake, FOLDER).vectors(texts, encode)
        np.testing.assert_array_equal(found.toarray(), expected(texts))
    assert set(encode.seen.values()) == {2}


_KILLED = """
import os, sys
from finrag_pipeline.retrieval import splade as module
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.retrieval.test_sparse_vectors import FOLDER, CountingEncoder, _texts

class Killed(CountingEncoder):
    calls = 0
    def __call__(self, texts):
        Killed.calls += 1
        if Killed.calls == 3:
            os.kill(os.getpid(), 9)
        return super().__call__(texts)

module.SparseVectorCache.shard = 10
module.SparseVectorCache(Lake(sys.argv[1]), FOLDER).vectors(_texts(45), Killed())
"""


def test_a_kill_loses_one_shard_at_most(lake: Lake) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, lake.root], check=False, timeout=120, env={**os.environ}
    )
    assert killed.returncode == -signal.SIGKILL
    encode = CountingEncoder()
    cache = SparseVectorCache(lake, FOLDER)
    assert len(cache.missing(_texts(45))) == 25
    np.testing.assert_array_equal(cache.vectors(_texts(45), encode).toarray(), expected(_texts(45)))
    assert len(encode.seen) == 25


def test_shards_hold_no_more_than_they_may(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparseVectorCache, "shard", 10)
    found = SparseVectorCache(lake, FOLDER).vectors(_texts(45), CountingEncoder())
    np.testing.assert_array_equal(found.toarray(), expected(_texts(45)))
    assert len(list(Path(lake.path(*FOLDER)).glob("*.npz"))) == 5
