"""Prediction-powered inference: a few human labels, many verdicts of a judge, one proportion.

Angelopoulos, Bates, Fannjiang, Jordan & Zrnic, "Prediction-powered inference" (2023); power tuning after
Angelopoulos, Duchi & Zrnic, "PPI++" (2023), as Martinon et al. use it (section 10.4). With human labels Y,
verdicts f on the labelled answers and f~ on the others:

    θ = mean(Y) + λ (mean(f~) − mean(f)),        λ = cov(Y, f) / ((1 + n/N) var(f)), within [0, 1].

:func:`ppi_mean` is the published method with its normal interval. :func:`ppi_proportion` is for few labels,
proportions near 0 or 1, answers that share a question, and stratified samples; the first is too narrow there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from finrag_pipeline.evaluation.intervals import (
    checked_sample,
    cluster_codes,
    effective_clusters,
    normal_quantile,
    student_quantile,
    wilson_from_effective,
)

PSEUDO_CELLS = ((1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0))
"""(label, verdict) of the four observations added before the variance is estimated.

As Agresti & Coull (1998) add four to a proportion. Labels and verdicts that agree on all of 29 answers do not
show that they agree on the next; without these the interval of a good judge shrinks to that of its verdicts.
"""


@dataclass(frozen=True, slots=True)
class PpiEstimate:
    """A mean by prediction-powered inference.

    Attributes:
        estimate, low, high: mean and interval.
        lam: power-tuning weight of the judge; 0 leaves the human labels alone.
        standard_error: of the estimate.
        n: human labels.
        judged: verdicts beside those on the labelled answers.
        clusters: clusters of the labelled answers; ``n`` where they are independent.
        effective_n: human labels that would give this uncertainty without a judge; NaN without any.
    """

    estimate: float
    low: float
    high: float
    lam: float
    standard_error: float
    n: int
    judged: int
    clusters: int
    effective_n: float


def power_tuning(covariance: ArrayLike, variance: ArrayLike, ratio: float) -> NDArray[np.float64]:
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
) -> PpiEstimate:
    """PPI++ mean with its normal interval, the figures of ``ppi_mean_ci`` in the authors' package.

    Variances divide by n and N; that of the verdicts in λ is over both samples and divides by n + N − 1.

    Args:
        labels: Y, shape (n,).
        verdicts: f on the same answers, shape (n,).
        unlabelled: f on answers without a label, shape (N,).
        confidence: coverage aimed at.
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
    size = theta * (1 - theta) / error**2 if error > 0 else float("nan")
    return PpiEstimate(theta, theta - half, theta + half, lam, error, n, others, n, size)


