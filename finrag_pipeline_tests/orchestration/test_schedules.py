"""What the nights request, and that they request nothing where there is nothing to do."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from finrag_pipeline.evaluation.benchmark import register_benchmark
from finrag_pipeline.orchestration import jobs
from finrag_pipeline.orchestration.partitions import FOLD_COUNT, filings_partitions, sweep_partitions
from finrag_pipeline.retrieval.systems import SYSTEMS
from finrag_pipeline.schemas import TABLES
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.orchestration.conftest import Pipeline

NIGHT = datetime(2024, 2, 29, 2, 0, tzinfo=UTC)
OF_THE_BENCHMARK = (jobs.nightly_preparation, jobs.nightly_sweep, jobs.nightly_publish)


def evaluate(pipeline: Pipeline, schedule: dg.ScheduleDefinition) -> dg.ScheduleExecutionData:
    with dg.build_schedule_context(
        instance=pipeline.instance,
        scheduled_execution_time=NIGHT,
        resources=pipeline.definitions.resources,
        repository_def=pipeline.definitions.get_repository_def(),
    ) as context:
        return schedule.evaluate_tick(context)


@pytest.fixture
def measured(pipeline: Pipeline, tmp_path: Path) -> Pipeline:
    """A lake that holds a benchmark."""
    source = small_filings.small_benchmark(tmp_path / "source")
    register_benchmark(
        pipeline.lake, "small", list(small_filings.COMPANIES), source / "questions.jsonl", None
    )
    return pipeline


def test_every_schedule_says_what_it_does() -> None:
    assert all((schedule.description or "").startswith("Every ") for schedule in jobs.SCHEDULES)


def test_every_filing_is_brought_up_to_date_every_night(pipeline: Pipeline) -> None:
    assert evaluate(pipeline, jobs.nightly_reindex).skip_message == "The lake holds no filings."
    pipeline.instance.add_dynamic_partitions(filings_partitions.name, ["A_2020_10K", "B_2021_10K"])
    requests = evaluate(pipeline, jobs.nightly_reindex).run_requests or []
    assert [(r.partition_key, r.run_key) for r in requests] == [
        ("A_2020_10K", "2024-02-29:A_2020_10K"),
        ("B_2021_10K", "2024-02-29:B_2021_10K"),
    ]


@pytest.mark.parametrize(
    "schedule", [*OF_THE_BENCHMARK, *jobs.WEEKLY_TRAINING], ids=lambda schedule: schedule.name
)
def test_without_a_benchmark_nothing_is_measured(pipeline: Pipeline, schedule: dg.ScheduleDefinition) -> None:
    tick = evaluate(pipeline, schedule)
    assert not tick.run_requests
    assert "holds no benchmark" in str(tick.skip_message) and "finrag run" in str(tick.skip_message)


def test_the_sweep_is_one_run_per_system_over_all_folds(measured: Pipeline) -> None:
    requests = evaluate(measured, jobs.nightly_sweep).run_requests or []
    assert [request.run_key for request in requests] == [f"2024-02-29:{system}" for system in SYSTEMS]
    for system, request in zip(SYSTEMS, requests, strict=True):
        first = request.tags["dagster/asset_partition_range_start"]
        last = request.tags["dagster/asset_partition_range_end"]
        keys = sweep_partitions.get_partition_keys_in_range(dg.PartitionKeyRange(first, last))
        assert keys == [f"fold_{n}|{system}" for n in range(FOLD_COUNT)]


@pytest.mark.parametrize("schedule", OF_THE_BENCHMARK[::2], ids=lambda schedule: schedule.name)
def test_preparation_and_publishing_are_one_run_each(
    measured: Pipeline, schedule: dg.ScheduleDefinition
) -> None:
    assert len(evaluate(measured, schedule).run_requests or []) == 1


@pytest.mark.parametrize("schedule", jobs.WEEKLY_TRAINING, ids=lambda schedule: schedule.name)
def test_models_that_searches_use_are_trained_every_week(
    measured: Pipeline, schedule: dg.ScheduleDefinition
) -> None:
    """Only what was trained once; the training itself does nothing where its data is as it was."""
    tick = evaluate(measured, schedule)
    assert not tick.run_requests and "was trained for searching" in str(tick.skip_message)
    model = schedule.name.removeprefix("weekly_")
    measured.lake.write(model, TABLES[model].empty_table(), "x", {"fold": "production"})
    (request,) = evaluate(measured, schedule).run_requests or []
    assert (schedule.job_name, request.partition_key) == (f"train_{model}", "production")


def test_compaction_runs_whatever_the_lake_holds(pipeline: Pipeline) -> None:
    assert len(evaluate(pipeline, jobs.nightly_compaction).run_requests or []) == 1
    assert pipeline.run("compact_lake_job").success


def test_the_night_runs_in_the_order_of_the_graph() -> None:
    order = ("reindex", "preparation", "sweep", "publish", "compaction")
    hours = [getattr(jobs, f"nightly_{name}").cron_schedule.split()[1] for name in order]
    assert [int(hour) for hour in hours] == sorted(int(hour) for hour in hours)
    assert len(set(hours)) == len(order)
