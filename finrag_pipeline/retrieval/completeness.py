"""Which filings a system can search: those of which the lake holds all that it reads.

A filing is incomplete while it is ingested, and after a killed run until the rerun. It stops no search: the
others are searched, and a warning names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from finrag_pipeline.chunking.registry import CHUNKINGS, get_chunking
from finrag_pipeline.errors import LakeError

if TYPE_CHECKING:
    from finrag_pipeline.retrieval.corpus import Corpus
    from finrag_pipeline.retrieval.system import RetrievalSystem
    from finrag_pipeline.storage.lake import Lake

FINISH = "Wait for the run that makes it, or run 'finrag run' or 'finrag ingest FILE' again."
"""What to do about a filing that is not complete."""

_PAGES = "filing_pages"
_INDEXED = {chunking.index: chunking for chunking in CHUNKINGS.values()}
_SHOWN = 3


@dataclass(frozen=True)
class Completeness:
    """Which filings a system can search.

    Attributes:
        complete: filings of which the lake holds all that it reads, sorted.
        missing: what has yet to be made of the others, by filing.
        remedy: how it is made.
    """

    complete: tuple[str, ...]
    missing: dict[str, str]
    remedy: str = FINISH

    @property
    def warnings(self) -> list[str]:
        """What is not searched and why, for people."""
        if not self.missing:
            return []
        names = ", ".join(sorted(self.missing)[:_SHOWN]) + (" …" if len(self.missing) > _SHOWN else "")
        steps = ", ".join(sorted(set(self.missing.values())))
        return [
            f"{len(self.missing)} filings are not searched, {steps} is not made yet: {names}. {self.remedy}"
        ]


def complete_filings(system: RetrievalSystem, corpus: Corpus) -> Completeness:
    """The filings that ``system`` can search, of those whose pages are in the lake.

    For searching only: what is measured has a corpus of its own, in which an incomplete filing is an error.

    Args:
        system: what searches.
        corpus: with the settings of the system, of whatever filings; lends its lake and its indexes.

    Raises:
        LakeError: there are filings, but none is complete.
        ModelError: the system reads vectors, and their encoder cannot be had.
    """
    lake = corpus.lake
    known = _filings_of(lake, _PAGES)
    missing: dict[str, str] = {}
    for asset in system.reads():
        indexed = _INDEXED.get(asset)
        have = corpus.index(indexed).filings() if indexed else _filings_of(lake, asset)
        if asset != get_chunking(system.chunking).table:
            have -= _outdated(lake, asset, indexed.table if indexed else _PAGES)
        missing |= dict.fromkeys(known - have - missing.keys(), asset)
    lacks = set(missing.values()) & set(system.made_on_demand())
    remedy = f"Make it: finrag index {system.name}." if lacks else FINISH
    found = Completeness(tuple(sorted(known - missing.keys())), missing, remedy)
    if known and not found.complete:
        steps = ", ".join(sorted(set(missing.values())))
        raise LakeError(f"No filing can be searched with '{system.name}': {steps} is not made.", remedy)
    return found


def filings_with_parts(system: RetrievalSystem, lake: Lake) -> tuple[str, ...]:
    """Filings that have a part of every table that ``system`` reads, sorted; vectors are not looked at."""
    return tuple(
        sorted(
            set.intersection(*(_filings_of(lake, asset) for asset in system.reads() if asset not in _INDEXED))
        )
    )


def _filings_of(lake: Lake, table: str) -> set[str]:
    return {keys["filing"] for keys in lake.partitions(table)}


def _outdated(lake: Lake, asset: str, source: str) -> set[str]:
    """Filings of which ``asset`` failed, or has yet to follow a new version of its ``source``."""
    before = {entry["partition"]: entry for entry in lake.ledger_entries(source)}
    return {
        made["partition"]
        for made in lake.ledger_entries(asset)
        if made["partition"] in before
        and (
            made["outcome"] == "failed"
            or (
                before[made["partition"]]["outcome"] == "materialised"
                and made["at"] < before[made["partition"]]["at"]
            )
        )
    }
