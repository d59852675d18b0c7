"""Rankings of a question in the form that both the page and its script show, and which of them come first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.reporting.estimates import space_label, system_title
from finrag_pipeline.reporting.explorer_data import EXPLAINED, ExplorerData, ExplorerQuestion, Loss
from finrag_pipeline.reporting.explorer_rankings import Place, Ranking
from finrag_pipeline.reporting.gap_levels import LABEL_NAMES, LEVEL_NAMES
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.systems import ABLATIONS

_COMPARED_WITH = "dense"


def default_space(data: ExplorerData) -> str:
    """The whole corpus where it was searched."""
    return data.spaces[0] if data.spaces else Space.CORPUS.value


def default_pair(data: ExplorerData) -> tuple[str | None, str | None]:
    """The two systems that are compared at first: the best one, and the dense search or the next best.

    Either is None where there are not so many.
    """
    space = default_space(data)

    def mean(system: str) -> float:
        known = [
            ranking.page_rec
            for question in data.questions
            if (ranking := question.rankings.get((space, system))) and ranking.page_rec is not None
        ]
        return sum(known) / len(known) if known else -1.0

    main = [system for system in data.systems if system not in ABLATIONS] or data.systems
    ranked = sorted(main, key=mean, reverse=True)
    left = ranked[0] if ranked else None
    others = [system for system in ranked if system != left]
    right = _COMPARED_WITH if _COMPARED_WITH in others else (others[0] if others else None)
    return left, right


def system_options(data: ExplorerData) -> list[tuple[str, list[tuple[str, str]]]]:
    """(name, title) of the systems in groups: systems, and variants of them."""
    groups = {
        "Systems": [name for name in data.systems if name not in ABLATIONS],
        "Variants": [name for name in data.systems if name in ABLATIONS],
    }
    return [
        (label, [(name, system_title(name)) for name in names]) for label, names in groups.items() if names
    ]


def space_options(data: ExplorerData) -> list[tuple[str, str]]:
    """(name, label) of the search spaces."""
    return [(space, space_label(space)) for space in data.spaces]


def compare_payload(question: ExplorerQuestion, anchors: Mapping[Place, str]) -> dict[str, Any]:
    """All rankings of a question, with texts and places by number.

    Args:
        question: the question.
        anchors: identifier on the page of each place that is shown as it looks.

    Returns:
        ``places``: ``[filing, page, gold, kind, anchor, why]``, why being that of `EXPLAINED`; ``snippets``;
        ``runs``: by space and system ``{doc, page, depth, hits: [[place, ranks, score, snippet], …],
        gold: [[place, rank or null], …]}``.
    """
    places: dict[Place, int] = {}
    snippets: dict[str, int] = {}
    gold = [(question.row["filing"], page) for page in question.row["gold_pages"] or ()]

    def number(place: Place) -> int:
        return places.setdefault(place, len(places))

    runs: dict[str, dict[str, Any]] = {}
    for (space, system), ranking in question.rankings.items():
        hits = []
        for page in ranking.pages:
            text = question.snippets.get(page.chunk_id) if page.ranks[0] <= CUTOFF else None
            shown = None if text is None else snippets.setdefault(text, len(snippets))
            hits.append([number(page.place), list(page.ranks), score_text(page.score), shown])
        runs.setdefault(space, {})[system] = {
            "doc": recall_text(ranking.doc_rec),
            "page": recall_text(ranking.page_rec),
            "depth": ranking.depth,
            "hits": hits,
            "gold": [[number(place), ranking.gold.get(place)] for place in gold],
        }
    return {
        "explained": EXPLAINED,
        "places": [
            [
                filing,
                page,
                int(question.is_gold((filing, page))),
                question.kinds.get((filing, page), ""),
                anchors.get((filing, page), ""),
                question.reasons.get((filing, page), ""),
            ]
            for filing, page in places
        ],
        "snippets": list(snippets),
        "runs": runs,
    }


def recall_text(value: float | None) -> str:
    """``1.00``; a dash where nothing was measured."""
    return "–" if value is None or math.isnan(value) else f"{value:.2f}"


def score_text(value: float) -> str:
    """A score in four digits, whatever its size."""
    return f"{value:.4g}".replace("-", "−") if math.isfinite(value) else "–"


def recall_of(question: ExplorerQuestion, space: str, system: str | None) -> float | None:
    """PageRec@5 of a system on a question; None where it was not measured."""
    ranking: Ranking | None = question.rankings.get((space, system)) if system else None
    if ranking is None or ranking.page_rec is None or math.isnan(ranking.page_rec):
        return None
    return ranking.page_rec


def loss_of(
    question: ExplorerQuestion, retrieval: str | None, space: str, answering: str | None
) -> Loss | None:
    """Where a question was lost by a retrieval: seen with an answering system, else by itself."""
    found = [loss for loss in question.losses if (loss.retrieval, loss.space) == (retrieval, space)]
    for wanted in (answering, None):
        for loss in found:
            if loss.answering == wanted:
                return loss
    return None


def level_name(level: str) -> str:
    """A level as people read it."""
    return LEVEL_NAMES.get(level, level)


def label_name(label: str) -> str:
    """A failure mode as people read it."""
    return LABEL_NAMES.get(label, label.replace("_", " "))
