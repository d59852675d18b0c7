"""The Dagster instance of a lake, and the runs that the command line makes in its own process."""

from __future__ import annotations

import logging
import os
import shutil
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from finrag_pipeline import errors
from finrag_pipeline.errors import DamageError, FinragError, LakeError
from finrag_pipeline.settings import REPOSITORY, Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.processes import PROCESS_TAG, is_alive, process_name

if TYPE_CHECKING:
    import dagster as dg
    from dagster._utils.error import SerializableErrorInfo

    from finrag_pipeline.orchestration.resources import Corpora

_Made = TypeVar("_Made")
_YAML = REPOSITORY / "data_lake" / "dagster_home" / "dagster.yaml"
_WATCH_SECONDS = 5.0
_MOST_DAMAGED = 50
"""How often a run is repeated because it meets something else that is damaged."""
_NO_COMPUTE_LOGS = {
    "module": "dagster._core.storage.noop_compute_log_manager",
    "class": "NoOpComputeLogManager",
}
"""What a run of the command line prints is on the console; to copy it takes four processes for every run."""
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


def dagster_home(settings: Settings) -> Path:
    """Folder of the Dagster instance: ``DAGSTER_HOME`` when set, else ``dagster_home`` in the lake.

    For a lake elsewhere that is its folder on this machine. The repository's ``dagster.yaml`` is copied there
    when the folder has none.
    """
    lake = Lake(settings.lake).here
    home = Path(os.environ.get("DAGSTER_HOME") or lake.local_path("dagster_home"))
    home.mkdir(parents=True, exist_ok=True)
    # The mailbox stands ready as soon as anything is started.
    lake.local_path("inbox").mkdir(parents=True, exist_ok=True)
    if not (home / "dagster.yaml").exists() and _YAML.is_file():
        # In one step: another process that starts now must not read half of it.
        temporary = home / f"dagster.yaml.{os.getpid()}.tmp"
        shutil.copyfile(_YAML, temporary)
        temporary.replace(home / "dagster.yaml")
    return home.resolve()


class Materialiser:
    """Runs jobs of the definitions in this process, on the shared instance.

    What a run finds damaged is made again, and the run is repeated; ``healed`` says so for people.
    """

    def __init__(self, definitions: dg.Definitions, instance: dg.DagsterInstance, lake: Lake) -> None:
        self._definitions = definitions
        self.instance = instance
        self._lake = lake
        self.healed: list[str] = []
        self._at_work: set[str] = set()
        self.corpora: Corpora = (definitions.resources or {})["corpora"]

    def add_partitions(self, name: str, keys: Sequence[str]) -> None:
        """Make ``keys`` known as dynamic partitions of ``name``; those known already are left as they are."""
        from sqlalchemy.exc import IntegrityError

        while new := sorted(set(keys) - set(self.instance.get_dynamic_partitions(name))):
            # Another process may be adding the same ones: then they are known the next time round.
            with suppress(IntegrityError):
                self.instance.add_dynamic_partitions(name, new)

    def run(self, job: str, **options: Any) -> str | None:
        """`execute`, once more for all that it finds damaged."""
        error = self.execute(job, **options)
        for _ in range(_MOST_DAMAGED):
            if error is None or not self.heal():
                break
            error = self.execute(job, **options)
        return error

    def heal(self, damaged: DamageError | None = None) -> bool:
        """Make again what was set aside, and ``damaged``; whether there was anything."""
        from finrag_pipeline.orchestration.healing import make_again

        if damaged is not None:
            self._lake.set_aside(damaged.path)
        told = make_again(self.run, self._lake, self._at_work)
        self.healed += told
        return bool(told)

    def sound(self, work: Callable[[], _Made]) -> _Made:
        """What ``work`` gives, which is repeated when it meets damage outside of a run."""
        for _ in range(_MOST_DAMAGED):
            try:
                return work()
            except DamageError as error:
                if not self.heal(error):
                    raise
        return work()

    def execute(
        self,
        job: str,
        partition: str | None = None,
        tags: Mapping[str, str] | None = None,
        assets: Sequence[str] | None = None,
    ) -> str | None:
        """Run a job, or some of its assets; what went wrong, None when nothing did.

        Raises:
            KeyboardInterrupt: it was stopped from the keyboard, which Dagster takes for a failing step.
        """
        import dagster as dg

        result = self._definitions.resolve_job_def(job).execute_in_process(
            instance=self.instance,
            partition_key=partition,
            run_config=_QUIET,
            tags={**(tags or {}), PROCESS_TAG: process_name(os.getpid())},
            raise_on_error=False,
            asset_selection=[dg.AssetKey(name) for name in assets] if assets else None,
        )
        if result.success:
            return None
        if any(error.cls_name == "DagsterExecutionInterruptedError" for _, error in _step_errors(result)):
            raise KeyboardInterrupt
        return _first_error(result)

    def run_or_raise(self, job: str, **options: Any) -> None:
        """`run`; raises FinragError where it failed."""
        if error := self.run(job, **options):
            raise FinragError(error, "See the run in the Dagster UI (make ui).")


