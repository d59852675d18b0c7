"""Reporting: metrics with intervals, corpus statistics, the warehouse and the report."""

import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import dagster as dg
import pyarrow as pa

from finrag_pipeline.evaluation.benchmark_registry import get_benchmark
from finrag_pipeline.evaluation.summary import SLICED, SUMMARY_VERSION, summarise
from finrag_pipeline.orchestration.assets.answering import answer_metrics, false_answers
from finrag_pipeline.orchestration.assets.benchmark import benchmark_questions
from finrag_pipeline.orchestration.assets.chunking import contextual_chunks, filing_chunks
from finrag_pipeline.orchestration.assets.ingestion import filings
from finrag_pipeline.orchestration.assets.retrieval import retrieval_scores
from finrag_pipeline.orchestration.assets.tables import statement_facts
from finrag_pipeline.orchestration.assets.tuning import hybrid_alpha_sweep
from finrag_pipeline.orchestration.automation import on_corpus_change
from finrag_pipeline.orchestration.corpora import benchmark_filings, drop_stale_results
from finrag_pipeline.orchestration.metadata import picture
from finrag_pipeline.orchestration.pools import WAREHOUSE
from finrag_pipeline.orchestration.resources.settings import LakeResource, SettingsResource, get_encoder
from finrag_pipeline.orchestration.steps import (
    Step,
    fresh_or_made,
    part_step,
    result,
    table_asset,
)
from finrag_pipeline.reporting import EXPLORER_VERSION, PICTURES_VERSION, REPORT_VERSION
from finrag_pipeline.reporting.plots import gap_plot, recall_curve
from finrag_pipeline.reporting.tables import metrics_markdown, statistics_markdown
from finrag_pipeline.sample import SAMPLE_NAME
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.warehouse import COPIED, VIEWS, build_warehouse

GAP_COUNTS = dg.AssetKey("gap_counts")  # by name: its module needs the metrics of this one
JUDGED = tuple(
    dg.AssetKey(name)
    for name in (
        "answer_rates",
        "judge_calibration",
        "judged_estimates",
        "system_comparisons",
        "judge_sensitivity",
        "interval_coverage",
    )
)
"""What is said of judged answers and of differences, which other modules make."""


