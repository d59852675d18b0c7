"""What all assets share: skip what is fresh, keep the ledger, turn errors into Dagster's.

Metadata that is a number plots over time in the UI, so every step reports rows, seconds and cache hits.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import dagster as dg
import pyarrow as pa

from finrag_pipeline.errors import FinragError
from finrag_pipeline.orchestration.partitions import filings_partitions
from finrag_pipeline.schemas import TABLES, column_docs
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake


@dataclass
class Step:
    """How one partition of an asset ended."""

    key: str
    fingerprint: str
    rows: int
    seconds: float
    cache_hit: bool
    checks: list[dg.AssetCheckResult] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    skipped: str | None = None
    """Why it was not made; None when it was."""


def fresh_or_made(
    lake: Lake,
    asset: str,
    key: str,
    wanted: str,
    find: Callable[[], int | None],
    make: Callable[[], int],
    run_id: str,
) -> Step:
    """Do nothing when a result with the fingerprint ``wanted`` is there, else make it; note it in the ledger.

    Args:
        lake: holds the ledger.
        asset: name of the asset.
        key: partition key; empty for none.
        wanted: fingerprint of what is to be made.
        find: rows of a fresh result, or None.
        make: makes the result, returns its rows.
        run_id: Dagster run, for the ledger.

    Raises:
        FinragError: from ``make``; the ledger then says why.
    """
    rows = find()
    if rows is not None:
        lake.record(asset, key, "cache_hit", fingerprint=wanted, rows=rows, seconds=0.0, run_id=run_id)
        return Step(key, wanted, rows, 0.0, True)
    start = time.perf_counter()
    try:
        rows = make()
    except Exception as error:
        remedy = error.remedy if isinstance(error, FinragError) else None
        reason = error.reason if isinstance(error, FinragError) else f"{type(error).__name__}: {error}"
        lake.record(asset, key, "failed", error=reason, remedy=remedy, run_id=run_id)
        raise
    seconds = time.perf_counter() - start
    lake.record(asset, key, "materialised", fingerprint=wanted, rows=rows, seconds=seconds, run_id=run_id)
    return Step(key, wanted, rows, seconds, False)


def part_step(
    lake: Lake,
    asset: str,
    key: str,
    partition: Mapping[str, str] | None,
    wanted: str,
    make: Callable[[], pa.Table],
    run_id: str,
    schema: str | None = None,
) -> Step:
    """`fresh_or_made` for a result that is a Parquet part, of the schema ``schema`` or the asset's own."""

    def find() -> int | None:
        info = lake.info(asset, partition)
        return info.rows if info and info.fingerprint == wanted else None

    def write() -> int:
        start = time.perf_counter()
        table = make()
        seconds = time.perf_counter() - start
        return lake.write(asset, table, wanted, partition, seconds=seconds, name=schema).rows

    return fresh_or_made(lake, asset, key, wanted, find, write, run_id)


def skipped_step(lake: Lake, asset: str, key: str, reason: str, run_id: str) -> Step:
    """A partition that is not made, for a reason that is nobody's failure.

    Args:
        lake: its ledger notes the reason.
        asset: name of the asset.
        key: partition key.
        reason: what is missing.
        run_id: Dagster run, for the ledger.
    """
    lake.record(asset, ledger_key(key), "skipped", error=reason, run_id=run_id)
    return Step(key, "", 0, 0.0, False, metadata={"not run": reason}, skipped=reason)


def ledger_key(key: str) -> str:
    """Name of a partition in the ledger: the key itself, or ``fold_0_bm25`` for a key of two dimensions."""
    return "_".join(key.keys_by_dimension.values()) if isinstance(key, dg.MultiPartitionKey) else key


def each_partition(context: dg.AssetExecutionContext, lake: Lake, work: Callable[[str], Step]) -> list[Step]:
    """Run ``work`` for every partition of the run; a failing one does not stop the others.

    Args:
        context: knows the partitions of the run.
        lake: its ledger is told of failures that ``work`` has not noted itself.
        work: makes one partition.

    Raises:
        dagster.Failure: after the others are done, naming what failed and the remedy.
    """
    steps, failures = [], {}
    for key in context.partition_keys:
        try:
            steps.append(work(key))
        except FinragError as error:
            context.log.error(f"{key}: {error}")
            failures[key] = error
            _note_failure(lake, context, ledger_key(key), error)
    if failures:
        raise failure(failures)
    if len(steps) > 1:
        for key, step in zip(context.partition_keys, steps, strict=True):
            if step.skipped is not None:
                continue
            # Dagster would otherwise give every partition of the run the same figures.
            context.add_asset_metadata(_figures([step]), partition_key=key)
    return steps


def _figures(steps: list[Step]) -> dict[str, Any]:
    hits = sum(step.cache_hit for step in steps)
    rows = sum(step.rows for step in steps)
    return {
        **(steps[0].metadata if len(steps) == 1 else {}),
        "dagster/partition_row_count" if steps[0].key else "dagster/row_count": rows,
        "rows": rows,
        "seconds": round(sum(step.seconds for step in steps), 3),
        "cache": "hit" if hits == len(steps) else "miss",
        "cache_hits": hits,
    }


def _note_failure(lake: Lake, context: dg.AssetExecutionContext, key: str, error: FinragError) -> None:
    name, run_id = context.asset_key.to_user_string(), context.run.run_id
    entry = lake.ledger_entry(name, key)
    if entry is None or (entry["run_id"], entry["outcome"]) != (run_id, "failed"):
        lake.record(name, key, "failed", error=error.reason, remedy=error.remedy, run_id=run_id)


