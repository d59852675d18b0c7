"""What all assets share: their entry in the catalogue, when they re-run, the ledger, Dagster's errors.

Metadata that is a number plots over time in the UI, so every step reports rows, seconds and cache hits.
Concepts: https://docs.dagster.io/guides/build/assets,
https://docs.dagster.io/guides/automate/declarative-automation
"""

import base64
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from inspect import getdoc
from typing import Any, TypeVar

import dagster as dg
import pyarrow as pa

from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.engine import Engine
from finrag_pipeline.errors import DamageError, FinragError
from finrag_pipeline.orchestration.lineage import made_from, part_fingerprint, short_hashes, versions
from finrag_pipeline.orchestration.partitions import PARTITIONS, filings_partitions, fold_number
from finrag_pipeline.orchestration.resources import (
    Corpora,
    LakeResource,
    SettingsResource,
    get_encoder,
    get_engine,
)
from finrag_pipeline.reporting.grid import escape_markdown
from finrag_pipeline.schemas import TABLES, column_docs
from finrag_pipeline.schemas.catalogue import CATALOGUE, Entry, ancestors
from finrag_pipeline.services.sql import sql_views
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import publish_table


def on_changed_data() -> dg.AutomationCondition:
    """Re-run a filing's child when its parent's data changed, not merely when the parent ran again.

    ``AutomationCondition.eager()`` would re-run children whose parent came back unchanged.
    """
    condition = dg.AutomationCondition
    changed = condition.any_deps_match(condition.data_version_changed())
    return (
        (condition.newly_missing() | changed | condition.code_version_changed()).since(
            condition.newly_requested() | condition.newly_updated() | condition.initial_evaluation()
        )
        & ~condition.any_deps_missing()
        & ~condition.any_deps_in_progress()
        & ~condition.in_progress()
        & condition.all_deps_blocking_checks_passed()
    ).with_label("on_changed_data")


def on_corpus_change() -> dg.AutomationCondition:
    """Re-run a corpus-wide asset when any filing changed.

    Without ``any_deps_missing``: one filing that cannot be read would otherwise hold it back for ever.
    """
    condition = dg.AutomationCondition
    return condition.eager().without(~condition.any_deps_missing()).with_label("on_corpus_change")


AHEAD = "finrag/ahead"
"""Tag of the run of a worker, which publishes nothing."""
MADE_AHEAD = "made_ahead"
"""Outcome of what such a run made, until a run that publishes finds it there."""
AUTOMATION = {"data": on_changed_data(), "corpus": on_corpus_change(), "": None}
"""Conditions by their name in the catalogue."""


_Found = TypeVar("_Found")


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
    failure: FinragError | None = None
    """Why the run fails although it was made."""


@dataclass
class Run:
    """What the parts that a run makes share: settings, lake, encoder, and what was loaded for one of them."""

    context: dg.AssetExecutionContext
    values: Settings
    store: Lake
    corpora: Corpora
    _kept: dict[Any, Any] = field(default_factory=dict)

    @property
    def encoder(self) -> Encoder:
        """The encoder of this process."""
        return get_encoder(self.values, self.store)

    @property
    def engine(self) -> Engine:
        """Worker processes."""
        return get_engine(self.values)

    def once(self, load: Callable[[Settings, Lake, Corpora], _Found]) -> _Found:
        """What ``load`` makes of settings, lake and corpora; made for the first part that asks for it."""
        if load not in self._kept:
            self._kept[load] = load(self.values, self.store, self.corpora)
        return self._kept[load]


