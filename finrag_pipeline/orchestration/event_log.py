"""Dagster's SQLite databases, kept open by a process that writes many events.

Concept: https://docs.dagster.io/deployment/oss/oss-instance-configuration
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from alembic.script import ScriptDirectory
from dagster import DagsterInstance
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME
from dagster._core.storage.runs import SqliteRunStorage
from dagster._core.storage.sql import create_engine
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.event import listen
from sqlalchemy.pool import QueuePool

KEPT = 4
"""Databases of events kept open: the index, and those of the last runs (every run has a file of its own)."""


def _without_waiting_for_the_disk(connection: sqlite3.Connection, _: object) -> None:
    """With a write-ahead log, a power failure may cost the last events; a killed process loses none.

    Dagster turns it on when the tables of a run are made: without it these wait for the disk 60 times.
    """
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")


def _engine(address: str) -> Engine:
    return create_engine(
        address,
        poolclass=QueuePool,
        pool_size=1,
        connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS, "check_same_thread": False},
    )


@contextmanager
def databases_kept_open(instance: DagsterInstance) -> Iterator[None]:
    """Reuse the connections of events and runs in SQLite until the end; any other storage stays as it is.

    Dagster makes an engine and a connection for every event, and to see whether a table is there. Each engine
    compiles its statements again, and SQLite folds its log into the database and syncs the disk whenever the
    last connection closes. That was more than half of the processor time of a run in which every step was
    fresh.
    """
    storage, runs = instance.event_log_storage, instance.run_storage
    if not isinstance(storage, SqliteEventLogStorage) or not isinstance(runs, SqliteRunStorage):
        yield
        return
    engines: dict[str, Engine] = {}
    of_runs = _engine(runs._conn_string)

    def engine_of(shard: str) -> Engine:
        if shard not in engines:
            engine = _engine(storage.conn_string_for_shard(shard))
            listen(engine, "connect", _without_waiting_for_the_disk)
            if shard not in storage._initialized_dbs:
                storage._initdb(engine)
                storage._initialized_dbs.add(shard)
            engines[shard] = engine
            ended = [name for name in engines if name != INDEX_SHARD_NAME]
            if len(engines) > KEPT:
                engines.pop(ended[0]).dispose()
        return engines[shard]

    @contextmanager
    def connect(shard: str) -> Iterator[Connection]:
        with storage._db_lock, engine_of(shard).connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def connect_to_runs() -> Iterator[Connection]:
        with of_runs.connect() as connection, connection.begin():
            yield connection

    # Every run has a database of its own, for which ninety modules of migrations would be read.
    read = ScriptDirectory.__dict__["from_config"]
    ScriptDirectory.from_config = staticmethod(cache(ScriptDirectory.from_config))  # pyrefly: ignore[method-assign]
    storage._connect = connect  # pyrefly: ignore[method-assign]
    storage.has_table = cache(storage.has_table)  # pyrefly: ignore[method-assign]
    runs.connect = connect_to_runs  # pyrefly: ignore[method-assign]
    try:
        yield
    finally:
        del storage._connect, storage.has_table, runs.connect
        ScriptDirectory.from_config = read  # pyrefly: ignore[method-assign]
        for engine in (*engines.values(), of_runs):
            engine.dispose()
