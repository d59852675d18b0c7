"""Dagster's storage in PostgreSQL, with one change: the slot of a pool is given to one step alone.

Dagster reads a free slot under a lock and then takes it, but over connections that commit every statement, so
the lock is gone before: of eight runs that ask at once, two or three were given the only slot in one try of
four. Configured in ``dagster.yaml`` as a custom storage, see docs/deployment.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dagster._core.storage.event_log.schema import ConcurrencySlotsTable
from dagster._serdes import ConfigurableClassData
from dagster._utils.concurrency import ConcurrencySlotStatus
from dagster_postgres import DagsterPostgresStorage, PostgresEventLogStorage
from dagster_postgres.utils import get_token_provider_from_config, pg_url_from_config
from sqlalchemy import select


class EventLog(PostgresEventLogStorage):
    """The event log, in which a slot is found and taken by one statement."""

    def _claim_concurrency_slot(
        self, concurrency_key: str, run_id: str, step_key: str
    ) -> ConcurrencySlotStatus:
        slots = ConcurrencySlotsTable.c
        is_free = (
            slots.concurrency_key == concurrency_key,
            slots.step_key.is_(None),
            slots.deleted.is_(False),
        )
        free = select(slots.id).where(*is_free).limit(1).with_for_update(skip_locked=True).scalar_subquery()
        taken = (
            ConcurrencySlotsTable.update().values(run_id=run_id, step_key=step_key).where(slots.id == free)
        )
        with self.index_connection() as connection:
            done = connection.execute(taken).rowcount
        return ConcurrencySlotStatus.CLAIMED if done else ConcurrencySlotStatus.BLOCKED


class Storage(DagsterPostgresStorage):
    """Runs, schedules and this event log."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._event_log_storage = EventLog(
            self.postgres_url, self.should_autocreate_tables, token_provider=options.get("token_provider")
        )

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> Storage:
        """As Dagster makes its own."""
        return cls(
            inst_data=inst_data,
            postgres_url=pg_url_from_config(config_value),
            should_autocreate_tables=config_value.get("should_autocreate_tables", True),
            token_provider=get_token_provider_from_config(config_value),
        )
