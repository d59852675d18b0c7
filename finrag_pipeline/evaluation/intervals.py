"""Confidence intervals of a mean over questions when the questions of one document are not independent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def cluster_bootstrap(
    values: NDArray[np.float64], clusters: Sequence[str], draws: int, confidence: float, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Percentile bootstrap interval of the mean, resampling whole clusters (documents).

    Questions on one document share its retrieval difficulty, so an interval over questions as if they were
    independent is too narrow. Each draw takes as many documents as there are, with replacement (Davison &
    Hinkley, *Bootstrap Methods and their Application*, 1997, section 3.8); its estimate is the sum of the
    values over the number of questions drawn, a ratio of sums, because documents differ in their number of
    questions. All series share the draws: they are counts of documents, and the estimates one matrix product.

    Args:
        values: shape (questions, series), finite.
        clusters: document of each question.
        draws: number of resamples.
        confidence: coverage aimed at, for example 0.95.
        seed: seed of the resampling.

    Returns:
        Mean, lower end and upper end, each of shape (series,). The ends are NaN with fewer than two clusters,
        which say nothing about how documents differ; the mean is NaN without questions.

    Raises:
        ValueError: shapes disagree or a value is not finite.
    """
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2 or len(values) != len(clusters):
        raise ValueError(f"values of shape {values.shape} do not fit {len(clusters)} clusters")
    if not np.isfinite(values).all():
        raise ValueError("values must be finite")
    unknown = np.full(values.shape[1], np.nan)
    if not len(values):
        return unknown, unknown.copy(), unknown.copy()
    mean = values.mean(axis=0)
    _, membership = np.unique(np.asarray(clusters, dtype=object).astype(str), return_inverse=True)
    sizes = np.bincount(membership).astype(np.float64)
    if len(sizes) < 2:
        return mean, unknown, unknown.copy()
    sums = np.zeros((len(sizes), values.shape[1]))
    np.add.at(sums, membership, values)
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=draws).astype(np.float64)
    estimates = (sums.T @ counts.T) / (counts @ sizes)  # (series, draws): quantiles run along memory
    tail = (1 - confidence) / 2
    low, high = np.quantile(estimates, [tail, 1 - tail], axis=1)
    # A constant series has no spread; rounding in the products must not put its mean outside its interval.
    return mean, np.minimum(low, mean), np.maximum(high, mean)