def ppi_proportion(
    labels: ArrayLike,
    verdicts: ArrayLike,
    judged: ArrayLike,
    *,
    clusters: Sequence[object] | None = None,
    judged_clusters: Sequence[object] | None = None,
    weights: ArrayLike | None = None,
    confidence: float = 0.95,
) -> PpiEstimate:
    """Proportion by prediction-powered inference with an interval that covers in small and clustered samples.

    The estimate is that of PPI++ with λ minimising its variance over clusters. The variance is estimated with
    one observation of each combination of label and verdict added, each a cluster of its own of average size;
    the interval is Wilson's with the sample size that this variance is worth, and with Student's t for the
    number of labelled clusters (:func:`intervals.effective_clusters`).

    Args:
        labels: Y, shape (n,), in [0, 1].
        verdicts: f on the same answers, shape (n,).
        judged: f on the answers that the labels stand for, shape (N,): those without a label, or, in a
            stratified sample, all of them (labelled ones included, with their clusters).
        clusters: cluster of each labelled answer, usually its question; independent by default.
        judged_clusters: clusters of ``judged``; the same name is the same cluster as among ``clusters``.
        weights: how many answers each labelled one stands for (:func:`intervals.stratum_weights`).
        confidence: coverage aimed at.

    Raises:
        ValueError: an empty sample, shapes that disagree, values outside [0, 1], weights that are not
            positive, or clusters of one sample only.
    """
    y, f, g = _samples(labels, verdicts, judged)
    _, w = checked_sample(y, weights)
    checked_sample(np.concatenate([f, g]), None)
    if (clusters is None) != (judged_clusters is None):
        raise ValueError("give the clusters of both samples or of neither")
    names = (range(len(y)), range(len(y), len(y) + len(g)))
    codes, count = cluster_codes(*(names if clusters is None else (clusters, judged_clusters or ())))
    if len(codes[0]) != len(y) or len(codes[1]) != len(g):
        raise ValueError("the clusters do not fit the samples")
    labelled = effective_clusters(codes[0], w)

    lam = _tuned(y, f, w, codes[0], g, codes[1])
    cells = np.array(PSEUDO_CELLS)
    total = w.sum()
    smooth, a, d = _parts(
        np.concatenate([y, cells[:, 0]]),
        np.concatenate([f, cells[:, 1]]),
        np.concatenate([w, np.full(len(cells), total / labelled)]),
        np.concatenate([codes[0], count + np.arange(len(cells))]),
        g,
        codes[1],
    )
    # The added observations are no evidence: the sample stays as large as it is.
    variance = float(((a + lam * d) ** 2).sum()) * (labelled + len(cells)) / labelled
    theta = float((w * y).sum() / total + lam * (g.mean() - (w * f).sum() / total))
    size = smooth * (1 - smooth) / variance
    interval = wilson_from_effective(theta, size, student_quantile(confidence, labelled))
    return PpiEstimate(
        interval.estimate,
        interval.low,
        interval.high,
        lam,
        float(np.sqrt(variance)),
        len(y),
        len(g),
        len(np.unique(codes[0])),
        size,
    )


def _tuned(
    y: NDArray[np.float64],
    f: NDArray[np.float64],
    w: NDArray[np.float64],
    codes: NDArray[np.intp],
    g: NDArray[np.float64],
    judged_codes: NDArray[np.intp],
) -> float:
    """λ within [0, 1] that minimises the variance over clusters, −Σ a d / Σ d² in the terms of `_parts`.

    The variance of the few verdicts f in Σ d² is taken to be that of all verdicts, as in PPI++, whose λ this
    is when each answer is a cluster.
    """
    total = w.sum()
    spread = float((w * (f - (w * f).sum() / total) ** 2).sum() / total)
    if spread <= 0:
        return 0.0
    ratio = np.sqrt(np.concatenate([f, g]).var() / spread)
    _, a, d = _parts(y, f, w, codes, g, judged_codes)
    _, _, scaled = _parts(y, ratio * f, w, codes, g, judged_codes)
    square = float(scaled @ scaled)
    return float(np.clip(-(a @ d) / square, 0.0, 1.0)) if square > 0 else 0.0


def _parts(
    y: NDArray[np.float64],
    f: NDArray[np.float64],
    w: NDArray[np.float64],
    codes: NDArray[np.intp],
    g: NDArray[np.float64],
    judged_codes: NDArray[np.intp],
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Weighted mean of ``y``, and what each cluster adds to it (a) and to d = mean(g) − mean(f).

    θ(λ) = mean(y) + λ d has the variance Σ (a + λ d)² over clusters.
    """
    count = int(max(codes.max(), judged_codes.max())) + 1
    total = w.sum()
    mean = float((w * y).sum() / total)
    a = np.bincount(codes, w * (y - mean) / total, count).astype(np.float64)
    d = np.bincount(judged_codes, (g - g.mean()) / len(g), count).astype(np.float64)
    d -= np.bincount(codes, w * (f - (w * f).sum() / total) / total, count)
    return mean, a, d


def _samples(*samples: ArrayLike) -> list[NDArray[np.float64]]:
    y, f, g = (np.asarray(one, dtype=np.float64) for one in samples)
    if y.ndim != 1 or y.shape != f.shape or g.ndim != 1 or not len(y) or not len(g):
        raise ValueError(f"labels {y.shape}, verdicts {f.shape} and judged {g.shape} make no sample")
    if not all(np.isfinite(one).all() for one in (y, f, g)):
        raise ValueError("labels and verdicts must be finite; leave out what has none")
    return [y, f, g]
