"""Reporting: metrics with intervals, the retrieval gap, corpus statistics, the warehouse and the report."""

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import dagster as dg
import pyarrow as pa

from finrag_pipeline.evaluation.benchmark import benchmark_filings, get_benchmark
from finrag_pipeline.evaluation.retrieval_gap import answer_outcomes, read_texts
from finrag_pipeline.evaluation.retrieval_gap import gap_counts as count_gap
from finrag_pipeline.evaluation.retrieval_gap import retrieval_gap as measure_gap
from finrag_pipeline.evaluation.summary import SLICED, summarise
from finrag_pipeline.orchestration.lineage import versions
from finrag_pipeline.orchestration.steps import Part, Step, picture, table_asset
from finrag_pipeline.orchestration.sweeps import (
    Parts,
    answers_to_other_questions,
    measured_systems,
    stale_results,
)
from finrag_pipeline.reporting.plots import gap_levels_plot, gap_plot, recall_curve
from finrag_pipeline.reporting.tables import gap_markdown, metrics_markdown, statistics_markdown
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.sample import SAMPLE_NAME
from finrag_pipeline.schemas import TABLES
from finrag_pipeline.services.sql import sql_views
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.warehouse import FILE, build_warehouse, lake_views


def _summary(
    part: Part,
    table: str,
    stale: Parts,
    what: str,
    series: Callable[[pa.Table], pa.Table] = lambda scores: scores,
) -> Step:
    """Means and intervals of what a table of scores holds, without what is stale."""
    store = part.store
    if stale:
        systems = sorted({keys["system"] for _, keys in stale})
        part.context.log.warning(f"{what}: {', '.join(systems)}")
    kept = [keys for keys in store.partitions(table) if (table, keys) not in stale]
    rows = store.read_all("filings", ["filing", "source"]).to_pylist()
    sources = {row["filing"]: row["source"] for row in rows}
    questions = store.read("benchmark_questions")
    # What the slices are made of does not enter the scores.
    slices = [questions[name].to_pylist() for name in SLICED]
    slices.append([sources.get(one) for one in questions["filing"].to_pylist()])

    def make() -> pa.Table:
        scores = pa.concat_tables([TABLES[table].empty_table(), *(store.read(table, keys) for keys in kept)])
        return summarise(series(scores), questions, sources, part.values.evaluation)

    return part.made(make, kept, slices)


@table_asset()
def answer_metrics(part: Part) -> Step:
    """Mean and document-cluster interval of every metric of answers, by system, space and slice."""

    def series(scores: pa.Table) -> pa.Table:
        from finrag_pipeline.evaluation.answer_metrics import as_series

        return as_series(scores)

    stale = answers_to_other_questions(part.store)
    return _summary(part, "answer_scores", stale, "answered other questions, ask them again", series)


@table_asset()
def system_metrics(part: Part) -> Step:
    """Mean and document-cluster interval of every metric, system, space and slice."""
    stale = stale_results(part.store, part.values, part.run.corpora)
    step = _summary(part, "retrieval_scores", stale, "no longer measured, run them again")
    metrics = part.read()
    gap, recall = gap_plot(metrics, fmt="png"), recall_curve(metrics, fmt="png")
    step.metadata = {
        "table": dg.MetadataValue.md(metrics_markdown(metrics)),
        "gap": picture(gap, "Where the evidence is lost: document, page, chunk"),
        "recall": picture(recall, "Page recall by the number of chunks"),
        **{  # the graph plots these over time: the oracles' hardly move
            f"page_rec_at_5_{row['system']}": round(row["mean"], 4)
            for row in metrics.to_pylist()
            if (row["slice"], row["space"], row["metric"], row["k"]) == ("all", Space.CORPUS, "page_rec", 5)
        },
    }
    return step


@table_asset()
def retrieval_gap(part: Part) -> Step:
    """The first level lost of every question, retrieval and answer over it, with failure modes."""
    store = part.store
    questions, measured = store.read("benchmark_questions"), measured_systems(store)

    def make() -> pa.Table:
        answers = store.read_all("answers")
        return measure_gap(
            store.read_all("retrieval_runs", only={"system": measured}),
            questions,
            read_texts(store, benchmark_filings(store)),
            answers,
            answer_outcomes(answers, store.read_all("answer_scores"), questions),
            expected=measured,
        )

    return part.made(make)


