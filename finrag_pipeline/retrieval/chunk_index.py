"""The LanceDB table of chunks: its name, how a filing enters it, and which filings can be searched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from finrag_pipeline.chunking.fixed import CHILDREN, PARENTS
from finrag_pipeline.chunking.registry import CONTEXTUAL, FIXED, PARENT_CHILD, Chunking
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.embedding.tokens import pool_windows
from finrag_pipeline.errors import LakeError
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.vectors import VectorIndex, index_rows

INDEX_VERSION = "2"
"""Changes with the columns of the table."""


def open_chunk_index(
    lake: Lake, encoder: Encoder, settings: Settings, chunking: Chunking = FIXED
) -> VectorIndex:
    """The table of chunks for the encoder, pooling and chunking in use; another choice has another table."""
    length: Any = {
        CONTEXTUAL.name: settings.contextual_chunks,
        PARENT_CHILD.name: [PARENTS, CHILDREN],
    }.get(chunking.name, settings.chunks)
    used = fingerprint(INDEX_VERSION, encoder.fingerprint, settings.encoder.pooling, length)[:12]
    name = f"{chunking.name}_chunks-{used}"
    return VectorIndex(lake.uri("lance"), name, settings.retrieval.exact_below)


def to_index(chunks: pa.Table, chunking: Chunking) -> pa.Table:
    """Those of the chunks of a filing that get vectors."""
    if chunking.indexed is None:
        return chunks
    import pyarrow.compute as pc  # not where only the names of filings are asked for

    return chunks.filter(pc.is_in(chunks["kind"], pa.array(chunking.indexed)))


def index_chunks(
    chunks: pa.Table, encoder: Encoder, index: VectorIndex, log: Callable[[str], object] | None = None
) -> tuple[int, int]:
    """Replace the rows of one filing, of rows of ``filing_chunks``, in the index.

    Returns rows written, and how many windows had to be embedded; ``log`` is told how far that has come.

    Raises:
        LakeError: there are no chunks.
    """
    if not chunks.num_rows:
        raise LakeError("There are no chunks to index.", "Check the pages of the filing: finrag filings.")
    units, texts = _windows(chunks, encoder)
    missing = encoder.missing(texts)
    done = 0

    def progress(count: int) -> None:
        nonlocal done
        done += count
        if log and done % 512 < count:
            log(f"embedded {done} of {missing} windows")

    vectors, pooled = encoder.embed(texts, progress), encoder.settings.pooling == "mean"
    if pooled:
        vectors = pool_windows(vectors, [len(windows) for *_, windows in units])
    rows = [(*chunk, [text] if pooled else windows) for *chunk, text, windows in units]
    return index.replace_filing(units[0][1], index_rows(rows, vectors)), missing


def embed_chunks(chunks: pa.Table, encoder: Encoder) -> None:
    """Put the vectors of rows of ``filing_chunks`` into the cache, where `index_chunks` finds them."""
    encoder.embed(_windows(chunks, encoder)[1])


def _windows(chunks: pa.Table, encoder: Encoder) -> tuple[list[tuple[Any, ...]], list[str]]:
    """Identity, text and windows of each chunk, and all windows."""
    columns = ("chunk_id", "filing", "page", "kind", "text")
    identity = zip(*(chunks[name].to_pylist() for name in columns), strict=True)
    units = [(*chunk, encoder.windows(chunk[-1])) for chunk in identity]
    return units, [window for *_, windows in units for window in windows]


def searchable_filings(lake: Lake, chunking: Chunking = FIXED) -> tuple[str, ...]:
    """Filings whose chunks are in the lake."""
    return tuple(keys["filing"] for keys in lake.partitions(chunking.table))
