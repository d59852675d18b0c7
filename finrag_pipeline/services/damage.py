"""What of a lake is not as it was written: every part, index, model and original against its checksum."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from finrag_pipeline.errors import DamageError, LakeError
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
            try:
                lake.verify(asset, keys)
                yield None
            except DamageError as error:
                yield Damage(error.path, error.reason)
            except LakeError:
                yield None  # removed meanwhile
    for name in _names(lake, "lance"):
        if name.endswith(".lance"):
            try:
                VectorIndex(lake.uri("lance"), name.removesuffix(".lance")).verify()
                yield None
            except DamageError as error:
                yield Damage(error.path, error.reason)
    for name in _names(lake, "bm25"):
        yield _unless_sound(lake, ("bm25", name))
    for kind in _names(lake, "models"):
        for name in _names(lake, "models", kind):
            if lake.fs.exists(lake.path("models", kind, name, CARD)):
                yield _unless_sound(lake, ("models", kind, name))
    for filing in _names(lake, "filings"):
        if source := find_source(lake, filing):
            why = f"The original {source.file_name} of '{filing}' is not as it came."
            path = f"filings/{filing}/{source.original}"
            yield None if is_sound(lake, source) else Damage(path, why, derived=False)


def _unless_sound(lake: Lake, folder: tuple[str, ...]) -> Damage | None:
    kind, *_ = folder
    try:
        if kind == "bm25":
            load_bm25(lake, folder)
        elif folder[1] == "page_ranker":
            load_model(lake, folder)
        elif card := load_card(lake, folder):
            with lake.local_copy(lake.path(*folder, WEIGHTS)) as copy:
                if file_sha256(copy) != card["weights_sha256"]:
                    raise LakeError(f"{'/'.join(folder)} is not as it was written.", "")
    except LakeError as error:
        return Damage("/".join(folder), error.reason)
    return None


def _names(lake: Lake, *folder: str) -> list[str]:
    base = lake.path(*folder)
    return sorted(path.rsplit("/", 1)[-1] for path in lake.fs.glob(f"{base}/*"))
