"""Partitions: filings (dynamic, fed by the inbox sensor and the command line), folds, systems.

Concept: https://docs.dagster.io/guides/build/partitions-and-backfills
"""

import dagster as dg

from finrag_pipeline.answering.systems import ANSWER_SYSTEMS
from finrag_pipeline.retrieval.systems import ALL_SYSTEMS
from finrag_pipeline.settings import get_settings

FOLD_COUNT = get_settings().evaluation.folds
"""Read once: partitions are part of the graph."""
PRODUCTION = "production"

FILINGS = "filings"
filings_partitions = dg.DynamicPartitionsDefinition(name=FILINGS)
fold_partitions = dg.StaticPartitionsDefinition([f"fold_{n}" for n in range(FOLD_COUNT)])
trained_partitions = dg.StaticPartitionsDefinition([*(f"fold_{n}" for n in range(FOLD_COUNT)), PRODUCTION])
"""Models trained without the questions of a fold, and the one that searches use, trained with all."""
system_partitions = dg.StaticPartitionsDefinition(list(ALL_SYSTEMS))
sweep_partitions = dg.MultiPartitionsDefinition({"fold": fold_partitions, "system": system_partitions})

answer_system_partitions = dg.StaticPartitionsDefinition(list(ANSWER_SYSTEMS))
answer_partitions = dg.MultiPartitionsDefinition(
    {"fold": fold_partitions, "system": answer_system_partitions}
)


def fold_number(fold: str) -> int:
    """Number of a fold partition: ``fold_3`` gives 3."""
    return int(fold.removeprefix("fold_"))


def sweep_range(system: str) -> dict[str, str]:
    """Run tags that make one run of all folds of ``system``."""
    return _range(f"fold_0|{system}", f"fold_{FOLD_COUNT - 1}|{system}")


def trained_range() -> dict[str, str]:
    """Run tags that make one run of the models of all folds and the one for searching."""
    return _range("fold_0", PRODUCTION)


def _range(first: str, last: str) -> dict[str, str]:
    return {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}


PARTITIONS: dict[str, dg.PartitionsDefinition | None] = {
    "filing": filings_partitions,
    "model": trained_partitions,
    "run": sweep_partitions,
    "answer": answer_partitions,
    "": None,
}
"""Partitions by what a part is of in the catalogue."""
