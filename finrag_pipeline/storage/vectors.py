"""Vectors in LanceDB: one table per index, text and filter columns beside each vector.

A filing is replaced in one table version, so that a reader sees all of its old rows or all of its new
ones. Searches apply their filter before ranking (a pre-filter).
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from finrag_pipeline.errors import DamageError, LakeError
from finrag_pipeline.storage.fingerprints import file_sha256, text_hash
from finrag_pipeline.storage.model_folders import user_cache
from finrag_pipeline.storage.optional_imports import without
from finrag_pipeline.storage.warehouse import literal

# Partitions of an approximate index that a search reads; candidates per result that it scores again.
_PROBES, _REFINE = 64, 5
_OUTSIDE = re.compile(
    r"permission denied|Too many open files|No space left|conflict|error sending request|HTTP error",
    re.IGNORECASE,
)
"""What LanceDB's errors say where the fault is not in its files."""


@dataclass(frozen=True)
class VectorFilter:
    """Which rows a search may return: all conditions at once; None allows all.

    Attributes:
        pages: zero-based pages, of whatever filing.
        kinds: of units.
        locations: pages of single filings, as (filing, zero-based page).
    """

    filings: tuple[str, ...] | None = None
    pages: tuple[int, ...] | None = None
    kinds: tuple[str, ...] | None = None
    locations: tuple[tuple[str, int], ...] | None = None

    def sql(self) -> str | None:
        """The filter as a condition, or None when it keeps everything."""
        fields: dict[str, Sequence[str | int] | None]
        fields = {"filing": self.filings, "page": self.pages, "kind": self.kinds}
        terms = [_among(column, values) for column, values in fields.items() if values is not None]
        if self.locations is not None:
            pages_of: dict[str, set[int]] = {}
            for filing, page in self.locations:
                pages_of.setdefault(filing, set()).add(page)
            each = [
                f"(filing = {literal(filing)} AND {_among('page', sorted(pages))})"
                for filing, pages in sorted(pages_of.items())
            ]
            terms.append(f"({' OR '.join(each)})" if each else "false")
        return " AND ".join(terms) or None


def _among(column: str, values: Sequence[str | int]) -> str:
    found = [literal(value) if isinstance(value, str) else str(int(value)) for value in values]
    return f"{column} IN ({', '.join(found)})" if found else "false"


def index_schema(dimensions: int) -> pa.Schema:
    """Columns of an index: identity, filter columns, text and a float32 vector of ``dimensions``."""
    columns = dict.fromkeys(("vector_id", "unit_id", "filing", "page", "kind", "text"), pa.string())
    columns |= {"page": pa.int32(), "vector": pa.list_(pa.float32(), dimensions)}
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns.items()])


def index_rows(units: list[tuple[str, str, int, str, list[str]]], vectors: np.ndarray) -> pa.Table:
    """Rows of an index.

    Args:
        units: what is ranked (a chunk or a page): identifier, filing, page, kind and its windows' texts.
        vectors: one per window, in order; shape (windows, dimensions).
    """
    schema = index_schema(int(vectors.shape[1]))
    rows = [
        {
            **{"vector_id": f"{unit}/w{n}", "unit_id": unit, "filing": filing},
            **{"page": page, "kind": kind, "text": text},
        }
        for unit, filing, page, kind, texts in units
        for n, text in enumerate(texts)
    ]
    values = pa.array(vectors.astype(np.float32).ravel())
    column = pa.FixedSizeListArray.from_arrays(values, type=schema.field("vector").type)
    table = pa.Table.from_pylist(rows, pa.schema(list(schema)[:-1]))
    return table.append_column(schema.field("vector"), column)


