"""The report of a benchmark run: one static file tree that works offline and straight from a disk.

Names of filings, reasons and questions come from files of unknown origin, so every text is escaped; the pages
refer to nothing outside their folder. The folder is replaced as a whole.
"""

from __future__ import annotations

import json
from pathlib import Path

from finrag_pipeline.evaluation.summary import metrics_records
from finrag_pipeline.reporting.explorer import question_links, write_explorer
from finrag_pipeline.reporting.explorer_data import ExplorerData
from finrag_pipeline.reporting.filing_pages import filing_links, filing_site
from finrag_pipeline.reporting.method_page import method_context
from finrag_pipeline.reporting.overview import overview_context, overview_plots
from finrag_pipeline.reporting.plots import in_dark
from finrag_pipeline.reporting.report_data import ReportData
from finrag_pipeline.reporting.site import copy_assets, render_page, replace_folder, write_page
from finrag_pipeline.schemas import conform


def write_report(data: ReportData, folder: Path) -> Path:
    """Write the report and put it in the place of the one before it, in one step.

    Below the folder stand ``index.html``, whose path it gives, and the other pages, ``assets/``, and
    ``metrics.json``, the means of all slices, spaces and cut-offs in the form of ``finrag metrics --json``.

    Raises:
        LakeError: a table does not fit its schema, or the folder cannot be written.
        UsageError: the folder holds files that no report put there.
    """
    tables = ("metrics", "statistics", "filings", "questions", "ledger")
    names = ("system_metrics", "corpus_statistics", "filings", "benchmark_questions", "ledger")
    for attribute, name in zip(tables, names, strict=True):
        conform(getattr(data, attribute), name)
    records = ",\n".join(json.dumps(row, ensure_ascii=False) for row in metrics_records(data.metrics))

    explorer = data.explorer or ExplorerData()
    links = question_links(explorer)

    def write(target: Path) -> None:
        copy_assets(target, "report.css", "report.js")
        for name, plot in overview_plots(data).items():
            light = plot()
            (target / f"assets/{name}-light.svg").write_bytes(light)
            (target / f"assets/{name}-dark.svg").write_bytes(in_dark(light))
        (target / "metrics.json").write_text(f"[\n{records}\n]\n", encoding="utf-8")
        write_explorer(explorer, target, data.images, filing_links(data))
        overview = render_page("report.html.jinja", "Overview", **overview_context(data, links))
        write_page(target / "index.html", overview)
        write_page(target / "method.html", render_page("method.html.jinja", "Method", **method_context(data)))
        for path, html in filing_site(data, links):
            write_page(target / path, html)

    return replace_folder(folder, write) / "index.html"
