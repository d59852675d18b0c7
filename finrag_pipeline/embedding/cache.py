"""Caches of vectors: embeddings by text hash and encoder, never computed twice.

Shards are written while embedding goes on, so that a killed run loses one shard at most.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Generic, TypeVar

import numpy as np
import pyarrow as pa

from finrag_pipeline.errors import LakeError
from finrag_pipeline.schemas import EMBEDDINGS
from finrag_pipeline.storage.fingerprints import text_hash
from finrag_pipeline.storage.lake import Lake

Vectors = TypeVar("Vectors")


class VectorCache(ABC, Generic[Vectors]):
    """Vectors of one encoder in the lake; those of damaged shards are computed again."""

    shard: ClassVar[int]
    """Texts per shard."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._where: dict[str, tuple[str, int]] = {}

    @abstractmethod
    def _names(self) -> Iterable[str]:
        """Shards in the lake."""

    @abstractmethod
    def _hashes(self, name: str) -> list[str]:
        """Hashes of the texts of a shard; raises LakeError where it is damaged."""

    @abstractmethod
    def _rows(self, name: str, rows: list[int]) -> Vectors:
        """Some vectors of a shard; raises LakeError where it is damaged."""

    @abstractmethod
    def _joined(self, parts: list[Vectors], order: np.ndarray) -> Vectors:
        """Vectors one below the other, then in an order; shape (texts, dimensions)."""

    @abstractmethod
    def _write(self, name: str, hashes: list[str], vectors: Vectors) -> None:
        """Write a shard."""

    def _remove(self, name: str) -> None:
        """Remove a damaged shard."""

    def missing(self, texts: Sequence[str]) -> list[str]:
        """Distinct texts that have no vector yet, in order of first appearance."""
        for name in self._names():
            if name not in self._known:
                try:
                    self._add(name, self._hashes(name))
                except LakeError:
                    self._known.add(name)  # a damaged shard is a miss: its texts are embedded again
        unique = {text_hash(text): text for text in texts}
        return [text for value, text in unique.items() if value not in self._where]

    def _add(self, name: str, hashes: list[str]) -> None:
        self._known.add(name)
        self._where.update((value, (name, row)) for row, value in enumerate(hashes))

    def vectors(
        self, texts: Sequence[str], compute: Callable[[list[str]], Vectors], again: bool = True
    ) -> Vectors:
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
        parts: list[Vectors] = []
        damaged: dict[str, LakeError] = {}
        for name, found in places.items():
            try:
                parts.append(self._rows(name, [row for _, row in found]))
            except LakeError as error:
                damaged[name] = error
        if damaged:
            if not again:
                raise next(iter(damaged.values()))
            # Its hashes could be read and its vectors cannot: without it, its texts are missing.
            for name in damaged:
                self._remove(name)
            self._where = {value: place for value, place in self._where.items() if place[0] not in damaged}
            return self.vectors(texts, compute, again=False)
        order = np.empty(len(texts), np.int64)
        order[[position for found in places.values() for position, _ in found]] = np.arange(len(texts))
        return self._joined(parts, order)


class EmbeddingCache(VectorCache[np.ndarray]):
    """Dense vectors of the encoder with a fingerprint (weights, tokenizer, arithmetic)."""

    shard = 1024

    def __init__(self, lake: Lake, encoder: str) -> None:
        super().__init__()
        self._lake = lake
        self._encoder = encoder

    def _keys(self, name: str) -> dict[str, str]:
        return {"encoder": self._encoder, "shard": name}

    def _names(self) -> Iterable[str]:
        shards = self._lake.partitions("embeddings")
        return [keys["shard"] for keys in shards if keys["encoder"] == self._encoder]

    def _hashes(self, name: str) -> list[str]:
        return self._lake.read("embeddings", self._keys(name), ["text_hash"])["text_hash"].to_pylist()

    def _rows(self, name: str, rows: list[int]) -> np.ndarray:
        column = self._lake.read("embeddings", self._keys(name), ["vector"])["vector"].combine_chunks()
        return np.asarray(column.values.to_numpy().reshape(len(column), -1)[rows])

    def _joined(self, parts: list[np.ndarray], order: np.ndarray) -> np.ndarray:
        return np.concatenate(parts)[order] if parts else np.zeros((0, 0), np.float32)

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

    def _remove(self, name: str) -> None:
        self._lake.remove("embeddings", self._keys(name))