def failure(failures: Mapping[str, FinragError]) -> dg.Failure:
    """A Dagster failure that tells people what went wrong and what to do."""
    lines = [f"{key}: {error.reason} {error.remedy}" for key, error in failures.items()]
    return dg.Failure(
        description="\n".join(lines),
        metadata={"failures": dg.MetadataValue.md("\n".join(f"- {line}" for line in lines))},
        allow_retries=False,
    )


def result(steps: list[Step], **metadata: Any) -> dg.MaterializeResult:
    """The materialisation of one or several partitions."""
    version = steps[0].fingerprint if len(steps) == 1 else fingerprint([step.fingerprint for step in steps])
    return dg.MaterializeResult(
        metadata={**_figures(steps), **metadata, "fingerprint": version},
        data_version=dg.DataVersion(version),
        check_results=[check for step in steps for check in step.checks]
        if len(steps) == 1
        else _merged(steps),
    )


def result_or_skipped(
    steps: list[Step], checks: Sequence[str]
) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """The materialisation of the partitions that were made; nothing but passed checks when all were skipped.

    Args:
        steps: of one run.
        checks: names of the checks of the asset; Dagster wants a result of each.
    """
    made = [step for step in steps if step.skipped is None]
    if made:
        yield result(made, **({"not run": len(steps) - len(made)} if len(made) < len(steps) else {}))
        return
    reason = next((step.skipped for step in steps if step.skipped), None)
    for name in checks:
        yield check(name, True, description=f"Not run: {reason}")


def _merged(steps: list[Step]) -> list[dg.AssetCheckResult]:
    by_name: dict[str, list[tuple[str, dg.AssetCheckResult]]] = {}
    for step in steps:
        for check in step.checks:
            by_name.setdefault(check.check_name or "", []).append((step.key, check))
    return [
        dg.AssetCheckResult(
            check_name=name,
            passed=all(check.passed for _, check in found),
            severity=next((check.severity for _, check in found if not check.passed), found[0][1].severity),
            description="\n".join(
                dict.fromkeys(
                    check.description for _, check in found if check.description and not check.passed
                )
            )
            or None,
            metadata={"failed": ", ".join(key for key, check in found if not check.passed) or "none"},
        )
        for name, found in by_name.items()
    ]


DATA_ENGINEERING = "team:data-engineering"
ML_ENGINEERING = "team:ml-engineering"


def table_asset(
    *deps: dg.AssetsDefinition | dg.AssetKey,
    group: str,
    version: str = "1",
    partitions: dg.PartitionsDefinition | None = None,
    owner: str = ML_ENGINEERING,
    kinds: Set[str] = frozenset({"python", "parquet"}),
    table: str | None = "",
    automation: dg.AutomationCondition | None = None,
    blocking_checks: Mapping[str, str] | None = None,
    checks: Mapping[str, str] | None = None,
    **others: Any,
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Decorates the function that makes a table of the lake; the asset bears its name.

    What is partitioned by fold is made in one run: models and indexes are then loaded once for all folds.
    What is made of a filing has no back-fill policy: Dagster then makes one run per filing, with its
    partition key. A filing that fails so fails alone, and keeps a data version of its own. Its checks count
    for it alone too: without partitions a check has a single status, and one bad filing would stop the
    automation of all.

    Args:
        *deps: what it reads: the same partition of what is partitioned alike, all of everything else.
        group: the asset's group.
        version: of its code.
        partitions: of the table; None for a table in one part.
        owner: the team.
        kinds: tags that the UI shows.
        table: whose columns are shown: the asset's own when empty, none when None.
        automation: what re-runs it by itself.
        blocking_checks: descriptions of checks that hold back what follows when they fail, by name.
        checks: descriptions of the other checks, by name.
        **others: further arguments of `dagster.asset`.
    """
    by_filing = partitions is filings_partitions

    def dep(one: dg.AssetsDefinition | dg.AssetKey) -> dg.AssetDep:
        of_all = isinstance(one, dg.AssetsDefinition) and one.partitions_def not in (None, partitions)
        return dg.AssetDep(one, partition_mapping=dg.AllPartitionMapping() if of_all else None)

    def declare(make: Callable[..., Any]) -> dg.AssetsDefinition:
        name = make.__name__
        return dg.asset(
            name=name,
            deps=[dep(one) for one in deps],
            partitions_def=partitions,
            backfill_policy=dg.BackfillPolicy.single_run() if partitions and not by_filing else None,
            group_name=group,
            kinds=set(kinds),
            owners=[owner],
            code_version=version,
            automation_condition=automation,
            metadata=None if table is None else column_schema(table or name),
            check_specs=[
                dg.AssetCheckSpec(
                    check_name,
                    asset=name,
                    description=description,
                    blocking=blocking,
                    partitions_def=filings_partitions if by_filing else None,
                )
                for blocking, found in ((True, blocking_checks), (False, checks))
                for check_name, description in (found or {}).items()
            ],
            **others,
        )(make)

    return declare


def check(
    name: str, passed: bool, *, warn: bool = False, description: str | None = None, **metadata: Any
) -> dg.AssetCheckResult:
    """An inline check result; ``warn`` marks data that is odd rather than broken."""
    return dg.AssetCheckResult(
        check_name=name,
        passed=bool(passed),
        severity=dg.AssetCheckSeverity.WARN if warn else dg.AssetCheckSeverity.ERROR,
        description=description,
        metadata=metadata,
    )


def column_schema(table: str) -> dict[str, Any]:
    """Definition metadata that shows a table's columns, types and descriptions in the UI."""
    schema, docs = TABLES[table], column_docs(TABLES[table])
    columns = [
        dg.TableColumn(
            f.name,
            str(f.type),
            description=docs[f.name],
            constraints=dg.TableColumnConstraints(nullable=f.nullable),
        )
        for f in schema
    ]
    return {"dagster/column_schema": dg.TableSchema(columns), "dagster/table_name": table}
