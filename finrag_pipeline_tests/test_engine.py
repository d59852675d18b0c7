from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import pytest

from finrag_pipeline.engine import Engine, WorkerCrashError, WorkerMemoryError, WorkerTimeoutError
from finrag_pipeline.errors import FilingError
from finrag_pipeline.storage.processes import is_alive, process_name
from finrag_pipeline_tests.console import REPOSITORY
from finrag_pipeline_tests.engine_tasks import (
    leave_an_engine_open,
    leave_mark,
    work,
    worker_of_an_engine_left_open,
)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine(workers=2, timeout=5.0)
    yield engine
    engine.close()


def test_results_come_in_the_order_of_the_items(engine: Engine) -> None:
    assert list(engine.map(work, [("double", n) for n in range(20)])) == [2 * n for n in range(20)]


def test_no_items_no_results(engine: Engine) -> None:
    assert list(engine.map(work, [])) == []


def test_tasks_run_in_other_processes_even_with_one_worker() -> None:
    engine = Engine(workers=1, timeout=60.0)
    try:
        pids = list(engine.map(work, [("process", 0), ("process", 0)]))
        assert os.getpid() not in pids
        assert pids[0] == pids[1], "workers are kept alive between tasks"
    finally:
        engine.close()


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "print('started', flush=True)\n"
        "from finrag_pipeline.engine import Engine\n"
        "from finrag_pipeline_tests.engine_tasks import leave_an_engine_open, work\n"
        "print(list(Engine(1, 60.0).map(work, [('double', 2)])))\n"
    )
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("started\n[4]\n", "")


@pytest.mark.parametrize(
    ("kind", "message"),
    [("exit", "the worker process died (exit code 3)"), ("kill", "the worker process died (exit code -9)")],
)
def test_a_crash_fails_its_task_alone(engine: Engine, kind: str, message: str) -> None:
    items = [("double", 1), (kind, 0), ("double", 2), (kind, 0), ("double", 3)]
    results = list(engine.map(work, items))
    assert [r for r in results if not isinstance(r, Exception)] == [2, 4, 6]
    for place in (1, 3):
        assert isinstance(results[place], WorkerCrashError)
        assert str(results[place]) == message


def test_a_hanging_task_is_given_up_and_the_others_finish() -> None:
    engine = Engine(workers=2, timeout=2.0)
    try:
        list(engine.map(work, [("double", 1), ("double", 2)]))  # start-up does not count
        first, hung, last = engine.map(work, [("double", 1), ("hang", 0), ("double", 2)])
        assert (first, last) == (2, 4)
        assert isinstance(hung, WorkerTimeoutError)
        assert str(hung) == "gave up after 2 s"
    finally:
        engine.close()


def test_a_task_that_wants_too_much_memory_fails_alone() -> None:
    engine = Engine(workers=1, timeout=60.0, memory=1 << 30)
    try:
        fine, failed, after = engine.map(work, [("allocate", 100), ("allocate", 1100), ("allocate", 100)])
        assert fine == after == 100 << 20
        assert isinstance(failed, WorkerMemoryError)
    finally:
        engine.close()


def test_a_task_that_raises_gives_its_exception(engine: Engine) -> None:
    failed, fine = engine.map(work, [("raise", 7), ("double", 7)])
    assert isinstance(failed, ValueError)
    assert failed.args == ("no 7",)
    assert any("engine_tasks.py" in note for note in failed.__notes__), "the worker's traceback is kept"
    assert fine == 14


def test_a_timeout_inside_a_task_is_not_taken_for_the_engine_s(engine: Engine) -> None:
    (failed,) = engine.map(work, [("time out by itself", 0)])
    assert type(failed) is TimeoutError


@pytest.mark.parametrize("kind", ["raise unpicklable", "return unpicklable"])
def test_what_cannot_be_pickled_fails_its_task_alone(engine: Engine, kind: str) -> None:
    before, failed, after = engine.map(work, [("double", 1), (kind, 0), ("double", 2)])
    assert (before, after) == (2, 4)
    assert isinstance(failed, Exception)
    assert not isinstance(failed, WorkerCrashError)
    assert list(engine.map(work, [("double", 5)])) == [10], "the pool still works"