class Part:
    """A part that a run makes: one partition of an asset, or all of it.

    Attributes:
        key: its partition as Dagster knows it; empty for all of an asset.
        partition: its keys in the lake.
    """

    def __init__(self, run: Run, entry: Entry, key: str) -> None:
        self.run, self.entry, self.key = run, entry, key
        self.values, self.store, self.context = run.values, run.store, run.context
        self._made_from: str | None = None
        if isinstance(key, dg.MultiPartitionKey):
            keys = key.keys_by_dimension
            self.partition = {"system": keys["system"], "fold": keys["fold"]}
        else:
            self.partition = {"filing" if entry.by == "filing" else "fold": key} if entry.by else {}

    @property
    def system(self) -> str:
        """Name of its system."""
        return self.partition["system"]

    @property
    def fold(self) -> int:
        """Number of its fold."""
        return fold_number(self.partition["fold"])

    @cached_property
    def filing(self) -> dict[str, Any]:
        """The row of ``filings`` of its filing."""
        return dict(self.read("filings").to_pylist()[0])

    def read(self, table: str = "", columns: Sequence[str] | None = None) -> pa.Table:
        """The same part of a table; of its own when none is named."""
        return self.store.read(table or self.entry.folder, self.partition, columns)

    def wanted(self, *others: Any) -> str:
        """What it should be made from by its entry, and ``others``.

        Raises:
            LakeError: an input is missing.
        """
        parts = made_from(self.entry.name, self.store, self.partition, self.values, *others)
        self._made_from = short_hashes(parts)
        return part_fingerprint(self.entry.name, parts)

    def made(
        self,
        make: Callable[[], pa.Table],
        *others: Any,
        wanted: str | None = None,
        partition: Mapping[str, str] | None = None,
    ) -> Step:
        """Write what ``make`` gives to the lake, unless what is there was made from the same.

        Args:
            make: gives the rows.
            *others: what it is made from besides what its entry says.
            wanted: its fingerprint, where the entry does not decide it.
            partition: where it goes, where that is another part.
        """
        made_from = wanted or self.wanted(*others)
        place = (self.entry.folder, self.partition if partition is None else partition)

        def find() -> int | None:
            info = self.store.info(*place)
            return info.rows if info and info.fingerprint == made_from else None

        def write() -> int:
            return self.store.write(place[0], make(), made_from, place[1]).rows

        return self.made_or_found(find, write, made_from)

    def made_or_found(self, find: Callable[[], int | None], make: Callable[[], int], wanted: str) -> Step:
        """Do nothing when what was made from ``wanted`` is there, else make it; note it in the ledger.

        Both functions give the number of rows; ``find`` gives None where there is no fresh result.

        Raises:
            FinragError: from ``make``; the ledger then says why.
        """
        rows = find()
        hit, start = rows is not None, time.perf_counter()
        if rows is None:
            try:
                rows = make()
            except Exception as error:
                self._note("failed", **_why(error))
                raise
        seconds = 0.0 if hit else time.perf_counter() - start
        outcome = "cache_hit" if hit else "made_again" if self._was_made_from(wanted) else "materialised"
        noted = self.store.ledger_entry(self.entry.name, ledger_key(self.key)) if hit else None
        if not hit and AHEAD in self.context.run.tags:
            outcome = MADE_AHEAD
        elif noted and noted["outcome"] == MADE_AHEAD and noted["fingerprint"] == wanted:
            outcome, seconds, hit = "materialised", noted["seconds"], False
        self._note(outcome, fingerprint=wanted, rows=rows, seconds=seconds)
        return Step(self.key, wanted, rows, seconds, hit)

    def _was_made_from(self, wanted: str) -> bool:
        """Whether a filing's part was lost; made again from the same, it is no news to what it went into."""
        before = self.store.ledger_entry(self.entry.name, ledger_key(self.key)) or {}
        return self.entry.by == "filing" and before.get("fingerprint") == wanted

    def failed(self, error: FinragError) -> None:
        """Note why it failed, unless this run has noted that already."""
        entry = self.store.ledger_entry(self.entry.name, ledger_key(self.key))
        if entry is None or (entry["run_id"], entry["outcome"]) != (self.context.run.run_id, "failed"):
            self._note("failed", **_why(error))

    def warn(self, step: Step, text: str) -> None:
        """Note what is odd about a part that was made."""
        entry = self.store.ledger_entry(self.entry.name, ledger_key(self.key)) or {}
        made = {"fingerprint": step.fingerprint, "rows": step.rows, "seconds": step.seconds}
        self._note(entry.get("outcome", "materialised"), error=text, **made)

    def _note(self, outcome: str, **what: Any) -> None:
        name, key = self.entry.name, ledger_key(self.key)
        what |= {"run_id": self.context.run.run_id, "made_from": self._made_from}
        self.store.record(name, key, outcome, **what)

    def skipped(self, reason: str) -> Step:
        """This part, not made for a reason that is nobody's failure; ledger and log note it."""
        self.context.log.warning(f"{self.key or self.entry.name} is not made: {reason}")
        self._note("skipped", error=reason)
        return Step(self.key, "", 0, 0.0, False, metadata={"not run": reason}, skipped=reason)


