"""Making again what was damaged and set aside: each part by the job that the catalogue names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from finrag_pipeline.chunking.registry import CHUNKINGS
from finrag_pipeline.orchestration.partitions import sweep_range, trained_range
from finrag_pipeline.schemas.catalogue import CATALOGUE, INDEX_ON_DEMAND
from finrag_pipeline.services.damage import find_damage
from finrag_pipeline.storage.lake import Lake

ASKED_FOR = ("page_scorer", "reranker")
"""Trainings that take hours without a GPU: nobody wants them to begin by themselves."""


def set_aside_damage(lake: Lake) -> None:
    """Look through the whole lake, and set aside all that is damaged and can be made again."""
    for found in find_damage(lake):
        if found and found.derived:
            lake.set_aside(found.path)


def make_again(run: Callable[..., str | None], lake: Lake, at_work: set[str]) -> list[str]:
    """Make what was set aside again, in the order of the catalogue; what came of each, for people.

    ``run`` is `Materialiser.run`, which may meet more damage: what is being made is ``at_work``, by the paths
    of its notes.
    """
    order = list(CATALOGUE)
    aside = lake.set_aside_paths().items()
    notes = [(list(_made_by(lake, path)), path, note) for note, path in aside if note not in at_work]
    told = []
    for runs, path, note in sorted(notes, key=lambda one: [order.index(name) for name, *_ in one[0]]):
        at_work.add(note)
        came = "it is made again"
        for name, job, options in runs:
            if name in ASKED_FOR:
                came = f"train it again: finrag train {name}"
            elif error := run(job, assets=[name], **options):
                came = f"it cannot be made again: {error}"
        with suppress(FileNotFoundError):
            lake.fs.rm_file(note)
        told.append(f"{path} was damaged and is set aside; {came}.")
    return told


def _made_by(lake: Lake, path: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Asset, job and partition of the runs that make what was at a path below the root; none on first use."""
    kind, name, *rest = path.split("/")
    if kind == "lance":
        for chunking in CHUNKINGS.values():
            if name.startswith(f"{chunking.name}_chunks-"):
                for entry in lake.ledger_entries(chunking.index):
                    yield chunking.index, INDEX_ON_DEMAND, {"partition": entry["partition"]}
        return
    keys = dict(level.split("=", 1) for level in rest[:-1]) if kind == "parquet" else {}
    for made in CATALOGUE.values():
        if kind == "models" and made.name == name:
            yield name, made.job, {"tags": trained_range()}
        elif kind == "parquet" and made.folder == name:
            part: dict[str, Any] = {"tags": sweep_range(keys["system"])} if "system" in keys else {}
            part = {"tags": trained_range()} if made.by == "model" else part
            yield made.name, made.job, {"partition": keys["filing"]} if made.by == "filing" else part
