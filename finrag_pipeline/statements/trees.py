"""Trees of a trained model as plain arrays, so that nothing but numpy is needed to ask them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def probabilities(trees: Mapping[str, np.ndarray], features: np.ndarray) -> np.ndarray:
    """What an ensemble of trees trained on a binary objective says of rows of features, shape (rows,).

    Args:
        trees: ``feature``, ``threshold``, ``left``, ``right`` and ``value``, each of shape (trees, nodes); a
            node below zero is leaf ``-node - 1``.
        features: shape (rows, features).
    """
    score = np.zeros(len(features))
    names = ("feature", "threshold", "left", "right", "value")
    for feature, threshold, left, right, value in zip(*(trees[name] for name in names), strict=True):
        node, inner = np.zeros(len(features), np.int64), np.arange(len(features))
        while len(inner):
            at = node[inner]
            low = features[inner, feature[at]] <= threshold[at]
            node[inner] = np.where(low, left[at], right[at])
            inner = inner[node[inner] >= 0]
        score += value[-node - 1]
    return np.asarray(1 / (1 + np.exp(-score)))
