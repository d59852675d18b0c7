"""The corpus a search runs over: chunks of chosen filings, with the shared indexes over them.

Everything is loaded on first use and shared by all systems and spaces of a sweep.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.chunking.registry import FIXED, Chunking
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.embedding.model_files import encoder_problem
from finrag_pipeline.errors import LakeError, Problem
from finrag_pipeline.retrieval.bm25 import BM25_VERSION, Bm25Index, RankBm25, kept_bm25
from finrag_pipeline.retrieval.chunk_index import index_chunks, open_chunk_index, to_index
from finrag_pipeline.retrieval.spaces import Scope
from finrag_pipeline.retrieval.splade import SpladeEncoder, SpladeIndex
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.vectors import VectorIndex

if TYPE_CHECKING:
    from finrag_pipeline.resolver.resolver import Resolver

T = TypeVar("T")


@dataclass(eq=False)
class Corpus:
    """Chunks of ``filings`` and the indexes over them.

    Attributes:
        filings: the filings to search, sorted; their chunks must be in the lake.
        encoder: embeds questions; its files are touched only when a dense system asks.
        kinds: kinds of chunks to search; all when None.
        shared: look-ups and models that corpora of the same filings and settings share.
        index_missing: make vectors of the filings that the index lacks, on first use. For encoders other than
            that of the settings: no asset makes theirs.
    """

    lake: Lake
    filings: Sequence[str]
    settings: Settings
    encoder: Encoder
    chunking: Chunking = FIXED
    kinds: Sequence[str] | None = None
    shared: dict[Hashable, Any] = field(default_factory=dict)
    index_missing: bool = False
    _pages: dict[str, defaultdict[int, list[tuple[str, str]]]] = field(init=False, default_factory=dict)
    _texts: dict[str, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.filings = tuple(sorted(set(self.filings)))
        self.kinds = None if self.kinds is None else tuple(self.kinds)

    def once(self, name: Hashable, load: Callable[[], T]) -> T:
        """What ``load`` gives, loaded on first use and once for all corpora that share it."""
        if name not in self.shared:
            self.shared[name] = load()
        return cast("T", self.shared[name])

    @property
    def resolver(self) -> Resolver:
        """Reads company, period and form out of a question."""

        def load() -> Resolver:
            from finrag_pipeline.resolver.resolver import load_resolver

            return load_resolver(self.lake, self.filings)

        return self.once(("resolver", self.filings), load)

    def of_kinds(self, kinds: Sequence[str]) -> Corpus:
        """The chunks of some kinds only, of the same filings and chunking; loaded once."""
        key = ("corpus", self.filings, self.chunking.name, tuple(kinds), self.settings.encoder.name)
        return self.once(key, lambda: replace(self, kinds=kinds))

    @cached_property
    def chunks(self) -> pa.Table:
        """All chunks, by filing, page and ordinal."""
        table = self.lake.read_all(self.chunking.table, only={"filing": self.filings})
        missing = set(self.filings) - set(table["filing"].unique().to_pylist())
        if missing:
            raise LakeError(
                f"{len(missing)} filings have no chunks: {', '.join(sorted(missing)[:3])} …",
                f"Materialise {self.chunking.table}.",
            )
        if self.kinds is not None:
            table = table.filter(pc.is_in(table["kind"], pa.array(self.kinds)))
        return table.sort_by([("filing", "ascending"), ("page", "ascending"), ("ordinal", "ascending")])

    @cached_property
    def chunk_ids(self) -> list[str]:
        """Identifier of each chunk, by position."""
        return self.chunks["chunk_id"].to_pylist()

    @cached_property
    def chunk_filings(self) -> list[str]:
        """Filing of each chunk, by position."""
        return self.chunks["filing"].to_pylist()

    @cached_property
    def chunk_pages(self) -> np.ndarray:
        """Zero-based page of each chunk, by position."""
        return self.chunks["page"].to_numpy()

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {chunk_id: position for position, chunk_id in enumerate(self.chunk_ids)}

    def text(self, chunk_id: str) -> str:
        """Text of a chunk of the corpus."""
        if (text := self._texts.get(chunk_id)) is not None:
            return text
        return str(self.chunks["text"][self._positions[chunk_id]].as_py())

    def page_chunks(self, filing: str, page: int) -> list[tuple[str, str]]:
        """Identifier and text of each chunk of a zero-based page, in order; only its filing is read."""
        if filing not in self._pages:
            pages = self._pages[filing] = defaultdict(list)
            if filing in self.filings:
                columns = ["page", "ordinal", "kind", "chunk_id", "text"]
                part = self.lake.read(self.chunking.table, {"filing": filing}, columns)
                for row in part.sort_by([("page", "ascending"), ("ordinal", "ascending")]).to_pylist():
                    if self.kinds is None or row["kind"] in self.kinds:
                        pages[row["page"]].append((row["chunk_id"], row["text"]))
                        self._texts[row["chunk_id"]] = row["text"]
        return self._pages[filing].get(page, [])

    def encoder_problem(self) -> Problem | None:
        """Why the encoder cannot be had, for people; None when it can. Loads and fetches nothing."""
        encoder = self.settings.encoder
        return self.once(("problem of encoder", encoder.name), lambda: encoder_problem(encoder))

    @cached_property
    def _filing_ranges(self) -> dict[str, tuple[int, int]]:
        ranges: dict[str, tuple[int, int]] = {}
        for position, filing in enumerate(self.chunk_filings):
            ranges[filing] = (ranges.get(filing, (position,))[0], position + 1)
        return ranges

    def positions(self, scope: Scope) -> np.ndarray | None:
        """Ascending positions of the chunks inside a scope; None when it allows all.

        Pages of whatever filing count only together with filings.
        """
        filings = None if scope.filings is None else set(scope.filings)
        if scope.locations is not None:
            named = {filing for filing, _ in scope.locations}
            filings = named if filings is None else named & filings
        if filings is None:
            return None
        parts = [np.arange(*self._filing_ranges[f]) for f in sorted(filings) if f in self._filing_ranges]
        found = np.concatenate(parts) if parts else np.empty(0, np.int64)
        if scope.pages is not None:
            found = found[np.isin(self.chunk_pages[found], list(scope.pages))]
        if scope.locations is not None:
            allowed = set(scope.locations)
            kept = [(self.chunk_filings[n], int(self.chunk_pages[n])) in allowed for n in found.tolist()]
            found = found[np.array(kept, bool)]
        return found

    @cached_property
    def fingerprint(self) -> str:
        """What the corpus consists of: the fingerprints of its chunks."""
        parts = {filing: self.lake.info(self.chunking.table, {"filing": filing}) for filing in self.filings}
        chunks = {filing: part and part.fingerprint for filing, part in parts.items()}
        return fingerprint(chunks, self.kinds) if self.kinds is not None else fingerprint(chunks)

    @property
    def bm25_folder(self) -> tuple[str, str]:
        """Where the lake keeps its BM25 index."""
        return ("bm25", fingerprint(self.fingerprint, BM25_VERSION))

    @cached_property
    def bm25(self) -> Bm25Index | RankBm25:
        """The BM25 index over the chunks; the precomputed one is kept in the lake under its fingerprint."""
        if self.settings.bm25.backend == "rank_bm25":
            return RankBm25(self.chunks["text"].to_pylist())
        return kept_bm25(self.lake, self.bm25_folder, lambda: self.chunks["text"].to_pylist())

    @cached_property
    def splade(self) -> SpladeIndex:
        """The learned sparse index over the chunks.

        Raises:
            ModelError: its encoder cannot be had.
        """
        encoder = SpladeEncoder(self.settings.splade, self.lake)
        return SpladeIndex(self.chunks["text"].to_pylist(), encoder)

    def index(self, chunking: Chunking) -> VectorIndex:
        """The LanceDB table of the chunks of a chunking, of whatever filings; it need not exist."""
        return self.once(
            ("index", chunking.name, self.settings.encoder.name),
            lambda: open_chunk_index(self.lake, self.encoder, self.settings, chunking),
        )

    @cached_property
    def vectors(self) -> VectorIndex:
        """The LanceDB table of chunks.

        Raises:
            LakeError: a filing of the corpus is not in it.
        """
        index = self.index(self.chunking)
        missing = set(self.filings) - index.filings()
        if missing and self.index_missing:
            for filing in sorted(missing):
                chunks = self.lake.read(self.chunking.table, {"filing": filing})
                index_chunks(to_index(chunks, self.chunking), self.encoder, index)
        elif missing:
            raise LakeError(
                f"{len(missing)} filings are not in the vector index: {', '.join(sorted(missing)[:3])} …",
                f"Materialise the vectors of {self.chunking.table}.",
            )
        return index

    def indexed_filings(self) -> tuple[str, ...] | None:
        """Filings that a vector search must be restricted to; None when the index holds no others.

        Asked again for every search: another run may have added filings meanwhile.
        """
        return None if self.vectors.filings() <= set(self.filings) else tuple(self.filings)
