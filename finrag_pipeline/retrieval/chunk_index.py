"""The LanceDB table of chunks: its name, how a filing enters it, and which filings a system can search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.chunking.parent_child import CHILDREN, PARENTS
from finrag_pipeline.chunking.registry import CONTEXTUAL, FIXED, PARENT_CHILD, Chunking, get_chunking
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.embedding.windows import mean_pool
from finrag_pipeline.errors import LakeError
from finrag_pipeline.retrieval.system import RetrievalSystem
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
    return chunks.filter(pc.is_in(chunks["kind"], pa.array(chunking.indexed)))


def index_chunks(
    chunks: pa.Table, encoder: Encoder, index: VectorIndex, log: Callable[[str], object] | None = None
) -> tuple[int, int]:
    """Replace the rows of one filing in the index.

    Args:
        chunks: rows of ``filing_chunks`` of one filing.
        encoder: embeds the windows of the chunks.
        index: the table.
        log: told how far a long embedding has come.

    Returns:
        Rows written, and how many windows had to be embedded anew.

    Raises:
        LakeError: there are no chunks.
    """
    if not chunks.num_rows:
        raise LakeError("There are no chunks to index.", "Check the pages of the filing: finrag filings.")
    identity = zip(
        *(chunks[name].to_pylist() for name in ("chunk_id", "filing", "page", "kind", "text")), strict=True
    )
    units = [(*chunk, encoder.windows(chunk[-1])) for chunk in identity]
    texts = [window for *_, windows in units for window in windows]
    missing = encoder.missing(texts)
    done = 0

    def progress(count: int) -> None:
        nonlocal done
        done += count
        if log and done % 512 < count:
            log(f"embedded {done} of {missing} windows")

    vectors = encoder.embed(texts, progress)
    if encoder.settings.pooling == "mean":
        pooled, start = [], 0
        for *_, windows in units:
            pooled.append(mean_pool(vectors[start : start + len(windows)]))
            start += len(windows)
        rows = [(*chunk, [text]) for *chunk, text, _ in units]
        return index.replace_filing(units[0][1], index_rows(rows, np.stack(pooled))), missing
    windowed = [(*chunk, windows) for *chunk, _, windows in units]
    return index.replace_filing(units[0][1], index_rows(windowed, vectors)), missing


def searchable_filings(lake: Lake, chunking: Chunking = FIXED) -> tuple[str, ...]:
    """Filings whose chunks are in the lake."""
    return tuple(keys["filing"] for keys in lake.partitions(chunking.table))


_SHOWN = 3
FINISH = "Wait for the run that makes it, or run 'finrag run' or 'finrag ingest FILE' again."
"""What to do about a filing that is not complete."""


@dataclass(frozen=True)
class Completeness:
    """Which filings a system can search.

    Attributes:
        complete: filings of which the lake holds all that it searches, sorted.
        missing: what has yet to be made of the others, by filing.
    """

    complete: tuple[str, ...]
    missing: dict[str, str]

    @property
    def warnings(self) -> list[str]:
        """What is not searched and why, for people."""
        if not self.missing:
            return []
        names = ", ".join(sorted(self.missing)[:_SHOWN]) + (" …" if len(self.missing) > _SHOWN else "")
        steps = ", ".join(sorted(set(self.missing.values())))
        return [f"{len(self.missing)} filings are not searched, {steps} is not made yet: {names}. {FINISH}"]


def complete_filings(
    lake: Lake, system: RetrievalSystem, settings: Settings, encoder: Encoder
) -> Completeness:
    """The filings that ``system`` can search; one is incomplete while it is ingested and after a killed run.

    For searching only: what is measured has a corpus of its own, in which an incomplete filing is an error.

    Args:
        lake: holds chunks, vectors, and the parts that a system reads besides.
        system: what searches.
        settings: of the system.
        encoder: made the vectors.

    Raises:
        LakeError: there are filings, but none is complete.
    """
    chunking = get_chunking(system.chunking)
    vectors = [chunking] if system.needs_encoder() else []
    parts = ["statement_facts"] if system.filter == "statements" else []
    if system.shows_pages():
        vectors = list(dict.fromkeys([*vectors, FIXED, CONTEXTUAL]))
        parts += ["page_profiles", "page_sentences"]
    have = {chunking.table: set(searchable_filings(lake, chunking))}
    made_from = {}
    for chunked in vectors:
        have[chunked.index] = open_chunk_index(lake, encoder, settings, chunked).filings()
        made_from[chunked.index] = chunked.table
    for part in parts:
        have[part] = {keys["filing"] for keys in lake.partitions(part)}
        made_from[part] = "filing_pages"
    missing = {}
    known = have[chunking.table].union(searchable_filings(lake))
    for filing in sorted(known):
        for step, filings in have.items():
            if filing not in filings or (
                step in made_from and _is_outdated(lake, filing, step, made_from[step])
            ):
                missing[filing] = step
                break
    found = Completeness(tuple(sorted(known - missing.keys())), missing)
    if known and not found.complete:
        steps = ", ".join(sorted(set(missing.values())))
        raise LakeError(f"No filing can be searched with '{system.name}': {steps} is not made.", FINISH)
    return found


def _is_outdated(lake: Lake, filing: str, step: str, source: str) -> bool:
    """Whether ``step`` failed, or has yet to follow a new version of the ``source`` that it is made from."""
    made, before = lake.ledger_entry(step, filing), lake.ledger_entry(source, filing)
    if made is None or before is None:
        return False
    return made["outcome"] == "failed" or (
        before["outcome"] == "materialised" and str(made["at"]) < str(before["at"])
    )
