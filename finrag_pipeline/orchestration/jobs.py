"""Jobs (a filing from original to searchable, the evaluation of the benchmark, upkeep), and the nightly runs.

The nightly runs are a safety net: automation conditions can miss an update that lands in the tick after their
own request; the night finds everything fresh or mends it. Concepts: https://docs.dagster.io/guides/build/jobs,
https://docs.dagster.io/guides/automate/schedules
"""

import os
from collections.abc import Callable
from typing import Any

import dagster as dg

from finrag_pipeline.chunking.registry import CHUNKINGS
from finrag_pipeline.evaluation.benchmark import active_benchmark
from finrag_pipeline.orchestration import checks
from finrag_pipeline.orchestration.partitions import FILINGS, PRODUCTION, sweep_range
from finrag_pipeline.orchestration.resources import LakeResource, SettingsResource, get_encoder
from finrag_pipeline.retrieval.systems import SYSTEMS
from finrag_pipeline.schemas.catalogue import CATALOGUE, INDEX_FILING, INDEX_ON_DEMAND, VECTORS, made_by

_TRAINING = "each without its questions, and that for searching"
_SLOW = "not part of 'finrag run', because it takes hours without a GPU."
_DESCRIBED: dict[str, tuple[str, int | None]] = {
    INDEX_FILING: ("From the original of a filing to search. The inbox sensor launches it per filing.", 2),
    INDEX_ON_DEMAND: (
        "Vectors of a filing's chunks, its context-aware chunks, its parents and children.",
        2,
    ),
    "prepare_benchmark": (
        "Questions, folds, corpus statistics, the lexical index over all filings in the lake, and every "
        "weight of the hybrid tried on every question.",
        None,
    ),
    "sweep": ("Rankings and scores of one system on the folds of the active benchmark.", 4),
    "publish": ("Metrics with intervals, the warehouse, the report, and the checks over the corpus.", None),
    "train_page_ranker": (f"The page rankers of the folds, {_TRAINING}.", 4),
    "train_page_scorer": (f"The learned page scorers of the folds, {_TRAINING}; {_SLOW}", 24),
    "train_reranker": (f"The cross-encoders of the folds, {_TRAINING}; {_SLOW}", 24),
    "answer": (
        "Answers and scores of one answering system on the folds of the active benchmark; its retrieval must "
        "have been run.",
        4,
    ),
    "publish_answers": (
        "Recorded answers of other models, and means with intervals of all answers.",
        None,
    ),
    "judge": (
        "Sentences, automatic metrics and verdicts on the answers of one system; they must have been made.",
        4,
    ),
    "publish_judgements": (
        "Rates, calibration of the judges, sheets and labels of people, estimates of both, tests between "
        "systems, and simulations.",
        4,
    ),
}
"""Descriptions of jobs, and the hours that a run may take."""
_CORPUS_CHECKS = dg.AssetSelection.checks(
    *(value for value in vars(checks).values() if isinstance(value, dg.AssetChecksDefinition))
)


def _job(name: str) -> "dg.UnresolvedAssetJobDefinition":
    """The job that makes what the catalogue says; steps share a process, which costs more than most of them.

    Checks over the corpus are looked at when it is published, not with every filing.
    """
    made = dg.AssetSelection.assets(*made_by(name))
    description, hours = _DESCRIBED.get(name, (None, None))
    return dg.define_asset_job(
        name,
        selection=made | _CORPUS_CHECKS if name == "publish" else made - _CORPUS_CHECKS,
        executor_def=dg.in_process_executor,
        description=description,
        tags={"dagster/max_runtime": str(3600 * hours)} if hours else None,
    )


JOBS = {name: _job(name) for name in dict.fromkeys(entry.job for entry in CATALOGUE.values())}
"""Jobs of the catalogue, by name."""


@dg.op(pool=VECTORS)
def compact_lake(context: dg.OpExecutionContext, settings: SettingsResource, lake: LakeResource) -> None:
    """Compact LanceDB, drop its versions older than a day, and remove what killed runs left.

    Vectors of filings without chunks go too, and results that are not measured any more.
    """
    from finrag_pipeline.orchestration.sweeps import answers_to_other_questions, drop, stale_results
    from finrag_pipeline.retrieval.chunk_index import open_chunk_index, searchable_filings

    store, values = lake.open(), settings.get()
    encoder = get_encoder(values, store)
    for chunking in CHUNKINGS.values():
        index = open_chunk_index(store, encoder, values, chunking)
        index.remove(index.filings() - set(searchable_filings(store, chunking)))
        index.optimize()
        context.log.info(f"{index.name}: {index.count()} vectors")
    if active_benchmark(store) and store.info("folds"):
        drop(store, stale_results(store, values) + answers_to_other_questions(store))
    context.log.info(f"removed {store.remove_leftovers()} leftover files")


