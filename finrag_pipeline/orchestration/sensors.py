"""Sensors: new filings are fetched, files in the inbox become filings, automation conditions are evaluated.

Concept: https://docs.dagster.io/guides/automate/sensors
"""

import json
import shlex
import subprocess
from contextlib import suppress

import dagster as dg
import httpx
from dagster._core.definitions.freshness import FreshnessState

from finrag_pipeline.filings.intake import file_state, settled_inbox_files
from finrag_pipeline.orchestration.jobs import JOBS
from finrag_pipeline.orchestration.partitions import filings_partitions
from finrag_pipeline.orchestration.resources import LakeResource, SettingsResource
from finrag_pipeline.schemas import PER_FILING
from finrag_pipeline.schemas.catalogue import CATALOGUE, INDEX_FILING
from finrag_pipeline.settings import get_settings
from finrag_pipeline.storage.processes import PROCESS_TAG

MAX_PER_TICK = 50
EDGAR_SECONDS = 30.0
"""Time for fetching in one tick: Dagster gives a tick up after 60 seconds."""
_PATIENCE = 20.0


def tell(alert: str, text: str, **about: str) -> None:
    """Give a message to ``alert``, JSON with ``text``: posted to an address, or a command's standard input.

    Raises:
        httpx.HTTPError, OSError, subprocess.SubprocessError: it did not get there.
    """
    message = {"text": text, **about}
    if alert.startswith(("http://", "https://")):
        httpx.post(alert, json=message, timeout=_PATIENCE).raise_for_status()
    else:
        subprocess.run(shlex.split(alert), input=json.dumps(message).encode(), timeout=_PATIENCE, check=True)


@dg.sensor(
    job=JOBS[INDEX_FILING],
    minimum_interval_seconds=10,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Turns each new file in the inbox into a partition and a run that makes it searchable.",
)
def inbox_sensor(context: dg.SensorEvaluationContext, lake: LakeResource) -> dg.SensorResult:
    """Requests one run per settled file of the inbox; a file stays there until its run has kept it.

    A file is asked for when two looks have found it the same. The cursor remembers what the last look found,
    and which state of which file was requested, so that a file that is refused is not tried again until it
    changes. Dagster never repeats a run key: the key carries times, so that dropping an earlier version of a
    file again runs again.
    """
    known: dict[str, dict[str, str]] = json.loads(context.cursor) if context.cursor else {}
    asked, seen = known.get("asked", {}), known.get("seen", {})
    waiting = {}
    for filing, path in settled_inbox_files(lake.open()):
        with suppress(FileNotFoundError):  # a run has just taken it
            waiting[filing] = file_state(path)
    same = [filing for filing, state in waiting.items() if seen.get(filing) == state]
    new = [filing for filing in same if asked.get(filing) != waiting[filing]][:MAX_PER_TICK]
    # Files that have left the inbox are forgotten, so that the cursor stays small.
    asked = {f: s for f, s in asked.items() if f in waiting} | {f: waiting[f] for f in new}
    cursor = json.dumps({"asked": asked, "seen": waiting}, sort_keys=True)
    if not new:
        reason = f"{len(waiting)} files in the inbox, none of them new since the last look."
        return dg.SensorResult(skip_reason=reason, cursor=cursor)
    return dg.SensorResult(
        dynamic_partitions_requests=[filings_partitions.build_add_request(new)],
        run_requests=[
            dg.RunRequest(
                partition_key=filing, run_key=f"{filing}:{waiting[filing]}", tags={"finrag/origin": "inbox"}
            )
            for filing in new
        ],
        cursor=cursor,
    )


@dg.sensor(
    minimum_interval_seconds=600,
    default_status=dg.DefaultSensorStatus.RUNNING
    if get_settings().edgar.watch
    else dg.DefaultSensorStatus.STOPPED,
    description="Puts new filings of the companies of FINRAG_EDGAR__WATCH into the inbox.",
)
def edgar_sensor(
    context: dg.SensorEvaluationContext, lake: LakeResource, settings: SettingsResource
) -> dg.SkipReason:
    """What the lake and its inbox hold tells what is new: the sensor keeps no cursor.

    A tick that runs out of time leaves the rest to the next one.
    """
    from finrag_pipeline.filings.edgar import fetch_new

    store, values = lake.open(), settings.get()
    found = fetch_new(store, values.edgar, values.max_filing_bytes, seconds=EDGAR_SECONDS)
    inbox = store.local_path("inbox")
    inbox.mkdir(exist_ok=True)
    for path in found.files:
        path.rename(inbox / path.name)
    for what in [*found.warnings, *found.failures.values()]:
        context.log.warning(what)
    if found.refused:
        raise found.refused
    return dg.SkipReason(f"{len(found.files)} of {len(found.listed)} filings are new: they are in the inbox.")


@dg.run_failure_sensor(
    default_status=dg.DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=30,
    description="Notes a run that died outside any step (killed, out of memory) in the lake's ledger, and "
    "tells FINRAG_ALERT of every run that failed with nobody watching.",
)
def failed_run_sensor(context: dg.RunFailureSensorContext, lake: LakeResource) -> None:
    """What a killed worker had begun, perhaps on another machine, has failed."""
    run, reason = context.dagster_run, context.failure_event.message or ""
    lake.open().record_dead(run.run_id, reason)
    alert = get_settings().alert
    if alert and PROCESS_TAG not in run.tags:
        of = run.tags.get("dagster/partition", "")
        tell(alert, f"finrag: {run.job_name} {of} failed. {reason}".replace("  ", " "), run=run.run_id)


_WATCHED = [dg.AssetKey(entry.name) for entry in CATALOGUE.values() if entry.watched]


@dg.sensor(
    minimum_interval_seconds=600,
    default_status=dg.DefaultSensorStatus.RUNNING if get_settings().alert else dg.DefaultSensorStatus.STOPPED,
    description="Tells FINRAG_ALERT once when what is watched has failed its freshness policy.",
)
def freshness_sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult:
    """The cursor has what was told already; what has become fresh again can be told anew."""
    known = json.loads(context.cursor or "[]")
    records = context.instance.get_freshness_state_records(_WATCHED)
    old = [
        key.to_user_string() for key, found in records.items() if found.freshness_state == FreshnessState.FAIL
    ]
    if new := [name for name in old if name not in known]:
        tell(get_settings().alert, f"finrag: {', '.join(new)} was not made for two nights.")
    reason = f"{len(old)} of {len(_WATCHED)} watched assets are too old."
    return dg.SensorResult(skip_reason=reason, cursor=json.dumps(old))


def _automation(name: str, target: dg.AssetSelection, seconds: int) -> dg.AutomationConditionSensorDefinition:
    status = dg.DefaultSensorStatus.RUNNING
    return dg.AutomationConditionSensorDefinition(
        name,
        target=target,
        default_status=status,
        minimum_interval_seconds=seconds,
        description="Makes anew what its conditions say, once what it is made from has changed.",
    )


_OF_FILINGS = dg.AssetSelection.assets(*PER_FILING)
SENSORS = [
    inbox_sensor,
    edgar_sensor,
    failed_run_sensor,
    freshness_sensor,
    # Two with disjoint targets: a slow corpus-wide evaluation must not delay single filings.
    _automation("filing_automation", _OF_FILINGS, 30),
    _automation("corpus_automation", dg.AssetSelection.all() - _OF_FILINGS, 60),
]