def test_a_function_that_cannot_be_sent_is_an_error_and_leaves_the_pool_whole(engine: Engine) -> None:
    (failed,) = engine.map(lambda: 1, [()])
    assert isinstance(failed, Exception)
    assert list(engine.map(work, [("double", 5)])) == [10]


def _workers(engine: Engine) -> list[int]:
    return list(engine._pool._pool_manager.worker_manager.workers)


@pytest.mark.parametrize("wait", [0.0, 1.5])
def test_an_idle_worker_that_is_killed_is_replaced(wait: float) -> None:
    """The pool gives up when an idle worker dies; at once and after it has noticed, tasks must still run."""
    engine = Engine(workers=1, timeout=60.0)
    try:
        assert list(engine.map(work, [("double", 1)])) == [2]
        os.kill(_workers(engine)[0], signal.SIGKILL)
        time.sleep(wait)
        assert list(engine.map(work, [("double", n) for n in range(5)])) == [0, 2, 4, 6, 8]
    finally:
        engine.close()


def test_what_is_not_asked_for_any_more_is_cancelled(engine: Engine) -> None:
    results = engine.map(work, [("double", 1), *[("hang", 0)] * 6])
    assert next(results) == 2
    start = time.monotonic()
    results.close()
    assert list(engine.map(work, [("double", 4)])) == [8]
    assert time.monotonic() - start < 20, (
        "six hanging tasks of five seconds on two workers were not waited for"
    )


def test_the_work_begins_before_anybody_waits_for_it(engine: Engine, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    results = engine.map(leave_mark, [(str(mark),)])
    end = time.monotonic() + 30
    while not mark.exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert mark.exists()
    assert list(results) == [None]


def test_a_closed_engine_can_be_used_again() -> None:
    engine = Engine(workers=1, timeout=60.0)
    engine.close()
    assert list(engine.map(work, [("double", 1)])) == [2]
    engine.close()
    assert list(engine.map(work, [("double", 2)])) == [4]
    engine.close()


def test_a_process_that_multiprocessing_has_started_ends_with_an_engine_open() -> None:
    """It would wait for its workers for ever, and with it a run of Dagster's daemon, its memory and code server."""
    process = get_context("spawn").Process(target=leave_an_engine_open)
    process.start()
    process.join(60)
    try:
        assert process.exitcode == 0
    finally:
        process.kill()


def test_a_nested_engine_lets_tasks_start_workers_and_leaves_none_behind() -> None:
    engine = Engine(workers=1, timeout=60.0, memory=-1, nested=True)
    try:
        inner = engine.outcome(engine.begin(worker_of_an_engine_left_open))
        assert is_alive(process_name(inner))
        assert engine.outcome(engine.begin(work, "double", 4)) == 8
    finally:
        engine.close()
    end = time.monotonic() + 20
    while is_alive(process_name(inner)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not is_alive(process_name(inner))


def test_a_process_is_replaced_after_its_tasks_and_loses_none() -> None:
    engine = Engine(workers=1, timeout=60.0, tasks=2)
    try:
        processes = list(engine.map(work, [("process", 0)] * 5))
    finally:
        engine.close()
    assert processes[0] == processes[1] != processes[2] == processes[3] != processes[4]


def test_the_reader_is_one_process_for_all_tasks(engine: Engine) -> None:
    processes = {process for _ in range(4) for process in engine.reader.map(work, [("process", 0)])}
    assert len(processes) == 1
    assert os.getpid() not in processes


def _fail(name: str) -> None:
    raise FilingError(f"{name} is odd.", "Mend it.")


def test_our_errors_keep_their_remedy_across_processes(engine: Engine) -> None:
    (failed,) = engine.map(_fail, [("a.pdf",)])
    assert isinstance(failed, FilingError)
    assert (failed.reason, failed.remedy) == ("a.pdf is odd.", "Mend it.")
