"""Which answers people label: a sample stratified by theme and K-Means cluster.

Martinon et al., section 5.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from finrag_pipeline.schemas import SAMPLE

PER_CLUSTER = 3


def stratified_sample(
    item_ids: Sequence[str],
    themes: Sequence[str],
    vectors: ArrayLike,
    budget: int,
    *,
    per_cluster: int = PER_CLUSTER,
    seed: int = 17,
) -> pa.Table:
    """Embeddings are clustered within each theme, and a few items of every cluster drawn at random.

    The budget is shared among themes in proportion to their items; each theme gets as many clusters as its
    share pays for, at least one. A cluster smaller than ``per_cluster`` is taken whole.

    Args:
        item_ids: answers, or sentences.
        themes: theme of each.
        vectors: embedding of each, shape (items, dimensions).
        budget: labels that people will give, at most.
        per_cluster: items drawn from each cluster.
        seed: of K-Means and of the draw; neither depends on the order of the items.

    Returns:
        Table as ``schemas.SAMPLE``, in the order of ``item_ids``.

    Raises:
        ValueError: lengths disagree, an item comes twice, or the budget does not pay for a cluster per theme.
    """
    points = np.asarray(vectors, dtype=np.float64)
    if len(set(item_ids)) != len(item_ids) or len(themes) != len(item_ids) or len(points) != len(item_ids):
        raise ValueError("every item needs one identifier of its own, one theme and one vector")
    names = sorted(set(themes))
    if budget < per_cluster * len(names):
        raise ValueError(f"{budget} labels are fewer than {per_cluster} for each of {len(names)} themes")
    order = np.argsort(np.array(item_ids, dtype=object).astype(str), kind="stable")
    strata = np.empty(len(item_ids), dtype=object)
    sampled = np.zeros(len(item_ids), dtype=bool)
    weights = np.full(len(item_ids), np.nan)
    shares = _shares([sum(theme == name for theme in themes) for name in names], budget // per_cluster)
    for number, (name, clusters) in enumerate(zip(names, shares, strict=True)):
        members = np.array([place for place in order if themes[place] == name])
        groups = _clusters(points[members], clusters, seed)
        rng = np.random.default_rng([seed, number])
        for group in np.unique(groups):
            inside = members[groups == group]
            strata[inside] = f"{name}/{group}"
            drawn = rng.choice(inside, min(per_cluster, len(inside)), replace=False)
            sampled[drawn] = True
            weights[drawn] = len(inside) / len(drawn)
    return pa.table(
        [
            pa.array(list(item_ids), pa.string()),
            pa.array(list(themes), pa.string()),
            pa.array(strata.tolist(), pa.string()),
            pa.array(sampled),
            pa.array(weights, from_pandas=True),
        ],
        schema=SAMPLE,
    )


def _shares(sizes: Sequence[int], clusters: int) -> list[int]:
    """Clusters of each theme: one each, the rest by largest remainder in proportion to size."""
    left = clusters - len(sizes)
    exact = [left * size / sum(sizes) for size in sizes]
    found = [1 + int(share) for share in exact]
    by_remainder = sorted(range(len(sizes)), key=lambda place: (int(exact[place]) - exact[place], place))
    for place in by_remainder[: clusters - sum(found)]:
        found[place] += 1
    return found


def _clusters(points: NDArray[np.float64], count: int, seed: int) -> NDArray[np.intp]:
    """K-Means cluster of each point, numbered in order of first appearance."""
    from sklearn.cluster import KMeans

    distinct = len(np.unique(points, axis=0))
    model = KMeans(n_clusters=min(count, distinct), n_init=4, random_state=seed)
    labels = model.fit_predict(points)
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    return np.asarray(rank[inverse], dtype=np.intp)
