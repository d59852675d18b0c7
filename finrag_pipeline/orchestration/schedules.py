"""Schedules: the nightly safety net and upkeep, and the weekly training.

Automation conditions can miss an update that lands in the tick after their own request; the nightly run
finds everything fresh or mends it. Concept: https://docs.dagster.io/guides/automate/schedules
"""

import os

import dagster as dg

from finrag_pipeline.evaluation.benchmark import active_benchmark
from finrag_pipeline.orchestration.jobs import (
    TRAINING_JOBS,
    compact_lake_job,
    index_filing_job,
    prepare_benchmark_job,
    publish_job,
    sweep_job,
)
from finrag_pipeline.orchestration.partitions import FILINGS, FOLD_COUNT, PRODUCTION, trained_partitions
from finrag_pipeline.orchestration.resources.settings import LakeResource
from finrag_pipeline.retrieval.systems import SYSTEMS

# On by default, like the sensors; FINRAG_SCHEDULES=off starts them stopped.
_STATUS = (
    dg.DefaultScheduleStatus.STOPPED
    if os.environ.get("FINRAG_SCHEDULES", "on").lower() == "off"
    else dg.DefaultScheduleStatus.RUNNING
)


@dg.schedule(
    job=index_filing_job, cron_schedule="0 2 * * *", default_status=_STATUS, execution_timezone="UTC"
)
def nightly_reindex(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest] | dg.SkipReason:
    """Every night: bring every filing of the lake up to date. Fresh ones are cache hits."""
    keys = context.instance.get_dynamic_partitions(FILINGS)
    if not keys:
        return dg.SkipReason("The lake holds no filings.")
    night = context.scheduled_execution_time.date().isoformat()
    return [dg.RunRequest(partition_key=key, run_key=f"{night}:{key}") for key in keys]


_NO_BENCHMARK = dg.SkipReason("The lake holds no benchmark; 'finrag run' brings one.")


@dg.schedule(
    job=prepare_benchmark_job, cron_schedule="0 3 * * *", default_status=_STATUS, execution_timezone="UTC"
)
def nightly_preparation(
    context: dg.ScheduleEvaluationContext, lake: LakeResource
) -> dg.RunRequest | dg.SkipReason:
    """Every night, after re-indexing: questions, folds, corpus statistics and the lexical index."""
    return dg.RunRequest() if active_benchmark(lake.open()) else _NO_BENCHMARK


@dg.schedule(job=sweep_job, cron_schedule="0 4 * * *", default_status=_STATUS, execution_timezone="UTC")
def nightly_sweep(
    context: dg.ScheduleEvaluationContext, lake: LakeResource
) -> list[dg.RunRequest] | dg.SkipReason:
    """Every night: run and score every system on the active benchmark; one run per system."""
    if active_benchmark(lake.open()) is None:
        return _NO_BENCHMARK
    night = context.scheduled_execution_time.date().isoformat()
    return [dg.RunRequest(run_key=f"{night}:{system}", tags=sweep_range(system)) for system in SYSTEMS]


@dg.schedule(job=publish_job, cron_schedule="0 5 * * *", default_status=_STATUS, execution_timezone="UTC")
def nightly_publish(
    context: dg.ScheduleEvaluationContext, lake: LakeResource
) -> dg.RunRequest | dg.SkipReason:
    """Every night, after the sweep: metrics, warehouse, report and corpus checks."""
    return dg.RunRequest() if active_benchmark(lake.open()) else _NO_BENCHMARK


def _weekly_training(model: str) -> dg.ScheduleDefinition:
    @dg.schedule(
        name=f"weekly_{model}",
        job=TRAINING_JOBS[model],
        cron_schedule="0 7 * * 0",
        default_status=_STATUS,
        execution_timezone="UTC",
        description=f"Every week: train the {model.replace('_', ' ')} that searches use, where its questions "
        "or filings changed; else it is a cache hit.",
    )
    def weekly(context: dg.ScheduleEvaluationContext, lake: LakeResource) -> dg.RunRequest | dg.SkipReason:
        if active_benchmark(lake.open()) is None:
            return _NO_BENCHMARK
        if lake.open().info(model, {"fold": PRODUCTION}) is None:
            return dg.SkipReason(f"No {model} was trained for searching; the first one is asked for.")
        return dg.RunRequest(partition_key=PRODUCTION)

    return weekly


WEEKLY_TRAINING = [_weekly_training(model) for model in TRAINING_JOBS]


def sweep_range(system: str) -> dict[str, str]:
    """Run tags that make one run of all folds of ``system``."""
    return {
        "dagster/asset_partition_range_start": f"fold_0|{system}",
        "dagster/asset_partition_range_end": f"fold_{FOLD_COUNT - 1}|{system}",
    }


def trained_range() -> dict[str, str]:
    """Run tags that make one run of the models of all folds and the one for searching."""
    keys = trained_partitions.get_partition_keys()
    return {"dagster/asset_partition_range_start": keys[0], "dagster/asset_partition_range_end": keys[-1]}


nightly_compaction = dg.ScheduleDefinition(
    name="nightly_compaction",
    job=compact_lake_job,
    cron_schedule="0 6 * * *",
    default_status=_STATUS,
    execution_timezone="UTC",
    description="Every night: compact LanceDB and clear leftovers.",
)
