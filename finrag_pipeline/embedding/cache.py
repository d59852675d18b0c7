"""The vector cache: embeddings by text hash and encoder, never computed twice.

Shards are written while embedding goes on, so that a killed run loses one shard at most.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from finrag_pipeline.embedding.backends import Embedder, Progress
from finrag_pipeline.errors import LakeError
from finrag_pipeline.schemas import EMBEDDINGS
from finrag_pipeline.storage.fingerprints import text_hash
from finrag_pipeline.storage.lake import Lake

SHARD = 1024
"""Texts per shard."""


class _DamagedShardError(LakeError):
    """Vectors of some shards cannot be read."""

    def __init__(self, damaged: dict[str, LakeError]) -> None:
        first = next(iter(damaged.values()))
        super().__init__(first.reason, first.remedy)
        self.shards = set(damaged)


class EmbeddingCache:
    """Vectors of one encoder in the lake.

    Args:
        lake: where the shards are.
        encoder: fingerprint of the encoder (weights, tokenizer, arithmetic).
    """

    def __init__(self, lake: Lake, encoder: str) -> None:
        self._lake = lake
        self._encoder = encoder
        self._where: dict[str, tuple[str, int]] = {}
        self._shards: set[str] = set()

    def _keys(self, shard: str) -> dict[str, str]:
        return {"encoder": self._encoder, "shard": shard}

    def _refresh(self) -> None:
        for keys in self._lake.partitions("embeddings"):
            shard = keys["shard"]
            if keys["encoder"] != self._encoder or shard in self._shards:
                continue
            self._shards.add(shard)
            try:
                hashes = self._lake.read("embeddings", keys, ["text_hash"])["text_hash"].to_pylist()
            except LakeError:
                continue  # a damaged shard is a miss: its texts are embedded again
            self._where.update((value, (shard, row)) for row, value in enumerate(hashes))

    def missing(self, texts: Sequence[str]) -> list[str]:
        """Distinct texts that have no vector yet, in order of first appearance."""
        self._refresh()
        unique = {text_hash(text): text for text in texts}
        return [text for value, text in unique.items() if value not in self._where]

    def embed(
        self, texts: Sequence[str], embedder: Callable[[], Embedder], progress: Progress | None = None
    ) -> np.ndarray:
        """Vectors of ``texts``, shape (texts, dimensions), float32; only missing ones are computed.

        Args:
            texts: may repeat.
            embedder: called only when something is missing, so that weights load only then.
            progress: called with the number of texts just embedded.
        """
        hashes = [text_hash(text) for text in texts]
        self._compute(texts, embedder, progress)
        try:
            return self._load(hashes)
        except _DamagedShardError as error:
            # Its hashes could be read and its vectors cannot: without it, its texts are missing.
            self._forget(error.shards)
            self._compute(texts, embedder, progress)
            return self._load(hashes)

    def _compute(
        self, texts: Sequence[str], embedder: Callable[[], Embedder], progress: Progress | None
    ) -> None:
        missing = sorted(self.missing(texts), key=len, reverse=True)
        for start in range(0, len(missing), SHARD):
            part = missing[start : start + SHARD]
            self._keep(part, embedder().embed(part, progress))

    def _forget(self, shards: set[str]) -> None:
        for shard in shards:
            self._lake.remove("embeddings", self._keys(shard))
        self._where = {value: place for value, place in self._where.items() if place[0] not in shards}

    def _keep(self, texts: list[str], vectors: np.ndarray) -> None:
        if not np.isfinite(vectors).all():
            raise LakeError(
                "The encoder returned vectors that are not numbers.", "Use FINRAG_ENCODER__PRECISION=fp32."
            )
        shard = uuid.uuid4().hex
        hashes = [text_hash(text) for text in texts]
        values = pa.ListArray.from_arrays(
            pa.array(np.arange(len(texts) + 1, dtype=np.int32) * vectors.shape[1]),
            pa.array(np.asarray(vectors, np.float32).ravel()),
        )
        table = pa.table({"text_hash": hashes, "vector": values}, schema=EMBEDDINGS)
        self._lake.write("embeddings", table, self._encoder, self._keys(shard))
        self._shards.add(shard)
        self._where.update((value, (shard, row)) for row, value in enumerate(hashes))

    def _load(self, hashes: list[str]) -> np.ndarray:
        vectors = np.zeros((len(hashes), 0), np.float32)
        wanted: dict[str, list[tuple[int, int]]] = {}
        for position, value in enumerate(hashes):
            shard, row = self._where[value]
            wanted.setdefault(shard, []).append((position, row))
        damaged: dict[str, LakeError] = {}
        for shard, pairs in wanted.items():
            try:
                table = self._lake.read("embeddings", self._keys(shard), ["vector"])
            except LakeError as error:
                damaged[shard] = error
                continue
            column = table["vector"].combine_chunks()
            matrix = column.values.to_numpy().reshape(len(column), -1)
            if not vectors.shape[1]:
                vectors = np.zeros((len(hashes), matrix.shape[1]), np.float32)
            positions, rows = zip(*pairs, strict=True)
            vectors[list(positions)] = matrix[list(rows)]
        if damaged:
            raise _DamagedShardError(damaged)
        return vectors
