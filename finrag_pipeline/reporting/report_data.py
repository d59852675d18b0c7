"""What a report shows, as tables: gathered from the lake by the caller, rendered by the pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from finrag_pipeline.reporting.explorer_data import ExplorerData
    from finrag_pipeline.reporting.page_images import PageImages

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
