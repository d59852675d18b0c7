"""The first page of the report: what was measured, how sure that is, and where evidence is lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.reporting.filing_pages import excluded_grid, filing_counts
from finrag_pipeline.reporting.grid import (
    SLICE_NAMES,
    Estimate,
    Grid,
    MetricIndex,
    metric_label,
    number,
    record_grid,
    slice_value_label,
    space_label,
    system_title,
    text,
)
from finrag_pipeline.reporting.method_page import definitions
from finrag_pipeline.reporting.plots import (
    alpha_plot,
    coverage_plot,
    gap_levels_plot,
    gap_plot,
    recall_curve,
    reliability_plot,
    sensitivity_plot,
    training_plot,
)
from finrag_pipeline.reporting.report_data import Plot, ReportData
from finrag_pipeline.reporting.tables import (
    ablation_grid,
    answers_grid,
    comparison_choices,
    comparison_grid,
    false_answers_grid,
    family_sizes,
    features_grid,
    gap_context,
    gap_grid,
    given_options,
    headline_grid,
    judging_context,
    pages_grid,
    published_grid,
    published_notes,
    published_sources,
    slice_grid,
    statistics_grid,
    training_curves,
    training_grid,
)
from finrag_pipeline.retrieval.alpha import alpha_means, pick_alphas
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.storage.warehouse import query_tables

_LEVELS = (
    ("doc_rec", "Right filing", "questions with a passage of the right filing"),
    ("page_rec", "Right pages", "gold pages found, averaged over questions"),
    ("max_rouge_l", "Right passage", "best overlap of a passage with the gold evidence"),
)


@dataclass(frozen=True)
class KeyFigure:
    """A figure that deserves large type.

    Attributes:
        title: level of the evidence.
        metric: metric with its cut-off.
        meaning: the metric in words.
        estimate: the figure.
    """

    title: str
    metric: str
    meaning: str
    estimate: Estimate


@dataclass(frozen=True)
class Headline:
    """The best system over the whole corpus.

    Attributes:
        system: its title.
        figures: one per level, from filing to passage.
        strata: the same recall of pages on filings that are here as PDF and as text only, where both are.
        reading: what the gap to the oracles says, in sentences.
    """

    system: str
    figures: tuple[KeyFigure, ...]
    strata: str
    reading: tuple[str, ...]


def headline(index: MetricIndex, k: int = CUTOFF) -> Headline | None:
    """Best system by PageRec@k over the whole corpus; None when none was measured there."""
    ranked = index.ranked(Space.CORPUS, k)
    if not ranked:
        return None
    best = ranked[0]
    found = [(level, index.find(best, Space.CORPUS, level[0], k)) for level in _LEVELS]
    figures = tuple(
        KeyFigure(title, metric_label(metric, k), meaning, estimate)
        for (metric, title, meaning), estimate in found
        if estimate is not None
    )
    return Headline(system_title(best), figures, _strata(index, best, k), tuple(_reading(index, best, k)))


def _strata(index: MetricIndex, system: str, k: int) -> str:
    """PageRec@k by source of the filing, which says how far a total rests on pages without boxes."""
    found = [
        (slice_value_label("source", value), index.find(system, Space.CORPUS, "page_rec", k, "source", value))
        for value in index.values("source")
    ]
    told = [
        f"{name} {estimate.mean:.3f} {_size(estimate)}" for name, estimate in found if estimate is not None
    ]
    return (
        f"{metric_label('page_rec', k)} by source of the filing: {'; '.join(told)}." if len(told) > 1 else ""
    )


def _size(estimate: Estimate) -> str:
    n = f"(n = {estimate.n})"
    return n if estimate.low is None or estimate.high is None else f"[{estimate.interval}] {n}"


def _reading(index: MetricIndex, system: str, k: int) -> list[str]:
    whole = index.find(system, Space.CORPUS, "page_rec", k)
    inside = index.find(system, Space.FILING, "page_rec", k)
    if whole is None or inside is None:
        return []
    label = metric_label("page_rec", k)
    between, within = max(inside.mean - whole.mean, 0.0), 1.0 - inside.mean
    if between + within < 0.005:
        return []
    larger = "inside the right filing" if within >= between else "to other filings"
    return [
        f"Searching the right filing only, the same system reaches {label} {inside} instead of {whole} "
        f"(n = {inside.n}).",
        f"So {between:.2f} is lost to other filings and {within:.2f} inside the right one: "
        f"most of what is missing is lost {larger}.",
    ]


SECTIONS = {
    "results": "Results",
    "comparisons": "Which differences hold",
    "papers": "Beside the papers",
    "answers": "Answers",
    "judging": "How answers are judged",
    "gap": "Where evidence is lost",
    "slices": "By kind of question",
    "parts": "What each part adds",
    "corpus": "Corpus",
}
"""Sections of the page with their titles, in order."""


def overview_context(data: ReportData, question_links: Mapping[str, str]) -> dict[str, Any]:
    """What ``report.html.jinja`` shows.

    Args:
        data: what to show.
        question_links: path of the page of a question, by identifier.
    """
    index = MetricIndex(data.metrics)
    status = data.questions["status"].to_pylist()
    readable = data.filings["status"].to_pylist().count("ok")
    return {
        "data": data,
        "sections": SECTIONS,
        "definitions": definitions(),
        "plots": set(overview_plots(data)),
        "k": CUTOFF,
        "made": f"{data.made.day} {data.made:%B %Y, %H:%M} {data.made.tzname() or ''}".strip(),
        "confidence": data.confidence_text,
        "filings": {
            "total": data.filings.num_rows,
            "readable": readable,
            "pages": sum(pages or 0 for pages in data.filings["pages"].to_pylist()),
            **filing_counts(data.filings),
        },
        "measured": status.count("measured"),
        "excluded": len(status) - status.count("measured"),
        "failed_steps": data.ledger["outcome"].to_pylist().count("failed"),
        "systems": [(system, system_title(system)) for system in index.systems],
        "spaces": [(space, space_label(space)) for space in index.spaces],
        "headline": headline(index),
        "metrics": headline_grid(index) if not index or CUTOFF in index.cutoffs("page_rec") else None,
        "published": published_grid(index),
        "published_notes": published_notes(index),
        "published_sources": published_sources(),
        "gap": gap_grid(index),
        "ablations": ablation_grid(index),
        "slices": [
            (SLICE_NAMES[name], slice_grid(index, name))
            for name in ("question_type", "kind", "doc_type", "source", "company")
        ],
        "statistics": statistics_grid(data.statistics),
        "excluded_grid": excluded_grid(data.questions),
        "pages_ablation": pages_grid(index),
        "trainings": training_grid(data.table("page_scorer"), data.table("folds")),
        "features": features_grid(data.table("page_ranker")),
        "detectors": detector_grid(data.table("table_counts")),
        **_comparisons(data),
        **_answers(data),
        **judging_context(data),
        **gap_context(data, question_links),
    }


def _comparisons(data: ReportData) -> dict[str, Any]:
    table = data.table("system_comparisons")
    return {
        "comparisons": comparison_grid(table),
        "comparison_choices": comparison_choices(table),
        "families": family_sizes(table),
    }


def _answers(data: ReportData) -> dict[str, Any]:
    table, closed = data.table("answer_metrics"), data.table("closed_book")
    index, closed_book = MetricIndex(table), frozenset(closed["system"].to_pylist())
    slices = ("question_type", "kind")
    grids = [(SLICE_NAMES[name], name, answers_grid(index, closed_book, name)) for name in slices]
    return {
        "answers": answers_grid(index, closed_book),
        "answer_slices": [one for one in grids if one[2].rows],
        "false_answers": false_answers_grid(data.table("false_answers"), data.confidence),
        "answer_choices": [
            ("System", "whose", "All", [("ours", "This pipeline"), ("recorded", "Recorded answers")]),
            ("Given", "given", "Anything", given_options(index, closed_book)),
        ],
        "answer_types": [
            (title, name, "All", [(value, value) for value in index.values(name)]) for title, name, _ in grids
        ],
    }


def overview_plots(data: ReportData) -> dict[str, Plot]:
    """The plots for which there is data, by the name of their files."""
    plots: dict[str, Plot] = {}
    if MetricIndex(data.metrics).systems:
        plots["gap"] = partial(gap_plot, data.metrics)
        plots["page-recall"] = partial(recall_curve, data.metrics)
    if (sweep := data.table("hybrid_alpha_sweep")).num_rows:
        plots["alpha"] = partial(alpha_plot, alpha_means(sweep), _chosen_alphas(sweep, data.table("folds")))
    for policy, curves in training_curves(data.table("page_scorer")).items():
        if policy in ("document", "company"):
            plots[f"training-{policy}"] = partial(training_plot, curves)
    answers = data.table("answer_metrics")
    if any(MetricIndex(answers).cutoffs("confidence")):
        plots["reliability"] = partial(reliability_plot, answers)
    if (counts := data.table("gap_counts")).num_rows:
        plots["gap-levels"] = partial(gap_levels_plot, counts)
    if (sensitivity := data.table("judge_sensitivity")).num_rows:
        plots["judge-sensitivity"] = partial(sensitivity_plot, sensitivity.to_pylist())
    if (coverage := data.table("interval_coverage")).num_rows:
        plots["interval-coverage"] = partial(coverage_plot, coverage.to_pylist(), data.confidence)
    return plots


def _chosen_alphas(sweep: pa.Table, folds: pa.Table) -> dict[str, list[float]]:
    """Weights by search space, one per fold, each chosen without the questions of its fold."""
    chosen: dict[str, list[float]] = {}
    for fold in sorted(set(folds["fold"].to_pylist())):
        others = folds.filter(pc.not_equal(folds["fold"], fold))["question_id"].to_pylist()
        for space, alpha in pick_alphas(sweep, others).items():
            chosen.setdefault(space, []).append(alpha)
    return chosen


def detector_grid(counts: pa.Table) -> Grid:
    """What each table detector found on the filings that it read.

    Args:
        counts: as `report_data.TABLE_COUNTS`.
    """
    sums = ", ".join(f"sum({name})::BIGINT AS {name}" for name in ("pages", "tables", "numbers", "unread"))
    sql = f"""
        SELECT detector, count(*) AS filings, {sums}
        FROM (SELECT *, row_number() OVER () AS row FROM counts) GROUP BY detector ORDER BY min(row)
    """  # noqa: S608 - our own names
    found = query_tables(sql, counts=counts).to_pylist()
    columns = (
        text("Detector", of="detector"),
        number("Filings", of="filings"),
        number("Pages with a table", of="pages"),
        number("Tables", of="tables"),
        number("Numbers read", of="numbers"),
        number("Cells without a value", "dates, dashes, words", "unread"),
    )
    empty = "No page was searched for tables yet."
    return record_grid("detectors", "Tables by detector", columns, found, empty)
