"""The report of a benchmark run: one static file tree that works offline and straight from a disk.

Names of filings, reasons and questions come from files of unknown origin, so every text is escaped; the pages
refer to nothing outside their folder. The folder is replaced as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.evaluation.summary import metrics_records
from finrag_pipeline.reporting.ablations import ablation_grid
from finrag_pipeline.reporting.estimates import SLICE_NAMES, MetricIndex, system_title
from finrag_pipeline.reporting.folder import replace_folder
from finrag_pipeline.reporting.headline import headline
from finrag_pipeline.reporting.inventory import (
    excluded_grid,
    failures_grid,
    filing_counts,
    filings_grid,
    ledger_grid,
    settings_grid,
    versions_grid,
)
from finrag_pipeline.reporting.plots import gap_plot, recall_curve
from finrag_pipeline.reporting.site import TEMPLATES, render_page
from finrag_pipeline.reporting.tables import (
    gap_grid,
    headline_grid,
    published_grid,
    published_notes,
    published_sources,
    slice_grid,
    statistics_grid,
)
from finrag_pipeline.schemas import conform

REPORT_VERSION = "2"
"""Changes whenever the page may look different."""

_ASSETS = ("report.css", "report.js")
_PLOTS = {"gap": gap_plot, "page-recall": recall_curve}


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


def write_report(data: ReportData, folder: Path) -> Path:
    """Write the report and put it in the place of the one before it, in one step.

    Args:
        data: what to show.
        folder: folder of the report. Below it: ``index.html``, ``assets/`` and ``metrics.json``, the means of
            all slices, spaces and cut-offs in the form of ``finrag metrics --json``.

    Returns:
        Path of ``index.html``.

    Raises:
        LakeError: a table does not fit its schema, or the folder cannot be written.
        UsageError: the folder holds files that no report put there.
    """
    tables = ("metrics", "statistics", "filings", "questions", "ledger")
    names = ("system_metrics", "corpus_statistics", "filings", "benchmark_questions", "ledger")
    for attribute, name in zip(tables, names, strict=True):
        conform(getattr(data, attribute), name)
    html = render_page("report.html.jinja", "Overview", **_context(data))
    page = html.encode("utf-8", "replace")  # paths in settings may hold bytes that are no text
    records = ",\n".join(json.dumps(row, ensure_ascii=False) for row in metrics_records(data.metrics))

    def write(target: Path) -> None:
        assets = target / "assets"
        assets.mkdir()
        for name in _ASSETS:
            (assets / name).write_bytes((TEMPLATES / name).read_bytes())
        for name, plot in _PLOTS.items():
            for theme, dark in (("light", False), ("dark", True)):
                (assets / f"{name}-{theme}.svg").write_bytes(plot(data.metrics, "svg", dark))
        (target / "metrics.json").write_text(f"[\n{records}\n]\n", encoding="utf-8")
        (target / "index.html").write_bytes(page)

    return replace_folder(folder, write) / "index.html"


def _context(data: ReportData) -> dict[str, Any]:
    index = MetricIndex(data.metrics)
    status = data.questions["status"].to_pylist()
    readable = data.filings["status"].to_pylist().count("ok")
    confidence = data.settings.get("evaluation", {}).get("confidence", 0.95)
    return {
        "data": data,
        "k": CUTOFF,
        "made": f"{data.made.day} {data.made:%B %Y, %H:%M} {data.made.tzname() or ''}".strip(),
        "confidence": f"{100 * float(confidence):g} %",
        "filings": {
            "total": data.filings.num_rows,
            "readable": readable,
            "pages": sum(pages or 0 for pages in data.filings["pages"].to_pylist()),
            **filing_counts(data.filings),
        },
        "measured": status.count("measured"),
        "excluded": len(status) - status.count("measured"),
        "systems": [(system, system_title(system)) for system in index.systems],
        "headline": headline(index),
        "metrics": headline_grid(index) if not index or CUTOFF in index.cutoffs("page_rec") else None,
        "published": published_grid(index),
        "published_notes": published_notes(index),
        "published_sources": published_sources(),
        "gap": gap_grid(index),
        "ablations": ablation_grid(index),
        "slices": [
            (SLICE_NAMES[name], slice_grid(index, name))
            for name in ("question_type", "doc_type", "source", "company")
        ],
        "statistics": statistics_grid(data.statistics),
        "filings_grid": filings_grid(data.filings),
        "excluded_grid": excluded_grid(data.questions),
        "settings_grid": settings_grid(data.settings),
        "versions_grid": versions_grid(data.versions),
        "ledger_grid": ledger_grid(data.ledger),
        "failures_grid": failures_grid(data.ledger),
    }
