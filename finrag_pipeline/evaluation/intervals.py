"""Intervals of proportions and of means that share a question or a document; agreement of two annotators.

Twenty answers to one question are not twenty observations: they succeed and fail together. The variance is
therefore taken over questions (clusters), by linearisation of the weighted mean (Binder, 1983), and an
interval of Wilson's form is put around the estimate with the sample size that this variance is worth, as
Korn & Graubard (1998) do for surveys, with Student's t for the number of clusters. Scores between 0 and 1,
such as page recall or ROUGE-L, vary less than zeros and ones of the same mean: they are worth as many zeros
and ones as have the variance of their mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its ends.

    Attributes:
        effective_n: independent labels of people that it is worth; NaN where it has no spread.
        lam: weight of the judge in prediction-powered inference; 0 leaves the labels of people alone.
    """

    estimate: float
    low: float
    high: float
    effective_n: float = math.nan
    lam: float | None = None


def normal_quantile(confidence: float) -> float:
    """Two-sided standard normal quantile, 1.96 for 0.95."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


def wald(successes: float, n: int, confidence: float = 0.95) -> Interval:
    """Wald's interval p ± z √(p (1 − p) / n), the classical interval of Martinon et al., Figures 3 and 4.

    Shown for comparison only: near 0 and 1 and in small samples it covers far less than it says (Brown, Cai &
    DasGupta, 2001), it has no width where all labels agree, and it leaves [0, 1].
    """
    share = _share(successes, n)
    half = normal_quantile(confidence) * math.sqrt(share * (1 - share) / n)
    return Interval(share, share - half, share + half, n)


def wilson(successes: float, n: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval (1927); for independent labels, also few of them."""
    return wilson_from_effective(_share(successes, n), n, normal_quantile(confidence))


def wilson_from_effective(
    estimate: float, effective_n: float, quantile: float, lam: float | None = None
) -> Interval:
    """Wilson's interval of an estimate from any design that is worth ``effective_n`` independent labels.

    The two-sided quantile is Student's where the variance rests on few clusters.
    """
    share = np.array(estimate).clip(0.0, 1.0)
    low, high = _wilson_ends(share, np.array(effective_n), quantile)
    return Interval(float(share), float(low), float(high), effective_n, lam)


def _wilson_ends(estimate: Array, effective_n: Array, quantile: float | Array) -> tuple[Array, Array]:
    square = quantile * quantile
    centre = (estimate + square / (2 * effective_n)) / (1 + square / effective_n)
    spread = np.sqrt(estimate * (1 - estimate) / effective_n + square / (4 * effective_n**2))
    half = quantile / (1 + square / effective_n) * spread
    # Rounding must not put an estimate of 0 or 1 outside its interval.
    low, high = np.minimum(estimate, centre - half), np.maximum(estimate, centre + half)
    return np.maximum(0.0, low), np.minimum(1.0, high)


def _share(successes: float, n: int) -> float:
    if n <= 0 or not 0 <= successes <= n:
        raise ValueError(f"{successes} successes among {n} labels")
    return successes / n


PSEUDO_CLUSTERS = 0.5
"""Clusters of successes only, and of failures only, that are added before the design effect is estimated.

Few failures say nothing about how failures cluster; without these the interval of 29 questions at 97 % covers
84 % to 92 % of the time instead of 95 %.
"""

ROUNDING = 1e-9
"""How far a score may leave [0, 1] by rounding."""


def student_quantile(confidence: float, clusters: ArrayLike) -> Array:
    """Two-sided quantile of Student's t with ``clusters − 1`` degrees of freedom, at least one."""
    from scipy.special import stdtrit  # scipy.stats takes a second to import

    return np.asarray(stdtrit(np.maximum(1.0, np.asarray(clusters) - 1), (1 + confidence) / 2))


def cluster_codes(*clusters: Sequence[object]) -> tuple[list[NDArray[np.intp]], int]:
    """Whole numbers for the clusters of several samples that may share clusters, and how many there are."""
    number: dict[object, int] = {}
    codes = [
        np.array([number.setdefault(one, len(number)) for one in names], dtype=np.intp) for names in clusters
    ]
    return codes, len(number)


