"""What a report shows, as tables: gathered from the lake by the caller, rendered by the pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError
from finrag_pipeline.schemas import TABLES
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.reporting.explorer_data import ExplorerData
    from finrag_pipeline.reporting.page_pictures import PageImages


Plot = Callable[..., bytes]
"""Draws an SVG; ``dark`` says whether for a dark background."""


@dataclass(frozen=True)
class ModelUsed:
    """A model that had a part in the results.

    Attributes:
        role: what it does: encoder, page ranker of a fold, …
        name: its name, with the revision where one is set.
        fingerprint: hash of its files or of what it was made from.
    """

    role: str
    name: str
    fingerprint: str


@dataclass(frozen=True)
class ReportData:
    """Everything a report shows.

    Attributes:
        benchmark: name of the benchmark.
        metrics: table as ``schemas.SYSTEM_METRICS``; may be empty.
        statistics: table as ``schemas.CORPUS_STATISTICS``.
        filings: table as ``schemas.FILINGS``, of the benchmark's corpus.
        questions: table as ``schemas.BENCHMARK_QUESTIONS``.
        ledger: table as ``schemas.LEDGER``.
        settings: settings of the run, nested by group.
        versions: version by component.
        command: command that makes the run again.
        made: when; now by default.
        tables: what else the lake holds, by name (`reporting.lake_tables`); one that is absent or empty
            leaves its section with a sentence on how to make it.
        models: models with their fingerprints.
        hardware: the machine, by component.
        explorer: questions with what was found for them; None leaves the explorer empty.
        images: pictures of pages for the explorer; pages are shown as text without.
    """

    benchmark: str
    metrics: pa.Table
    statistics: pa.Table
    filings: pa.Table
    questions: pa.Table
    ledger: pa.Table
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    command: str
    made: datetime = field(default_factory=lambda: datetime.now(UTC))
    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    models: tuple[ModelUsed, ...] = ()
    hardware: Mapping[str, str] = field(default_factory=dict)
    explorer: ExplorerData | None = None
    images: PageImages | None = None

    def table(self, name: str) -> pa.Table | None:
        """The optional table ``name``; None when it is absent or has no rows."""
        found = self.tables.get(name)
        return found if found is not None and found.num_rows else None

    @property
    def confidence(self) -> float:
        """Coverage that the intervals aim at."""
        return float(self.settings.get("evaluation", {}).get("confidence", 0.95))

    @property
    def confidence_text(self) -> str:
        """The same for people: ``95 %``."""
        return f"{100 * self.confidence:g} %"


WHOLE = (
    "answer_metrics",
    "false_answers",
    "system_comparisons",
    "folds",
    "retrieval_gap",
    "gap_counts",
    "answer_rates",
    "judge_calibration",
    "judged_estimates",
    "judge_sensitivity",
    "interval_coverage",
)
"""Tables that are shown as they are."""

ALPHA_SWEEP = "hybrid_alpha_sweep"
BY_FOLD = ("page_scorer", "page_ranker")
"""Tables with a part per fold, whose key becomes the column ``fold``."""

BY_FILING = ("page_profiles", "page_tables", "statement_facts")
"""Tables with a part per filing."""

PROFILE_COLUMNS = (
    "filing", "page", "sections", "note", "headings", "words", "tables", "cells", "statements",
)  # fmt: skip
FACT_COLUMNS = (
    "fact_id", "filing", "statement", "scope", "concept", "line", "label", "path", "qualifier",
    "period_start", "period_end", "period_kind", "fiscal_year", "fiscal_quarter", "value", "unit", "currency",
    "printed", "scale", "page", "table", "row", "column",
)  # fmt: skip

TABLE_COUNTS = pa.schema(
    [pa.field(name, pa.string(), nullable=False) for name in ("filing", "detector")]
    + [pa.field(name, pa.int64(), nullable=False) for name in ("pages", "tables", "numbers", "unread")]
)
"""Per filing and detector: pages with a table, tables, cells with a number, and cells whose content has no
value."""


def lake_tables(store: Lake, filings: Collection[str]) -> dict[str, pa.Table]:
    """Every optional table of a report that the lake holds.

    Args:
        store: the lake.
        filings: filings of the benchmark's corpus; others are left out.

    Returns:
        Table by name: those of `WHOLE`, `hybrid_alpha_sweep`, `page_scorer` and `page_ranker` with a column
        ``fold``, ``statement_facts`` and ``page_profiles`` in the columns shown, ``table_counts``
        (`TABLE_COUNTS`) and ``closed_book`` (one column ``system``: recorded systems that were given
        nothing).

    Raises:
        LakeError: a part is damaged.
    """
    found = {name: store.read_all(name) for name in WHOLE}
    found[ALPHA_SWEEP] = store.read_all(ALPHA_SWEEP, name="retrieval_scores")
    for name in BY_FOLD:
        found[name] = _with_fold(store, name)
    only = {"filing": filings}
    found["statement_facts"] = store.read_all("statement_facts", FACT_COLUMNS, only)
    found["page_profiles"] = store.read_all("page_profiles", PROFILE_COLUMNS, only)
    found["table_counts"] = _table_counts(store, frozenset(filings))
    found["closed_book"] = closed_book(store)
    return {name: table for name, table in found.items() if table.num_rows}


def lake_fingerprints(store: Lake, filings: Collection[str]) -> list[str]:
    """Fingerprints of all parts that `lake_tables` reads, so that a report is fresh only if all are."""
    found = []
    for name in (*WHOLE, ALPHA_SWEEP, *BY_FOLD, "answers", *BY_FILING):
        for keys in store.partitions(name):
            if name in BY_FILING and keys.get("filing") not in filings:
                continue
            info = store.info(name, keys)
            found.append(f"{name} {sorted(keys.items())} {info.fingerprint if info else None}")
    return found


def _with_fold(store: Lake, name: str) -> pa.Table:
    parts = []
    for keys in store.partitions(name):
        part = store.read(name, keys).replace_schema_metadata()
        parts.append(
            part.append_column("fold", pa.array([keys.get("fold", "")] * part.num_rows, pa.string()))
        )
    if parts:
        return pa.concat_tables(parts)
    return TABLES[name].append(pa.field("fold", pa.string())).empty_table()


def _table_counts(store: Lake, filings: frozenset[str]) -> pa.Table:
    columns = ["filing", "page", "table", "detector", "kind", "value", "reason"]
    parts = (keys for keys in store.partitions("page_tables") if keys.get("filing") in filings)
    counts = (table_counts(store.read("page_tables", keys, columns)) for keys in parts)
    return pa.concat_tables([TABLE_COUNTS.empty_table(), *counts])


def table_counts(cells: pa.Table) -> pa.Table:
    """Table as `TABLE_COUNTS` for the cells of one filing.

    Args:
        cells: columns filing, page, table, detector, kind, value and reason of ``schemas.PAGE_TABLES``.
    """
    number = pc.equal(cells["kind"], "number")
    unread = pc.and_(pc.is_null(cells["value"]), pc.is_valid(cells["reason"]))
    counted = cells.select(["filing", "detector", "page", "table"])
    counted = counted.append_column("numbers", pc.cast(number, pa.int64()))
    counted = counted.append_column("unread", pc.cast(unread, pa.int64()))
    sums = [("numbers", "sum"), ("unread", "sum")]
    tables = counted.group_by(["filing", "detector", "page", "table"]).aggregate(sums)
    whole = tables.group_by(["filing", "detector"]).aggregate(
        [("page", "count_distinct"), ("table", "count"), ("numbers_sum", "sum"), ("unread_sum", "sum")]
    )
    return whole.rename_columns(TABLE_COUNTS.names).cast(TABLE_COUNTS)


def closed_book(store: Lake) -> pa.Table:
    """Recorded systems that were given nothing; their space says corpus, but they searched nothing."""
    given: dict[str, bool] = {}
    for keys in store.partitions("answers"):
        if keys.get("system") != "recorded":
            continue
        try:
            rows = store.read("answers", keys, ["system", "retrieval", "space"])
        except LakeError:
            continue
        for row in rows.to_pylist():
            name = f"{row['system']} on {row['retrieval']}" if row["retrieval"] else row["system"]
            given[name] = given.get(name, False) or row["space"] is not None
    return pa.table({"system": pa.array([name for name, any_ in given.items() if not any_], pa.string())})
