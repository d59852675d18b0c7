"""The warehouse: one DuckDB file that people and programs query.

Built in a temporary file and published by rename, because DuckDB allows one writer and no reader beside
it: a notebook that holds the file open keeps its snapshot and never blocks a run. Small tables are
copied; pages and chunks are views over the lake's Parquet.
"""

from __future__ import annotations

import glob
import shutil
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa

from finrag_pipeline.errors import LakeError
from finrag_pipeline.schemas import TABLES, column_docs
from finrag_pipeline.storage.lake import Lake

COPIED = (
    "filings",
    "benchmark_questions",
    "folds",
    "retrieval_runs",
    "retrieval_scores",
    "answers",
    "answer_scores",
    "answer_metrics",
    "false_answers",
    "answer_sentences",
    "automatic_scores",
    "answer_rates",
    "verdicts",
    "judge_calibration",
    "label_sample",
    "human_labels",
    "judged_estimates",
    "judge_agreement",
    "system_comparisons",
    "judge_sensitivity",
    "interval_coverage",
    "system_metrics",
    "retrieval_gap",
    "gap_counts",
    "corpus_statistics",
)
VIEWS = ("filing_pages", "page_tables", "statement_facts", "filing_chunks", "contextual_chunks")
FILE = "warehouse.duckdb"


def build_warehouse(lake: Lake, path: Path | None = None) -> dict[str, int]:
    """Build the warehouse from the lake and publish it.

    Args:
        lake: where the tables are.
        path: file to publish; ``warehouse.duckdb`` in the lake when None.

    Returns:
        Rows of each table and view.

    Raises:
        LakeError: a part of the lake is damaged, or the file cannot be written. The published warehouse
            is then left as it was.
    """
    import duckdb

    target = path or lake.local_path(FILE)
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f"{target.name}.{uuid.uuid4().hex}.tmp")
    rows: dict[str, int] = {}
    try:
        with duckdb.connect(str(temporary)) as connection:
            for name in COPIED:
                rows[name] = _copy(connection, name, lake.read_all(name))
            rows["ledger"] = _copy(connection, "ledger", lake.ledger())
            for name in VIEWS:
                rows[name] = _view(connection, name, lake)
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
    return rows


def _copy(connection: Any, name: str, table: pa.Table) -> int:
    connection.register("incoming", table)
    connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM incoming LIMIT 0')  # noqa: S608 - our own names
    connection.execute(f'INSERT INTO "{name}" BY NAME SELECT * FROM incoming')  # noqa: S608
    connection.unregister("incoming")
    for column, doc in column_docs(TABLES[name]).items():
        connection.execute(f'COMMENT ON COLUMN "{name}"."{column}" IS {_literal(doc)}')
    return table.num_rows


def _view(connection: Any, name: str, lake: Lake) -> int:
    if not lake.partitions(name):
        connection.register("incoming", TABLES[name].empty_table())
        connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM incoming')  # noqa: S608
        connection.unregister("incoming")
        return 0
    # The lake's own path may hold what DuckDB would take for a pattern.
    pattern = _literal(f"{glob.escape(lake.uri('parquet', name))}/*/data.parquet")
    connection.execute(
        f'CREATE VIEW "{name}" AS SELECT * FROM read_parquet({pattern}, hive_partitioning=false)'  # noqa: S608
    )
    # All rows are fetched: a result that is not read to its end blocks the connection.
    ((count,),) = connection.execute(f'SELECT count(*) FROM "{name}"').fetchall()  # noqa: S608
    return int(count)


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def query_warehouse(lake: Lake, sql: str, parameters: list[Any] | None = None) -> pa.Table:
    """Rows of a query, read-only.

    Args:
        lake: its warehouse is queried.
        sql: the query, with ``?`` for parameters.
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
            f"{path} cannot be read: {error}.", "Delete it and run 'finrag run': it is a cache."
        ) from error
