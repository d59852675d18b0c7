"""Intervals of one proportion from independent labels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its ends."""

    estimate: float
    low: float
    high: float


def normal_quantile(confidence: float) -> float:
    """Two-sided standard normal quantile, 1.96 for 0.95.

    Raises:
        ValueError: ``confidence`` is not between 0 and 1.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence} is not between 0 and 1")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def wald(successes: float, n: int, confidence: float = 0.95) -> Interval:
    """Wald's interval p ± z √(p (1 − p) / n), the classical interval of Martinon et al., Figures 3 and 4.

    Shown for comparison only: near 0 and 1 and in small samples it covers far less than it says (Brown, Cai &
    DasGupta, 2001), it has no width where all labels agree, and it leaves [0, 1].

    Raises:
        ValueError: no labels, or more successes than labels.
    """
    share = _share(successes, n)
    half = normal_quantile(confidence) * math.sqrt(share * (1 - share) / n)
    return Interval(share, share - half, share + half)


def wilson(successes: float, n: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval (1927); for independent labels, also few of them.

    Raises:
        ValueError: no labels, or more successes than labels.
    """
    return wilson_from_effective(_share(successes, n), n, normal_quantile(confidence))


def wilson_from_effective(estimate: float, effective_n: float, quantile: float) -> Interval:
    """Wilson's interval of an estimate that is worth ``effective_n`` independent labels.

    Args:
        estimate: proportion in [0, 1], from any design.
        effective_n: positive, need not be whole.
        quantile: two-sided quantile; Student's t where the variance rests on few clusters.
    """
    share = min(1.0, max(0.0, estimate))
    low, high = wilson_ends(np.array([share]), np.array([effective_n]), quantile)
    return Interval(share, float(low[0]), float(high[0]))


def wilson_ends(
    estimate: NDArray[np.float64], effective_n: NDArray[np.float64], quantile: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of Wilson's interval of estimates in [0, 1], elementwise; see :func:`wilson_from_effective`."""
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
