"""Dagster's event log in SQLite, its databases kept open by a process that writes many events.

Concept: https://docs.dagster.io/deployment/oss/oss-instance-configuration
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from dagster._core.storage.event_log import EventLogStorage, SqliteEventLogStorage
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME
from dagster._core.storage.sql import create_engine
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.event import listen
from sqlalchemy.pool import QueuePool

KEPT = 4
"""Databases kept open: the index, and those of the last runs (every run has a file of its own)."""


def _without_waiting_for_the_disk(connection: sqlite3.Connection, _: object) -> None:
    """With a write-ahead log, a power failure may cost the last events; a killed process loses none."""
    connection.execute("PRAGMA synchronous = NORMAL")


@contextmanager
def event_log_kept_open(storage: EventLogStorage) -> Iterator[None]:
    """Reuse the connections of an event log in SQLite until the end; any other storage stays as it is.

    Dagster makes an engine and a connection for every event. Each engine compiles its statements again, and
    SQLite folds its log into the database and syncs the disk whenever the last connection closes. That was
    more than half of the processor time of a run in which every step was fresh.
    """
    if not isinstance(storage, SqliteEventLogStorage):
        yield
        return
    engines: dict[str, Engine] = {}

    def engine_of(shard: str) -> Engine:
        if shard not in engines:
            engine = create_engine(
                storage.conn_string_for_shard(shard),
                poolclass=QueuePool,
                pool_size=1,
                connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS, "check_same_thread": False},
            )
            listen(engine, "connect", _without_waiting_for_the_disk)
            if shard not in storage._initialized_dbs:
                storage._initdb(engine)
                storage._initialized_dbs.add(shard)
            engines[shard] = engine
            runs = [name for name in engines if name != INDEX_SHARD_NAME]
            if len(engines) > KEPT:
                engines.pop(runs[0]).dispose()
        return engines[shard]

    @contextmanager
    def connect(shard: str) -> Iterator[Connection]:
        with storage._db_lock, engine_of(shard).connect() as connection, connection.begin():
            yield connection

    storage._connect = connect  # type: ignore[method-assign]
    try:
        yield
    finally:
        del storage._connect
        for engine in engines.values():
            engine.dispose()
