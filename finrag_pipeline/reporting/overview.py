"""The first page of the report: what was measured, how sure that is, and where evidence is lost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.reporting import plots, tables
from finrag_pipeline.reporting.filing_pages import excluded_grid, filing_counts
from finrag_pipeline.reporting.grid import (
    SLICE_NAMES,
    Estimate,
    MetricIndex,
    metric_label,
    slice_value_label,
    space_label,
    system_title,
)
from finrag_pipeline.reporting.method_page import definitions
from finrag_pipeline.reporting.report_data import ReportData
from finrag_pipeline.retrieval.alpha import alpha_means, pick_alphas
from finrag_pipeline.retrieval.spaces import Space

_LEVELS = (
    ("doc_rec", "Right filing", "questions with a passage of the right filing"),
    ("page_rec", "Right pages", "gold pages found, averaged over questions"),
    ("max_rouge_l", "Right passage", "best overlap of a passage with the gold evidence"),
)


def headline(index: MetricIndex) -> dict[str, Any] | None:
    """Best system by PageRec@5 over the whole corpus; None when none was measured there.

    Returns:
        ``system``, its title; ``figures``, from filing to passage: title of the level, metric, the metric in
        words, estimate; ``strata``: recall of pages by source of the filing, which says how far a total rests
        on pages without boxes; ``reading``: what the gap to the oracles says, in sentences.
    """
    ranked = index.ranked(Space.CORPUS)
    if not ranked:
        return None
    best, label = ranked[0], metric_label("page_rec", CUTOFF)
    figures = [
        (title, metric_label(metric, CUTOFF), meaning, estimate)
        for metric, title, meaning in _LEVELS
        if (estimate := index.find(best, Space.CORPUS, metric, CUTOFF))
    ]
    told = [
        f"{slice_value_label('source', value)} {found.mean:.3f} {_size(found)}"
        for value in index.values("source")
        if (found := index.find(best, Space.CORPUS, "page_rec", CUTOFF, "source", value))
    ]
    strata = f"{label} by source of the filing: {'; '.join(told)}." if len(told) > 1 else ""
    reading = []
    whole, inside = (index.find(best, space, "page_rec", CUTOFF) for space in (Space.CORPUS, Space.FILING))
    if whole and inside:
        between, within = max(inside.mean - whole.mean, 0.0), 1.0 - inside.mean
        if between + within >= 0.005:
            larger = "inside the right filing" if within >= between else "to other filings"
            reading = [
                f"Searching the right filing only, the same system reaches {label} {inside} instead of "
                f"{whole} (n = {inside.n}).",
                f"So {between:.2f} is lost to other filings and {within:.2f} inside the right one: "
                f"most of what is missing is lost {larger}.",
            ]
    return {"system": system_title(best), "figures": figures, "strata": strata, "reading": reading}


def _size(estimate: Estimate) -> str:
    n = f"(n = {estimate.n})"
    return n if estimate.low is None or estimate.high is None else f"[{estimate.interval}] {n}"


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
    """What ``report.html.jinja`` shows; links are paths of the pages of questions, by identifier."""
    index, answers = MetricIndex(data.metrics), MetricIndex(data.tables["answer_metrics"])
    closed_book = frozenset(data.tables["closed_book"]["system"].to_pylist())
    compared, gap_counts = data.tables["system_comparisons"], data.tables["gap_counts"]
    status = data.questions["status"].to_pylist()
    of_answers = {name: tables.answers_grid(answers, closed_book, name) for name in ("question_type", "kind")}
    return {
        "data": data,
        "sections": SECTIONS,
        "definitions": definitions(),
        "plots": set(overview_plots(data)),
        "k": CUTOFF,
        "made": f"{data.made.day} {data.made:%B %Y, %H:%M} {data.made.tzname() or ''}".strip(),
        "confidence": data.confidence_text,
        "filings": {
            "readable": data.filings["status"].to_pylist().count("ok"),
            "pages": pc.sum(data.filings["pages"]).as_py() or 0,
            **filing_counts(data.filings),
        },
        "measured": status.count("measured"),
        "excluded": len(status) - status.count("measured"),
        "failed_steps": data.ledger["outcome"].to_pylist().count("failed"),
        "systems": [(system, system_title(system)) for system in index.systems],
        "spaces": [(space, space_label(space)) for space in index.spaces],
        "headline": headline(index),
        "metrics": tables.headline_grid(index) if not index or CUTOFF in index.cutoffs("page_rec") else None,
        "comparisons": tables.comparison_grid(compared),
        "comparison_choices": tables.comparison_choices(compared),
        "families": tables.family_sizes(compared),
        "published": tables.published_grid(index),
        "published_notes": tables.published_notes(index),
        "published_sources": tables.published_sources(),
        "answers": tables.answers_grid(answers, closed_book),
        "answer_slices": [
            (SLICE_NAMES[name], name, grid, [(value, value) for value in answers.values(name)])
            for name, grid in of_answers.items()
            if grid.rows
        ],
        "answer_choices": [
            ("System", "whose", "All", [("ours", "This pipeline"), ("recorded", "Recorded answers")]),
            ("Given", "given", "Anything", tables.given_options(answers, closed_book)),
        ],
        "false_answers": tables.false_answers_grid(data.tables["false_answers"], data.confidence),
        **tables.judging_context(data),
        "gap_levels": tables.levels_grid(gap_counts),
        "gap_labels": tables.labels_grid(gap_counts),
        "gap_examples": tables.examples_grid(data.tables["retrieval_gap"], data.questions, question_links),
        "gap": tables.gap_grid(index),
        "slices": [(title, tables.slice_grid(index, name)) for name, title in SLICE_NAMES.items()],
        "ablations": tables.ablation_grid(index),
        "pages_ablation": tables.pages_grid(index),
        "trainings": tables.training_grid(data.tables["page_scorer"], data.tables["folds"]),
        "features": tables.features_grid(data.tables["page_ranker"]),
        "statistics": tables.statistics_grid(data.statistics),
        "detectors": tables.detector_grid(data.tables["table_counts"]),
        "excluded_grid": excluded_grid(data.questions),
    }


def overview_plots(data: ReportData) -> dict[str, Callable[..., bytes]]:
    """The plots for which there is data, by the name of their files."""
    found: dict[str, Callable[..., bytes]] = {}
    if MetricIndex(data.metrics, slice="all").systems:
        found["gap"] = partial(plots.gap_plot, data.metrics)
        found["page-recall"] = partial(plots.recall_curve, data.metrics)
    if (sweep := data.tables["hybrid_alpha_sweep"]).num_rows:
        found["alpha"] = partial(
            plots.alpha_plot, alpha_means(sweep), _chosen_alphas(sweep, data.tables["folds"])
        )
    for policy, curves in tables.training_curves(data.tables["page_scorer"]).items():
        if policy in ("document", "company"):
            found[f"training-{policy}"] = partial(plots.training_plot, curves)
    answers = data.tables["answer_metrics"]
    if any(MetricIndex(answers, slice="all").cutoffs("confidence")):
        found["reliability"] = partial(plots.reliability_plot, answers)
    if (counts := data.tables["gap_counts"]).num_rows:
        found["gap-levels"] = partial(plots.gap_levels_plot, counts)
    if (sensitivity := data.tables["judge_sensitivity"]).num_rows:
        found["judge-sensitivity"] = partial(plots.sensitivity_plot, sensitivity.to_pylist())
    return found


def _chosen_alphas(sweep: pa.Table, folds: pa.Table) -> dict[str, list[float]]:
    """Weights by search space, one per fold, each chosen without the questions of its fold."""
    chosen: dict[str, list[float]] = defaultdict(list)
    for fold in sorted(folds["fold"].unique().to_pylist()):
        others = folds.filter(pc.field("fold") != fold)["question_id"].to_pylist()
        for space, alpha in pick_alphas(sweep, others).items():
            chosen[space].append(alpha)
    return chosen
