"""Agreement of two annotators, or of a judge with people: observed, by chance, and Cohen's κ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from finrag_pipeline.evaluation.cluster_intervals import cluster_codes
from finrag_pipeline.evaluation.proportion_intervals import Interval


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two series of labels agree.

    Attributes:
        n: answers labelled by both.
        observed: share of equal labels.
        chance: share that would be equal were the two independent with their own frequencies of labels
            ("accord aléatoire" of Martinon et al., Table 2).
        kappa: Cohen's κ (1960), (observed − chance) / (1 − chance); NaN where both always give one label.
        observed_interval: bootstrap interval of ``observed`` over clusters.
        kappa_interval: bootstrap interval of κ over clusters; draws without a κ are left out.
    """

    n: int
    observed: float
    chance: float
    kappa: float
    observed_interval: Interval
    kappa_interval: Interval


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

    Args:
        first: labels of one annotator.
        second: labels of the other on the same answers, in the same order.
        clusters: cluster of each answer, usually its question; whole clusters are resampled. Each answer is
            its own by default.
        draws: resamples.
        confidence: coverage aimed at.
        seed: of the resampling.

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
    if count < 2:
        unknown = (math.nan, math.nan)
        return Agreement(
            len(a), observed, chance, kappa, Interval(observed, *unknown), Interval(kappa, *unknown)
        )
    rng = np.random.default_rng(seed)
    picks = rng.multinomial(count, np.full(count, 1 / count), size=draws).astype(np.float64)
    resampled = _statistics(np.tensordot(picks, tables, axes=1))
    return Agreement(
        len(a),
        observed,
        chance,
        kappa,
        _percentile(observed, resampled[0], confidence),
        _percentile(kappa, resampled[2], confidence),
    )


def _statistics(tables: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Observed and chance agreement and κ of contingency tables of shape (…, kinds, kinds)."""
    shares = tables / tables.sum(axis=(-2, -1), keepdims=True)
    observed = np.trace(shares, axis1=-2, axis2=-1)
    chance = (shares.sum(axis=-1) * shares.sum(axis=-2)).sum(axis=-1)
    # Rounding leaves 1 − chance at about 1e-16 where there is but one label.
    usable = 1 - chance > 1e-12
    kappa = np.where(usable, (observed - chance) / np.where(usable, 1 - chance, 1.0), np.nan)
    return observed, chance, kappa


def _percentile(estimate: float, resampled: np.ndarray, confidence: float) -> Interval:
    known = resampled[np.isfinite(resampled)]
    if not len(known):
        return Interval(estimate, math.nan, math.nan)
    low, high = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(estimate, float(low), float(high))
