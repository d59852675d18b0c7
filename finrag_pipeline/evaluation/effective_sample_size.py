"""What a judge is worth in human labels, before any is collected (Martinon et al., section 10.5).

For labels and verdicts with correlation ρ, PPI++ with the best λ has the variance of a survey of

    n_eff = n / (1 − ρ² / (1 + n/N))

human labels (Angelopoulos et al., 2023b, section 6, with the optimal λ put in).
"""

from __future__ import annotations

import math

import numpy as np

from finrag_pipeline.evaluation.proportion_intervals import normal_quantile


def correlation_from_agreement(observed: float, human: float, judge: float) -> float:
    """Correlation of two binary series from the share of equal labels and the two means.

    Observed agreement is chance agreement plus twice the covariance, so ρ = (a − c) / (2 σ σ').

    Raises:
        ValueError: a mean is not strictly between 0 and 1, or no two series agree so often.
    """
    if not (0 < human < 1 and 0 < judge < 1):
        raise ValueError("both means must be strictly between 0 and 1")
    chance = human * judge + (1 - human) * (1 - judge)
    both = (observed - chance) / 2 + human * judge
    slack = 1e-12
    if not max(0.0, human + judge - 1) - slack <= both <= min(human, judge) + slack:
        raise ValueError(f"series with means {human} and {judge} cannot agree on {observed}")
    spread = math.sqrt(human * (1 - human) * judge * (1 - judge))
    return (observed - chance) / 2 / spread


def expected_effective_n(correlation: float, n: int, unlabelled: int) -> float:
    """Human labels that ``n`` labels and ``unlabelled`` verdicts of a judge are worth with the best λ.

    λ stays within [0, 1], so a judge that is anti-correlated adds nothing.
    """
    return n / (1 - max(0.0, correlation) ** 2 / (1 + n / unlabelled))


def expected_half_width(
    correlation: float, share: float, n: int, unlabelled: int, confidence: float = 0.95
) -> float:
    """Half width of the normal PPI++ interval of a proportion ``share``."""
    size = expected_effective_n(correlation, n, unlabelled)
    return normal_quantile(confidence) * math.sqrt(share * (1 - share) / size)


def required_agreement(
    half_width: float, share: float, n: int, unlabelled: int, confidence: float = 0.95
) -> float:
    """Agreement that a judge with the same mean needs for an interval of this half width.

    Args:
        half_width: aimed at, for example 0.04.
        share: mean of labels and of verdicts.
        n: human labels.
        unlabelled: verdicts on other answers.
        confidence: coverage aimed at.

    Returns:
        Agreement in [chance, 1]; NaN where even a perfect judge does not reach the width.
    """
    size = normal_quantile(confidence) ** 2 * share * (1 - share) / half_width**2
    squared = (1 - n / size) * (1 + n / unlabelled)
    if squared > 1:
        return math.nan
    chance = share**2 + (1 - share) ** 2
    return chance + 2 * share * (1 - share) * math.sqrt(max(0.0, squared))


def effective_n_range(
    observed: float,
    chance: float,
    n: int,
    unlabelled: int,
    *,
    human: tuple[float, float],
    bias: float,
    rounding: float = 0.005,
    steps: int = 21,
) -> tuple[float, float]:
    """Least and greatest effective sample size that rounded published figures allow.

    A table of agreements (Martinon et al., Table 3) leaves open the means of labels and verdicts. Chance
    agreement ties one to the other; this goes through all that fit. The published size is z² θ (1 − θ) / u²
    at the estimate θ, which differs from the mean of the labels by λ times the distance of the verdicts on
    labelled and other answers, hence ``bias``.

    Args:
        observed: published agreement.
        chance: published chance agreement.
        n: human labels.
        unlabelled: verdicts on other answers.
        human: least and greatest mean of the human labels.
        bias: greatest distance of the judge's mean on other answers from that on labelled ones.
        rounding: half a unit of the last digit published.
        steps: values tried of each unknown.

    Returns:
        NaN twice where no means fit.
    """
    sizes: list[float] = []
    around = np.linspace(-rounding, rounding, 5)
    for mean in np.linspace(*human, steps):
        for c in chance + around:
            judge = (c - (1 - mean)) / (2 * mean - 1) if abs(mean - 0.5) > 1e-9 else math.nan
            if not 0 < judge < 1:
                continue
            for a in observed + around:
                try:
                    rho = correlation_from_agreement(a, mean, judge)
                except ValueError:
                    continue
                spread = mean * (1 - mean)
                weight = max(0.0, rho) * math.sqrt(spread / (judge * (1 - judge))) / (1 + n / unlabelled)
                base = expected_effective_n(rho, n, unlabelled)
                for shift in np.linspace(-bias, bias, 7):
                    theta = mean + weight * shift
                    sizes.append(float(base * theta * (1 - theta) / spread))
    return (min(sizes), max(sizes)) if sizes else (math.nan, math.nan)
