"""What a judge is worth in human labels, before any is collected (Martinon et al., section 10.5).

For labels and verdicts with correlation ρ, PPI++ with the best λ has the variance of a survey of

    n_eff = n / (1 − ρ² / (1 + n/N))

human labels (Angelopoulos et al., 2023b, section 6, with the optimal λ put in).
"""

from __future__ import annotations

import math

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
