"""Sensors: new files in the inbox become filings; automation conditions are evaluated.

Concept: https://docs.dagster.io/guides/automate/sensors
"""

import json
from pathlib import Path

import dagster as dg

from finrag_pipeline.filings.intake import settled_inbox_files
from finrag_pipeline.orchestration.jobs import PER_FILING, index_filing_job
from finrag_pipeline.orchestration.partitions import filings_partitions
from finrag_pipeline.orchestration.resources.settings import LakeResource
from finrag_pipeline.storage.lake import Lake

MAX_PER_TICK = 50


@dg.sensor(
    job=index_filing_job,
    minimum_interval_seconds=10,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Turns each new file in the inbox into a partition and a run that makes it searchable.",
)
def inbox_sensor(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult | dg.SkipReason:
    """Requests one run per settled file of the inbox; a file stays there until its run has kept it.

    The cursor remembers which state of which file was requested, so that a file that is refused is not
    tried again until it changes. The run key carries the modification time for the same reason: dropping
    an earlier version of a file again must run again.
    """
    asked: dict[str, str] = json.loads(context.cursor) if context.cursor else {}
    waiting = {filing: _state(path) for filing, path in settled_inbox_files(lake.open())}
    new = [filing for filing, state in waiting.items() if asked.get(filing) != state][:MAX_PER_TICK]
    # Files that have left the inbox are forgotten, so that the cursor stays small.
    cursor = {f: s for f, s in asked.items() if f in waiting} | {f: waiting[f] for f in new}
    if not new:
        return dg.SkipReason(f"{len(waiting)} files in the inbox, none of them new.")
    return dg.SensorResult(
        dynamic_partitions_requests=[filings_partitions.build_add_request(new)],
        run_requests=[
            dg.RunRequest(
                partition_key=filing, run_key=f"{filing}:{waiting[filing]}", tags={"finrag/origin": "inbox"}
            )
            for filing in new
        ],
        cursor=json.dumps(cursor, sort_keys=True),
    )


def _state(path: Path) -> str:
    stat = path.stat()
    return f"{stat.st_size}:{stat.st_mtime_ns}"


@dg.run_failure_sensor(
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=30,
    description="Notes a run that died outside any step (killed, out of memory) in the lake's ledger.",
)
def failed_run_sensor(context: dg.RunFailureSensorContext, lake: LakeResource) -> None:
    """A killed worker leaves no ledger entry of its own; this writes it."""
    note_dead_run(lake.open(), context.dagster_run, context.failure_event.message or "the run failed")


def note_dead_run(store: Lake, run: dg.DagsterRun, message: str) -> None:
    """Write 'failed' for the steps of ``run`` that never reported how they ended."""
    key = run.tags.get("dagster/partition", "")
    for asset in run.asset_selection or []:
        name = asset.to_user_string()
        entry = store.ledger_entry(name, key)
        if entry is None or (entry["run_id"] != run.run_id and not store.info(name, {"filing": key})):
            remedy = "See the run in the Dagster UI; running it again finishes the work."
            store.record(name, key, "failed", error=message, remedy=remedy, run_id=run.run_id)


# Two sensors with disjoint targets: a slow corpus-wide evaluation must not delay single filings.
filing_automation = dg.AutomationConditionSensorDefinition(
    "filing_automation",
    target=dg.AssetSelection.assets(*PER_FILING),
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=30,
)
corpus_automation = dg.AutomationConditionSensorDefinition(
    "corpus_automation",
    target=dg.AssetSelection.all() - dg.AssetSelection.assets(*PER_FILING),
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=60,
)
