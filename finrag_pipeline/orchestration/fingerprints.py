"""What each part should have been made from: the fingerprints to compare the lake with.

Used by the assets to skip work, and by the command line to know what is stale without running anything.
"""

from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import Any

from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.embedding.model_files import tokenizer_fingerprint
from finrag_pipeline.errors import LakeError
from finrag_pipeline.filings.intake import FilingSource
from finrag_pipeline.orchestration.resources.settings import get_encoder
from finrag_pipeline.schemas.catalogue import CATALOGUE, Entry
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

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
