"""Where heavy steps run: worker processes of this machine, or the nodes of a Ray cluster.

One task that crashes, hangs or raises fails alone; the others go on.
"""

from __future__ import annotations

import pickle
import socket
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import cached_property
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.util import Finalize
from types import ModuleType
from typing import Any, TypeVar
from urllib.parse import urlsplit

from finrag_pipeline.errors import FinragError

T = TypeVar("T")


class WorkerCrashError(Exception):
    """A worker process died, for instance inside a native library."""


class WorkerTimeoutError(Exception):
    """A task took longer than its limit and was given up."""


class WorkerMemoryError(Exception):
    """A task asked for more memory than a worker may have."""


class _Worker(SpawnProcess):
    """A process that imports nothing of the program that starts it."""

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802 - multiprocessing's name
        # A worker would run the script of its parent again, which may start workers itself. What a module
        # without a file says of itself is nothing to run.
        program, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
        try:
            return SpawnProcess._Popen(process_obj)
        finally:
            sys.modules["__main__"] = program


class _Workers(SpawnContext):
    """Starts workers: forking a process that runs threads (gRPC, OpenMP) could deadlock the child."""

    Process = _Worker


class _Parent(_Worker):
    """A worker that may start workers, which multiprocessing forbids its daemons."""

    def start(self) -> None:
        self.daemon = False
        super().start()


class _Parents(SpawnContext):
    """Starts workers that may start workers."""

    Process = _Parent


class Engine:
    """Worker processes of this machine, kept alive between calls.

    Args:
        workers: number of processes; with 1, tasks still run in a process of their own, because a
            crash of a native library must not take the caller along.
        timeout: seconds a single task may take.
        memory: bytes of address space that a worker may have, where the system can limit it; -1 for any.
        nested: whether tasks may use an engine themselves.
        tasks: tasks after which a process is replaced, and gives back what it has grown to; 0 for never.
    """

    def __init__(
        self, workers: int, timeout: float, memory: int = 2 << 30, nested: bool = False, tasks: int = 0
    ) -> None:
        self.workers = workers
        self.timeout = timeout
        self.memory = memory
        self._tasks = tasks
        self._context = _Parents() if nested else _Workers()
        self._pool: Any = None

    @cached_property
    def reader(self) -> Engine:
        """One worker, always the same: what it has read for a task serves the next one of the same file."""
        return self if self.workers == 1 else Engine(1, self.timeout, self.memory)

    def _started(self) -> Any:
        if self._pool is not None and not self._pool.active:
            self.close()
        if self._pool is None:
            from pebble import ProcessPool

            self._pool = ProcessPool(
                max_workers=self.workers,
                max_tasks=self._tasks,
                context=self._context,
                initializer=_limit_memory,
                initargs=(self.memory,),
            )
            # What is left open ends with this process. A process that multiprocessing has started, as a run
            # of Dagster's daemon is, calls nothing else at its end, and would wait for its workers for ever.
            self._at_end = Finalize(None, self.close, exitpriority=0)
        return self._pool

    def map(self, function: Callable[..., T], items: Sequence[tuple[Any, ...]]) -> Iterator[T | Exception]:
        """Results in the order of ``items``, tuples of arguments; an item that failed yields its exception.

        The work begins at once, also where nobody waits for it. Workers must be able to import the function.
        """
        return self._results(function, items, self._schedule(function, items))

    def begin(self, function: Callable[..., Any], *arguments: Any) -> Future[bytes]:
        """Have a task done; its future tells whether it is, and `outcome` what came of it."""
        return self._schedule(function, [arguments])[0]

    def _results(
        self, function: Callable[..., T], items: Sequence[tuple[Any, ...]], futures: list[Future[bytes]]
    ) -> Iterator[T | Exception]:
        restarted = False
        try:
            for place in range(len(items)):
                if self._is_lost(futures[place]) and not restarted:
                    # The pool gives up all its tasks when an idle worker is killed from outside, for
                    # instance for want of memory. None of the tasks is to blame: a new pool takes them.
                    restarted = True
                    left = [n for n in range(place, len(items)) if self._is_lost(futures[n])]
                    again = self._schedule(function, [items[n] for n in left])
                    for n, future in zip(left, again, strict=True):
                        futures[n] = future
                yield self.outcome(futures[place])
        finally:
            for future in futures:
                future.cancel()

    def _schedule(self, function: Callable[..., T], items: Sequence[tuple[Any, ...]]) -> list[Future[bytes]]:
        pool = self._started()
        return [pool.schedule(_call, args=(function, item), timeout=self.timeout) for item in items]

    def _is_lost(self, future: Future[bytes]) -> bool:
        """Wait for a task; whether the pool broke before it could end."""
        while True:
            alive = self._pool.active
            try:
                return isinstance(future.exception(timeout=1.0 if alive else 0.0), BrokenProcessPool)
            except FutureTimeoutError:
                # A broken pool forgets tasks that it had not yet handed on: they would never end.
                if not alive:
                    return True

    def outcome(self, future: Future[bytes]) -> Any:
        """Wait for a task; its result, or the exception with which it failed."""
        from pebble import ProcessExpired

        if self._is_lost(future):
            return WorkerCrashError("the worker processes could not be kept alive")
        try:
            return pickle.loads(future.result())  # noqa: S301 - pickled by our own worker
        except FutureTimeoutError:
            return WorkerTimeoutError(f"gave up after {self.timeout:g} s")
        except ProcessExpired as error:
            return WorkerCrashError(f"the worker process died (exit code {error.exitcode})")
        except Exception as error:
            return error

    def close(self) -> None:
        """Stop the worker processes."""
        if (reader := self.__dict__.pop("reader", self)) is not self:
            reader.close()
        if self._pool is not None:
            self._at_end.cancel()  # it would keep every engine that was ever used
            self._pool.stop()
            self._pool.join()
            self._pool = None


