"""What the nights request: step after step, and nothing where there is nothing to do."""

from __future__ import annotations

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from finrag_pipeline.evaluation.benchmark import register_benchmark
from finrag_pipeline.orchestration import nights
from finrag_pipeline.orchestration.partitions import FOLD_COUNT, sweep_partitions
from finrag_pipeline.orchestration.resources import LakeResource, SettingsResource
from finrag_pipeline.retrieval.systems import SYSTEMS
from finrag_pipeline.schemas import TABLES
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.orchestration.conftest import Pipeline

SUNDAY = datetime(2024, 3, 3, 2, 5, tzinfo=UTC)
MONDAY = SUNDAY + timedelta(days=1)


class Nights:
    """Ticks the sensor at any hour; its runs begin and end when the test says so."""

    def __init__(self, pipeline: Pipeline, patch: pytest.MonkeyPatch) -> None:
        self.pipeline, self.patch = pipeline, patch
        self.cursor: str | None = None

    def tick(self, now: datetime) -> dg.SensorResult:
        class Clock(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> datetime:
                return now

        self.patch.setattr(nights, "datetime", Clock)
        with dg.build_sensor_context(
            instance=self.pipeline.instance,
            definitions=self.pipeline.definitions,
            cursor=self.cursor,
            resources={
                "lake": LakeResource(root=self.pipeline.settings.lake),
                "settings": SettingsResource(
                    values=self.pipeline.settings.model_dump(mode="json", exclude_none=True)
                ),
            },
        ) as context:
            result = nights.night_sensor(context)
        assert isinstance(result, dg.SensorResult)
        self.cursor = result.cursor
        return result

    def jobs(self, now: datetime) -> list[str]:
        """Jobs of a whole night, each with what it asked for, whose runs end at once."""
        found = []
        while requests := self.tick(now).run_requests:
            assert len({request.run_key for request in requests}) == len(requests)
            found.append(str(requests[0].job_name))
        return found


@pytest.fixture
def night(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> Nights:
    """The nights of a lake, the day before a Sunday's."""
    started = Nights(pipeline, monkeypatch)
    first = started.tick(SUNDAY - timedelta(hours=12))
    assert not first.run_requests and "is over; the next one begins at 2:00" in str(first.skip_reason)
    return started


@pytest.fixture
def measured(pipeline: Pipeline, tmp_path: Path) -> Pipeline:
    """A lake that holds a benchmark."""
    source = small_filings.small_benchmark(tmp_path / "source")
    names = list(small_filings.COMPANIES)
    register_benchmark(pipeline.lake, "small", names, source / "questions.jsonl", None)
    return pipeline


def test_filings_that_are_up_to_date_and_lakes_without_a_benchmark_need_upkeep_alone(
    pipeline: Pipeline, night: Nights, tmp_path: Path
) -> None:
    fresh = pipeline.accept(small_filings.annual_report(tmp_path / "A_2020_10K.pdf", "Alder Corp", 2020))
    assert pipeline.index(fresh).success
    assert night.jobs(SUNDAY) == ["compact_lake_job"]
    pipeline.accept(small_filings.annual_report(tmp_path / "B_2021_10K.pdf", "Birch Corp", 2021))
    (request,) = night.tick(MONDAY).run_requests or []
    assert (request.job_name, request.partition_key) == ("index_filing", "B_2021_10K")
    assert request.run_key == "2024-03-04 index_filing 0"
    assert request.tags["finrag/step"] == f"1 of {len(nights.STEPS)}: index_filing"


def test_a_step_waits_for_the_runs_of_the_one_before(measured: Pipeline, night: Nights) -> None:
    requests = night.tick(SUNDAY).run_requests or []
    assert [request.job_name for request in requests] == ["prepare_benchmark"]
    job = measured.definitions.resolve_job_def("prepare_benchmark")
    run = measured.instance.create_run_for_job(job, tags=requests[0].tags, status=dg.DagsterRunStatus.STARTED)
    waiting = night.tick(SUNDAY + timedelta(minutes=5))
    assert not waiting.run_requests
    assert waiting.skip_reason and waiting.skip_reason.skip_message == (
        f"Night of 2024-03-03, step 2 of {len(nights.STEPS)}: 1 runs of prepare_benchmark have not ended."
    )
    measured.instance.report_run_failed(run, "It died.")
    sweep = night.tick(SUNDAY + timedelta(minutes=9)).run_requests or []
    assert len(sweep) == len(SYSTEMS)
    for system, request in zip(SYSTEMS, sweep, strict=True):
        first = request.tags["dagster/asset_partition_range_start"]
        last = request.tags["dagster/asset_partition_range_end"]
        keys = sweep_partitions.get_partition_keys_in_range(dg.PartitionKeyRange(first, last))
        assert keys == [f"fold_{n}|{system}" for n in range(FOLD_COUNT)]


def test_what_was_measured_the_night_before_is_not_measured_again(measured: Pipeline, night: Nights) -> None:
    asked = ["prepare_benchmark", "sweep", "publish", "compact_lake_job"]
    assert night.jobs(SUNDAY) == asked
    assert night.jobs(MONDAY) == ["compact_lake_job"]
    measured.lake.write("system_metrics", TABLES["system_metrics"].empty_table(), "another")
    assert night.jobs(MONDAY + timedelta(days=1)) == asked


def test_models_that_searches_use_are_trained_on_sundays(measured: Pipeline, night: Nights) -> None:
    """Only what was trained once; the training itself does nothing where its data is as it was."""
    measured.lake.write("reranker", TABLES["reranker"].empty_table(), "x", {"fold": "production"})
    assert "train_reranker" in night.jobs(SUNDAY)
    assert not {job for job in night.jobs(MONDAY) if job.startswith("train_")}
    assert json.loads(str(night.cursor))["night"] == "2024-03-04"


def test_upkeep_removes_what_nothing_uses_any_more(pipeline: Pipeline, tmp_path: Path) -> None:
    filing = pipeline.accept(small_filings.annual_report(tmp_path / "A_2020_10K.pdf", "Alder Corp", 2020))
    assert pipeline.index(filing).success and pipeline.run("index_filing", partition_key=filing).success
    assert pipeline.run("prepare_benchmark", asset_selection=[dg.AssetKey("bm25_index")]).success
    root = Path(pipeline.settings.lake)
    used = {*root.glob("bm25/*"), *root.glob("lance/*.lance")}
    assert used
    superseded = [
        root / name for name in ("bm25/0", "lance/fixed_chunks-0.lance", "damaged/0", "models/reranker/0")
    ]
    for number, folder in enumerate(superseded):
        folder.mkdir(parents=True)
        (folder / "file").write_bytes(b"x")
        age = time.time() - 86_400 * (2 if number == 0 else 31)
        os.utime(folder / "file", (age, age))
    for path in root.glob("bm25/*/*"):
        os.utime(path, (0, 0))
    assert pipeline.run("compact_lake_job").success
    assert not [folder for folder in superseded if folder.exists()]
    assert {*root.glob("bm25/*"), *root.glob("lance/*.lance")} == used
