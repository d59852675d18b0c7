"""Parts that a Ray cluster or a second process makes ahead: the runs of this one find them made, and commit.

A worker runs the job of a filing or of a system as this process would, on a Dagster instance that it
forgets. It writes its parts into the lake and gives their fingerprints. What all filings share, the vectors
of an index and the warehouse, is written by this process alone; of vectors the workers fill the cache.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from finrag_pipeline.engine import Engine, RayEngine
from finrag_pipeline.errors import FinragError
from finrag_pipeline.schemas.catalogue import CATALOGUE, VECTORS, made_by
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.orchestration.instance import Materialiser

Item = tuple[str | None, Mapping[str, str], Sequence[str] | None]
"""Partition, tags of the run, and the assets to make; all of the job's when None."""


def make_ahead(
    settings: Settings, job: str, items: Sequence[Item], done: Callable[[int], object] = lambda _: None
) -> list[str]:
    """Make the parts of a job on the cluster of ``settings.ray``, if there is one; how workers died.

    What could not be made is left to the run, which notes why. ``done`` is told how many of the items are.

    Raises:
        FinragError: there is no Ray, or no cluster at its address.
    """
    if not settings.ray.address or not items:
        return []
    values = _told(settings)
    died: list[str] = []
    for gpus, stage in _stages(settings.ray.gpus, job, items):
        engine = RayEngine(settings.ray.address, gpus)
        for number, result in enumerate(engine.map(make_parts, [(values, job, *item) for item in stage])):
            done(number)
            if isinstance(result, Exception) and not isinstance(result, FinragError):
                died.append(f"A worker of the cluster failed: {result}.")
    return died


class SecondProcess(Engine):
    """A process that makes parts of jobs, one after another, while this one works.

    It takes seconds to start, at the first of them. What it could not make is left to the run.
    """

    def __init__(self, settings: Settings) -> None:
        # A job may take a day; after 40 the process is replaced, for with each it holds more memory.
        super().__init__(1, 86_400.0, memory=-1, nested=True, tasks=40)
        self._values = _told(settings)

    def make(self, job: str, item: Item) -> Future[bytes]:
        """Have parts of a job made, after those that were asked for before; `outcome` waits for them."""
        return self.begin(make_parts, self._values, job, *item)

    def start(self) -> None:
        """Start it before there is anything to make."""
        self.begin(_prepare, self._values)


@contextmanager
def second_process(settings: Settings) -> Iterator[SecondProcess | None]:
    """A second process, which is given up at the end; None where there is a single worker, or a cluster."""
    if settings.workers < 2 or settings.ray.address:
        yield None
        return
    with closing(SecondProcess(settings)) as second:
        yield second


def _told(settings: Settings) -> dict[str, Any]:
    """What a worker is told of the settings."""
    from finrag_pipeline.orchestration.build import SECRETS

    return settings.model_dump(mode="json", exclude=SECRETS, exclude_none=True)


def _stages(gpus: float, job: str, items: Sequence[Item]) -> list[tuple[float, list[Item]]]:
    """What asks for no GPU, then what embeds, where there are GPUs."""
    if not gpus:
        return [(0.0, list(items))]
    found: list[tuple[float, list[Item]]] = []
    for asked, embeds in ((0.0, False), (gpus, True)):
        stage: list[Item] = []
        for partition, tags, assets in items:
            chosen = [one for one in assets or made_by(job) if (CATALOGUE[one].pool == VECTORS) == embeds]
            stage += [(partition, tags, chosen)] if chosen else []
        found.append((asked, stage))
    return found


def make_parts(
    values: dict[str, Any],
    job: str,
    partition: str | None,
    tags: Mapping[str, str],
    assets: Sequence[str] | None = None,
) -> dict[str, str]:
    """In a worker: make parts of a job; the fingerprints of a filing's by their assets.

    Raises:
        FinragError: a part could not be made.
    """
    from finrag_pipeline.chunking.registry import CHUNKINGS
    from finrag_pipeline.orchestration.partitions import FILINGS
    from finrag_pipeline.orchestration.resources import get_encoder
    from finrag_pipeline.orchestration.steps import AHEAD
    from finrag_pipeline.retrieval.chunk_index import embed_chunks, to_index

    settings, lake, materialiser = _opened(json.dumps(values))
    chosen = assets or made_by(job)
    parts = [name for name in chosen if CATALOGUE[name].is_table]
    if partition:
        materialiser.add_partitions(FILINGS, [partition])
    if parts and (error := materialiser.execute(job, partition, {**tags, AHEAD: "yes"}, parts)):
        raise FinragError(error, "The run that commits says more.")
    if not partition:
        return {}
    of = {"filing": partition}
    for chunking in CHUNKINGS.values():
        if chunking.index in chosen:
            embed_chunks(to_index(lake.read(chunking.table, of), chunking), get_encoder(settings, lake))
    infos = {name: lake.info(name, of) for name in parts}
    return {name: info.fingerprint for name, info in infos.items() if info}


def _prepare(values: dict[str, Any]) -> None:
    _opened(json.dumps(values))


@lru_cache(1)
def _opened(values: str) -> tuple[Settings, Lake, Materialiser]:
    """Settings, their lake, and what makes its parts on an instance that is forgotten with the process."""
    import dagster as dg

    from finrag_pipeline.orchestration.build import build_definitions
    from finrag_pipeline.orchestration.instance import Materialiser

    settings = Settings.model_validate(json.loads(values))  # secrets come from the environment
    lake = Lake(settings.lake)
    return settings, lake, Materialiser(build_definitions(settings), dg.DagsterInstance.ephemeral(), lake)
