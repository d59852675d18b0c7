"""Which filings are stale: compares the lake with the fingerprints its parts should have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from finrag_pipeline.chunking.registry import Chunking
from finrag_pipeline.errors import LakeError
from finrag_pipeline.filings.intake import FilingSource
from finrag_pipeline.orchestration.fingerprints import (
    identity,
    made_from,
    part_made_from,
    source_facts,
    versions,
)
from finrag_pipeline.orchestration.resources.settings import get_encoder
from finrag_pipeline.retrieval.chunk_index import open_chunk_index
from finrag_pipeline.schemas import PER_FILING
from finrag_pipeline.schemas.catalogue import CATALOGUE, Entry
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    import dagster as dg


def stale_filings(
    lake: Lake, settings: Settings, sources: Sequence[FilingSource], instance: dg.DagsterInstance
) -> list[str]:
    """Filings of which some asset is missing, made from something else, or unknown to the instance."""
    import dagster as dg

    encoder = get_encoder(settings, lake)
    rows = {row["filing"]: row for row in lake.read_all("filings").to_pylist()}
    materialised = [instance.get_materialized_partitions(dg.AssetKey(name)) for name in PER_FILING]

    def fresh(source: FilingSource) -> bool:
        key, wanted = source.filing, dict[str, str]()
        # A worse version was refused: with the sound one at hand again, the note goes.
        refused = (lake.ledger_entry("filings", key) or {}).get("outcome") == "failed"
        if key not in rows or refused or not all(key in known for known in materialised):
            return False

        def read(one: Entry) -> object:
            return identity(rows[key]) if one.name == "filings" else wanted[one.name]

        for name in PER_FILING:
            wanted[name] = made_from(name, read, settings, encoder, *source_facts(name, source))
            info = lake.info(name, {"filing": key})
            if info is None or info.fingerprint != wanted[name]:
                return False
        return True

    return [source.filing for source in sources if not fresh(source)]


def stale_on_demand(
    lake: Lake, settings: Settings, chunking: Chunking, filings: Sequence[str], embedded: bool = True
) -> list[str]:
    """Filings whose chunks, or their vectors, are missing or made from something else.

    Args:
        lake: of the filings.
        settings: of the run.
        chunking: of the chunks.
        filings: looked at.
        embedded: whether vectors are wanted; the chunks alone when False.
    """
    encoder = get_encoder(settings, lake)
    vectors = open_chunk_index(lake, encoder, settings, chunking).count_by_filing() if embedded else None

    def fresh(filing: str) -> bool:
        partition = {"filing": filing}
        try:
            wanted = part_made_from(chunking.table, lake, partition, settings)
        except LakeError:
            return False
        chunks = lake.info(chunking.table, partition)
        if chunks is None or chunks.fingerprint != wanted:
            return False
        if vectors is None:
            return True
        entry = lake.ledger_entry(chunking.index, filing) or {}
        return (
            entry.get("fingerprint") == part_made_from(chunking.index, lake, partition, settings)
            and entry.get("rows") == vectors[filing] > 0
        )

    return [filing for filing in filings if not fresh(filing)]


def code_state() -> dict[str, tuple[str, ...]]:
    """Versions of all code that makes something."""
    return {name: versions(name) for name in CATALOGUE}