def cluster_proportion(
    values: ArrayLike, clusters: Sequence[object], weights: ArrayLike | None = None, confidence: float = 0.95
) -> Interval:
    """Weighted proportion with an interval that is robust to labels of one cluster agreeing.

    With k labels in each cluster the design effect is kept between 1 and k, so that the interval of labels
    that all agree does not shrink to a point.

    Args:
        values: shape (n,), in [0, 1].
        clusters: cluster of each label, usually its question.
        weights: how many answers each label stands for (1 / chance of being sampled); equal by default.

    Raises:
        ValueError: no labels, shapes that disagree, values outside [0, 1], or weights that are not positive.
    """
    y, w = checked_sample(values, weights)
    if len(clusters) != len(y):
        raise ValueError(f"{len(y)} values do not fit {len(clusters)} clusters")
    return Interval(
        *(float(part[0]) for part in mean_intervals(_moments(y[:, None], w, clusters), confidence))
    )


def cluster_means(values: Array, clusters: Sequence[object], confidence: float) -> tuple[Array, Array, Array]:
    """Means of many series of scores with the intervals of :func:`cluster_proportion`, in one go.

    Of values of shape (questions, series), in [0, 1], and the document of each question, at least two: mean,
    lower end and upper end, each of shape (series,).
    """
    return mean_intervals(_moments(values, np.ones(len(values)), clusters), confidence)[:3]


class Moments(NamedTuple):
    """Sums of scores over clusters, of which means and intervals follow: of shape (series,), or one for all.

    Attributes:
        n: scores.
        weight: sum of their weights; of scores without weights their number.
        total: weighted sum of the scores.
        square: weighted sum of their squares.
        weight_square: sum over clusters of the square of their weight.
        total_square: of the square of their weighted sum.
        product: of both multiplied.
    """

    n: Array
    weight: Array
    total: Array
    square: Array
    weight_square: Array
    total_square: Array
    product: Array


def _moments(y: Array, w: Array, clusters: Sequence[object]) -> Moments:
    """Of scores of shape (n, series) with a weight and a cluster for each row."""
    (codes,), count = cluster_codes(clusters)
    totals = np.zeros((count, y.shape[1]))
    np.add.at(totals, codes, w[:, None] * y)
    sizes = np.bincount(codes, w, count)
    return Moments(
        np.array(float(len(y))), w.sum(), totals.sum(axis=0), w @ y**2, (sizes**2).sum(),
        # pyrefly: ignore[bad-argument-type]: numpy's stub has bincount give integers, also of weights
        (totals**2).sum(axis=0), sizes @ totals,
    )  # fmt: skip


def mean_intervals(of: Moments, confidence: float) -> tuple[Array, Array, Array, Array]:
    """Estimate, ends and effective sample size of every series of scores in [0, 1]."""
    estimate = (of.total / of.weight).clip(0.0, 1.0)  # but for rounding it is
    # From here on with half a cluster of ones and half a cluster of zeros added.
    even = of.weight**2 / of.weight_square  # clusters of equal weight that are as even (Kish)
    unit = of.weight / even
    grand = of.weight + 2 * PSEUDO_CLUSTERS * unit
    smooth = (of.total + PSEUDO_CLUSTERS * unit) / grand
    most = smooth * (1 - smooth)  # the spread of zeros and ones of this mean
    ends = PSEUDO_CLUSTERS * unit * (smooth**2 + (1 - smooth) ** 2)
    within = of.square - 2 * smooth * of.total + smooth**2 * of.weight
    # What is added differs from the mean no more than the scores do: by all of it only for zeros and ones.
    ends = ends * (within + ends) / grand / most
    spread = (within + ends) / grand
    units = even + 2 * PSEUDO_CLUSTERS
    between = of.total_square - 2 * smooth * of.product + smooth**2 * of.weight_square
    variance = (between + unit * ends) / grand**2 * units / (units - 1)
    independent = spread / (of.n * units / even)  # of independent values of equal weight
    agreeing = of.n * of.weight_square / of.weight**2  # the design effect where values of a cluster all agree
    effect = np.clip(variance / independent, 1.0, np.maximum(1.0, agreeing))
    effective = of.n / effect * most / spread  # zeros and ones that are worth as much
    return estimate, *_wilson_ends(estimate, effective, student_quantile(confidence, even)), effective