def _step_errors(result: dg.ExecuteInProcessResult) -> Iterator[tuple[str, SerializableErrorInfo]]:
    """Step and error of every failing step, followed by what caused the error."""
    for event in result.all_events:
        error = event.step_failure_data.error if event.is_step_failure else None
        while error is not None:
            yield str(event.step_key), error
            error = error.cause


def _first_error(result: dg.ExecuteInProcessResult) -> str:
    """What went wrong first, in words for people where the pipeline or a check has found them."""
    for event in result.all_events:
        failure = event.step_failure_data.user_failure_data if event.is_step_failure else None
        if failure and failure.description:
            return failure.description
    last = "the run failed"
    for step, error in _step_errors(result):
        if error.cls_name == "DagsterAssetCheckFailedError":
            checks = [c for c in result.get_asset_check_evaluations() if c.blocking and not c.passed]
            return " ".join(c.description or f"Check {c.check_name} of {step} failed." for c in checks)
        if isinstance(getattr(errors, error.cls_name or "", None), type):
            return error.message.split(": ", 1)[-1].strip()
        last = f"{step}: {error.message.strip()}"
    return last


@contextmanager
def open_materialiser(settings: Settings) -> Iterator[Materialiser]:
    """The definitions for ``settings`` on the instance of their lake; clears up after killed runs first."""
    from finrag_pipeline.orchestration.build import build_definitions

    logging.getLogger("dagster").setLevel(logging.ERROR)
    with open_instance(settings) as instance, _clearing_up(instance):
        yield Materialiser(build_definitions(settings), instance, Lake(settings.lake))


@contextmanager
def open_instance(settings: Settings) -> Iterator[dg.DagsterInstance]:
    """The Dagster instance of the lake of ``settings``."""
    home = dagster_home(settings)
    os.environ["DAGSTER_HOME"] = str(home)
    import dagster as dg
    from alembic.util import CommandError
    from dagster._core.instance.ref import InstanceRef
    from filelock import FileLock
    from sqlalchemy.exc import DatabaseError

    from finrag_pipeline.orchestration.event_log import databases_kept_open

    # Two processes that make its tables at once leave a database that no process can open any more.
    try:
        with FileLock(home / ".making-tables.lock"):
            ref = InstanceRef.from_dir(str(home), overrides={"compute_logs": _NO_COMPUTE_LOGS})
            instance = dg.DagsterInstance.from_ref(ref)
            instance.get_runs(limit=1)
            instance.get_dynamic_partitions("filings")
            instance.all_instigator_state()
    except (DatabaseError, CommandError) as error:
        reason = " ".join(str(getattr(error, "orig", error)).split())
        remedy = "It holds the history of runs, no data; begin a new one: finrag doctor --heal."
        raise LakeError(f"Dagster's database in {home} cannot be used: {reason}.", remedy) from error
    with instance, databases_kept_open(instance):
        yield instance


def set_aside_history(settings: Settings) -> str | None:
    """Begin a new history of runs where the kept one cannot be opened; says so, None where it can be."""
    try:
        with open_instance(settings):
            return None
    except LakeError as error:
        home = dagster_home(settings)
        kept = home / f"damaged-{uuid.uuid4().hex[:8]}"
        kept.mkdir()
        for name in ("history", "schedules", "storage"):
            with suppress(FileNotFoundError):
                (home / name).rename(kept / name)
        return f"{error.reason} It is set aside in {kept}; a new one is begun."


@contextmanager
def _clearing_up(instance: dg.DagsterInstance) -> Iterator[None]:
    """Free what killed processes held, now and while this one works: it may be waiting for just that."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_WATCH_SECONDS):
            with suppress(Exception):  # a busy database; the next round comes soon
                release_dead_runs(instance)
                assign_free_slots(instance)

    release_dead_runs(instance)
    watcher = threading.Thread(target=watch, name="killed runs", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def assign_free_slots(instance: dg.DagsterInstance) -> None:
    """Give free slots of pools to steps that wait for one.

    Dagster looks for room before it queues a step, so one that queues just as the last slot falls free would
    wait for ever.
    """
    from dagster._core.storage.event_log import SqlEventLogStorage

    storage = instance.event_log_storage
    if isinstance(storage, SqlEventLogStorage):
        storage.assign_pending_steps([*filter(storage.has_unassigned_slots, storage.get_concurrency_keys())])


def release_dead_runs(instance: dg.DagsterInstance) -> list[str]:
    """Fail runs of the command line whose process is gone, free their pool slots, and name the runs.

    A run that was killed stays 'started' for ever otherwise, and holds its slot.
    """
    import dagster as dg

    status = dg.DagsterRunStatus
    unfinished = [status.NOT_STARTED, status.STARTING, status.STARTED, status.CANCELING]
    started = instance.get_runs(filters=dg.RunsFilter(statuses=unfinished))
    dead = [run for run in started if (tag := run.tags.get(PROCESS_TAG)) and not is_alive(tag)]
    for run in dead:
        instance.report_run_failed(run, "The process of this run is gone.")
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    return [run.run_id for run in dead]