@table_asset()
def gap_counts(part: Part) -> Step:
    """Questions by first level lost and by failure mode, per system, with intervals over filings."""

    def make() -> pa.Table:
        questions = part.store.read("benchmark_questions", columns=["question_id", "filing"])
        return count_gap(part.read("retrieval_gap"), questions, part.values.evaluation.confidence)

    step = part.made(make)
    counts = part.read()
    plot = gap_levels_plot(counts, fmt="png")
    step.metadata = {
        "table": dg.MetadataValue.md(gap_markdown(counts)),
        "levels": picture(plot, "First level lost per system, share of the questions"),
    }
    return step


@table_asset()
def corpus_statistics(part: Part) -> Step:
    """Counts and lengths of the benchmark's corpus, as in Table 3 of Kobeissi & Langlais."""
    store = part.store

    def make() -> pa.Table:
        from finrag_pipeline.evaluation.corpus_statistics import corpus_statistics as describe_corpus

        only = {"filing": get_benchmark(store).filings}
        return describe_corpus(
            store.read_all("filings", only=only),
            store.read_all("filing_pages", ["filing", "page", "characters"], only=only),
            store.read_all("filing_chunks", ["filing", "page", "kind", "tokens"], only=only),
            store.read("benchmark_questions"),
            part.run.encoder.tokens.count_all,
        )

    step = part.made(make, benchmark_filings(store))
    step.metadata = {"table": dg.MetadataValue.md(statistics_markdown(part.read()))}
    return step


@table_asset()
def warehouse(part: Part) -> Step:
    """One DuckDB file with a view of every table, built aside and published by rename; blocks no reader."""
    store = part.store
    rows: dict[str, int] = {}

    def make() -> int:
        rows.update(build_warehouse(store, sql_views))
        return sum(rows.values())

    # Always rebuilt: it takes half a second, and reads every footer.
    step = part.made_or_found(lambda: None, make, part.wanted())
    step.metadata = {"path": dg.MetadataValue.path(store.uri(FILE)), "tables": rows}
    return step


@table_asset()
def report(part: Part) -> Step:
    """The static report: results with intervals, tests, answers, the gap, every filing, and the method."""
    from finrag_pipeline.reporting.explorer_data import EXPLORER_TABLES, collect_explorer
    from finrag_pipeline.reporting.method_page import describe_hardware, models_used
    from finrag_pipeline.reporting.page_pictures import page_images
    from finrag_pipeline.reporting.report import write_report
    from finrag_pipeline.reporting.report_data import ReportData, lake_fingerprints, lake_tables

    store, values = part.store, part.values
    benchmark = get_benchmark(store)
    index = store.uri("report", "index.html")
    metrics = store.read_all("system_metrics")
    shown = values.model_dump(mode="json", exclude={"lake"})
    inputs = ("filings", "benchmark_questions", "system_metrics", "corpus_statistics")
    wanted = fingerprint(
        "report",
        versions("report"),
        benchmark.name,
        [store.fingerprints(asset) for asset in inputs],
        lake_fingerprints(store, benchmark.filings),
        [store.fingerprints(asset) for asset in EXPLORER_TABLES],
        shown,
    )

    def find() -> int | None:
        entry = store.ledger_entry("report", "")
        return 1 if entry and entry["fingerprint"] == wanted and store.fs.exists(index) else None

    def make() -> int:
        with lake_views(store) as query:
            tables = lake_tables(query, benchmark.filings)
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
            tables=tables,
            models=models_used(store, values),
            hardware=describe_hardware(),
            explorer=collect_explorer(store, benchmark.filings),
            images=partial(page_images, store),
        )
        write_report(data, store.local_path("report"))
        store.publish("report")
        return 1

    step = part.made_or_found(find, make, wanted)
    step.metadata = {
        "path": dg.MetadataValue.path(index),
        "open": dg.MetadataValue.url(Path(index).as_uri() if store.is_local else index),
        "table": dg.MetadataValue.md(metrics_markdown(metrics)),
    }
    return step


_LIBRARIES = (
    "finrag_pipeline", "dagster", "duckdb", "jinja2", "lancedb", "lightgbm", "matplotlib", "numpy", "pyarrow",
    "pymupdf", "rouge-score", "sacrebleu", "scikit-learn", "sentence-transformers", "torch", "transformers",
)  # fmt: skip


def _versions() -> dict[str, str]:
    found = {"python": sys.version.split()[0]}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