@table_asset(retrieval_scores, group="reporting", version=SUMMARY_VERSION, automation=on_corpus_change())
def system_metrics(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """Mean and document-cluster interval of every metric, system, space and slice."""
    store, values = lake.open(), settings.get()
    if dropped := drop_stale_results(store, values):
        context.log.warning(f"no longer measured, run them again: {', '.join(dropped)}")
    rows = store.read_all("filings", ["filing", "source"]).to_pylist()
    sources = {row["filing"]: row["source"] for row in rows}
    questions = store.read("benchmark_questions")
    wanted = fingerprint(
        "system_metrics",
        SUMMARY_VERSION,
        store.fingerprints("retrieval_scores"),
        # What the slices are made of; it does not enter the scores.
        [questions[name].to_pylist() for name in SLICED],
        [sources.get(filing) for filing in questions["filing"].to_pylist()],
        values.evaluation,
        values.seed,
    )

    def make() -> pa.Table:
        return summarise(store.read_all("retrieval_scores"), questions, sources, values.evaluation)

    step = part_step(store, "system_metrics", "", None, wanted, make, context.run.run_id)
    metrics = store.read("system_metrics")
    headline = {
        f"page_rec_at_5_{row['system']}_{row['space']}": round(row["mean"], 4)
        for row in metrics.to_pylist()
        if row["slice"] == "all" and row["metric"] == "page_rec" and row["k"] == 5
    }
    return result(
        [step],
        table=dg.MetadataValue.md(metrics_markdown(metrics)),
        gap=picture(gap_plot(metrics, fmt="png"), "Where the evidence is lost: document, page, chunk"),
        recall=picture(recall_curve(metrics, fmt="png"), "Page recall by the number of chunks"),
        **headline,
    )


@table_asset(filing_chunks, benchmark_questions, group="reporting")
def corpus_statistics(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """Counts and lengths of the benchmark's corpus, as in Table 3 of Kobeissi & Langlais."""
    store, values = lake.open(), settings.get()
    names = benchmark_filings(store)
    chunk_parts = [store.info("filing_chunks", {"filing": name}) for name in names]
    questions = store.info("benchmark_questions")
    wanted = fingerprint(
        "corpus_statistics",
        [p.fingerprint for p in chunk_parts if p],
        questions.fingerprint if questions else None,
    )

    def make() -> pa.Table:
        from finrag_pipeline.evaluation.corpus_statistics import corpus_statistics as describe_corpus

        only = {"filing": get_benchmark(store).filings}
        return describe_corpus(
            store.read_all("filings", only=only),
            store.read_all("filing_pages", ["filing", "page", "characters"], only=only),
            store.read_all("filing_chunks", ["filing", "page", "kind", "tokens"], only=only),
            store.read("benchmark_questions"),
            get_encoder(values, store).tokens.count_all,
        )

    step = part_step(store, "corpus_statistics", "", None, wanted, make, context.run.run_id)
    table = store.read("corpus_statistics")
    return result([step], table=dg.MetadataValue.md(statistics_markdown(table)))


@table_asset(
    filings,
    filing_chunks,
    contextual_chunks,
    statement_facts,
    system_metrics,
    corpus_statistics,
    GAP_COUNTS,
    group="reporting",
    kinds={"python", "duckdb"},
    table=None,
    automation=on_corpus_change(),
    pool=WAREHOUSE,
)
def warehouse(context: dg.AssetExecutionContext, lake: LakeResource) -> dg.MaterializeResult:
    """One DuckDB file over the lake, built aside and published by rename; never blocks a reader."""
    store = lake.open()
    rows: dict[str, int] = {}
    wanted = fingerprint("warehouse", [store.fingerprints(asset) for asset in (*COPIED, *VIEWS)])

    def make() -> int:
        rows.update(build_warehouse(store))
        return sum(rows.values())

    # Always rebuilt: it takes a second, and the ledger in it must be today's.
    step = fresh_or_made(store, "warehouse", "", wanted, lambda: None, make, context.run.run_id)
    return result([step], path=dg.MetadataValue.path(str(store.local_path("warehouse.duckdb"))), tables=rows)


@table_asset(
    system_metrics,
    corpus_statistics,
    GAP_COUNTS,
    answer_metrics,
    false_answers,
    hybrid_alpha_sweep,
    *JUDGED,
    group="reporting",
    version=REPORT_VERSION,
    kinds={"python", "html"},
    table=None,
    automation=on_corpus_change(),
)
def report(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """The static report: results with intervals, tests, answers, the gap, every filing, and the method."""
    from finrag_pipeline.reporting.explorer_data import EXPLORER_TABLES, collect_explorer
    from finrag_pipeline.reporting.hardware import describe_hardware
    from finrag_pipeline.reporting.lake_tables import lake_fingerprints, lake_tables
    from finrag_pipeline.reporting.models_used import models_used
    from finrag_pipeline.reporting.page_images import PageImages
    from finrag_pipeline.reporting.report import write_report
    from finrag_pipeline.reporting.report_data import ReportData

    store, values = lake.open(), settings.get()
    benchmark = get_benchmark(store)
    folder = store.local_path("report")
    index = folder / "index.html"
    metrics = store.read_all("system_metrics")
    shown = values.model_dump(mode="json", exclude={"lake"})
    inputs = ("filings", "benchmark_questions", "system_metrics", "corpus_statistics")
    wanted = fingerprint(
        "report",
        REPORT_VERSION,
        benchmark.name,
        [store.fingerprints(asset) for asset in inputs],
        lake_fingerprints(store, benchmark.filings),
        EXPLORER_VERSION,
        PICTURES_VERSION,
        [store.fingerprints(asset) for asset in EXPLORER_TABLES],
        shown,
    )

    def find() -> int | None:
        entry = store.ledger_entry("report", "")
        return 1 if entry and entry["fingerprint"] == wanted and index.is_file() else None

    def make() -> int:
        data = ReportData(
            benchmark=benchmark.name,
            metrics=metrics,
            statistics=store.read_all("corpus_statistics"),
            filings=store.read_all("filings", only={"filing": benchmark.filings}),
            questions=store.read("benchmark_questions"),
            ledger=store.ledger(),
            settings=shown,
            versions=_versions(),
            command="finrag run"
            if benchmark.name == SAMPLE_NAME
            else f"finrag run --source {benchmark.name}",
            tables=lake_tables(store, benchmark.filings),
            models=models_used(store, values),
            hardware=describe_hardware(),
            explorer=collect_explorer(store, values, benchmark.filings),
            images=PageImages(store),
        )
        write_report(data, folder)
        return 1

    step: Step = fresh_or_made(store, "report", "", wanted, find, make, context.run.run_id)
    return result(
        [step],
        path=dg.MetadataValue.path(str(index)),
        open=dg.MetadataValue.url(Path(index).resolve().as_uri()),
        table=dg.MetadataValue.md(metrics_markdown(metrics)),
        gap=picture(gap_plot(metrics, fmt="png"), "Where the evidence is lost: document, page, chunk"),
    )


def _versions() -> dict[str, str]:
    names = (
        "finrag_pipeline",
        "dagster",
        "duckdb",
        "jinja2",
        "lancedb",
        "lightgbm",
        "matplotlib",
        "numpy",
        "pyarrow",
        "pymupdf",
        "rouge-score",
        "sacrebleu",
        "scikit-learn",
        "sentence-transformers",
        "torch",
        "transformers",
    )
    found = {"python": sys.version.split()[0]}
    for name in names:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
