"""The cache of vectors: embeddings by text hash and encoder, never computed twice.

Shards are written while embedding goes on, so that a killed run loses one shard at most.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from finrag_pipeline.errors import LakeError
from finrag_pipeline.schemas import EMBEDDINGS
from finrag_pipeline.storage.fingerprints import text_hash
from finrag_pipeline.storage.lake import Lake


class EmbeddingCache:
    """Vectors of the encoder with a fingerprint (weights, tokenizer, arithmetic) in the lake.

    Those of damaged shards are computed again.
    """

    shard = 1024
    """Texts per shard."""

    def __init__(self, lake: Lake, encoder: str) -> None:
        self._lake = lake
        self._encoder = encoder
        self._known: set[str] = set()
        self._where: dict[str, tuple[str, int]] = {}

    def _keys(self, name: str) -> dict[str, str]:
        return {"encoder": self._encoder, "shard": name}

    def missing(self, texts: Sequence[str]) -> list[str]:
        """Distinct texts that have no vector yet, in order of first appearance."""
        shards = self._lake.partitions("embeddings")
        for name in (keys["shard"] for keys in shards if keys["encoder"] == self._encoder):
            if name not in self._known:
                try:
                    hashes = self._lake.read("embeddings", self._keys(name), ["text_hash"])["text_hash"]
                    self._add(name, hashes.to_pylist())
                except LakeError:
                    self._known.add(name)  # a damaged shard is a miss: its texts are embedded again
        unique = {text_hash(text): text for text in texts}
        return [text for value, text in unique.items() if value not in self._where]

    def _add(self, name: str, hashes: list[str]) -> None:
        self._known.add(name)
        self._where.update((value, (name, row)) for row, value in enumerate(hashes))

    def vectors(
        self, texts: Sequence[str], compute: Callable[[list[str]], np.ndarray], again: bool = True
    ) -> np.ndarray:
        """Vectors of ``texts``, which may repeat, shape (texts, dimensions), float32.

        ``compute`` is asked for the missing ones of distinct texts alone, so that weights load only then; and
        ``again`` for those that turn out to be damaged.

        Raises:
            LakeError: vectors are damaged even so, or what was computed is no number.
        """
        missing = sorted(self.missing(texts), key=len, reverse=True)
        for start in range(0, len(missing), self.shard):
            part = missing[start : start + self.shard]
            name, hashes = uuid.uuid4().hex, [text_hash(text) for text in part]
            self._write(name, hashes, compute(part))
            self._add(name, hashes)
        places: dict[str, list[tuple[int, int]]] = {}
        for position, text in enumerate(texts):
            name, row = self._where[text_hash(text)]
            places.setdefault(name, []).append((position, row))
        parts: list[np.ndarray] = []
        damaged: dict[str, LakeError] = {}
        for name, found in places.items():
            try:
                parts.append(self._read(name)[[row for _, row in found]])
            except LakeError as error:
                damaged[name] = error
        if damaged:
            if not again:
                raise next(iter(damaged.values()))
            # Its hashes could be read and its vectors cannot: without it, its texts are missing.
            for name in damaged:
                self._lake.remove("embeddings", self._keys(name))
            self._where = {value: place for value, place in self._where.items() if place[0] not in damaged}
            return self.vectors(texts, compute, again=False)
        order = np.empty(len(texts), np.int64)
        order[[position for found in places.values() for position, _ in found]] = np.arange(len(texts))
        return np.concatenate(parts)[order] if parts else np.zeros((0, 0), np.float32)

    def _read(self, name: str) -> np.ndarray:
        column = self._lake.read("embeddings", self._keys(name), ["vector"])["vector"].combine_chunks()
        return np.asarray(column.values.to_numpy().reshape(len(column), -1))

    def _write(self, name: str, hashes: list[str], vectors: np.ndarray) -> None:
        if not np.isfinite(vectors).all():
            raise LakeError(
                "The encoder returned vectors that are not numbers.", "Use FINRAG_ENCODER__PRECISION=fp32."
            )
        values = pa.ListArray.from_arrays(
            pa.array(np.arange(len(hashes) + 1, dtype=np.int32) * vectors.shape[1]),
            pa.array(np.asarray(vectors, np.float32).ravel()),
        )
        table = pa.table({"text_hash": hashes, "vector": values}, schema=EMBEDDINGS)
        self._lake.write("embeddings", table, self._encoder, self._keys(name))
