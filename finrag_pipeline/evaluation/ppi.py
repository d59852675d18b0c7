"""Prediction-powered inference: a few human labels, many verdicts of a judge, one proportion.

Angelopoulos, Bates, Fannjiang, Jordan & Zrnic, "Prediction-powered inference" (2023); power tuning after
Angelopoulos, Duchi & Zrnic, "PPI++" (2023), as Martinon et al. use it (section 10.4). With human labels Y,
verdicts f on the labelled answers and f~ on the others:

    θ = mean(Y) + λ (mean(f~) − mean(f)),        λ = cov(Y, f) / ((1 + n/N) var(f)), within [0, 1].

:func:`ppi_mean` is the published method with its normal interval. :func:`ppi_proportion` is for few labels,
proportions near 0 or 1, answers that share a question, and stratified samples; the first is too narrow there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from finrag_pipeline.evaluation.intervals import (
    Array,
    Interval,
    checked_sample,
    cluster_codes,
    normal_quantile,
    student_quantile,
    wilson_from_effective,
)

PSEUDO_CELLS = ((1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0))
"""(label, verdict) of the four observations added before the variance is estimated.

As Agresti & Coull (1998) add four to a proportion. Labels and verdicts that agree on all of 29 answers do not
show that they agree on the next; without these the interval of a good judge shrinks to that of its verdicts.
"""


def power_tuning(covariance: ArrayLike, variance: ArrayLike, ratio: float) -> Array:
    """λ of PPI++ for a mean: cov(Y, f) / ((1 + n/N) var(f)), clipped to [0, 1]; 0 where var(f) is 0.

    Args:
        covariance: of labels and verdicts, any shape.
        variance: of the verdicts, same shape.
        ratio: n/N.
    """
    spread = np.asarray(variance, dtype=np.float64)
    safe = np.where(spread > 0, spread, 1.0)
    return np.where(spread > 0, np.clip(np.asarray(covariance) / ((1 + ratio) * safe), 0.0, 1.0), 0.0)


def ppi_mean(
    labels: ArrayLike,
    verdicts: ArrayLike,
    unlabelled: ArrayLike,
    confidence: float = 0.95,
    lam: float | None = None,
) -> Interval:
    """PPI++ mean with its normal interval, the figures of ``ppi_mean_ci`` in the authors' package.

    Variances divide by n and N; that of the verdicts in λ is over both samples and divides by n + N − 1.

    Args:
        labels: Y, shape (n,).
        verdicts: f on the same answers, shape (n,).
        unlabelled: f on answers without a label, shape (N,).
        lam: fixed weight of the judge; tuned by default.

    Raises:
        ValueError: an empty sample, shapes that disagree, or values that are not finite.
    """
    y, f, g = _samples(labels, verdicts, unlabelled)
    n, others = len(y), len(g)
    if lam is None:
        covariance = np.mean((y - y.mean()) * (f - f.mean()))
        lam = float(power_tuning(covariance, np.concatenate([f, g]).var(ddof=1), n / others))
    theta = float(y.mean() + lam * (g.mean() - f.mean()))
    error = float(np.sqrt(lam**2 * g.var() / others + (y - lam * f).var() / n))
    half = normal_quantile(confidence) * error
    size = theta * (1 - theta) / error**2 if error > 0 else math.nan
    return Interval(theta, theta - half, theta + half, size, lam)


def ppi_proportion(
    labels: ArrayLike,
    verdicts: ArrayLike,
    judged: ArrayLike,
    *,
    clusters: Sequence[object] | None = None,
    judged_clusters: Sequence[object] | None = None,
    weights: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Interval:
    """Proportion by prediction-powered inference with an interval that covers in small and clustered samples.

    The estimate is θ(λ) = mean(Y) + λ d, d = mean(f~) − mean(f), as in PPI++. With a and d of each cluster,
    what it adds to mean(Y) and to d, the variance over clusters is Σ (a + λ d)², least where λ is
    −Σ a d / Σ d². The variance of the few verdicts f in Σ d² is taken to be that of all verdicts, as in
    PPI++, whose λ this is when each answer is a cluster. The variance is then estimated with one observation
    of each combination of label and verdict added, each a cluster of its own of average size; the interval is
    Wilson's with the sample size that this variance is worth, and with Student's t for the number of labelled
    clusters that are as even as these: (Σ W)² / Σ W², W the weight of a cluster (Kish).

    Args:
        labels: Y, shape (n,), in [0, 1].
        verdicts: f on the same answers, shape (n,).
        judged: f on the answers that the labels stand for, shape (N,): those without a label, or, in a
            stratified sample, all of them (labelled ones included, with their clusters).
        clusters: cluster of each labelled answer, usually its question; independent by default.
        judged_clusters: clusters of ``judged``; the same name is the same cluster as among ``clusters``.
        weights: how many answers each labelled one stands for (:func:`intervals.stratum_weights`).

    Raises:
        ValueError: an empty sample, shapes that disagree, values outside [0, 1], weights that are not
            positive, or clusters of one sample only.
    """
    y, f, g = _samples(labels, verdicts, judged)
    _, w = checked_sample(y, weights)
    both, ones = checked_sample(np.concatenate([f, g]), None)
    if (clusters is None) != (judged_clusters is None):
        raise ValueError("give the clusters of both samples or of neither")
    names = (range(len(y)), range(len(y), len(both)))
    (own, whose), count = cluster_codes(*(names if clusters is None else (clusters, judged_clusters or ())))
    if len(own) != len(y) or len(whose) != len(g):
        raise ValueError("the clusters do not fit the samples")
    total, cells = w.sum(), np.array(PSEUDO_CELLS)
    labelled = total**2 / (np.bincount(own, w) ** 2).sum()
    everywhere = _influence(g, ones[: len(g)], whose, count + len(cells))

    mean_f = float((w * f).sum() / total)
    spread, lam = float((w * (f - mean_f) ** 2).sum() / total), 0.0
    if spread > 0:
        a, here = (_influence(values, w, own, count + len(cells)) for values in (y, f))
        square = float(((everywhere - np.sqrt(both.var() / spread) * here) ** 2).sum())
        lam = float(np.clip(-(a @ (everywhere - here)) / square, 0.0, 1.0)) if square > 0 else 0.0

    # The added observations are no evidence: the sample stays as large as it is.
    y_more, f_more = np.concatenate([y, cells[:, 0]]), np.concatenate([f, cells[:, 1]])
    w_more = np.concatenate([w, np.full(len(cells), total / labelled)])
    more = np.concatenate([own, count + np.arange(len(cells))])
    a, here = (_influence(values, w_more, more, count + len(cells)) for values in (y_more, f_more))
    variance = float(((a + lam * (everywhere - here)) ** 2).sum()) * (labelled + len(cells)) / labelled
    smooth = float((w_more * y_more).sum() / w_more.sum())
    theta = float((w * y).sum() / total + lam * (g.mean() - mean_f))
    size = smooth * (1 - smooth) / variance
    return wilson_from_effective(theta, size, float(student_quantile(confidence, labelled)), lam)


def _influence(values: Array, weights: Array, codes: NDArray[np.intp], count: int) -> Array:
    """What each cluster adds to the weighted mean of ``values``."""
    total = weights.sum()
    centred = weights * (values - (weights * values).sum() / total) / total
    return np.bincount(codes, centred, count).astype(np.float64)


def _samples(*samples: ArrayLike) -> list[Array]:
    y, f, g = (np.asarray(one, dtype=np.float64) for one in samples)
    if y.ndim != 1 or y.shape != f.shape or g.ndim != 1 or not len(y) or not len(g):
        raise ValueError(f"labels {y.shape}, verdicts {f.shape} and judged {g.shape} make no sample")
    if not all(np.isfinite(one).all() for one in (y, f, g)):
        raise ValueError("labels and verdicts must be finite; leave out what has none")
    return [y, f, g]
