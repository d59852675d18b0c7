"""A run that is killed: its pool slot comes free, the ledger says so, the next run finishes the work."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest

from finrag_pipeline.orchestration.instance import release_dead_runs
from finrag_pipeline.schemas.catalogue import VECTORS
from finrag_pipeline.storage.processes import process_name
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.console import called, finish, start
from finrag_pipeline_tests.orchestration.conftest import Pipeline

PATIENCE = 90.0
EMBEDDING = ("chunk_index", "page_sentences")
"""Assets of a filing that take the slot."""


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.01)


def slots_taken(pipeline: Pipeline) -> int:
    storage = pipeline.instance.event_log_storage
    return (
        storage.get_concurrency_info(VECTORS).active_slot_count
        if VECTORS in storage.get_concurrency_keys()
        else 0
    )


def is_embedding(pipeline: Pipeline) -> bool:
    """A step that embeds has begun and not ended; it takes the slot a moment before it begins."""
    return any(pipeline.lake.fs.glob(pipeline.lake.path("ledger", asset, "*.begun")) for asset in EMBEDDING)


def kill(process: subprocess.Popen[str]) -> None:
    """SIGKILL to the process alone; its workers notice that they are orphans."""
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture
def long_filing(tmp_path: Path) -> Path:
    """A filing whose vectors take a second or two."""
    words = [f"amount{n} of division{n % 89} in year{n % 17}" for n in range(2000)]
    pages = [" ".join(words[n::16]) for n in range(16)]
    return small_filings.write_pdf(tmp_path / "LONG_2020_10K.pdf", pages)


@pytest.mark.slow
def test_a_killed_run_gives_its_slot_back_and_the_next_one_finishes(
    pipeline: Pipeline, long_filing: Path
) -> None:
    root = Path(pipeline.settings.lake)
    process = start(root, "ingest", long_filing, "--json")
    wait_for(lambda: is_embedding(pipeline), process)
    kill(process)

    assert slots_taken(pipeline) == 1, "nobody has told the instance yet"
    (run,) = pipeline.instance.get_runs(filters=dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED]))
    assert release_dead_runs(pipeline.instance) == [run.run_id]
    assert slots_taken(pipeline) == 0
    failed = pipeline.instance.get_run_by_id(run.run_id)
    assert failed and failed.status == dg.DagsterRunStatus.FAILURE
    assert release_dead_runs(pipeline.instance) == [], "once is enough"

    # Without anybody telling it, the ledger knows the asset that was being made, and no other.
    (asset,) = (one["asset"] for one in pipeline.lake.ledger_entries() if one["outcome"] == "failed")
    assert asset in EMBEDDING
    entry = pipeline.lake.ledger_entry(asset, "LONG_2020_10K")
    assert entry and entry["outcome"] == "failed" and entry["run_id"] == run.run_id
    assert "died" in entry["error"] and "Run it again" in entry["remedy"]
    (listed,) = called(root, "filings", "--failed", "--json").json()
    assert (listed["filing"], listed["reason"]) == ("LONG_2020_10K", entry["error"])
    assert pipeline.lake.record_dead(run.run_id, "It ran out of memory.") == [asset]
    pages = pipeline.lake.ledger_entry("filing_pages", "LONG_2020_10K")
    assert pages and pages["outcome"] == "materialised"

    done = called(root, "ingest", long_filing, "--json")
    assert done.code == 0, done.err
    assert done.json()["indexed"] == ["LONG_2020_10K"]
    entry = pipeline.lake.ledger_entry(asset, "LONG_2020_10K")
    assert entry and entry["outcome"] == "materialised"
    # Hearing of the dead run late, the sensor leaves alone what was made since.
    assert pipeline.lake.record_dead(run.run_id, "late") == []
    assert pipeline.lake.ledger_entry(asset, "LONG_2020_10K") == entry


@pytest.mark.slow
def test_a_run_that_waits_for_the_slot_of_a_killed_one_goes_on(
    pipeline: Pipeline, long_filing: Path, tmp_path: Path
) -> None:
    root = Path(pipeline.settings.lake)
    other = small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021)
    process = start(root, "ingest", long_filing, "--json")
    wait_for(lambda: slots_taken(pipeline) == 1, process)
    # Stopped, not ended: it holds the slot for as long as the test wants.
    os.kill(process.pid, signal.SIGSTOP)
    waiting = start(root, "ingest", other, "--json")
    chunked = "filing_chunks", {"filing": "ALDER_2021_10K"}
    wait_for(lambda: pipeline.lake.info(*chunked) is not None, waiting)
    kill(process)

    done = finish(waiting, timeout=PATIENCE)
    assert done.code == 0, done.err
    assert done.json()["indexed"] == ["ALDER_2021_10K"]


def test_a_run_that_failed_in_a_step_is_not_noted_twice(pipeline: Pipeline, tmp_path: Path) -> None:
    filing = pipeline.accept(small_filings.zero_bytes(tmp_path / "EMPTY.pdf"))
    result = pipeline.index(filing)
    before = pipeline.lake.ledger()
    assert pipeline.lake.record_dead(result.run_id, "Steps failed.") == []
    assert pipeline.lake.ledger() == before
    assert set(before["asset"].to_pylist()) == {"filings"}


def test_runs_of_living_processes_and_of_the_daemon_are_left_alone(
    pipeline: Pipeline, tmp_path: Path
) -> None:
    """Only runs of the command line carry the mark of their process."""
    job = pipeline.definitions.resolve_job_def("index_filing")
    from finrag_pipeline.orchestration.instance import PROCESS_TAG

    of_the_daemon = pipeline.instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    alive = pipeline.instance.create_run_for_job(
        job, status=dg.DagsterRunStatus.STARTED, tags={PROCESS_TAG: process_name(os.getpid())}
    )
    recycled = pipeline.instance.create_run_for_job(
        job, status=dg.DagsterRunStatus.STARTED, tags={PROCESS_TAG: f"{process_name(os.getpid())}1"}
    )
    elsewhere = pipeline.instance.create_run_for_job(
        job, status=dg.DagsterRunStatus.STARTED, tags={PROCESS_TAG: "another-host:1:1"}
    )
    assert release_dead_runs(pipeline.instance) == [recycled.run_id]
    for run in (of_the_daemon, alive, elsewhere):
        found = pipeline.instance.get_run_by_id(run.run_id)
        assert found and found.status == dg.DagsterRunStatus.STARTED
