from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test

from finrag_pipeline.errors import LakeError
from finrag_pipeline.orchestration import instance as module
from finrag_pipeline.orchestration.instance import (
    assign_free_slots,
    dagster_home,
    open_instance,
    release_dead_runs,
    set_aside_history,
)
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.processes import is_alive, process_name


class TestHome:
    @pytest.fixture(autouse=True)
    def unset(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("DAGSTER_HOME", raising=False)

    def test_it_lies_in_the_lake_with_the_repository_s_configuration(self, settings: Settings) -> None:
        home = dagster_home(settings)
        assert home == Path(settings.lake).resolve() / "dagster_home"
        assert "concurrency" in (home / "dagster.yaml").read_text()

    def test_a_configuration_that_is_there_is_kept(self, settings: Settings) -> None:
        (dagster_home(settings) / "dagster.yaml").write_text("telemetry: {enabled: false}")
        assert (dagster_home(settings) / "dagster.yaml").read_text() == "telemetry: {enabled: false}"

    def test_the_variable_goes_first(
        self, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "a" / ".." / "elsewhere"))
        assert dagster_home(settings) == tmp_path / "elsewhere"
        assert (tmp_path / "elsewhere" / "dagster.yaml").is_file()

    def test_a_remote_lake(self, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        remote = settings.model_copy(update={"lake": "memory://bucket/lake"})
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        assert dagster_home(remote) == Lake(remote.lake).local_path("dagster_home")
        assert Lake(remote.lake).local_path("inbox").is_dir()
        monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home"))
        assert dagster_home(remote) == tmp_path / "home"


def test_a_history_that_cannot_be_opened_is_set_aside(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    with open_instance(settings) as instance:
        instance.add_dynamic_partitions("filings", ["a"])
    assert set_aside_history(settings) is None
    monkeypatch.delenv("DAGSTER_HOME")
    for database in dagster_home(settings).rglob("*.db"):
        database.write_bytes(b"\0no database" * 500)
    with (
        pytest.raises(LakeError, match=r"Dagster's database in .* cannot be used") as caught,
        open_instance(settings),
    ):
        pass
    assert "finrag doctor --heal" in caught.value.remedy
    assert "a new one is begun" in (set_aside_history(settings) or "")
    with open_instance(settings) as instance:
        assert instance.get_dynamic_partitions("filings") == []


class TestDeadRuns:
    @pytest.fixture
    def instance(self, tmp_path: Path) -> Iterator[dg.DagsterInstance]:
        with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
            yield instance

    @pytest.fixture
    def dead_process(self) -> Iterator[int]:
        """A process that was killed and that nobody has waited for yet."""
        process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        self.tag = process_name(process.pid)
        assert is_alive(self.tag)
        process.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        yield process.pid
        process.wait()

    def _run(
        self,
        instance: dg.DagsterInstance,
        tag: str | None,
        status: dg.DagsterRunStatus = dg.DagsterRunStatus.STARTED,
    ) -> str:
        tags = {module.PROCESS_TAG: tag} if tag else {}
        return create_run_for_test(instance, status=status, tags=tags).run_id

    def test_only_runs_whose_process_is_gone_are_failed(
        self, instance: dg.DagsterInstance, dead_process: int
    ) -> None:
        status = dg.DagsterRunStatus
        dead = [
            self._run(instance, self.tag, kind)
            for kind in (status.STARTED, status.STARTING, status.NOT_STARTED)
        ]
        others = {
            "another run of this process": self._run(instance, process_name(os.getpid())),
            "of another machine": self._run(instance, f"elsewhere:{dead_process}:123"),
            "not of the command line": self._run(instance, None),
            "ended": self._run(instance, self.tag, status.SUCCESS),
        }
        before = {name: instance.get_run_by_id(run_id).status for name, run_id in others.items()}
        assert set(release_dead_runs(instance)) == set(dead)
        assert {instance.get_run_by_id(run_id).status for run_id in dead} == {status.FAILURE}
        assert {name: instance.get_run_by_id(run_id).status for name, run_id in others.items()} == before
        assert release_dead_runs(instance) == []

    def test_the_slot_of_a_dead_run_is_freed(self, instance: dg.DagsterInstance, dead_process: int) -> None:
        storage = instance.event_log_storage
        storage.set_concurrency_slots("duckdb_write", 1)
        run_id = self._run(instance, self.tag)
        assert storage.claim_concurrency_slot("duckdb_write", run_id, "warehouse").is_claimed
        assert not storage.claim_concurrency_slot("duckdb_write", "next", "warehouse").is_claimed
        assert release_dead_runs(instance) == [run_id]
        assert storage.claim_concurrency_slot("duckdb_write", "next", "warehouse").is_claimed

    def test_a_step_that_queued_as_the_slot_fell_free_gets_it(
        self, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        storage = instance.event_log_storage
        storage.set_concurrency_slots("duckdb_write", 1)
        assert storage.claim_concurrency_slot("duckdb_write", "first", "warehouse").is_claimed
        queue = storage.add_pending_step

        def freed_before(*args: object, **options: object) -> None:
            storage.free_concurrency_slot_for_step("first", "warehouse")
            queue(*args, **options)

        monkeypatch.setattr(storage, "add_pending_step", freed_before)
        assert not storage.claim_concurrency_slot("duckdb_write", "next", "warehouse").is_claimed
        assert not storage.claim_concurrency_slot("duckdb_write", "next", "warehouse").is_claimed, "for ever"
        assign_free_slots(instance)
        assert storage.claim_concurrency_slot("duckdb_write", "next", "warehouse").is_claimed
        assign_free_slots(instance)
        assert not storage.claim_concurrency_slot("duckdb_write", "third", "warehouse").is_claimed

    def test_a_process_number_that_is_used_again_is_another_process(self) -> None:
        host, pid, started = process_name(os.getpid()).rsplit(":", 2)
        assert is_alive(f"{host}:{pid}:{started}")
        assert not is_alive(f"{host}:{pid}:{int(started) + 1}")
        assert not is_alive(f"{host}:{2**22 + 1}:{started}")

    def test_where_the_start_of_a_process_is_unknown_its_number_decides(self, dead_process: int) -> None:
        host = process_name(os.getpid()).rsplit(":", 2)[0]
        assert is_alive(f"{host}:{os.getpid()}:")
        assert not is_alive(f"{host}:{2**22 + 1}:")
