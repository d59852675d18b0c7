"""What a reader should know first: the best system's figures and where the evidence is lost."""

from __future__ import annotations

from dataclasses import dataclass

from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.reporting.estimates import (
    Estimate,
    MetricIndex,
    metric_label,
    slice_value_label,
    system_title,
)
from finrag_pipeline.retrieval.spaces import Space

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
