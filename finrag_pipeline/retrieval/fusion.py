"""Fusion of rankings."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)


def reciprocal_rank_fusion(rankings: Sequence[Sequence[Item]], k: int = 60) -> list[tuple[Item, float]]:
    """Fuse rankings: score(x) = Σ over rankings of 1 / (k + rank of x), ranks from 1.

    Cormack, Clarke & Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual rank
    learning methods", SIGIR 2009. Items that a ranking lacks add nothing for it.

    Args:
        rankings: items, best first, without repeats.
        k: the constant; 60 in the paper.

    Returns:
        Items with scores, best first; ties in the order in which the items first appear.
    """
    scores: dict[Item, float] = {}
    for ranking in rankings:
        for place, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + 1.0 / (k + place)
    return sorted(scores.items(), key=lambda pair: -pair[1])


def weighted_fusion(
    dense: Sequence[tuple[Item, float]], sparse: Sequence[tuple[Item, float]], alpha: float
) -> list[tuple[Item, float]]:
    """Fuse two scored rankings: S(x) = α · dense(x) + (1 − α) · sparse(x).

    Kim et al. (2025), "Optimizing Retrieval Strategies for Financial Question Answering Documents". Cosines
    and BM25 weights are not on one scale, and the paper names no normalisation (its code takes a softmax).
    Here each ranking's scores are brought to [0, 1] by their minimum and maximum, query by query; an item
    that a ranking lacks counts 0 there, as its last one does.

    Args:
        dense: items with scores, best first, without repeats.
        sparse: likewise.
        alpha: weight of ``dense``, in [0, 1]. At 1 the order is that of ``dense``, followed by the others; at
            0 that of ``sparse``.

    Returns:
        Items with scores in [0, 1], best first; ties in the order in which the items first appear, those of
        the ranking with the greater weight first.
    """
    weighted = [(dense, alpha), (sparse, 1.0 - alpha)]
    if alpha < 0.5:
        weighted.reverse()
    scores: dict[Item, float] = {}
    for ranking, weight in weighted:
        for item, score in _unit_range(ranking):
            scores[item] = scores.get(item, 0.0) + weight * score
    return sorted(scores.items(), key=lambda pair: -pair[1])


def _unit_range(ranking: Sequence[tuple[Item, float]]) -> list[tuple[Item, float]]:
    values = [score for _, score in ranking]
    low, high = min(values, default=0.0), max(values, default=0.0)
    # Equal scores say that all of them match alike, not that none does.
    return [(item, (score - low) / (high - low) if high > low else 1.0) for item, score in ranking]
