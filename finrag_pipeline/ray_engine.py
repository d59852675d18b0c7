"""Where heavy steps run when one machine is too small: the nodes of a Ray cluster (extra ``ray``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from finrag_pipeline.engine import WorkerCrashError
from finrag_pipeline.errors import FinragError

T = TypeVar("T")

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
            try:
                ray.init(address=self.address, log_to_driver=False, logging_level="ERROR")
            except (ConnectionError, RuntimeError, ValueError) as error:
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
