"""The warehouse: one DuckDB file that people and programs query, with a view of every table of the lake.

Views read the lake's Parquet, and the ledger's files, when they are asked: what an asset has made is there as
soon as its part is written. The file is built aside and published by rename, because DuckDB allows one writer
and no reader beside it: a notebook that holds it open never blocks a run.
"""

from __future__ import annotations

import glob
import re
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from finrag_pipeline.errors import LakeError
from finrag_pipeline.schemas import LEDGER, TABLES, column_docs
from finrag_pipeline.schemas.catalogue import FOLDERS
from finrag_pipeline.storage.lake import Lake

FILE = "warehouse.duckdb"
WAREHOUSE_VERSION = "1"
Query = Callable[..., pa.Table]
"""Gives the rows of a query, which may have parameters."""
DECLARED = "_declared.parquet"
"""A file without rows beside the parts of a table, which gives its view columns before there is any part."""


def build_warehouse(lake: Lake, path: Path | None = None) -> dict[str, int]:
    """Build the warehouse over the lake and publish it.

    Args:
        lake: where the tables are.
        path: file to publish; ``warehouse.duckdb`` in the lake when None.

    Returns:
        Rows of each table.

    Raises:
        LakeError: a part of the lake is damaged, or the file cannot be written. The published warehouse
            is then left as it was.
    """
    import duckdb

    target = path or lake.local_path(FILE)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f"{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        with duckdb.connect(str(temporary)) as connection:
            connection.begin()
            for name in _NAMES:
                _make_view(connection, lake, name)
                for column, doc in column_docs(_schema(name)).items():
                    connection.execute(f'COMMENT ON COLUMN "{name}"."{column}" IS {_literal(doc)}')
            counts = (f"(SELECT count(*) FROM {name})" for name in _NAMES)  # noqa: S608 - our own names
            (found,) = connection.execute(f"SELECT {', '.join(counts)}").fetchall()
            connection.commit()
            connection.execute("CHECKPOINT")
        temporary.replace(target)
    except (duckdb.Error, OSError) as error:
        raise LakeError(
            f"The warehouse cannot be built: {error}.",
            "Free disk space, or delete a part that is named as damaged, then run again.",
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
        temporary.with_name(temporary.name + ".wal").unlink(missing_ok=True)
        shutil.rmtree(temporary.with_name(temporary.name + ".tmp"), ignore_errors=True)  # spilled data
    return dict(zip(_NAMES, found, strict=True))


_NAMES = (*FOLDERS, "ledger")


def _schema(name: str) -> pa.Schema:
    return LEDGER if name == "ledger" else TABLES[name]


def _make_view(connection: Any, lake: Lake, name: str) -> None:
    if name == "ledger":
        connection.execute(f"CREATE VIEW ledger AS {_ledger(lake)}")
        return
    schema = _schema(name)
    lake.declare(name, schema, DECLARED)
    # What is trained fold by fold has the fold in its path alone.
    of_fold = FOLDERS[name].by == "model"
    columns = [f'"{column}"' for column in schema.names]
    columns += ["regexp_extract(filename, 'fold=([^/]*)', 1) AS fold"] if of_fold else []
    options = f"hive_partitioning=false, filename={of_fold}"
    files = _files(lake, "parquet", name, "**", "*.parquet")
    connection.execute(
        f"CREATE VIEW {name} AS SELECT {', '.join(columns)} FROM read_parquet({files}, {options})"  # noqa: S608
    )


def _ledger(lake: Lake) -> str:
    """Of the files of the ledger those that can be read; other notes may lie beside them."""
    kinds = {"int64": "BIGINT", "double": "DOUBLE", "timestamp[us, tz=UTC]": "TIMESTAMPTZ"}
    columns = ", ".join(f'"{one.name}": "{kinds.get(str(one.type), "VARCHAR")}"' for one in LEDGER)
    lake.write_json(lake.path("ledger", DECLARED.replace("parquet", "json")), None)
    return (
        "SELECT unnest(entry) FROM (SELECT "  # noqa: S608
        f"CASE WHEN json_valid(content) THEN from_json(content, '{{{columns}}}') END AS entry "
        f"FROM read_text({_files(lake, 'ledger', '**', '*.json')})) "
        "WHERE entry.asset IS NOT NULL AND entry.outcome IS NOT NULL"
    )


def _files(lake: Lake, folder: str, *pattern: str) -> str:
    """Literal of a pattern of files; the lake's own path may hold what DuckDB would take for one."""
    return _literal("/".join([glob.escape(lake.uri(folder)), *pattern]))


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def publish_table(lake: Lake, name: str) -> None:
    """Build the warehouse of a local lake where it has no view of a table in the columns that it has now.

    A damaged part, which keeps it from being built, is told by the asset of the warehouse.

    Args:
        lake: where the table is.
        name: its folder; empty for what is no table.
    """
    if not lake.is_local:
        return
    file = lake.local_path(FILE)
    stale = not file.exists()
    if name and not stale:
        lake.declare(name, _schema(name), DECLARED)
        declared = lake.local_path("parquet", name, DECLARED)
        stale = file.stat().st_mtime_ns < declared.stat().st_mtime_ns
    if stale:
        with suppress(LakeError):
            build_warehouse(lake)


def query_warehouse(lake: Lake, sql: str, parameters: Any = None) -> pa.Table:
    """Rows of a query, read-only.

    Args:
        lake: its warehouse is queried.
        sql: the query, with ``?`` or ``$name`` for parameters.
        parameters: values of the parameters.

    Raises:
        LakeError: there is no warehouse yet, it is damaged, or another version wrote it.
    """
    import duckdb

    path = lake.local_path(FILE)
    if not path.is_file():
        raise LakeError(f"There is no warehouse at {path}.", "Run 'finrag run' first.")
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            return connection.sql(sql, params=parameters or []).to_arrow_table()
    except (duckdb.BinderException, duckdb.ParserException):
        raise  # the query's own fault
    except duckdb.Error as error:
        raise LakeError(
            f"{path} cannot be read: {error}.",
            "Delete what is named as damaged, the file itself if nothing is, and run 'finrag run'.",
        ) from error


@contextmanager
def lake_views(lake: Lake) -> Iterator[Query]:
    """What gives the rows of a query over the lake as it is, whatever its warehouse says; for many queries.

    It takes the query and its parameters. It raises LakeError where a part is damaged.
    """
    import duckdb

    with duckdb.connect() as connection:
        made: set[str] = set()

        def query(sql: str, parameters: Any = None) -> pa.Table:
            try:
                for name in {one for one in _NAMES if re.search(rf"\b{one}\b", sql)} - made:
                    _make_view(connection, lake, name)
                    made.add(name)
                return connection.sql(sql, params=parameters or []).to_arrow_table()
            except (duckdb.IOException, duckdb.InvalidInputException) as error:
                remedy = "Delete the part that is named, and materialise it again."
                raise LakeError(f"The lake cannot be read: {error}.", remedy) from error

        yield query


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

    return duckdb.connect(config={"threads": 1})