@dg.job(executor_def=dg.in_process_executor, description="Upkeep of the lake, every night.")
def compact_lake_job() -> None:
    """Upkeep of the lake."""
    compact_lake()


# On by default, like the sensors; FINRAG_SCHEDULES=off starts them stopped.
_OFF = os.environ.get("FINRAG_SCHEDULES", "on").lower() == "off"
_STATUS = dg.DefaultScheduleStatus.STOPPED if _OFF else dg.DefaultScheduleStatus.RUNNING
_NO_BENCHMARK = dg.SkipReason("The lake holds no benchmark; 'finrag run' brings one.")
_Requests = dg.RunRequest | list[dg.RunRequest] | dg.SkipReason


def _schedule(**about: Any) -> Callable[[Callable[..., _Requests]], dg.ScheduleDefinition]:
    """Makes a function a schedule; what its documentation says is shown in the graph."""

    def declare(requests: Callable[..., _Requests]) -> dg.ScheduleDefinition:
        named = {"description": requests.__doc__, **about}
        return dg.schedule(**named, default_status=_STATUS, execution_timezone="UTC")(requests)

    return declare


@_schedule(job=JOBS[INDEX_FILING], cron_schedule="0 2 * * *")
def nightly_reindex(context: dg.ScheduleEvaluationContext) -> _Requests:
    """Every night: bring every filing of the lake up to date. Fresh ones are cache hits."""
    keys = context.instance.get_dynamic_partitions(FILINGS)
    if not keys:
        return dg.SkipReason("The lake holds no filings.")
    night = context.scheduled_execution_time.date().isoformat()
    return [dg.RunRequest(partition_key=key, run_key=f"{night}:{key}") for key in keys]


@_schedule(job=JOBS["prepare_benchmark"], cron_schedule="0 3 * * *")
def nightly_preparation(lake: LakeResource) -> _Requests:
    """Every night, after re-indexing: questions, folds, corpus statistics and the lexical index."""
    return dg.RunRequest() if active_benchmark(lake.open()) else _NO_BENCHMARK


@_schedule(job=JOBS["sweep"], cron_schedule="0 4 * * *")
def nightly_sweep(context: dg.ScheduleEvaluationContext, lake: LakeResource) -> _Requests:
    """Every night: run and score every system on the active benchmark; one run per system."""
    if active_benchmark(lake.open()) is None:
        return _NO_BENCHMARK
    night = context.scheduled_execution_time.date().isoformat()
    return [dg.RunRequest(run_key=f"{night}:{system}", tags=sweep_range(system)) for system in SYSTEMS]


@_schedule(job=JOBS["publish"], cron_schedule="0 5 * * *")
def nightly_publish(lake: LakeResource) -> _Requests:
    """Every night, after the sweep: metrics, warehouse, report and corpus checks."""
    return dg.RunRequest() if active_benchmark(lake.open()) else _NO_BENCHMARK


@_schedule(job=compact_lake_job, cron_schedule="0 6 * * *")
def nightly_compaction() -> _Requests:
    """Every night: compact LanceDB and clear leftovers."""
    return dg.RunRequest()


def _weekly_training(model: str) -> dg.ScheduleDefinition:
    @_schedule(
        name=f"weekly_{model}",
        job=JOBS[f"train_{model}"],
        cron_schedule="0 7 * * 0",
        description=f"Every week: train the {model.replace('_', ' ')} that searches use, where its questions "
        "or filings changed; else it is a cache hit.",
    )
    def weekly(lake: LakeResource) -> _Requests:
        if active_benchmark(lake.open()) is None:
            return _NO_BENCHMARK
        if lake.open().info(model, {"fold": PRODUCTION}) is None:
            return dg.SkipReason(f"No {model} was trained for searching; the first one is asked for.")
        return dg.RunRequest(partition_key=PRODUCTION)

    return weekly


WEEKLY_TRAINING = [_weekly_training(model) for model in ("page_ranker", "page_scorer", "reranker")]
SCHEDULES = [
    nightly_reindex,
    nightly_preparation,
    nightly_sweep,
    nightly_publish,
    nightly_compaction,
    *WEEKLY_TRAINING,
]
