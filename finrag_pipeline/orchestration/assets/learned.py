"""The declaration that every kind of learned model shares: one model per fold, and one for searching."""

from collections.abc import Callable
from typing import Any

import dagster as dg

from finrag_pipeline.orchestration.assets.benchmark import OWNERS, benchmark_questions, folds
from finrag_pipeline.orchestration.partitions import trained_partitions
from finrag_pipeline.orchestration.steps import column_schema


def learned_asset(
    name: str, version: str, library: str, *sources: dg.AssetsDefinition
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Decorates the asset of a kind of model that is learned fold by fold.

    Args:
        name: name of the asset and of its table.
        version: its code version.
        library: what it is trained with, shown as a kind.
        *sources: partitioned by filing; every filing's part is read. Questions and folds are read as well.
    """
    return dg.asset(
        name=name,
        deps=[
            *(dg.AssetDep(source, partition_mapping=dg.AllPartitionMapping()) for source in sources),
            benchmark_questions,
            folds,
        ],
        partitions_def=trained_partitions,
        backfill_policy=dg.BackfillPolicy.single_run(),
        group_name="training",
        kinds={"python", library},
        owners=OWNERS,
        code_version=version,
        output_required=False,  # without questions outside a fold there is nothing to learn from
        metadata=column_schema(name),
        check_specs=[
            dg.AssetCheckSpec(
                "no_leak",
                asset=name,
                blocking=True,
                description="Neither a question nor a gold filing of the fold was trained or validated on.",
            )
        ],
    )
