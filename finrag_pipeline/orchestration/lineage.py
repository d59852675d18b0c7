"""What parts are made from, by the catalogue: the fingerprints to compare the lake with, and what is stale.

Used by the assets to skip work, and by the command line to know what is stale without running anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from finrag_pipeline.chunking.registry import Chunking
from finrag_pipeline.embedding.model_files import tokenizer_fingerprint
from finrag_pipeline.errors import LakeError
from finrag_pipeline.filings.originals import FilingSource
from finrag_pipeline.filings.pages import other_reader_version
from finrag_pipeline.orchestration.resources import get_encoder
from finrag_pipeline.retrieval.chunk_index import open_chunk_index
from finrag_pipeline.schemas import PER_FILING
from finrag_pipeline.schemas.catalogue import CATALOGUE, Entry
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    import dagster as dg

_IDENTITY = ("filing", "company", "declared_company", "form", "fiscal_year", "fiscal_quarter", "period_end")
"""Columns of ``filings`` that the other tables of a filing are made from."""


def versions(name: str) -> tuple[str, ...]:
    """Versions of the code that makes an entry of the catalogue."""

    def version(code: str) -> str:
        found = resolve_name(f"finrag_pipeline.{code}") if ":" in code else code
        return str(found() if callable(found) else found)

    return tuple(map(version, CATALOGUE[name].code))


def source_facts(name: str, source: FilingSource) -> list[Any]:
    """Of an original, what ``filings`` and ``filing_pages`` are made from; nothing for other entries."""
    if name == "filings":
        found = [source.sha256, source.file_name, source.document_information]
    else:
        found = [source.sha256, source.source] if name == "filing_pages" else []
    return [*found, *other_reader_version(source.source)] if found else []


def part_made_from(
    name: str, store: Lake, partition: Mapping[str, str], settings: Settings, *others: Any
) -> str:
    """Fingerprint of a part as it should be: code, inputs that the lake holds, settings, and ``others``.

    Raises:
        LakeError: an input of the same partition is missing.
    """
    entry, encoder = CATALOGUE[name], get_encoder(settings, store)

    def read(one: Entry) -> Any:
        if not entry.by or one.by != entry.by:
            return store.fingerprints(one.folder)
        if one.name == "filings":
            (filing,) = store.read("filings", partition, _IDENTITY).to_pylist()
            return [str(filing[column]) for column in _IDENTITY]
        if info := store.info(one.folder, partition):
            return info.fingerprint
        of = ", ".join(partition.values())
        raise LakeError(f"The lake holds no {one.name} of '{of}'.", f"Materialise {one.name} first.")

    def setting(named: str) -> Any:
        if named == "encoder":
            return encoder.fingerprint
        if named == "tokenizer":
            return tokenizer_fingerprint(settings.encoder)
        return attrgetter(named)(settings)

    inputs = [read(CATALOGUE[one]) for one in entry.inputs]
    return fingerprint(name, *versions(name), *inputs, *map(setting, entry.settings), *others)


def _is_fresh(name: str, lake: Lake, filing: str, settings: Settings, *others: Any) -> bool:
    """Whether the part of a filing, and its inputs in the lake, are there and it was made from them."""
    partition = {"filing": filing}
    info = lake.info(name, partition)
    try:
        return info is not None and info.fingerprint == part_made_from(
            name, lake, partition, settings, *others
        )
    except LakeError:
        return False


def stale_filings(
    lake: Lake, settings: Settings, sources: Sequence[FilingSource], instance: dg.DagsterInstance
) -> list[str]:
    """Filings of which some asset is missing, made from something else, or unknown to the instance."""
    import dagster as dg

    materialised = [instance.get_materialized_partitions(dg.AssetKey(name)) for name in PER_FILING]

    def fresh(source: FilingSource) -> bool:
        key = source.filing
        # A worse version was refused: with the sound one at hand again, the note goes.
        refused = (lake.ledger_entry("filings", key) or {}).get("outcome") == "failed"
        # In the order in which they are made: inputs have been looked at.
        return (
            not refused
            and all(key in known for known in materialised)
            and all(_is_fresh(name, lake, key, settings, *source_facts(name, source)) for name in PER_FILING)
        )

    return [source.filing for source in sources if not fresh(source)]


def stale_on_demand(
    lake: Lake, settings: Settings, chunking: Chunking, filings: Sequence[str], embedded: bool = True
) -> list[str]:
    """Filings whose chunks, or their vectors where these are wanted, are missing or of something else."""
    encoder = get_encoder(settings, lake)
    vectors = open_chunk_index(lake, encoder, settings, chunking).count_by_filing() if embedded else None

    def fresh(filing: str) -> bool:
        if not _is_fresh(chunking.table, lake, filing, settings):
            return False
        if vectors is None:
            return True
        entry = lake.ledger_entry(chunking.index, filing) or {}
        wanted = part_made_from(chunking.index, lake, {"filing": filing}, settings)
        return entry.get("fingerprint") == wanted and entry.get("rows") == vectors[filing] > 0

    return [filing for filing in filings if not fresh(filing)]
