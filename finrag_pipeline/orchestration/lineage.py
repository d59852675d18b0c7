"""What parts are made from, by the catalogue: the fingerprints to compare the lake with, and what is stale.

Used by the assets to skip work, and by the command line to know what is stale without running anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
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
from finrag_pipeline.storage.fingerprints import canonical_json, fingerprint
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


def made_from(
    name: str, store: Lake, partition: Mapping[str, str], settings: Settings, *others: Any
) -> dict[str, Any]:
    """What a part should be made from: its ``code``, inputs that the lake holds, settings, ``others``.

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

    return {
        "code": versions(name),
        **{one: read(CATALOGUE[one]) for one in entry.inputs},
        **{f"setting {named}": setting(named) for named in entry.settings},
        "source": others,
    }


def part_fingerprint(name: str, parts: Mapping[str, Any]) -> str:
    """Fingerprint of a part that is made from what `made_from` gives."""
    between = [value for kind, value in parts.items() if kind not in ("code", "source")]
    return fingerprint(name, *parts["code"], *between, *parts["source"])


def short_hashes(parts: Mapping[str, Any]) -> str:
    """What the ledger keeps of `made_from`: JSON of a short hash of each, to tell later what has changed."""
    return canonical_json({kind: fingerprint(value)[:8] for kind, value in parts.items()})


def why_stale(
    lake: Lake, settings: Settings, sources: Sequence[FilingSource]
) -> Iterator[tuple[str, str, str]]:
    """Asset, filing and reason of each part of a filing that the next run would make."""
    for source in sources:
        key, again = source.filing, set[str]()
        for name in PER_FILING:
            why = _why_stale(name, lake, settings, source, again)
            if why:
                again.add(name)
                yield name, key, why


def _why_stale(
    name: str, lake: Lake, settings: Settings, source: FilingSource, again: set[str]
) -> str | None:
    partition = {"filing": source.filing}
    entry = lake.ledger_entry(name, source.filing) or {}
    # A worse version was refused: with the sound one at hand again, the note goes. So does that of a step
    # whose process died when its part was written already.
    if entry.get("outcome") == "failed":
        return f"failed: {entry['error']}"
    info = lake.info(name, partition)
    if info is None:
        return "not made yet"
    if first := [one for one in CATALOGUE[name].inputs if one in again]:
        return f"{', '.join(first)} is made again, and may change"
    try:
        wanted = made_from(name, lake, partition, settings, *source_facts(name, source))
    except LakeError as error:
        return error.reason
    if info.fingerprint == part_fingerprint(name, wanted):
        return None
    known = json.loads(entry.get("made_from") or "{}")
    now = json.loads(short_hashes(wanted))
    changed = [kind for kind in now if known.get(kind) != now[kind]]
    return f"changed: {', '.join(changed)}" if known and changed else "made from something else"


def stale_filings(
    lake: Lake, settings: Settings, sources: Sequence[FilingSource], instance: dg.DagsterInstance
) -> list[str]:
    """Filings of which some asset is missing, made from something else, or unknown to the instance."""
    import dagster as dg

    materialised = [instance.get_materialized_partitions(dg.AssetKey(name)) for name in PER_FILING]

    def fresh(source: FilingSource) -> bool:
        known = all(source.filing in keys for keys in materialised)
        return known and next(why_stale(lake, settings, [source]), None) is None

    return [source.filing for source in sources if not fresh(source)]


def stale_on_demand(
    lake: Lake, settings: Settings, chunking: Chunking, filings: Sequence[str], embedded: bool = True
) -> list[str]:
    """Filings whose chunks, or their vectors where these are wanted, are missing or of something else."""
    encoder = get_encoder(settings, lake)
    vectors = open_chunk_index(lake, encoder, settings, chunking).count_by_filing() if embedded else None

    def wanted(name: str, filing: str) -> str:
        return part_fingerprint(name, made_from(name, lake, {"filing": filing}, settings))

    def fresh(filing: str) -> bool:
        info = lake.info(chunking.table, {"filing": filing})
        with suppress(LakeError):  # an input is missing
            if info is None or info.fingerprint != wanted(chunking.table, filing):
                return False
            if vectors is None:
                return True
            entry = lake.ledger_entry(chunking.index, filing) or {}
            made = entry.get("fingerprint") == wanted(chunking.index, filing)
            return made and entry.get("rows") == vectors[filing] > 0
        return False

    return [filing for filing in filings if not fresh(filing)]
