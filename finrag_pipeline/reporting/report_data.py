"""What a report shows, as tables: gathered from the lake by the caller, rendered by the pages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from finrag_pipeline.statements.tags import AGREEMENT_COLUMNS
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import Query

if TYPE_CHECKING:
    from finrag_pipeline.reporting.explorer_data import ExplorerData
    from finrag_pipeline.reporting.page_pictures import PageImages

WHOLE = (
    "answer_metrics", "false_answers", "system_comparisons", "folds", "retrieval_gap", "gap_counts",
    "answer_rates", "judge_calibration", "judged_estimates", "judge_sensitivity",
    "hybrid_alpha_sweep", "page_scorer", "page_ranker",
)  # fmt: skip
"""Tables that are shown as they are."""

PROFILE_COLUMNS = (
    "filing", "page", "sections", "note", "headings", "words", "tables", "cells", "statements",
)  # fmt: skip
FACT_COLUMNS = (
    "fact_id", "filing", "statement", "scope", "concept", "line", "label", "path", "qualifier",
    "period_start", "period_end", "period_kind", "fiscal_year", "fiscal_quarter", "value", "unit", "currency",
    "printed", "scale", "page", "table", "row", "column",
)  # fmt: skip
_COLUMNS = {
    "statement_facts": FACT_COLUMNS,
    "xbrl_facts": tuple(AGREEMENT_COLUMNS),
    "page_profiles": PROFILE_COLUMNS,
}
_BY_FILING = ("page_profiles", "page_tables", "statement_facts", "xbrl_facts")

TABLE_COUNTS = """
    SELECT filing, detector, count(DISTINCT page) AS pages, count(DISTINCT (page, "table")) AS tables,
        count(*) FILTER (kind = 'number') AS numbers,
        count(*) FILTER (value IS NULL AND reason IS NOT NULL) AS unread
    FROM page_tables WHERE filing IN $filings GROUP BY filing, detector ORDER BY filing, detector
"""
"""Query of pages with a table, tables, cells with a number, and cells whose content has no value."""
CLOSED_BOOK = """
    SELECT system || coalesce(' on ' || nullif(retrieval, ''), '') AS system FROM answers
    WHERE starts_with(system, 'recorded ') GROUP BY ALL HAVING bool_and(space IS NULL) ORDER BY system
"""
"""Query of recorded systems that were given nothing."""


@dataclass(frozen=True)
class ReportData:
    """Everything a report shows; ``metrics`` to ``ledger`` are tables as ``schemas`` has them."""

    benchmark: str
    metrics: pa.Table  # ``system_metrics``; may be empty
    statistics: pa.Table
    filings: pa.Table  # of the benchmark's corpus
    questions: pa.Table
    ledger: pa.Table
    settings: Mapping[str, Any]  # nested by group
    versions: Mapping[str, str]
    command: str  # makes the run again
    tables: Mapping[str, pa.Table]  # `lake_tables`; the section of one without rows says how to make it
    made: datetime = field(default_factory=lambda: datetime.now(UTC))
    models: Sequence[tuple[str, str, str]] = ()  # role, name and fingerprint
    hardware: Mapping[str, str] = field(default_factory=dict)
    explorer: ExplorerData | None = None
    images: PageImages | None = None  # pages of the explorer are shown as text without

    @property
    def confidence(self) -> float:
        """Coverage that the intervals aim at."""
        return float(self.settings.get("evaluation", {}).get("confidence", 0.95))

    @property
    def confidence_text(self) -> str:
        """The same for people: ``95 %``."""
        return f"{100 * self.confidence:g} %"


def lake_tables(query: Query, filings: Collection[str]) -> dict[str, pa.Table]:
    """Every other table of a report, without filings outside the benchmark's corpus; one may have no rows.

    Returns:
        Table by name: those of `WHOLE`, those by filing in the columns shown,
        ``table_counts`` (`TABLE_COUNTS`) and ``closed_book`` (`CLOSED_BOOK`).

    Raises:
        LakeError: a part is damaged.
    """
    corpus = {"filings": list(filings)}
    found = {name: query(f"FROM {name}") for name in WHOLE}
    for name, columns in _COLUMNS.items():
        listed = ", ".join(f'"{column}"' for column in columns)
        found[name] = query(f"SELECT {listed} FROM {name} WHERE filing IN $filings", corpus)  # noqa: S608
    found["table_counts"] = query(TABLE_COUNTS, corpus)
    found["closed_book"] = query(CLOSED_BOOK)
    return found


def lake_fingerprints(store: Lake, filings: Collection[str]) -> list[str]:
    """Fingerprints of all parts that `lake_tables` reads, so that a report is fresh only if all are."""
    found = []
    for name in (*WHOLE, "answers", *_BY_FILING):
        for keys in store.partitions(name):
            if name not in _BY_FILING or keys.get("filing") in filings:
                info = store.info(name, keys)
                found.append(f"{name} {sorted(keys.items())} {info.fingerprint if info else None}")
    return found
