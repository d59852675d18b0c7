"""What parts are made from, by the catalogue: the fingerprints to compare the lake with, and what is stale.

Used by the assets to skip work, and by the command line to know what is stale without running anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from finrag_pipeline.chunking.registry import Chunking
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.embedding.model_files import tokenizer_fingerprint
from finrag_pipeline.errors import LakeError
from finrag_pipeline.filings.originals import FilingSource
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


def identity(filing: Mapping[str, Any]) -> list[str]:
    """Of a row of ``filings``, what the other tables of the filing are made from."""
    return [str(filing[column]) for column in _IDENTITY]


def source_facts(name: str, source: FilingSource) -> list[Any]:
    """Of an original, what ``filings`` and ``filing_pages`` are made from; nothing for other entries."""
    if name == "filings":
        return [source.sha256, source.file_name, source.document_information]
    return [source.sha256, source.source] if name == "filing_pages" else []


def made_from(
    name: str, inputs: Callable[[Entry], Any], settings: Settings, encoder: Encoder, *others: Any
) -> str:
    """Fingerprint of a part: code, inputs, settings.

    Args:
        name: of its entry.
        inputs: what each input is, plain values.
        settings: of the run.
        encoder: in use.
        *others: what else decides it.
    """
    entry = CATALOGUE[name]
    read = [inputs(CATALOGUE[one]) for one in entry.inputs]
    chosen = [_setting(one, settings, encoder) for one in entry.settings]
    return fingerprint(name, *versions(name), *read, *chosen, *others)


def _setting(name: str, settings: Settings, encoder: Encoder) -> Any:
    if name == "encoder":
        return encoder.fingerprint
    if name == "tokenizer":
        return tokenizer_fingerprint(settings.encoder)
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


def part_made_from(
    name: str, store: Lake, partition: Mapping[str, str], settings: Settings, *others: Any
) -> str:
    """`made_from` with the inputs that the lake holds.

    Args:
        name: of the entry.
        store: the lake.
        partition: hive keys of the part; empty for a single part.
        settings: of the run.
        *others: what else decides it.

    Raises:
        LakeError: an input of the same partition is missing.
    """
    entry = CATALOGUE[name]

    def read(one: Entry) -> Any:
        if not entry.by or one.by != entry.by:
            return store.fingerprints(one.folder)
        if one.name == "filings":
            return identity(store.read("filings", partition).to_pylist()[0])
        if info := store.info(one.folder, partition):
            return info.fingerprint
        of = ", ".join(partition.values())
        raise LakeError(f"The lake holds no {one.name} of '{of}'.", f"Materialise {one.name} first.")

    return made_from(name, read, settings, get_encoder(settings, store), *others)


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
