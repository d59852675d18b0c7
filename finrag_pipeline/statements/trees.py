"""Trees of a trained model as plain arrays, so that nothing but numpy is needed to ask them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

_ROWS_AT_ONCE = 100


def probabilities(trees: Mapping[str, np.ndarray], features: np.ndarray) -> np.ndarray:
    """What an ensemble of trees trained on a binary objective says of rows of features, shape (rows,).

    Args:
        trees: ``feature``, ``threshold``, ``left``, ``right`` and ``value``, each of shape (trees, nodes); a
            node below zero is leaf ``-node - 1``.
        features: shape (rows, features).
    """
    feature, threshold, left, right, value = (
        trees[name].ravel() for name in ("feature", "threshold", "left", "right", "value")
    )
    number, leaves = trees["value"].shape
    begins = np.arange(number) * trees["feature"].shape[1]
    found = [np.zeros(0)]
    # All trees take a step at once: one after another they take longer to begin than to decide on few rows.
    for start in range(0, len(features), _ROWS_AT_ONCE):
        rows = np.ascontiguousarray(features[start : start + _ROWS_AT_ONCE])
        row = np.tile(np.arange(len(rows)) * rows.shape[1], number)
        tree = np.repeat(begins, len(rows))
        node, inner = np.zeros(len(tree), np.int64), np.arange(len(tree))
        while len(inner):
            at = tree[inner] + node[inner]
            low = rows.take(row[inner] + feature[at]) <= threshold[at]
            node[inner] = stepped = np.where(low, left[at], right[at])
            inner = inner[stepped >= 0]
        leaf = np.repeat(np.arange(number) * leaves, len(rows)) - node - 1
        found.append(value[leaf].reshape(number, -1).cumsum(0, np.float64)[-1])  # added up tree by tree
    return np.asarray(1 / (1 + np.exp(-np.concatenate(found))))