class VectorIndex:
    """One LanceDB table.

    Args:
        exact_below: rows from which on `optimize` builds an approximate index; a search that may
            return fewer rows than this is exact all the same.
    """

    def __init__(self, uri: str, name: str, exact_below: int = 200_000) -> None:
        with without("pandas"):
            import lancedb

        self._database = lancedb.connect(uri, storage_options=_options(uri))
        self._uri = uri
        self.name = name
        self.exact_below = exact_below
        self._table: Any = None
        self._counted: tuple[int, Counter[str]] | None = None

    def _open(self) -> Any:
        if self._table is None:
            with self._reading():
                try:
                    self._table = self._database.open_table(self.name)
                except (ValueError, FileNotFoundError) as error:
                    raise LakeError(
                        f"There is no vector index '{self.name}'.", "Materialise chunk_index first."
                    ) from error
        with self._reading():
            self._table.checkout_latest()
        return self._table

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """LanceDB tells of missing and damaged files by errors of several kinds."""
        try:
            yield
        except (OSError, RuntimeError, ValueError) as error:
            reason = " ".join(str(error).split()).split(", /root/", 1)[0]
            if _OUTSIDE.search(reason):
                remedy = "Check the disk of the lake, or the connection to it."
                raise LakeError(f"{self.name} cannot be read: {reason}.", remedy) from error
            self._table = None
            raise DamageError(f"The vector index {self.name} is damaged ({reason}).", self.path) from error

    @property
    def path(self) -> str:
        """Its folder below the root of the lake."""
        return f"{Path(self._uri).name}/{self.name}.lance"

    def _seal(self) -> None:
        """Keep the hashes of its files; a file is written once, and read again only to be checked."""
        if "://" not in self._uri:
            known = self._sealed()
            files = {one.name: one for one in Path(self._uri, f"{self.name}.lance", "data").glob("*.lance")}
            hashes = {name: known.get(name) or file_sha256(file) for name, file in files.items()}
            temporary = self._seals.with_suffix(f".{uuid.uuid4().hex}.tmp")
            temporary.write_text(json.dumps(hashes, sort_keys=True))
            temporary.replace(self._seals)

    @property
    def _seals(self) -> Path:
        return Path(self._uri, f".{self.name}.sha256.json")

    def _sealed(self) -> dict[str, str]:
        try:
            return dict(json.loads(self._seals.read_text()))
        except (OSError, ValueError):
            return {}

    def verify(self) -> None:
        """Read what it needs for a search, and its files against the hashes that they were written with.

        Raises:
            DamageError: a file is missing, or is not as it was written.
        """
        with one_writer(self._uri):
            try:
                self._open()
            except DamageError:
                raise
            except LakeError:
                return  # it was never made
            self.count_by_filing()
            for name, sha256 in self._sealed().items():
                file = Path(self._uri, f"{self.name}.lance", "data", name)
                if not file.is_file() or file_sha256(file) != sha256:
                    what = f"The vector index {self.name} is damaged ({name} is not as it was written)."
                    raise DamageError(what, self.path)

    def exists(self) -> bool:
        """Whether the table has been made."""
        with suppress(LakeError):
            return self._open() is not None
        return False

    def replace_filing(self, filing: str, rows: pa.Table) -> int:
        """Replace all rows of a filing by ``rows``, in one version; returns the number of rows.

        Raises:
            LakeError: a row belongs to another filing.
        """
        if set(rows["filing"].to_pylist()) - {filing}:
            raise LakeError(f"Rows of another filing among those of '{filing}'.", "Pass rows of one filing.")
        with one_writer(self._uri), self._reading():
            table = self._database.create_table(self.name, schema=rows.schema, exist_ok=True)
            merge = table.merge_insert("vector_id").when_matched_update_all().when_not_matched_insert_all()
            merge.when_not_matched_by_source_delete(f"filing = {literal(filing)}").execute(rows)
            self._seal()
        self._table = None
        return rows.num_rows

    def version(self) -> int:
        """Version of the table; it changes with every write.

        Raises:
            LakeError: the table does not exist.
        """
        return int(self._open().version)

    def count(self, filing: str | None = None) -> int:
        """Rows of a filing, or of the whole index; 0 when it does not exist yet."""
        if not self.exists():
            return 0
        table = self._open()
        with self._reading():
            return int(table.count_rows(f"filing = {literal(filing)}" if filing else None))

    def count_by_filing(self) -> Counter[str]:
        """Rows of each filing; the column is read once for every version of the table."""
        if not self.exists():
            return Counter()
        version = self.version()
        if self._counted is None or self._counted[0] != version:
            query = self._open().search().select(["filing"]).limit(self.count() or 1)
            with self._reading():
                table = query.to_arrow()
            self._counted = version, Counter(table["filing"].to_pylist())
        return Counter(self._counted[1])

    def filings(self) -> set[str]:
        """Filings that have rows."""
        return set(self.count_by_filing())

    def remove(self, filings: Collection[str]) -> None:
        """Remove filings."""
        if filings and self.exists():
            with one_writer(self._uri):
                table = self._open()
                with self._reading():
                    table.delete(_among("filing", tuple(filings)))
                self._seal()

    def search(self, vector: np.ndarray, units: int, where: VectorFilter) -> list[dict[str, Any]]:
        """The best ``units`` units, each by its best vector (max over its windows).

        Returns:
            Dictionaries with unit_id, filing, page, text (of the best window) and score (cosine), best
            first; ties in order of unit_id.
        """
        table = self._open()
        condition = where.sql()
        with self._reading():
            total = int(table.count_rows(condition))
        limit = min(total, units * 4)
        while limit:
            query = table.search(vector.astype(np.float32)).distance_type("dot").limit(limit)
            if condition:
                query = query.where(condition, prefilter=True)
            if total < self.exact_below:
                query = query.bypass_vector_index()
            else:
                # Candidates of the approximate index are scored again with their full vectors.
                query = query.nprobes(_PROBES).refine_factor(_REFINE)
            with self._reading():
                shown = query.select(["unit_id", "filing", "page", "text", "_distance"])
                found = shown.to_arrow().to_pylist()
            best: dict[str, dict[str, Any]] = {}
            for row in found:
                # For unit vectors LanceDB's dot distance is 1 - cosine.
                row["score"] = 1.0 - row.pop("_distance")
                if row["unit_id"] not in best or row["score"] > best[row["unit_id"]]["score"]:
                    best[row["unit_id"]] = row
            ranked = sorted(best.values(), key=lambda row: (-row["score"], row["unit_id"]))[:units]
            # Rows that tie with the last one found may have been cut off: the ranking stands only when
            # its last unit is better than that row.
            cut_off = min((row["score"] for row in found), default=0.0)
            if limit >= total or (len(ranked) == units and ranked[-1]["score"] > cut_off):
                return ranked
            limit = min(total, limit * 2)
        return []

    def optimize(self) -> None:
        """Compact files, drop versions older than a day, and index when the table has grown large."""
        from lancedb.index import Bitmap, BTree, IvfPq

        if not self.exists():
            return
        with one_writer(self._uri):
            table = self._open()
            with self._reading():
                table.optimize(cleanup_older_than=timedelta(days=1))
            indexed = {column for index in table.list_indices() for column in index.columns}
            configs = {"filing": Bitmap(), "page": BTree(), "vector": IvfPq(distance_type="dot")}
            if table.count_rows() >= self.exact_below:
                for column in [name for name in configs if name not in indexed]:
                    table.create_index(column, config=configs[column])
            self._seal()


@contextmanager
def one_writer(uri: str) -> Iterator[None]:
    """Let one process of this machine write at a time.

    Writers that make a table at once lose rows, and those that insert the same rows at once keep both
    (merge-insert knows no primary key). The pool of the runs does not keep them apart for certain: SQLite,
    which keeps it here, can give its one slot to two runs that ask together. Between machines that write to
    one object store the pool, kept in PostgreSQL, is all there is.
    """
    from filelock import FileLock

    place = user_cache("locks") / f"{text_hash(uri)}.lock" if "://" in uri else Path(uri) / ".writer.lock"
    place.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(place):
        yield


def _options(uri: str) -> dict[str, str] | None:
    """What LanceDB has to be told of an object store; address and keys it takes from ``AWS_…`` itself."""
    if "://" not in uri:
        return None
    plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://")
    # By itself it gives up after half a second.
    return {"allow_http": str(plain).lower(), "client_max_retries": "7"}