def _why(error: Exception) -> dict[str, str | None]:
    if isinstance(error, FinragError):
        return {"error": error.reason, "remedy": error.remedy}
    return {"error": f"{type(error).__name__}: {error}", "remedy": None}


def ledger_key(key: str) -> str:
    """Name of a partition in the ledger: the key itself, or ``fold_0_bm25`` for a key of two dimensions."""
    return "_".join(key.keys_by_dimension.values()) if isinstance(key, dg.MultiPartitionKey) else key


def _each_part(run: Run, entry: Entry, work: Callable[[Part], Step]) -> list[Step]:
    """Run ``work`` for every part of the run; a failing one does not stop the others.

    Raises:
        dagster.Failure: after the others are done, naming what failed and the remedy.
        FinragError: of an asset in one part.
    """
    context = run.context
    steps, failures = [], {}
    for key in context.partition_keys if entry.by else [""]:
        part = Part(run, entry, key)
        run.store.begin(entry.name, ledger_key(key), context.run.run_id)
        try:
            steps.append(work(part))
        except FinragError as error:
            part.failed(error)
            if isinstance(error, DamageError):
                run.store.set_aside(error.path)  # the next run makes it again
            if not entry.by:
                raise
            context.log.error(f"{key}: {error}")
            failures[key] = error
    if failures:
        raise _failure(failures)
    if len(steps) > 1:
        for step in steps:
            if step.skipped is None:
                # Dagster would otherwise give every partition of the run the same figures.
                context.add_asset_metadata(_figures([step]), partition_key=step.key)
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


def _failure(failures: Mapping[str, FinragError]) -> dg.Failure:
    """A Dagster failure that tells people what went wrong and what to do."""
    lines = [f"{key}: {error.reason} {error.remedy}" for key, error in failures.items()]
    return dg.Failure("\n".join(lines), metadata={"failures": listed(lines)}, allow_retries=False)


def _results(
    steps: list[Step], checks: Sequence[str]
) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
    """The materialisation of the parts that were made; nothing but passed ``checks`` when all were skipped.

    Dagster wants a result of each check of the asset.
    """
    made = [step for step in steps if step.skipped is None]
    if not made:
        reason = next((step.skipped for step in steps if step.skipped), None)
        yield from (check(name, True, description=f"Not run: {reason}") for name in checks)
        return
    version = made[0].fingerprint if len(made) == 1 else fingerprint([step.fingerprint for step in made])
    left_out = {"not run": len(steps) - len(made)} if len(made) < len(steps) else {}
    yield dg.MaterializeResult(
        metadata={**_figures(made), **left_out, "fingerprint": version},
        data_version=dg.DataVersion(version),
        check_results=made[0].checks if len(made) == 1 else _merged(made),
    )
    # After the rows and their checks: people who look at the run read the reason, not the name of a check.
    if failures := {step.key: step.failure for step in made if step.failure}:
        raise _failure(failures)


def _merged(steps: list[Step]) -> list[dg.AssetCheckResult]:
    """One result of each check: it passes where it passes for every part."""
    merged = []
    for found in zip(*(step.checks for step in steps), strict=True):
        failed = {step.key: one for step, one in zip(steps, found, strict=True) if not one.passed}
        told = dict.fromkeys(one.description for one in failed.values() if one.description)
        merged.append(
            dg.AssetCheckResult(
                check_name=found[0].check_name,
                passed=not failed,
                severity=next(iter(failed.values()), found[0]).severity,
                description="\n".join(told) or None,
                metadata={"failed": ", ".join(failed) or "none"},
            )
        )
    return merged


