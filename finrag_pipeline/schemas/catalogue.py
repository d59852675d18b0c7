"""The catalogue: everything that is made, as ``tables.toml`` declares it.

From it come the columns of tables; dependencies, code versions, partitions and groups of the assets;
fingerprints and what is stale; jobs and what sensors watch; what a killed run was making; what a search
reads; and what the warehouse holds.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

INDEX_FILING = "index_filing"
INDEX_ON_DEMAND = "index_on_demand"
VECTORS = "lance_write"
"""Pool of what writes vectors; one slot by the instance's default limit, as every pool."""

_DATA_GROUPS = frozenset({"ingestion", "tables", "chunking", "indexing"})


@dataclass(frozen=True)
class Entry:
    """A table of the lake, or something else that is made.

    Attributes:
        name: of its asset.
        group: part of the graph that it belongs to.
        job: what makes it.
        code: constants that change with the code that makes it, as ``module:name`` below the package.
        inputs: what it is made from: the same part of what is cut alike, all of everything else. Of
            ``filings`` what is made of a filing reads its identity alone. A star means every table before it.
        settings: values of the settings that decide it, by dotted name. ``encoder`` stands for the model's
            fingerprint, ``tokenizer`` for that of its tokenizer.
        by: what a part is of: a ``filing``, a ``model`` (trained without a fold), a ``run`` (of a retrieval
            system on a fold), an ``answer`` (of an answering system on a fold); empty for a single part.
        after: what must have been made before although nothing of it is read.
        is_table: whether its rows are in the lake.
        rows_of: the table that its rows go to when that is not one of its own.
        kinds: tags that the graph shows besides the language, and Parquet for tables.
        automation: what re-runs it by itself: changed ``data`` of its filing (as everything does that is made
            of each filing), or a change of the ``corpus``.
        pool: of steps of which one runs at a time.
        watched: its age matters: the graph warns after a night without a run.
    """

    name: str
    group: str
    job: str
    code: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    by: str = ""
    after: tuple[str, ...] = ()
    is_table: bool = True
    rows_of: str = ""
    kinds: tuple[str, ...] = ()
    automation: str = ""
    pool: str = ""
    watched: bool = False

    @property
    def folder(self) -> str:
        """The table that its rows go to; empty when it is no table."""
        return (self.rows_of or self.name) if self.is_table else ""

    @property
    def tags(self) -> set[str]:
        """What the graph shows it to be made with."""
        return {"python", *(["parquet"] if self.is_table else []), *self.kinds}

    @property
    def owner(self) -> str:
        """The team that owns it."""
        return f"team:{'data' if self.group in _DATA_GROUPS else 'ml'}-engineering"


DECLARED: dict[str, dict[str, Any]] = tomllib.loads(
    (files("finrag_pipeline.schemas") / "tables.toml").read_text(encoding="utf-8")
)
"""Contents of ``tables.toml``."""


def _read() -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for name, said in DECLARED.items():
        if "job" not in said:
            continue  # columns alone: caches and the ledger are no assets
        fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in said.items()
            if key not in ("columns", "like")
        }
        if fields.get("inputs") == ("*",):
            fields["inputs"] = tuple(one.name for one in found.values() if one.is_table)
        if fields["job"] == INDEX_FILING and (fields.get("inputs") or fields.get("after")):
            fields["automation"] = "data"
        found[name] = Entry(name, **fields)
    return found


CATALOGUE = _read()
"""Every entry by name, in the order in which things are made."""

FOLDERS = {one.folder: one for one in reversed(CATALOGUE.values()) if one.folder}
"""The first entry that writes to each folder of the lake: the tables of the warehouse."""


def made_by(job: str) -> tuple[str, ...]:
    """What a job makes, in the order in which it is made."""
    return tuple(entry.name for entry in CATALOGUE.values() if entry.job == job)


def ancestors(names: Iterable[str]) -> set[str]:
    """Everything that must have been made before one of ``names``, however far up."""
    near = {one for name in names for one in (*CATALOGUE[name].inputs, *CATALOGUE[name].after)}
    return near | ancestors(near) if near else near
