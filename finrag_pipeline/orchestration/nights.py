"""What is done every night: one step when the runs of the one before have ended, none where nothing changed.

A safety net beside the automation conditions, which can miss an update that lands in the tick after their own
request. A sensor, because schedules know the clock alone: https://docs.dagster.io/guides/automate/sensors
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import dagster as dg

from finrag_pipeline.evaluation.benchmark import active_benchmark
from finrag_pipeline.filings.originals import all_sources
from finrag_pipeline.orchestration.jobs import JOBS, TRAINED, compact_lake_job
from finrag_pipeline.orchestration.lineage import stale_filings
from finrag_pipeline.orchestration.partitions import FILINGS, PRODUCTION, sweep_range
from finrag_pipeline.orchestration.resources import LakeResource, SettingsResource
from finrag_pipeline.orchestration.sweeps import state_of_results
from finrag_pipeline.retrieval.systems import SYSTEMS
from finrag_pipeline.schemas.catalogue import INDEX_FILING
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake

BEGINS = 2
"""Hour of the day (UTC) at which a night begins."""
NIGHT_TAG = "finrag/night"
_SUNDAY = 6
_ENDED = (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)
_OPEN = [status for status in dg.DagsterRunStatus if status not in _ENDED]


@dataclass(frozen=True)
class _Night:
    store: Lake
    values: Settings
    instance: dg.DagsterInstance
    begun: datetime
    measured: str | None
    """State of the results at the end of the night before."""

    @property
    def changed(self) -> bool:
        """Whether there is something to measure that was not measured the night before."""
        return self.state is not None and self.state != self.measured

    @cached_property
    def state(self) -> str | None:
        """State of the results; None without a benchmark. It takes a look at every part and model."""
        return (
            state_of_results(self.store, self.values, list(SYSTEMS)) if active_benchmark(self.store) else None
        )


def _filings(night: _Night) -> list[dg.RunRequest]:
    known = set(night.instance.get_dynamic_partitions(FILINGS))
    sources = [source for source in all_sources(night.store) if source.filing in known]
    stale = stale_filings(night.store, night.values, sources, night.instance)
    return [dg.RunRequest(partition_key=filing) for filing in stale]


def _sweep(night: _Night) -> list[dg.RunRequest]:
    return [dg.RunRequest(tags=sweep_range(system)) for system in SYSTEMS] if night.changed else []


def _once(night: _Night) -> list[dg.RunRequest]:
    return [dg.RunRequest()] if night.changed else []


def _training(model: str) -> Callable[[_Night], list[dg.RunRequest]]:
    def requests(night: _Night) -> list[dg.RunRequest]:
        # The first one is asked for; a training whose questions and filings are as they were is a cache hit.
        due = night.begun.weekday() == _SUNDAY and active_benchmark(night.store)
        wanted = due and night.store.info(model, {"fold": PRODUCTION})
        return [dg.RunRequest(partition_key=PRODUCTION)] if wanted else []

    return requests


STEPS: dict[str, Callable[[_Night], list[dg.RunRequest]]] = {
    INDEX_FILING: _filings,
    "prepare_benchmark": _once,
    "sweep": _sweep,
    "publish": _once,
    **{f"train_{model}": _training(model) for model in TRAINED},
    compact_lake_job.name: lambda night: [dg.RunRequest()],
}
"""Jobs of a night in their order, and the runs that each needs; none where nothing has changed."""


@dg.sensor(
    jobs=[*(JOBS[name] for name in STEPS if name in JOBS), compact_lake_job],
    minimum_interval_seconds=60,
    # On by default, like the other sensors; FINRAG_SCHEDULES=off starts it stopped.
    default_status=dg.DefaultSensorStatus.STOPPED
    if os.environ.get("FINRAG_SCHEDULES", "on").lower() == "off"
    else dg.DefaultSensorStatus.RUNNING,
    description="Every night from two o'clock (UTC): filings that are not up to date, then questions, sweep, "
    "metrics and report where something changed, on Sundays the models that searches use, then upkeep.",
)
def night_sensor(
    context: dg.SensorEvaluationContext, lake: LakeResource, settings: SettingsResource
) -> dg.SensorResult:
    """The cursor has the night, how many of its steps are done, and what was measured the night before."""
    begun = datetime.now(UTC) - timedelta(hours=BEGINS)
    date, steps = begun.date().isoformat(), list(STEPS.items())
    # A lake's first night is the next one.
    first = {"night": date, "done": len(steps) + 1}
    known: dict[str, Any] = json.loads(context.cursor) if context.cursor else first
    if known["night"] != date:
        known |= {"night": date, "done": 0}
    running = context.instance.get_runs_count(dg.RunsFilter(tags={NIGHT_TAG: date}, statuses=_OPEN))
    if running:
        name = steps[known["done"] - 1][0]
        reason = (
            f"Night of {date}, step {known['done']} of {len(steps)}: {running} runs of {name} have not ended."
        )
        return dg.SensorResult(skip_reason=reason, cursor=json.dumps(known))
    night = _Night(lake.open(), settings.get(), context.instance, begun, known.get("measured"))
    for number, (name, requests) in enumerate(steps[known["done"] :], known["done"] + 1):
        known["done"] = number
        if found := requests(night):
            tags = {NIGHT_TAG: date, "finrag/step": f"{number} of {len(steps)}: {name}"}
            asked = [
                dg.RunRequest(
                    run_key=f"{date} {name} {n}",
                    job_name=name,
                    partition_key=one.partition_key,
                    tags={**one.tags, **tags},
                )
                for n, one in enumerate(found)
            ]
            return dg.SensorResult(run_requests=asked, cursor=json.dumps(known))
    if known["done"] == len(steps):
        known |= {"done": len(steps) + 1, "measured": night.state}
    reason = f"The night of {date} is over; the next one begins at {BEGINS}:00 UTC."
    return dg.SensorResult(skip_reason=reason, cursor=json.dumps(known))