def table_asset(
    *,
    blocking_checks: Mapping[str, str] | None = None,
    checks: Mapping[str, str] | None = None,
    optional: bool = False,
) -> Callable[[Callable[[Part], Step]], dg.AssetsDefinition]:
    """Decorates the function that makes a part; the asset is the entry of the catalogue that bears its name.

    What is partitioned by fold is made in one run: models and indexes are then loaded once for all folds.
    What is made of a filing has no back-fill policy: Dagster then makes one run per filing, with its
    partition key. A filing that fails so fails alone, and keeps a data version of its own. Its checks count
    for it alone too: without partitions a check has a single status, and one bad filing would stop the
    automation of all.

    Args:
        blocking_checks: descriptions of checks that hold back what follows when they fail, by name.
        checks: descriptions of the other checks, by name.
        optional: a run may leave nothing, where what it needs is missing.
    """

    def declare(make: Callable[[Part], Step]) -> dg.AssetsDefinition:
        name = make.__name__
        entry = CATALOGUE[name]
        partitions = PARTITIONS[entry.by]
        by_filing = entry.by == "filing"

        def compute(
            context: dg.AssetExecutionContext,
            settings: SettingsResource,
            lake: LakeResource,
            corpora: dg.ResourceParam[Corpora],
        ) -> Iterator[dg.MaterializeResult | dg.AssetCheckResult]:
            run = Run(context, settings.get(), lake.open(), corpora)
            steps = _each_part(run, entry, make)
            if AHEAD not in context.run.tags:
                publish_table(run.store, entry.folder, sql_views)
            yield from _results(steps, [*(blocking_checks or {}), *(checks or {})])

        return dg.asset(
            name=name,
            description=getdoc(make),
            deps=[_dep(entry, CATALOGUE[one]) for one in dependencies(entry)],
            partitions_def=partitions,
            backfill_policy=dg.BackfillPolicy.single_run() if partitions and not by_filing else None,
            group_name=entry.group,
            kinds=entry.tags,
            owners=[entry.owner],
            code_version=".".join(versions(name)),
            automation_condition=AUTOMATION[entry.automation],
            metadata=_column_schema(entry.folder) if entry.folder else None,
            pool=entry.pool or None,
            output_required=not optional,
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
        )(compute)

    return declare


def dependencies(entry: Entry) -> tuple[str, ...]:
    """What the graph shows an entry to depend on: its inputs, and what must have been made before.

    Of the inputs of one filing only those that no other one is made from: a change would otherwise start it
    before what lies between is made.
    """
    named = (*entry.inputs, *entry.after)
    if entry.by != "filing":
        return named
    return tuple(one for one in named if one not in ancestors(named))


def _dep(entry: Entry, other: Entry) -> dg.AssetDep:
    all_parts = other.by not in ("", entry.by)
    return dg.AssetDep(other.name, partition_mapping=dg.AllPartitionMapping() if all_parts else None)


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


def _column_schema(table: str) -> dict[str, Any]:
    """Definition metadata that shows a table's columns, types and descriptions in the UI."""
    docs = column_docs(TABLES[table])
    columns = [
        dg.TableColumn(one.name, str(one.type), docs[one.name], dg.TableColumnConstraints(one.nullable))
        for one in TABLES[table]
    ]
    return {"dagster/column_schema": dg.TableSchema(columns), "dagster/table_name": table}


def listed(lines: Iterable[str]) -> dg.MetadataValue:
    """Lines as a list in Markdown, which shows texts of filings and their names as they are."""
    return dg.MetadataValue.md("\n".join(f"- {escape_markdown(line)}" for line in lines) or "none")


def picture(png: bytes, alt: str) -> dg.MetadataValue:
    """A PNG picture as Markdown metadata, shown in the UI."""
    return dg.MetadataValue.md(f"![{alt}](data:image/png;base64,{base64.b64encode(png).decode()})")
