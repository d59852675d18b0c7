"""Sparse vectors of texts kept in the lake by content, so that no text is encoded twice.

Shards are written while encoding goes on: a killed run loses one at most.
"""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from zipfile import BadZipFile

import numpy as np

from finrag_pipeline.storage.fingerprints import text_hash
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SHARD = 512
"""Texts per shard."""


class SparseVectorCache:
    """Sparse vectors of one encoder in the lake.

    Args:
        lake: where the shards are.
        folder: of the encoder.
    """

    def __init__(self, lake: Lake, folder: Sequence[str]) -> None:
        self._lake = lake
        self._folder = tuple(folder)
        self._shards: dict[str, csr_matrix] = {}
        self._seen: set[str] = set()
        self._where: dict[str, tuple[str, int]] = {}

    def missing(self, texts: Sequence[str]) -> list[str]:
        """Distinct texts that have no vector yet, in order of first appearance."""
        self._refresh()
        unique = {text_hash(text): text for text in texts}
        return [text for value, text in unique.items() if value not in self._where]

    def vectors(self, texts: Sequence[str], encode: Callable[[list[str]], csr_matrix]) -> csr_matrix:
        """Vectors of ``texts``, shape (texts, terms), float32; ``encode`` is asked for the missing ones.

        Args:
            texts: at least one; may repeat.
            encode: vectors of distinct texts, shape (texts, terms).
        """
        from scipy.sparse import csr_matrix, vstack

        missing = sorted(self.missing(texts), key=len, reverse=True)
        for start in range(0, len(missing), SHARD):
            part = missing[start : start + SHARD]
            self._keep(part, encode(part))
        rows: dict[str, list[tuple[int, int]]] = {}
        for position, text in enumerate(texts):
            shard, row = self._where[text_hash(text)]
            rows.setdefault(shard, []).append((position, row))
        stacked = vstack([self._shards[shard][[row for _, row in found]] for shard, found in rows.items()])
        order = np.empty(len(texts), np.int64)
        order[[position for found in rows.values() for position, _ in found]] = np.arange(len(texts))
        return csr_matrix(stacked)[order]

    def _refresh(self) -> None:
        base = self._lake.path(*self._folder)
        if not self._lake.fs.exists(base):
            return
        for path in sorted(self._lake.fs.find(base)):
            name = path.rsplit("/", 1)[-1]
            if name.endswith(".npz") and name not in self._seen:
                self._seen.add(name)
                self._load(name)

    def _load(self, name: str) -> None:
        """Take in a shard; a damaged one is none, and its texts are encoded again."""
        from scipy.sparse import csr_matrix

        data = self._lake.read_bytes(self._lake.path(*self._folder, name))
        if data is None:
            return
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                hashes = [value.decode() for value in arrays["hashes"].tolist()]
                parts = (arrays["weights"], arrays["terms"], arrays["indptr"])
                matrix = csr_matrix(parts, shape=(len(hashes), int(arrays["width"])))
                matrix.check_format(full_check=True)
        except (ValueError, TypeError, KeyError, OSError, EOFError, BadZipFile, AttributeError):
            return
        self._add(name, hashes, matrix)

    def _keep(self, texts: list[str], matrix: csr_matrix) -> None:
        buffer = io.BytesIO()
        hashes = [text_hash(text) for text in texts]
        np.savez(
            buffer,
            hashes=np.array(hashes, "S32"),
            weights=matrix.data.astype(np.float32),
            terms=matrix.indices.astype(np.int32),
            indptr=matrix.indptr.astype(np.int64),
            width=matrix.shape[1],
        )
        name = f"{uuid.uuid4().hex}.npz"
        self._lake.write_bytes(self._lake.path(*self._folder, name), buffer.getvalue())
        self._add(name, hashes, matrix)

    def _add(self, name: str, hashes: list[str], matrix: csr_matrix) -> None:
        self._seen.add(name)
        self._shards[name] = matrix
        self._where.update((value, (name, row)) for row, value in enumerate(hashes))
