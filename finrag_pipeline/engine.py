"""Where heavy steps run: worker processes of this machine.

One task that crashes, hangs or raises fails alone; the others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Engine(Protocol):
    """Runs a function over items, somewhere."""

    def map(self, function: Callable[..., T], items: Sequence[tuple[Any, ...]]) -> Iterator[T | Exception]:
        """Results in the order of ``items``; an item that failed yields its exception."""
        ...


class WorkerCrashError(Exception):
    """A worker process died, for instance inside a native library."""


class WorkerTimeoutError(Exception):
    """A task took longer than its limit and was given up."""


class LocalEngine:
    """Worker processes of this machine, kept alive between calls.

    Args:
        workers: number of processes; with 1, tasks still run in a process of their own, because a
            crash of a native library must not take the caller along.
        timeout: seconds a single task may take.
    """

    def __init__(self, workers: int, timeout: float) -> None:
        self.workers = workers
        self.timeout = timeout
        self._pool: Any = None

    def _started(self) -> Any:
        if self._pool is None:
            import multiprocessing

            from pebble import ProcessPool

            # spawn: forking a process that runs threads (gRPC, OpenMP) can deadlock the child.
            self._pool = ProcessPool(max_workers=self.workers, context=multiprocessing.get_context("spawn"))
        return self._pool

    def map(self, function: Callable[..., T], items: Sequence[tuple[Any, ...]]) -> Iterator[T | Exception]:
        """Results in the order of ``items``; an item that failed yields its exception.

        Args:
            function: importable by the workers.
            items: positional arguments, one tuple per task.
        """
        from pebble import ProcessExpired

        pool = self._started()
        futures = [pool.schedule(function, args=item, timeout=self.timeout) for item in items]
        try:
            for future in futures:
                try:
                    yield future.result()
                except FutureTimeoutError:
                    yield WorkerTimeoutError(f"gave up after {self.timeout:.0f} s")
                except ProcessExpired as error:
                    yield WorkerCrashError(f"the worker process died (exit code {error.exitcode})")
                except Exception as error:
                    yield error
        finally:
            for future in futures:
                future.cancel()

    def close(self) -> None:
        """Stop the worker processes."""
        if self._pool is not None:
            self._pool.stop()
            self._pool.join()
            self._pool = None
