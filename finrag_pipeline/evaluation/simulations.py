"""What a judge is worth in human labels, in a closed form and by simulation.

For labels and verdicts with correlation ρ, PPI++ with the best λ has the variance of a survey of

    n_eff = n / (1 − ρ² / (1 + n/N))

human labels (Angelopoulos et al., 2023b, section 6, with the optimal λ put in; Martinon et al., 10.5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from finrag_pipeline.evaluation.intervals import Array, normal_quantile
from finrag_pipeline.evaluation.ppi import power_tuning
from finrag_pipeline.schemas import JUDGE_SENSITIVITY

SENSITIVITY_VERSION = "1"
"""Changes with the simulation."""


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
    """Human labels that all are worth; λ is within [0, 1], so an anti-correlated judge adds none."""
    return n / (1 - max(0.0, correlation) ** 2 / (1 + n / unlabelled))


def expected_half_width(
    correlation: float, share: float, n: int, unlabelled: int, confidence: float = 0.95
) -> float:
    """Half width of the normal PPI++ interval of a proportion ``share``."""
    size = expected_effective_n(correlation, n, unlabelled)
    return normal_quantile(confidence) * math.sqrt(share * (1 - share) / size)


def effective_n_range(
    observed: float,
    chance: float,
    n: int,
    unlabelled: int,
    *,
    human: tuple[float, float],
    bias: float,
) -> tuple[float, float]:
    """Least and greatest effective sample size that rounded published figures allow.

    A table of agreements (Martinon et al., Table 3) leaves open the means of labels and verdicts. Chance
    agreement ties one to the other; this goes through all that fit. The published size is z² θ (1 − θ) / u²
    at the estimate θ, which differs from the mean of the labels by λ times the distance of the verdicts on
    labelled and other answers, hence ``bias``.

    Args:
        observed: published agreement; ``chance`` is that by chance.
        n: human labels; ``unlabelled`` verdicts are on other answers.
        human: least and greatest mean of the human labels.
        bias: greatest distance of the judge's mean on other answers from that on labelled ones.

    Returns:
        NaN twice where no means fit.
    """
    sizes: list[float] = []
    around = np.linspace(-0.005, 0.005, 5)  # half a unit of the last digit published
    for mean in np.linspace(*human, 21):
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


def sensitivity_to_agreement(
    agreements: Sequence[float],
    *,
    n: int = 140,
    unlabelled: int = 3985,
    share: float = 0.8,
    confidence: float = 0.95,
    draws: int = 2000,
    seed: int = 17,
) -> pa.Table:
    """PPI++ with its normal interval, simulated for judges that agree more or less with people.

    The defaults are those of the paper: veracity in finance, labels and verdicts of the same mean 0.8.
    Disagreements fall evenly on both sides.

    Args:
        agreements: shares of equal labels, each between |2 share − 1| and 1.
        n: human labels; ``unlabelled`` verdicts are on other answers.
        share: mean of labels and of verdicts.
        draws: simulated studies per agreement.

    Returns:
        Table as ``schemas.JUDGE_SENSITIVITY``, in the order of ``agreements``.

    Raises:
        ValueError: no judge of this mean agrees so often.
    """
    quantile = normal_quantile(confidence)
    rows = []
    for place, agreement in enumerate(agreements):
        rho = correlation_from_agreement(agreement, share, share)
        apart = (1 - agreement) / 2
        cells = np.array([share - apart, apart, apart, 1 - share - apart])
        rng = np.random.default_rng([seed, place])
        counts = rng.multinomial(n, np.clip(cells, 0, 1), size=draws) / n
        others = rng.binomial(unlabelled, share, size=draws) / unlabelled
        theta, error, lam = _binary_ppi(counts, others, n, unlabelled)
        half = quantile * error
        low, high = np.quantile(half, [0.025, 0.975])
        width = float(half.mean())
        rows.append(
            {
                "agreement": agreement,
                "half_width": width,
                "half_width_low": float(low),
                "half_width_high": float(high),
                "effective_n": quantile**2 * share * (1 - share) / width**2,
                "lam": float(lam.mean()),
                "coverage": float(np.mean(np.abs(theta - share) <= half)),
                "expected_half_width": expected_half_width(rho, share, n, unlabelled, confidence),
                "expected_effective_n": expected_effective_n(rho, n, unlabelled),
            }
        )
    return pa.Table.from_pylist(rows, schema=JUDGE_SENSITIVITY)


def _binary_ppi(cells: Array, others: Array, n: int, unlabelled: int) -> tuple[Array, Array, Array]:
    """Estimate, standard error and λ of :func:`ppi.ppi_mean` for many binary samples, each of shape (draws,).

    Args:
        cells: shares of (1, 1), (1, 0), (0, 1) and (0, 0) among labels and verdicts, shape (draws, 4).
        others: mean of the other verdicts, shape (draws,).
    """
    human = cells[:, 0] + cells[:, 1]
    judge = cells[:, 0] + cells[:, 2]
    covariance = cells[:, 0] - human * judge
    everywhere = (n * judge + unlabelled * others) / (n + unlabelled)
    whole = n + unlabelled
    spread = everywhere * (1 - everywhere) * whole / (whole - 1)
    lam = power_tuning(covariance, spread, n / unlabelled)
    rectifier = human * (1 - human) - 2 * lam * covariance + lam**2 * judge * (1 - judge)
    error = np.sqrt(lam**2 * others * (1 - others) / unlabelled + rectifier / n)
    return human + lam * (others - judge), error, lam
