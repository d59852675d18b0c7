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