def _limit_memory(size: int) -> None:
    """In the worker: an allocation beyond ``size`` bytes of address space fails, and with it its task."""
    with suppress(ImportError, ValueError, OSError):  # not on this system, or a lower limit is set already
        from resource import RLIMIT_AS, setrlimit

        setrlimit(RLIMIT_AS, (size, size))


def ran_out_of_memory(error: BaseException | None) -> bool:
    """Whether an error comes of memory that could not be had; libraries wrap it in their own."""
    while error is not None:
        if isinstance(error, (MemoryError, WorkerMemoryError)):
            return True
        error = error.__cause__ or error.__context__
    return False


def _call(function: Callable[..., T], arguments: tuple[Any, ...]) -> bytes:
    """Run in the worker: the pickled result of ``function``, or its pickled exception.

    Pickled here, because an exception that cannot be unpickled would break the whole pool.
    """
    try:
        return pickle.dumps(function(*arguments), protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        if ran_out_of_memory(error):
            what = "it needs more memory than a worker may have (FINRAG_WORKER_MEMORY)"
            return pickle.dumps(WorkerMemoryError(what))
        error.add_note(f"In a worker process:\n{traceback.format_exc()}")
        try:
            payload = pickle.dumps(error)
            pickle.loads(payload)  # noqa: S301 - pickled one line above
            return payload
        except Exception:
            return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))


_PATIENCE = 10.0
_RETRIES = 3
"""How often a task is given to another node when its own is lost."""


class RayEngine:
    """Tasks on a cluster, which must have this package and reach the lake.

    Args:
        address: of the cluster: ``auto``, ``HOST:6379`` or ``ray://HOST:10001``.
        gpus: GPUs of a task; parts of one may be shared.
    """

    def __init__(self, address: str, gpus: float = 0.0) -> None:
        self.address = address
        self.gpus = gpus

    def map(self, function: Callable[..., T], items: Sequence[tuple[Any, ...]]) -> Iterator[T | Exception]:
        """Results in the order of ``items``, tuples of arguments; an item that failed yields its exception.

        Raises:
            FinragError: there is no Ray, or no cluster at the address.
        """
        ray = self._connected()
        options = {"num_cpus": 1, "num_gpus": self.gpus, "max_retries": _RETRIES}
        task = ray.remote(function).options(**options, scheduling_strategy="SPREAD")
        waiting = [task.remote(*item) for item in items]
        try:
            while waiting:
                yield self._outcome(ray, waiting.pop(0))
        finally:
            for one in waiting:
                ray.cancel(one)

    def _connected(self) -> Any:
        try:
            import ray
        except ImportError as error:
            raise FinragError("Ray is not installed.", "Install finrag_pipeline[ray].") from error
        if not ray.is_initialized():
            place = urlsplit(self.address if "://" in self.address else f"//{self.address}")
            try:
                if place.port:  # Ray would wait for minutes
                    socket.create_connection((str(place.hostname), place.port), _PATIENCE).close()
                ray.init(address=self.address, log_to_driver=False, logging_level="ERROR")
            except (OSError, RuntimeError, ValueError) as error:
                reason = str(error).strip().partition("\n")[0]
                told = f"There is no Ray cluster at {self.address}: {reason}"
                raise FinragError(told, "Start it, or unset FINRAG_RAY__ADDRESS.") from error
        return ray

    @staticmethod
    def _outcome(ray: Any, reference: Any) -> Any:
        try:
            return ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            return error.cause or error
        except ray.exceptions.RayError as error:  # its node or process was lost too often
            return WorkerCrashError(str(error).partition("\n")[0])
