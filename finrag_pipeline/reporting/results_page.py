"""The results of the active benchmark as one Markdown page, made from the lake: ``docs/results.md``."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.benchmark import get_benchmark
from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.reporting import tables
from finrag_pipeline.reporting.grid import (
    SLICE_NAMES,
    Grid,
    MetricIndex,
    escape_markdown,
    grid_markdown,
    make_grid,
    number,
    slice_value_label,
    text,
)
from finrag_pipeline.reporting.method_page import models_used
from finrag_pipeline.reporting.overview import headline
from finrag_pipeline.reporting.report_data import CLOSED_BOOK
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.sample import SAMPLE_NAME
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import Query, lake_views

SLICES = ("question_type", "kind", "doc_type", "source")
"""Slices that are shown; companies are too many for a page, 'finrag metrics --by company' has them."""


def results_markdown(lake: Lake, settings: Settings) -> str:
    """What was measured on which data, and every table of results, as GitHub-flavoured Markdown.

    The same lake gives the same text: nothing in it is the time of writing or the machine.

    Raises:
        BenchmarkError: the lake holds no benchmark.
        LakeError: nothing was measured, or a part is damaged.
    """
    benchmark = get_benchmark(lake)
    metrics = lake.read_all("system_metrics")
    if not metrics.num_rows:
        raise LakeError("Nothing was measured yet.", "Run 'finrag run' with a source that has questions.")
    index, answers = MetricIndex(metrics), MetricIndex(lake.read_all("answer_metrics"))
    with lake_views(lake) as query:
        strata = strata_grid(query, benchmark.filings)
        without_passages = frozenset(query(CLOSED_BOOK)["system"].to_pylist())
    # Over the whole corpus, of systems that are no variants of another.
    of_page_recall = (pc.field("metric") == "page_rec") & (pc.field("k") == CUTOFF)
    of_page_recall &= (pc.field("space") == Space.CORPUS.value) & pc.field("system").isin(index.systems)
    best = headline(index)
    source = "" if benchmark.name == SAMPLE_NAME else f" --source …/{benchmark.name}"
    parts = [
        "# Results",
        f"Written by `finrag metrics --markdown` from the lake after `finrag run{source}`, not by hand.",
        grid_markdown(strata),
        "\n".join(_facts(lake, settings, benchmark.name, index)),
        "## Retrieval",
        "\n\n".join(filter(None, (f"Best: {best['system']}. {best['strata']}", *best["reading"])))
        if best
        else "",
        tables.metrics_markdown(metrics),
        *(
            text
            for name in SLICES
            for text in (f"## By {SLICE_NAMES[name].lower()}", grid_markdown(tables.slice_grid(index, name)))
        ),
        "## Which differences hold",
        grid_markdown(tables.comparison_grid(lake.read_all("system_comparisons").filter(of_page_recall))),
        "## Answers",
        grid_markdown(tables.answers_grid(answers, without_passages)),
        *(grid_markdown(tables.answers_grid(answers, without_passages, name)) for name in SLICES[:2]),
        "## Questions that have no answer",
        grid_markdown(
            tables.false_answers_grid(lake.read_all("false_answers"), settings.evaluation.confidence)
        ),
        "## Beside the papers",
        tables.published_markdown(metrics),
        "## Corpus",
        tables.statistics_markdown(lake.read_all("corpus_statistics")),
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


_STRATA = """
    WITH corpus AS (SELECT filing, source, coalesce(pages, 0) AS pages FROM filings WHERE filing IN $filings),
    counted AS (
        SELECT *, (SELECT count(*) FROM filing_chunks AS one WHERE one.filing = corpus.filing) AS chunks,
            (SELECT count(*) FROM benchmark_questions AS one
                WHERE one.filing = corpus.filing AND status = 'measured') AS questions
        FROM corpus
    )
    SELECT source, count(*), sum(pages), sum(chunks), sum(questions) FROM counted
    GROUP BY GROUPING SETS ((), (source)) ORDER BY grouping(source) DESC, source <> 'pdf', source
"""


def strata_grid(query: Query, filings: Sequence[str]) -> Grid:
    """Filings, pages, chunks and measured questions: all of them, those with a PDF, those with text only."""
    found = query(_STRATA, {"filings": list(filings)}).to_pylist()
    rows = [
        ("All" if source is None else slice_value_label("source", source), *map(int, counts))
        for source, *counts in (row.values() for row in found)
    ]
    columns = (
        text("Filings that are here as"),
        *map(number, ("Filings", "Pages")),
        number("Chunks", "fixed windows"),
        number("Questions measured"),
    )
    return make_grid("strata", "What was measured", columns, rows)


def _facts(lake: Lake, settings: Settings, name: str, index: MetricIndex) -> list[str]:
    questions, documents = index.size()
    _, encoder, _ = models_used(lake, settings)[0]
    entry = lake.ledger_entry("system_metrics", "")
    measured = f", last measured {str(entry['at'])[:10]}" if entry else ""
    return [
        f"- Benchmark: {escape_markdown(name)}, {questions:,} questions on {documents:,} filings{measured}.",
        f"- Encoder: {escape_markdown(encoder)}.",
        f"- Brackets are {100 * settings.evaluation.confidence:g} % intervals over filings ([evaluation.md]"
        "(evaluation.md)). Whatever learns ranks each question with what was trained without its filing, in "
        f"{settings.evaluation.folds} folds.",
        "- Users search the whole corpus; oracle filing and oracle pages are what the gold labels allow.",
    ]
