"""What of a lake is not as it was written: every part, index, model and original against its checksum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from finrag_pipeline.errors import LakeError
from finrag_pipeline.filings.originals import find_source, is_sound
from finrag_pipeline.rankers.card import CARD, WEIGHTS, load_card
from finrag_pipeline.rankers.page_ranker.model import load_model
from finrag_pipeline.retrieval.bm25 import load_bm25
from finrag_pipeline.storage.fingerprints import file_sha256
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.vectors import VectorIndex


@dataclass(frozen=True)
class Damage:
    """Something damaged: its path below the root of the lake, why, and whether it can be made again."""

    path: str
    why: str
    derived: bool = True


def find_damage(lake: Lake) -> Iterator[Damage | None]:
    """Everything that has a checksum, one after another: None where it is sound."""
    for asset in _names(lake, "parquet"):
        for keys in lake.partitions(asset):
            yield _unless_sound(partial(lake.verify, asset, keys))
    for name in _names(lake, "lance"):
        if name.endswith(".lance"):
            index = VectorIndex(lake.uri("lance"), name.removesuffix(".lance"))
            yield _unless_sound(index.verify, f"lance/{name}")
    for name in _names(lake, "bm25"):
        yield _unless_sound(partial(load_bm25, lake, ("bm25", name)), f"bm25/{name}")
    for kind in _names(lake, "models"):
        for name in _names(lake, "models", kind):
            if lake.fs.exists(lake.path("models", kind, name, CARD)):
                yield _unless_sound(partial(_read_model, lake, kind, name), f"models/{kind}/{name}")
    for filing in _names(lake, "filings"):
        if source := find_source(lake, filing):
            why = f"The original {source.file_name} of '{filing}' is not as it came."
            path = f"filings/{filing}/{source.original}"
            yield None if is_sound(lake, source) else Damage(path, why, derived=False)


def _unless_sound(read: Callable[[], object], path: str = "") -> Damage | None:
    """What reading says of the damage; without a path only an error that has one: else it was removed."""
    try:
        read()
    except LakeError as error:
        path = getattr(error, "path", path)
        return Damage(path, error.reason) if path else None
    return None


def _read_model(lake: Lake, *names: str) -> None:
    folder = ("models", *names)
    if names[0] == "page_ranker":
        load_model(lake, folder)
    elif card := load_card(lake, folder):
        with lake.local_copy(lake.path(*folder, WEIGHTS)) as copy:
            if file_sha256(copy) != card["weights_sha256"]:
                raise LakeError(f"{'/'.join(folder)} is not as it was written.", "")


def _names(lake: Lake, *folder: str) -> list[str]:
    base = lake.path(*folder)
    return sorted(path.rsplit("/", 1)[-1] for path in lake.fs.glob(f"{base}/*"))
