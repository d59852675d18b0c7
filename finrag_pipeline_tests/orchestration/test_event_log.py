"""An event log whose databases are kept open: the same events in the same files, for everyone who reads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import dagster as dg
import pytest
from dagster._core.storage.event_log.sqlite import sqlite_event_log

from finrag_pipeline.orchestration import event_log
from finrag_pipeline.orchestration.event_log import KEPT, databases_kept_open


@dg.asset(check_specs=[dg.AssetCheckSpec("positive", asset="number")])
def number() -> dg.MaterializeResult:
    return dg.MaterializeResult(
        data_version=dg.DataVersion("one"), check_results=[dg.AssetCheckResult(passed=True)]
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    return tmp_path


@pytest.fixture
def instance(home: Path) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.from_config(str(home)) as found:
        yield found


def materialise(instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    return dg.materialize([number], instance=instance)


def kinds(instance: dg.DagsterInstance, run_id: str) -> list[str]:
    records = instance.get_records_for_run(run_id).records
    return [r.event_log_entry.dagster_event_type.value for r in records if r.event_log_entry.is_dagster_event]


def test_other_processes_read_the_same_events_while_it_is_open(
    home: Path, instance: dg.DagsterInstance
) -> None:
    plain = materialise(instance)
    with databases_kept_open(instance):
        kept = materialise(instance)
        with dg.DagsterInstance.from_config(str(home)) as reader:
            assert kinds(reader, kept.run_id) == kinds(reader, plain.run_id) != []
            event = reader.get_latest_materialization_event(dg.AssetKey("number"))
            assert event is not None and event.run_id == kept.run_id
            materialise(reader)
        assert len(instance.get_runs()) == 3


def test_a_run_makes_few_engines_and_closes_all_of_them(instance: dg.DagsterInstance) -> None:
    made = []

    def noted(*arguments: object, **options: object) -> object:
        made.append(sqlite_event_log.create_engine(*arguments, **options))
        return made[-1]

    with patch.object(event_log, "create_engine", noted), databases_kept_open(instance):
        for _ in range(KEPT + 2):
            assert materialise(instance).success
        assert len(made) == 2 + KEPT + 2, "one for the runs, one for the index and one for every run"
        assert sum(engine.pool.checkedin() for engine in made) == 1 + KEPT, "files of ended runs are closed"
    assert sum(engine.pool.checkedin() for engine in made) == 0
    assert materialise(instance).success and len(made) == 2 + KEPT + 2, "afterwards all is as Dagster has it"


def test_an_error_inside_leaves_the_log_usable(instance: dg.DagsterInstance) -> None:
    with pytest.raises(ValueError, match="stop"), databases_kept_open(instance):
        materialise(instance)
        raise ValueError("stop")
    assert materialise(instance).success


def test_a_log_that_is_no_sqlite_file_is_left_alone() -> None:
    with dg.DagsterInstance.ephemeral() as instance, databases_kept_open(instance):
        assert materialise(instance).success
