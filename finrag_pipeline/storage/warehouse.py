"""The warehouse: one DuckDB file that people and programs query, with a view of every table of the lake.

Views read the lake's Parquet, and the ledger's files, when they are asked: what an asset has made is there as
soon as its part is written. The file is built aside and published by rename, because DuckDB allows one writer
and no reader beside it: a notebook that holds it open never blocks a run.
"""

from __future__ import annotations

import atexit
import glob
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from finrag_pipeline.errors import DamageError, LakeError
from finrag_pipeline.schemas import TABLES, column_docs
from finrag_pipeline.schemas.catalogue import FOLDERS
from finrag_pipeline.storage.lake import Lake

FILE = "warehouse.duckdb"
WAREHOUSE_VERSION = "2"
_LONGEST_BUILD = 600.0
Query = Callable[..., pa.Table]
"""Gives the rows of a query, which may have parameters."""
DECLARED = "_declared.parquet"
"""A file without rows beside the parts of a table, which gives its view columns before there is any part."""


@dataclass(frozen=True)
class View:
    """A query over tables, and over views before it, as the warehouse has it under a name."""

    doc: str
    sql: str


Views = Callable[[Lake], Mapping[str, View]]
"""Gives views of a lake by name, each after those that it reads."""


def build_warehouse(lake: Lake, views: Views | None = None) -> dict[str, int]:
    """Build the warehouse over the lake and publish it, ``views`` beside its tables; rows of each table.

    DuckDB from 1.0 on can open the file. It finds the lake where it lies itself: both can be moved together.
    For a lake in an object store it is built on this machine; its views then read by DuckDB's ``httpfs``.

    Raises:
        LakeError: a part of the lake is damaged, or the file cannot be written. The published warehouse
            is then left as it was.
    """
    import duckdb

    target = lake.local_path(FILE)
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob(f"{FILE}.*.tmp*"):  # by a run that was killed while it built
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _LONGEST_BUILD:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
    temporary = target.with_name(f"{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        with duckdb.connect() as connection:
            if not lake.is_local:
                connection.register_filesystem(lake.fs)
            connection.execute(f"ATTACH {literal(str(temporary))} AS made (STORAGE_VERSION 'v1.0.0')")
            connection.execute("USE made")
            connection.begin()
            lake.write_json(_place(lake), {"root": lake.root})
            for name in NAMES:
                if name in FOLDERS:
                    lake.declare(name, TABLES[name], DECLARED)
                _make_view(connection, lake, name, _beside(lake))
                for column, doc in column_docs(TABLES[name]).items():
                    connection.execute(f'COMMENT ON COLUMN "{name}"."{column}" IS {literal(doc)}')
            for name, view in views(lake).items() if views else ():
                connection.execute(f"CREATE VIEW {name} AS {view.sql}")
                connection.execute(f"COMMENT ON VIEW {name} IS {literal(view.doc)}")
            counts = (f"(SELECT count(*) FROM {name})" for name in NAMES)  # noqa: S608 - our own names
            (found,) = connection.execute(f"SELECT {', '.join(counts)}").fetchall()
            connection.commit()
            connection.execute("CHECKPOINT made")
        temporary.replace(target)
        lake.publish(FILE)
    except (duckdb.Error, OSError) as error:
        raise _damage(lake, error) or LakeError(
            f"The warehouse cannot be built: {error}.", "Free disk space, then run again."
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
        temporary.with_name(temporary.name + ".wal").unlink(missing_ok=True)
        shutil.rmtree(temporary.with_name(temporary.name + ".tmp"), ignore_errors=True)  # spilled data
    return dict(zip(NAMES, found, strict=True))


NAMES = (*FOLDERS, "ledger")
"""Tables, in the order of the catalogue."""


def _beside(lake: Lake) -> str:
    """SQL for the folder of the lake: where the warehouse is opened, else where it was built.

    DuckDB tells a view where its file lies by the default of one setting alone, the folder for spilled data.
    """
    spilled = "current_setting('temp_directory')"
    own = f"parse_filename({spilled}) = {literal(f'{FILE}.tmp')}"
    escaped = rf"regexp_replace(parse_dirpath({spilled}), '([*?\[])', '[\1]', 'g')"
    return f"CASE WHEN {own} THEN {escaped} ELSE {_root(lake)} END"


def view_schema(name: str) -> pa.Schema:
    """Columns of the view of a table: its own, and ``fold`` where parts are trained fold by fold."""
    of_fold = name in FOLDERS and FOLDERS[name].by == "model"
    return TABLES[name].append(pa.field("fold", pa.string())) if of_fold else TABLES[name]


def _make_view(connection: Any, lake: Lake, name: str, root: str) -> None:
    """The view of a table, below a root in SQL; nothing is written to the lake."""
    if name == "ledger":
        connection.execute(f"CREATE VIEW ledger AS {_ledger(root)}")
        return
    # What is trained fold by fold has the fold in its path alone.
    of_fold = FOLDERS[name].by == "model"
    columns = [f'"{column}"' for column in TABLES[name].names]
    columns += ["regexp_extract(filename, 'fold=([^/]*)', 1) AS fold"] if of_fold else []
    options = f"hive_partitioning=false, filename={of_fold}"
    files = f"{root} || '/parquet/{name}/**/*.parquet'"
    connection.execute(
        f"CREATE VIEW {name} AS SELECT {', '.join(columns)} FROM read_parquet({files}, {options})"  # noqa: S608
    )


def _make_empty(connection: Any, name: str) -> None:
    """A table without rows in the columns of its view."""
    # DuckDB reads half precision from Parquet, not from Arrow.
    half, single = pa.list_(pa.float16()), pa.list_(pa.float32())
    fields = [one.with_type(single) if one.type == half else one for one in view_schema(name)]
    connection.register(name, pa.schema(fields).empty_table())


def _ledger(root: str) -> str:
    """Of the files of the ledger those that can be read; other notes may lie beside them."""
    kinds = {"int64": "BIGINT", "double": "DOUBLE", "timestamp[us, tz=UTC]": "TIMESTAMPTZ"}
    columns = ", ".join(f'"{one.name}": "{kinds.get(str(one.type), "VARCHAR")}"' for one in TABLES["ledger"])
    return (
        "SELECT unnest(entry) FROM (SELECT "  # noqa: S608
        f"CASE WHEN json_valid(content) THEN from_json(content, '{{{columns}}}') END AS entry "
        f"FROM read_text({root} || '/ledger/**/*.json')) "
        "WHERE entry.asset IS NOT NULL AND entry.outcome IS NOT NULL"
    )


def _root(lake: Lake) -> str:
    """Literal of the root of the lake, which may hold what DuckDB would take for a pattern."""
    return literal(glob.escape(lake.uri()))


def literal(text: str) -> str:
    """A text in SQL; the filters of LanceDB take no parameters, as comments of DuckDB take none."""
    return "'" + text.replace("'", "''") + "'"


def _place(lake: Lake) -> str:
    """File beside the ledger that says where the lake was when its warehouse was built."""
    return lake.path("ledger", "_warehouse.json")


def publish_table(lake: Lake, name: str, views: Views | None = None) -> None:
    """Build the warehouse of a local lake where it has no view of a table in the columns that it has now.

    A damaged part, which keeps it from being built, is told by the asset of the warehouse. The name is empty
    for what is no table.
    """
    if not lake.is_local:
        return
    file = lake.local_path(FILE)
    with suppress(LakeError, OSError):
        # Attached to another database, views of a lake that was copied or moved read it where it was.
        stale = not file.exists() or lake.read_json(_place(lake)) != {"root": lake.root}
        if name and not stale:
            lake.declare(name, TABLES[name], DECLARED)
            declared = lake.local_path("parquet", name, DECLARED)
            stale = file.stat().st_mtime_ns < declared.stat().st_mtime_ns
        if stale:
            build_warehouse(lake, views)


@contextmanager
def lake_views(lake: Lake, views: Mapping[str, View] = MappingProxyType({})) -> Iterator[Query]:
    """What gives the rows of a query over the lake, in the columns of its warehouse, without that file.

    It takes the query, with ``?`` or ``$name`` for parameters, and their values. It raises LakeError where a
    part is damaged. Nothing is written to the lake, which need not be local.
    """
    import duckdb

    with duckdb.connect() as connection:
        if not lake.is_local:
            connection.register_filesystem(lake.fs)
        made: set[str] = set()

        def make(sql: str) -> None:
            """What a query names, and what that names."""
            for name in (*NAMES, *views):
                if name in made or not re.search(rf"\b{name}\b", sql, re.IGNORECASE):
                    continue
                made.add(name)
                if name in views:
                    make(views[name].sql)
                    connection.execute(f"CREATE VIEW {name} AS {views[name].sql}")
                elif lake.ledger_entries() if name == "ledger" else lake.partitions(name):
                    try:
                        _make_view(connection, lake, name, _root(lake))
                    except duckdb.BinderException as error:
                        told = f"The parts of {name} have other columns than now: {error}."
                        raise LakeError(told.partition("\n")[0], "Make them again: finrag run.") from error
                else:
                    _make_empty(connection, name)

        def query(sql: str, parameters: Any = None) -> pa.Table:
            try:
                make(sql)
                return connection.sql(sql, params=parameters or []).to_arrow_table()
            except duckdb.Error as error:
                if type(error) not in (duckdb.IOException, duckdb.InvalidInputException, duckdb.Error):
                    raise
                remedy = "See what is damaged: finrag doctor --deep."
                raise _damage(lake, error) or LakeError(
                    f"The lake cannot be read: {error}.", remedy
                ) from error

        yield query


def _damage(lake: Lake, error: Exception) -> DamageError | None:
    """The damaged part of the lake that an error of DuckDB comes of, if it does."""
    import duckdb

    named = re.search(rf"{re.escape(lake.root)}/(parquet/[^\"'\n]*\.parquet)", str(error))
    if named:
        return DamageError(f"{named[1]} is damaged ({error}).", named[1])
    if type(error) is duckdb.Error:  # of a footer that it cannot read: it does not say of which file
        for name in FOLDERS:
            for keys in lake.partitions(name):
                try:
                    lake.verify(name, keys)
                except DamageError as found:
                    return found
                except LakeError:
                    continue  # removed meanwhile
    return None


def query_tables(sql: str, parameters: Any = None, **tables: pa.Table) -> pa.Table:
    """Rows of a query over tables in memory, by the names that they are given here.

    The same tables give the same rows in the same order: one thread adds up, in the order of the rows.
    """
    with _memory().cursor() as connection:
        for name, table in tables.items():
            connection.register(name, table)
        return connection.sql(sql, params=parameters or []).to_arrow_table()


@cache
def _memory() -> Any:
    import duckdb

    atexit.register(_memory.cache_clear)  # DuckDB tells of connections that outlive the interpreter
    return duckdb.connect(config={"threads": 1})
