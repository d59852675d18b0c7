"""Tasks that worker processes import in the tests of the engine."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from finrag_pipeline.engine import Engine

_open: Engine | None = None


class UnpicklableError(Exception):
    """An exception that cannot be unpickled: its constructor takes more than its arguments tell."""

    def __init__(self, reason: str, detail: int) -> None:
        super().__init__(reason)
        self.detail = detail


def leave_mark(path: str) -> None:
    Path(path).touch()


def work(kind: str, value: int) -> object:
    """Do what ``kind`` says."""
    match kind:
        case "double":
            return 2 * value
        case "exit":
            os._exit(3)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "hang":
            time.sleep(600)
        case "allocate":
            return len(bytearray(value << 20))
        case "raise":
            raise ValueError(f"no {value}")
        case "time out by itself":
            raise TimeoutError("the socket is slow")
        case "raise unpicklable":
            raise UnpicklableError("odd", value)
        case "return unpicklable":
            return lambda: value
        case "process":
            return os.getpid()
    raise AssertionError(kind)


def leave_an_engine_open() -> None:
    """What a run of Dagster's daemon does, in a process that multiprocessing has started."""
    assert list(Engine(1, 60.0).map(work, [("double", 1)])) == [2]


def worker_of_an_engine_left_open() -> int:
    """The process of a worker, with which this one is ended."""
    global _open
    _open = Engine(1, 60.0)
    (process,) = _open.map(work, [("process", 0)])
    assert isinstance(process, int)
    return process
