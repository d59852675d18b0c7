from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from finrag_pipeline.embedding.cache import EmbeddingCache
from finrag_pipeline.errors import LakeError
from finrag_pipeline.storage.fingerprints import text_hash
from finrag_pipeline.storage.lake import Lake

DIMENSIONS = 8


class CountingEmbedder:
    """Vectors that follow from the text, and a count of how often each text was embedded."""

    dimensions = DIMENSIONS
    max_tokens = 32

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.calls = 0

    def compute(self, texts: Sequence[str]) -> np.ndarray:
        self.calls += 1
        self.seen.update(texts)
        return expected(texts)


def expected(texts: Sequence[str]) -> np.ndarray:
    seeds = [int(text_hash(text), 16) % 2**32 for text in texts]
    vectors = [np.random.default_rng(seed).normal(size=DIMENSIONS) for seed in seeds]
    array = np.array(vectors, np.float64).reshape(len(texts), DIMENSIONS)
    return (array / np.linalg.norm(array, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def embedder() -> CountingEmbedder:
    return CountingEmbedder()


def _texts(count: int, start: int = 0) -> list[str]:
    return [f"text {n} " + "x" * (n % 13) for n in range(start, start + count)]


class TestOnce:
    @pytest.mark.parametrize("root", ["folder", "memory"])
    def test_no_text_is_embedded_twice(self, tmp_path: Path, embedder: CountingEmbedder, root: str) -> None:
        lake = Lake(tmp_path if root == "folder" else f"memory://{uuid.uuid4().hex}/lake")
        cache = EmbeddingCache(lake, "encoder")
        texts = [*_texts(20), *_texts(5), "text 0 "]
        np.testing.assert_array_equal(cache.vectors(texts, embedder.compute), expected(texts))
        np.testing.assert_array_equal(cache.vectors(texts[::-1], embedder.compute), expected(texts[::-1]))
        more = _texts(30, start=10)
        np.testing.assert_array_equal(
            EmbeddingCache(lake, "encoder").vectors(more, embedder.compute), expected(more)
        )
        assert set(embedder.seen) == set(texts) | set(more)
        assert max(embedder.seen.values()) == 1

    def test_weights_are_loaded_only_when_something_is_missing(
        self, lake: Lake, embedder: CountingEmbedder
    ) -> None:
        EmbeddingCache(lake, "encoder").vectors(_texts(3), embedder.compute)
        assert embedder.calls == 1
        cache = EmbeddingCache(lake, "encoder")
        assert cache.missing(_texts(5)) == _texts(5)[3:]
        cache.vectors(_texts(3), embedder.compute)
        assert embedder.calls == 1

    def test_nothing(self, lake: Lake, embedder: CountingEmbedder) -> None:
        assert EmbeddingCache(lake, "encoder").vectors([], embedder.compute).shape[0] == 0
        assert embedder.calls == 0

    def test_encoders_do_not_share_vectors(self, lake: Lake, embedder: CountingEmbedder) -> None:
        for encoder in ("one", "two"):
            EmbeddingCache(lake, encoder).vectors(_texts(3), embedder.compute)
        assert set(embedder.seen.values()) == {2}

    def test_what_another_process_keeps_meanwhile_is_found(
        self, lake: Lake, embedder: CountingEmbedder
    ) -> None:
        mine, other = EmbeddingCache(lake, "encoder"), EmbeddingCache(lake, "encoder")
        mine.vectors(_texts(2), embedder.compute)
        other.vectors(_texts(4), embedder.compute)
        np.testing.assert_array_equal(mine.vectors(_texts(4), embedder.compute), expected(_texts(4)))
        assert max(embedder.seen.values()) == 1

    def test_many_texts_are_kept_in_several_shards(
        self, lake: Lake, embedder: CountingEmbedder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(EmbeddingCache, "shard", 7)
        texts = _texts(30)
        np.testing.assert_array_equal(
            EmbeddingCache(lake, "e").vectors(texts, embedder.compute), expected(texts)
        )
        assert len(lake.partitions("embeddings")) == 5
        np.testing.assert_array_equal(
            EmbeddingCache(lake, "e").vectors(texts, embedder.compute), expected(texts)
        )

    def test_texts_of_any_kind(self, lake: Lake, embedder: CountingEmbedder) -> None:
        texts = ["", " ", "株式会社", "it's \x00 'quoted'", "\ud800", "x" * 100_000]
        np.testing.assert_array_equal(
            EmbeddingCache(lake, "e").vectors(texts, embedder.compute), expected(texts)
        )
        EmbeddingCache(lake, "e").vectors(texts, embedder.compute)
        assert max(embedder.seen.values()) == 1


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_vectors_that_are_no_numbers_are_refused_and_not_kept(lake: Lake, odd: float) -> None:
    class Broken(CountingEmbedder):
        def compute(self, texts: Sequence[str]) -> np.ndarray:
            vectors = super().compute(texts)
            vectors[-1, 3] = odd
            return vectors

    cache = EmbeddingCache(lake, "encoder")
    with pytest.raises(LakeError, match="vectors that are not numbers") as caught:
        cache.vectors(_texts(3), Broken().compute)
    assert "FINRAG_ENCODER__PRECISION" in caught.value.remedy
    assert lake.partitions("embeddings") == []
    assert len(cache.missing(_texts(3))) == 3


class TestDamage:
    def _shard(self, lake: Lake) -> Path:
        ((keys),) = lake.partitions("embeddings")
        return Path(lake.part_path("embeddings", keys))

    @pytest.mark.parametrize("kept", [0, 50, 0.5])
    def test_a_truncated_shard_is_a_miss(self, lake: Lake, embedder: CountingEmbedder, kept: float) -> None:
        EmbeddingCache(lake, "e").vectors(_texts(10), embedder.compute)
        path = self._shard(lake)
        whole = path.read_bytes()
        path.write_bytes(whole[: int(kept if kept >= 1 else kept * len(whole))])
        cache = EmbeddingCache(lake, "e")
        np.testing.assert_array_equal(cache.vectors(_texts(10), embedder.compute), expected(_texts(10)))
        assert set(embedder.seen.values()) == {2}
        np.testing.assert_array_equal(
            EmbeddingCache(lake, "e").vectors(_texts(10), embedder.compute), expected(_texts(10))
        )
        assert set(embedder.seen.values()) == {2}

    @pytest.mark.parametrize("noticed", ["at once", "by a cache that already knew the shard"])
    def test_a_shard_whose_vectors_alone_are_damaged_is_replaced(
        self, lake: Lake, embedder: CountingEmbedder, noticed: str
    ) -> None:
        knew = EmbeddingCache(lake, "e")
        knew.vectors(_texts(200), embedder.compute)
        path = self._shard(lake)
        whole = bytearray(path.read_bytes())
        middle = len(whole) * 2 // 3
        whole[middle : middle + 64] = bytes(64)
        path.write_bytes(bytes(whole))
        assert lake.read("embeddings", lake.partitions("embeddings")[0], ["text_hash"]).num_rows == 200
        cache = knew if noticed != "at once" else EmbeddingCache(lake, "e")
        np.testing.assert_array_equal(cache.vectors(_texts(210), embedder.compute), expected(_texts(210)))
        assert not path.exists()
        before = embedder.seen.total()
        np.testing.assert_array_equal(
            EmbeddingCache(lake, "e").vectors(_texts(210), embedder.compute), expected(_texts(210))
        )
        assert embedder.seen.total() == before


_KILLED = """
import os, sys
import numpy as np
from finrag_pipeline.embedding import cache as module
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.embedding.test_cache import CountingEmbedder, _texts

class Killed(CountingEmbedder):
    def compute(self, texts):
        if self.calls == 2:
            os.kill(os.getpid(), 9)
        return super().compute(texts)

module.EmbeddingCache.shard = 10
module.EmbeddingCache(Lake(sys.argv[1]), "e").vectors(_texts(45), Killed().compute)
"""


def test_a_kill_loses_one_shard_at_most_and_the_rest_is_not_computed_again(
    lake: Lake, embedder: CountingEmbedder
) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, lake.root], check=False, timeout=120, env={**os.environ}
    )
    assert killed.returncode == -signal.SIGKILL
    assert len(lake.partitions("embeddings")) == 2
    cache = EmbeddingCache(lake, "e")
    left = cache.missing(_texts(45))
    assert len(left) == 25
    np.testing.assert_array_equal(cache.vectors(_texts(45), embedder.compute), expected(_texts(45)))
    assert embedder.seen == Counter(left)
    np.testing.assert_array_equal(
        EmbeddingCache(lake, "e").vectors(_texts(45), embedder.compute), expected(_texts(45))
    )
    assert embedder.seen == Counter(left)
