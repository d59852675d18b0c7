"""The lake: Parquet parts in hive layout, each with its fingerprint in the footer.

One part per filing, fold or system, written in one step, so that a reader or a killed run never sees half
a part: in a folder under a temporary name that is renamed, in an object store as one object. Paths go
through fsspec: the root may be either. The ledger (one small JSON file per asset and partition) tells how
each step last ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

from finrag_pipeline.errors import DamageError, LakeError, refused
from finrag_pipeline.schemas import TABLES, conform
from finrag_pipeline.storage.fingerprints import text_hash
from finrag_pipeline.storage.model_folders import user_cache
from finrag_pipeline.storage.optional_imports import without
from finrag_pipeline.storage.processes import is_alive, process_name

with without("pandas"):
    pa.scalar(0)  # PyArrow looks for pandas once, at the first value that it converts

A = TypeVar("A")
B = TypeVar("B")
_STORE = "finrag_pipeline.storage.object_store.ObjectStore"
_NO_S3 = "Install finrag_pipeline[s3]"
_AT_A_TIME = 16
_PART = "data.parquet"
_BUFFER = 1 << 16
_FOOTER = 1 << 18
"""Bytes at the end of a part that hold its footer."""
_FINGERPRINT = b"finrag.fingerprint"
_SHA256 = b"finrag.sha256"
_LENGTH = 64
_NO_SHA256 = b"0" * _LENGTH
_MARK = _SHA256 + b"\x18" + bytes([_LENGTH])
"""What stands before the hash of a part in its footer: its key, and that a value of this length follows."""
_ASIDE = "damaged"
_BEGUN = ".begun"
_STATE = "state"
DIED = {
    "outcome": "failed",
    "error": "The process that was making it died.",
    "remedy": "Run it again: what was done is kept, the rest is finished.",
}
"""What the ledger says of a step whose process was killed."""
# The lake's own temporary files, folders of a conversion, and DuckDB's log and spill files beside a build.
TEMPORARY = re.compile(r"\.[0-9a-f]{32}(\.old)?\.tmp(\.(wal|tmp))?$")


def _complete(asset: str, part: pa.Table, wanted: Sequence[str] | None) -> pa.Table:
    """A part with nulls in optional columns that are newer than it: a lake is read while it is made anew."""
    fields = [field for field in TABLES.get(asset, part.schema) if wanted is None or field.name in wanted]
    missing = [field for field in fields if field.nullable and field.name not in part.column_names]
    if not missing:
        return part
    for field in missing:
        part = part.append_column(field, pa.nulls(part.num_rows, field.type))
    names = wanted or [field.name for field in fields]
    return part.select([name for name in names if name in part.column_names])


def _hash_of(before: bytes, after: bytes) -> bytes:
    """Hash of a part, of what stands before its own hash and after it."""
    return hashlib.sha256(before + _MARK + after).hexdigest().encode()


@dataclass(frozen=True)
class PartInfo:
    """What the footer of a part says."""

    fingerprint: str
    rows: int


class Lake:
    """Reads and writes the lake under one root: a folder, or a URL of fsspec (``s3://bucket/lake``)."""

    def __init__(self, root: str | Path) -> None:
        if str(root).startswith("s3://"):
            fsspec.register_implementation("s3", _STORE, clobber=True, errtxt=_NO_S3)
        try:
            # Listings of an object store are not cached: other processes write to the lake as well.
            self.fs, self.root = fsspec.core.url_to_fs(str(root), use_listings_cache=False)
        except ImportError as error:
            raise LakeError(f"A lake at {root} needs more than is installed.", f"{error}.") from error
        self.root = self.root.rstrip("/")

    @property
    def is_local(self) -> bool:
        """Whether the lake is a folder of this machine."""
        return isinstance(self.fs, LocalFileSystem)

    def required(self) -> Lake:
        """This lake, for what makes none.

        Raises:
            LakeError: there is none yet.
        """
        if not self.fs.isdir(self.root):
            raise LakeError(
                f"There is no lake at {self.root}.",
                "Make one with 'finrag run' or 'finrag ingest FILE', or name another: finrag --lake FOLDER …",
            )
        return self

    def path(self, *parts: str) -> str:
        """Path below the root.

        Raises:
            LakeError: a part would leave the lake.
        """
        for part in parts:
            if not part or "\0" in part or part[0] in "/\\" or ".." in part.replace("\\", "/").split("/"):
                raise LakeError(f"'{part}' is not a path inside the lake.", "Use names without '..' or '/'.")
        return "/".join([self.root, *parts])

    @property
    def here(self) -> Lake:
        """A lake in a folder, for what needs files of this machine: this one, or one in the user's cache."""
        if self.is_local:
            return self
        name = self.root.rsplit("/", 1)[-1]
        return Lake(user_cache("lakes") / f"{name}-{text_hash(self.uri())[:12]}")

    def local_path(self, *parts: str) -> Path:
        """Path below the root of `here`."""
        return Path(self.here.path(*parts))

    def each(self, function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
        """What ``function`` gives for each item, in their order; some at once where the lake is elsewhere."""
        if self.is_local:
            yield from map(function, items)
            return
        with ThreadPoolExecutor(_AT_A_TIME) as threads:
            yield from threads.map(function, items)

    def uri(self, *parts: str) -> str:
        """Path below the root with its protocol, as LanceDB and DuckDB expect it."""
        path = self.path(*parts)
        return path if self.is_local else str(self.fs.unstrip_protocol(path))

    # -- plain files ---------------------------------------------------------------------------

    def write_bytes(self, path: str, data: bytes) -> None:
        """Write a file in one step: under a temporary name, then renamed; in an object store as one object.

        Raises:
            LakeError: the file system refuses it (disk full, no permission, name too long, …).
        """
        temporary = f"{path}.{uuid.uuid4().hex}.tmp"
        remedy = "Check the free space and the permissions of the lake."
        with refused(LakeError, f"{path} cannot be written", remedy):
            if not self.is_local:
                self.fs.pipe_file(path, data)
                return
            self.fs.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
            try:
                with self.fs.open(temporary, "wb") as stream:
                    stream.write(data)
                self.fs.mv(temporary, path)
            finally:
                if self.fs.exists(temporary):
                    self.fs.rm(temporary)

    def read_bytes(self, path: str) -> bytes | None:
        """Contents of a file, or None when there is none.

        Raises:
            LakeError: the file is there but cannot be read.
        """
        with refused(LakeError, f"{path} cannot be read", "Check the permissions of the lake."):
            try:
                with self.fs.open(path, "rb") as stream:
                    return stream.read()
            except (FileNotFoundError, NotADirectoryError):
                return None

    def write_json(self, path: str, value: Any) -> None:
        """Write a JSON file in one step."""
        self.write_bytes(path, json.dumps(value, ensure_ascii=False, indent=1).encode())

    def read_json(self, path: str) -> Any | None:
        """Contents of a JSON file; None when it is absent or unreadable (it is then made again)."""
        data = self.read_bytes(path)
        try:
            return None if data is None else json.loads(data)
        except ValueError:
            return None

    def publish(self, name: str) -> None:
        """Put a file or folder of `here` into the lake where that is elsewhere, ``index.html`` last."""
        if self.is_local:
            return
        made, target = self.local_path(name), self.path(name)
        files = [made] if made.is_file() else sorted(path for path in made.rglob("*") if path.is_file())
        paths = {target + str(path)[len(str(made)) :]: str(path) for path in files}
        last = paths.pop(f"{target}/index.html", None)
        list(self.each(lambda path: self.fs.put_file(paths[path], path), paths))
        if last:
            self.fs.put_file(last, f"{target}/index.html")
            for path in {*self.fs.find(target)} - {*paths, f"{target}/index.html"}:
                self.fs.rm_file(path)

    @contextmanager
    def local_copy(self, path: str) -> Iterator[Path]:
        """A local path with the contents of ``path``; a download when the lake is remote."""
        if self.is_local:
            yield Path(path)
            return
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder) / path.rsplit("/", 1)[-1]
            self.fs.get_file(path, str(target))
            yield target

    # -- Parquet parts -------------------------------------------------------------------------

    def part_path(self, asset: str, partition: Mapping[str, str] | None = None) -> str:
        """Path of a part: ``parquet/<asset>/<key>=<value>/…/data.parquet``.

        Raises:
            LakeError: a value would leave its folder.
        """
        folders = [f"{key}={value}" for key, value in (partition or {}).items()]
        if any("/" in folder or "\\" in folder for folder in folders):
            raise LakeError(f"'{'/'.join(folders)}' is not a partition.", "Use keys and values without '/'.")
        return self.path("parquet", asset, *folders, _PART)

    def write(
        self,
        asset: str,
        table: pa.Table,
        fingerprint: str,
        partition: Mapping[str, str] | None = None,
    ) -> PartInfo:
        """Check ``table`` against its schema and write it as the part of ``partition`` (hive keys).

        Raises:
            LakeError: the table does not fit its schema.
        """
        table = conform(table, asset)
        metadata = {**(table.schema.metadata or {}), _FINGERPRINT: fingerprint.encode(), _SHA256: _NO_SHA256}
        sink = pa.BufferOutputStream()
        # Checksums: compressed pages whose bits have flipped on disk would often decompress to nonsense.
        pq.write_table(
            table.replace_schema_metadata(metadata), sink, compression="zstd", write_page_checksum=True
        )
        before, _, after = sink.getvalue().to_pybytes().rpartition(_MARK + _NO_SHA256)
        data = before + _MARK + _hash_of(before, after) + after
        self.write_bytes(self.part_path(asset, partition), data)
        return PartInfo(fingerprint, table.num_rows)

    def verify(self, asset: str, partition: Mapping[str, str] | None = None) -> None:
        """Read all of a part against its checksums: that of the whole, in older parts those of its pages.

        Readers look at the pages alone, and headers or the footer may be damaged without their noticing.

        Raises:
            LakeError: the part is absent or damaged.
        """
        path = self.part_path(asset, partition)
        before, mark, after = (self.read_bytes(path) or b"").rpartition(_MARK)
        if mark and after[:_LENGTH] != _hash_of(before, after[_LENGTH:]):
            raise DamageError(f"{path} is not as it was written.", self._below(path))
        self.read(asset, partition)

    def info(self, asset: str, partition: Mapping[str, str] | None = None) -> PartInfo | None:
        """What the footer of a part says; None when it is absent or damaged (it is then made again)."""
        path = self.part_path(asset, partition)
        try:
            with self._input(path, _FOOTER) as stream:
                footer = pq.read_metadata(stream)
        except (pa.ArrowException, OSError):
            return None
        metadata = footer.metadata or {}
        if _FINGERPRINT not in metadata:
            return None
        return PartInfo(metadata[_FINGERPRINT].decode(), footer.num_rows)

    def _input(self, path: str, last: int | None = None) -> AbstractContextManager[Any]:
        """A part, open for PyArrow; of an object that is fetched only its ``last`` bytes.

        A local file is PyArrow's own: its reading threads would hold one of Python's, and abort the process
        where they let it go while the interpreter ends.
        """
        if self.is_local:
            return pa.OSFile(path, "rb")
        return pa.BufferReader(self.fs.cat_file(path, start=-last if last else None))

    def partitions(self, asset: str) -> list[dict[str, str]]:
        """Hive keys and values of every complete part of ``asset``, sorted."""
        base = self.path("parquet", asset)
        if not self.fs.exists(base):
            return []
        if self.is_local:  # folders are only listed; fsspec would also describe every file
            walked = os.walk(base)  # a folder that goes meanwhile is no error
            folders = [folder for folder, _, names in walked if _PART in names]
        else:
            folders = [path.removesuffix(f"/{_PART}") for path in self.fs.find(base) if path.endswith(_PART)]
        levels = (Path(folder).relative_to(base).parts for folder in folders)
        found = [dict(level.split("=", 1) for level in one) for one in levels]
        return sorted(found, key=lambda keys: sorted(keys.items()))

    def fingerprints(self, *assets: str) -> list[str]:
        """Fingerprints of all complete parts of ``assets``, asset by asset in the order of `partitions`."""
        parts = [(asset, keys) for asset in assets for keys in self.partitions(asset)]
        infos = self.each(lambda part: self.info(*part), parts)
        return [info.fingerprint for info in infos if info]

    def read(
        self,
        asset: str,
        partition: Mapping[str, str] | None = None,
        columns: Sequence[str] | None = None,
        first: int | None = None,
    ) -> pa.Table:
        """One part, all columns when none are named; only its ``first`` rows without decoding the rest.

        Raises:
            LakeError: the part is absent or damaged.
        """
        path = self.part_path(asset, partition)
        where = f"{asset} {dict(partition)}" if partition else asset
        try:
            with self._input(path) as stream:
                wanted = list(columns) if columns else None
                buffer = 0 if first is None else _BUFFER
                file = pq.ParquetFile(stream, buffer_size=buffer, page_checksum_verification=True)
                if first is None:
                    return _complete(asset, file.read(columns=wanted, use_threads=self.is_local), wanted)
                batch = next(file.iter_batches(first, columns=wanted, use_threads=self.is_local), None)
                found = file.schema_arrow.empty_table() if batch is None else pa.Table.from_batches([batch])
                found = _complete(asset, found, wanted)
                return found.select(wanted) if wanted else found
        except FileNotFoundError:
            raise LakeError(f"There is no {where} in the lake.", "Materialise it first.") from None
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, PermissionError):
                raise LakeError(f"{path} cannot be read.", "Check the permissions of the lake.") from error
            reason = " ".join(str(error).split())
            raise DamageError(f"{where} is damaged ({reason}).", self._below(path)) from error

    def read_all(
        self,
        asset: str,
        columns: Sequence[str] | None = None,
        only: Mapping[str, Collection[str]] | None = None,
    ) -> pa.Table:
        """All parts of ``asset``, in the order of their keys; ``only`` those with a value of a hive key.

        Raises:
            LakeError: a part is damaged, or was written with another schema.
        """
        wanted = {key: frozenset(values) for key, values in (only or {}).items()}
        keys = (
            keys
            for keys in self.partitions(asset)
            if all(keys.get(key) in values for key, values in wanted.items())
        )
        parts = list(self.each(lambda one: self.read(asset, one, columns), keys))
        if parts:
            try:
                return pa.concat_tables(part.replace_schema_metadata() for part in parts)
            except pa.ArrowInvalid as error:
                raise LakeError(
                    f"The parts of {asset} differ in their columns ({error}).",
                    f"Delete {self.path('parquet', asset)} and materialise it again.",
                ) from error
        schema = TABLES[asset]
        return (schema if columns is None else pa.schema([schema.field(c) for c in columns])).empty_table()

    def first_rows(self, asset: str, columns: Sequence[str]) -> pa.Table:
        """The first row of every part of ``asset``, in the order of their keys.

        Opening hundreds of small files is a third of a short command's time: rows are kept in the user's
        cache as long as the files of their parts stay the same.

        Raises:
            LakeError: a part is damaged.
        """
        parts = [(keys, self.part_path(asset, keys)) for keys in self.partitions(asset)]
        empty = pa.schema([TABLES[asset].field(name) for name in columns]).empty_table()
        kept_at = user_cache("first_rows") / f"{text_hash(f'{self.uri()} {asset} {columns}')}.parquet"
        kept, states = empty, list[str]()
        if self.is_local:
            with suppress(OSError, pa.ArrowException, KeyError):
                with pq.ParquetFile(kept_at) as file:  # read_table imports what datasets need
                    found = file.read()
                kept, states = found.select(columns), found[_STATE].to_pylist()
        places = {state: place for place, state in enumerate(states)}
        rows: list[tuple[str, pa.Table]] = []
        for state, read in self.each(lambda part: self._first_row(asset, part, columns, places), parts):
            rows.append((state, kept.slice(places[state], 1) if read is None else read))
        table = pa.concat_tables([empty, *(row.replace_schema_metadata() for _, row in rows)])
        now = [state for state, row in rows if row.num_rows]
        if self.is_local and now != states:
            with suppress(OSError):  # the next command reads the parts again
                kept_at.parent.mkdir(parents=True, exist_ok=True)
                beside = kept_at.with_suffix(f".{uuid.uuid4().hex}.tmp")
                pq.write_table(table.append_column(_STATE, pa.array(now, pa.string())), beside)
                beside.replace(kept_at)
        return table

    def _first_row(
        self, asset: str, part: tuple[dict[str, str], str], columns: Sequence[str], known: Collection[str]
    ) -> tuple[str, pa.Table | None]:
        """State of the file of a part, and its first row; None for this where the state is known."""
        keys, path = part
        state = path
        if self.is_local:
            with suppress(OSError):
                file = Path(path).stat()
                state = f"{path} {file.st_ino} {file.st_mtime_ns} {file.st_size}"
        return state, None if state in known else self.read(asset, keys, columns, first=1)

    def _below(self, path: str) -> str:
        return path.removeprefix(f"{self.root}/")

    def set_aside(self, damaged: str) -> None:
        """Move what is damaged, a path below the root, out of the way until it is made again.

        A footer that is still whole would pass for a fresh part.
        """
        if not self.fs.exists(self.path(damaged)):
            return  # another one was first
        name = uuid.uuid4().hex
        self.write_json(self.path(_ASIDE, f"{name}.json"), {"path": damaged})
        kept = self.path(_ASIDE, name, damaged)
        self.fs.makedirs(kept.rsplit("/", 1)[0], exist_ok=True)
        with suppress(FileNotFoundError):
            self.fs.mv(self.path(damaged), kept, recursive=True)

    def set_aside_paths(self) -> dict[str, str]:
        """What was set aside and is not made again yet: path below the root, by the path of its note."""
        notes = {path: self.read_json(path) for path in self.fs.glob(self.path(_ASIDE, "*.json"))}
        return {path: one["path"] for path, one in notes.items() if isinstance(one, dict)}

    def remove(self, asset: str, partition: Mapping[str, str]) -> None:
        """Remove a part, if it is there."""
        path = self.part_path(asset, partition)
        folder = path.rsplit("/", 1)[0] if partition else path  # other files may lie beside a single part
        if self.fs.exists(folder):
            self.fs.rm(folder, recursive=True)

    def declare(self, asset: str, schema: pa.Schema, file: str) -> None:
        """Write a file without rows beside the parts of ``asset``, unless one of these columns is there."""
        sink = pa.BufferOutputStream()
        pq.write_table(schema.empty_table(), sink)
        path, data = self.path("parquet", asset, file), sink.getvalue().to_pybytes()
        if self.read_bytes(path) != data:
            self.write_bytes(path, data)

    def remove_leftovers(self, older_than: float = 3600.0) -> int:
        """Remove `leftovers`; how many there were."""
        found = self.leftovers(older_than)
        for path in found:
            self.fs.rm(path, recursive=True)
        return len(found)

    def remove_superseded(self, *folder: str, used: Collection[str] = (), older_than: float) -> int:
        """Remove what in a folder is not ``used`` and ``older_than`` seconds old; how many there were."""
        removed, base = 0, self.path(*folder)
        for path in self.fs.glob(f"{base}/*"):
            files = self.fs.find(path) or [path]
            age = datetime.now(UTC) - max(self.fs.modified(file) for file in files)
            if path.rsplit("/", 1)[1] not in used and age.total_seconds() >= older_than:
                self.fs.rm(path, recursive=True)
                removed += 1
        return removed

    def leftovers(self, older_than: float = 3600.0) -> list[str]:
        """Temporary files and folders that killed runs left, at least ``older_than`` seconds old."""
        if not self.fs.exists(self.root):
            return []
        newest: dict[str, datetime] = {}
        for path in self.fs.find(self.root):
            folders = path[len(self.root) + 1 :].split("/")
            depth = next((n for n, folder in enumerate(folders, start=1) if TEMPORARY.search(folder)), None)
            if depth is None:
                continue
            try:
                modified = self.fs.modified(path)
            except FileNotFoundError:  # renamed or removed meanwhile: its writer is alive
                continue
            leftover = "/".join([self.root, *folders[:depth]])
            newest[leftover] = max(modified, newest.get(leftover, modified))
        now = datetime.now(UTC)
        return [path for path, at in newest.items() if (now - at).total_seconds() >= older_than]

    # -- ledger --------------------------------------------------------------------------------

    def record(self, asset: str, partition: str, outcome: str, **about: Any) -> None:
        """Note how a step ended, its latest outcome per asset and partition: columns of ``ledger``."""
        entry = dict.fromkeys(TABLES["ledger"].names) | about
        entry |= {"asset": asset, "partition": partition, "outcome": outcome}
        entry["at"] = datetime.now(UTC).isoformat()
        path = self.path("ledger", asset, f"{partition or 'all'}.json")
        self.write_json(path, entry)
        with suppress(FileNotFoundError):
            self.fs.rm_file(path + _BEGUN)

    def begin(self, asset: str, partition: str, run_id: str) -> None:
        """Note that this process makes a step; `record` takes the note away, a killed process leaves it."""
        about = {"asset": asset, "partition": partition, "run_id": run_id}
        about |= {"process": process_name(os.getpid()), "at": datetime.now(UTC).isoformat()}
        self.write_json(self.path("ledger", asset, f"{partition or 'all'}.json{_BEGUN}"), about)

    def record_dead(self, run_id: str, message: str | None) -> list[str]:
        """Note as failed what a run had begun when its process died; the assets noted."""
        noted = []
        for path in self.fs.find(self.path("ledger")):
            begun = self.read_json(path) if path.endswith(_BEGUN) else None
            if isinstance(begun, dict) and begun["run_id"] == run_id:
                error = f"{DIED['error']} {message or ''}".strip()
                self.record(begun["asset"], begun["partition"], **{**DIED, "error": error}, run_id=run_id)
                noted.append(begun["asset"])
        return noted

    def ledger_entry(self, asset: str, partition: str) -> dict[str, Any] | None:
        """Latest outcome of a step, or None; one whose process died has failed."""
        path = self.path("ledger", asset, f"{partition or 'all'}.json")
        return self._entry(path + _BEGUN) or self._entry(path)

    def _entry(self, path: str) -> dict[str, Any] | None:
        entry = self.read_json(path)
        if path.endswith(_BEGUN):
            if not isinstance(entry, dict) or is_alive(entry.pop("process")):
                return None
            entry = dict.fromkeys(TABLES["ledger"].names) | entry | DIED
        # Other notes may lie beside the ledger, and an unreadable entry says nothing.
        if not isinstance(entry, dict) or not entry.keys() >= {"asset", "partition", "outcome", "at"}:
            return None
        return dict.fromkeys(TABLES["ledger"].names) | entry

    def ledger(self) -> pa.Table:
        """The latest outcome of every asset and partition."""
        return pa.Table.from_pylist(self.ledger_entries(), schema=TABLES["ledger"])

    def ledger_entries(self, *asset: str) -> list[dict[str, Any]]:
        """The rows of `ledger`; of one asset when it is named."""
        found = {}
        for path in sorted(self.fs.find(self.path("ledger", *asset))):
            if path.endswith((".json", _BEGUN)) and (entry := self._entry(path)):
                found[path.removesuffix(_BEGUN)] = {**entry, "at": datetime.fromisoformat(entry["at"])}
        return list(found.values())