def resampled_counts(clusters: int, draws: int, seed: int) -> Array:
    """How often each cluster is in each resample of all of them, shape (draws, clusters)."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=draws).astype(np.float64)


def checked_sample(values: ArrayLike, weights: ArrayLike | None) -> tuple[Array, Array]:
    """Values and weights as arrays.

    Raises:
        ValueError: no values, values outside [0, 1], or weights that do not fit or are not positive.
    """
    y = np.asarray(values, dtype=np.float64)
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
    if y.ndim != 1 or not len(y) or w.shape != y.shape:
        raise ValueError(f"values of shape {y.shape} and weights of shape {w.shape} make no sample")
    if not ((y >= 0) & (y <= 1)).all():
        raise ValueError("values must be between 0 and 1; leave out what has no label")
    if not (np.isfinite(w) & (w > 0)).all():
        raise ValueError("weights must be positive")
    return y, w


def stratum_weights(strata: Sequence[object], sampled: Sequence[bool] | NDArray[np.bool_]) -> Array:
    """Weights of the labelled answers of a stratified sample: answers over labelled answers of the stratum.

    Of the labelled ones, in order; their sum is the number of answers in strata with a label.
    """
    (codes,), count = cluster_codes(strata)
    chosen = codes[np.asarray(sampled, dtype=bool)]
    return (np.bincount(codes) / np.maximum(1, np.bincount(chosen, minlength=count)))[chosen]


class Agreement(NamedTuple):
    """How far two series of labels agree; intervals by bootstrap over clusters, None where unknown.

    Attributes:
        n: answers labelled by both.
        observed: share of equal labels.
        chance: share that would be equal were the two independent with their own frequencies of labels
            ("accord aléatoire" of Martinon et al., Table 2).
        kappa: Cohen's κ (1960), (observed − chance) / (1 − chance); None where both always give one label.
            Draws without a κ are left out of its interval.
    """

    n: int
    observed: float
    observed_low: float | None
    observed_high: float | None
    chance: float
    kappa: float | None
    kappa_low: float | None
    kappa_high: float | None


def agreement(
    first: Sequence[object],
    second: Sequence[object],
    clusters: Sequence[object] | None = None,
    *,
    draws: int = 2000,
    confidence: float = 0.95,
    seed: int = 17,
) -> Agreement:
    """Observed and chance agreement and κ of two series of labels, with percentile bootstrap intervals.

    Whole clusters of answers are resampled, usually those to a question; each answer is its own by default.

    Raises:
        ValueError: no labels, or series of different lengths.
    """
    if not first or len(first) != len(second) or (clusters is not None and len(clusters) != len(first)):
        raise ValueError(f"{len(first)} and {len(second)} labels cannot be compared")
    (a, b), kinds = cluster_codes(first, second)
    (codes,), count = cluster_codes(range(len(a)) if clusters is None else clusters)
    # Contingency table of each cluster, so that a resample is a sum of tables.
    tables = np.zeros((count, kinds, kinds))
    np.add.at(tables, (codes, a, b), 1.0)
    observed, chance, kappa = (float(one) for one in _statistics(tables.sum(axis=0)))
    ends: list[tuple[float | None, float | None]] = [(None, None), (None, None)]
    if count > 1:
        resampled = _statistics(np.tensordot(resampled_counts(count, draws, seed), tables, axes=1))
        ends = [_percentiles(one, confidence) for one in (resampled[0], resampled[2])]
    return Agreement(len(a), observed, *ends[0], chance, None if math.isnan(kappa) else kappa, *ends[1])


def _statistics(tables: Array) -> tuple[Array, Array, Array]:
    """Observed and chance agreement and κ of contingency tables of shape (…, kinds, kinds)."""
    shares = tables / tables.sum(axis=(-2, -1), keepdims=True)
    observed = np.trace(shares, axis1=-2, axis2=-1)
    chance = (shares.sum(axis=-1) * shares.sum(axis=-2)).sum(axis=-1)
    # Rounding leaves 1 − chance at about 1e-16 where there is but one label.
    usable = 1 - chance > 1e-12
    kappa = np.where(usable, (observed - chance) / np.where(usable, 1 - chance, 1.0), np.nan)
    return observed, chance, kappa


def _percentiles(resampled: Array, confidence: float) -> tuple[float | None, float | None]:
    known = resampled[np.isfinite(resampled)]
    if not len(known):
        return None, None
    low, high = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
