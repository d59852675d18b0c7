"""What a judge is worth in human labels, and how often each interval holds the truth, both by simulation.

For labels and verdicts with correlation ρ, PPI++ with the best λ has the variance of a survey of

    n_eff = n / (1 − ρ² / (1 + n/N))

human labels (Angelopoulos et al., 2023b, section 6, with the optimal λ put in; Martinon et al., 10.5).

A simulated study of intervals draws a success rate per question (beta distributed, so that answers to one
question are correlated), answers, the judge's verdicts, and labels on some answers, and computes every
interval with the functions of this package. A study of mean scores draws filings with their numbers of
questions, a rate for each filing (beta distributed, so that its questions succeed and fail together), and the
score of every question: a hit of 0 or 1, the share of one to three gold pages that are found, or an overlap
anywhere in [0, 1]. The mean over the questions is a ratio of sums, because the number of questions is drawn
as well.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from finrag_pipeline.evaluation.intervals import (
    Array,
    cluster_bootstrap,
    cluster_means,
    cluster_proportion,
    normal_quantile,
    stratum_weights,
    wald,
    wilson,
)
from finrag_pipeline.evaluation.ppi import power_tuning, ppi_mean, ppi_proportion
from finrag_pipeline.schemas import INTERVAL_COVERAGE, JUDGE_SENSITIVITY

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
    rounding: float = 0.005,
    steps: int = 21,
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


COVERAGE_VERSION = "2"
"""Changes with the studies and the intervals."""


@dataclass(frozen=True, slots=True)
class Study:
    """What is simulated.

    Attributes:
        answers: to each question.
        labels: answers with a human label, drawn at random.
        share: true proportion of successes.
        correlation: of two answers to one question, in [0, 1).
        sensitivity: chance that the judge passes a success.
        specificity: chance that the judge fails a failure.
        strata: groups of answers of unequal size with three labels each, in place of ``labels``; 0 for none.
    """

    name: str
    questions: int
    answers: int
    labels: int
    share: float
    correlation: float = 0.0
    sensitivity: float = 0.9
    specificity: float = 0.8
    strata: int = 0

    def truth(self) -> float:
        """What the intervals should hold."""
        return self.share


STUDIES = (
    Study("29 labels, 97 %", 791, 1, 29, 0.97),
    Study("29 labels, 97 %, judge that misses nothing good", 791, 1, 29, 0.97, 0.0, 1.0, 0.6),
    Study("140 labels, 80 %", 4125, 1, 140, 0.8),
    Study("all of 40 × 20 answers labelled, 80 %", 40, 20, 800, 0.8, 0.5),
    Study("all of 29 × 20 answers labelled, 97 %", 29, 20, 580, 0.97, 0.5),
    Study("140 labels on 63 × 20 answers, 80 %", 63, 20, 140, 0.8, 0.5),
    Study("29 labels on 47 × 20 answers, 97 %", 47, 20, 29, 0.97, 0.3),
    Study("three labels in each of 30 groups", 1000, 1, 90, 0.8, 0.0, 0.9, 0.8, 30),
)
"""Studies like those of Martinon et al., and harder ones."""


SIZES = (1,) * 52 + (2,) * 14 + (3,) * 12 + (4, 4, 5, 7, 7, 7)
"""Questions per filing in a benchmark of 84 filings and 150 questions."""

_DESIGNS = 20
"""Draws of the filings' sizes among which the draws of a study are spread."""
_RESAMPLES = 1000
_GOLD_PAGES = ((1, 2, 3), (0.77, 0.21, 0.02))
"""Numbers of gold pages of a question, and how frequent they are."""


@dataclass(frozen=True, slots=True)
class ScoreStudy:
    """What is simulated.

    Attributes:
        mean: true mean over filings, if all are alike.
        kind: ``hit``, ``page_recall`` or ``overlap``.
        correlation: of the rates within a filing, in [0, 1).
        sizes: questions of a filing, drawn with replacement.
        concentration: of overlaps around the rate of their filing; a greater one varies less.
        harder: how much lower the rate of filings with three or more questions is.
    """

    name: str
    filings: int
    mean: float
    kind: Literal["hit", "page_recall", "overlap"]
    correlation: float = 0.3
    sizes: tuple[int, ...] = SIZES
    concentration: float = 6.0
    harder: float = 0.0

    def truth(self) -> float:
        """Mean over all questions: that of filings weighted by their number of questions."""
        sizes = np.array(self.sizes, dtype=np.float64)
        return float((sizes * (self.mean - self.harder * (sizes >= 3))).sum() / sizes.sum())


SCORE_STUDIES = (
    ScoreStudy("hit of 29 filings, 97 %", 29, 0.97, "hit", 0.0, (1,)),
    ScoreStudy("hit in 84 filings, 97 %", 84, 0.97, "hit"),
    ScoreStudy("hit in 84 filings, 50 %", 84, 0.5, "hit"),
    ScoreStudy("hit in 84 filings, less in large ones", 84, 0.8, "hit", harder=0.3),
    ScoreStudy("page recall of 29 filings, 97 %", 29, 0.97, "page_recall", 0.2, (1,)),
    ScoreStudy("page recall in 84 filings, 97 %", 84, 0.97, "page_recall", 0.2),
    ScoreStudy("page recall in 84 filings, 70 %", 84, 0.7, "page_recall", 0.4),
    ScoreStudy("overlap in 29 filings, 40 %", 29, 0.4, "overlap", 0.1, (1,)),
    ScoreStudy("overlap in 84 filings, 40 %", 84, 0.4, "overlap", 0.1),
    ScoreStudy("overlap in 84 filings, 6 %", 84, 0.06, "overlap", 0.1, concentration=3.0),
    ScoreStudy("overlap in 84 filings, 97 %", 84, 0.97, "overlap", 0.05, concentration=4.0),
    ScoreStudy("overlap in 8 filings, 40 %", 8, 0.4, "overlap", 0.1, (1, 1, 2, 2, 2, 3)),
)
"""Studies like the tables of retrieval systems, and harder ones."""


def interval_coverage(
    studies: Sequence[Study] = STUDIES,
    scores: Sequence[ScoreStudy] = SCORE_STUDIES,
    *,
    draws: int = 1000,
    confidence: float = 0.95,
    seed: int = 17,
) -> pa.Table:
    """Coverage and mean half width of every interval in every study.

    Intervals: ``wald``, ``wilson`` (labels as if independent), ``clustered`` (over questions, weighted where
    there are strata), ``ppi_normal`` (as published) and ``ppi`` (:func:`ppi.ppi_proportion`, over questions
    and weighted likewise). Those with a judge are left out where every answer is labelled. Of mean scores:
    ``clustered`` (:func:`intervals.cluster_means`) and ``bootstrap`` (:func:`intervals.cluster_bootstrap`).

    The figures of a study, each simulated so many times as there are draws, do not depend on the others. As
    ``schemas.INTERVAL_COVERAGE``.
    """
    rows = []
    simulated: tuple[Study | ScoreStudy, ...] = (*studies, *scores)
    for study in simulated:
        rng = np.random.default_rng([seed, *study.name.encode()])
        drawn = (
            _label_draws(study, rng, draws, confidence)
            if isinstance(study, Study)
            else _score_draws(study, rng, draws, confidence)
        )
        truth, held = study.truth(), defaultdict[str, list[Array]](list)
        for intervals in drawn:
            for name, (low, high) in intervals.items():
                # Means of equal values carry an error in their last digit.
                covers = (low <= truth + 1e-12) & (high >= truth - 1e-12)
                held[name].append(np.atleast_2d(np.stack([covers, (high - low) / 2], axis=-1)))
        for name, outcomes in held.items():
            covered, width = np.concatenate(outcomes).mean(axis=0).tolist()
            about = {"study": study.name, "interval": name, "draws": draws}
            rows.append(about | {"coverage": covered, "half_width": width})
    return pa.Table.from_pylist(rows, schema=INTERVAL_COVERAGE)


_Ends = dict[str, tuple[Any, Any]]
"""Low and high end by interval: numbers of one draw, or arrays of many."""


def _label_draws(study: Study, rng: np.random.Generator, draws: int, confidence: float) -> Iterator[_Ends]:
    question = np.repeat(np.arange(study.questions), study.answers)
    for _ in range(draws):
        if study.strata:
            # Sizes of strata fall as 1, 1/2, 1/3, … and are at least four; small ones do worse, so that a
            # sample that ignores its weights is biased.
            sizes = 1 / np.arange(1, study.strata + 1)
            fixed = np.repeat(np.arange(study.strata), 4)
            drawn = rng.choice(study.strata, len(question) - len(fixed), p=sizes / sizes.sum())
            group = np.concatenate([fixed, drawn])
            worse = group / max(1, study.strata - 1)
            rates = np.clip(study.share + 0.4 * (worse.mean() - worse), 0.0, 1.0)
        uniform = rng.random(len(question))
        if not study.strata:
            rates = _rates(np.full(study.questions, study.share), study.correlation, rng)
        truth = (uniform < rates[question]).astype(np.float64)
        passed = np.where(truth == 1, study.sensitivity, 1 - study.specificity)
        verdicts = (rng.random(len(question)) < passed).astype(np.float64)
        labelled, weights = np.zeros(len(question), dtype=bool), np.ones(study.labels)
        if study.strata:
            for stratum in range(study.strata):
                labelled[rng.choice(np.flatnonzero(group == stratum), 3, replace=False)] = True
            weights = stratum_weights(group.tolist(), labelled)
        else:
            labelled[rng.choice(len(question), study.labels, replace=False)] = True
        y, f, names = truth[labelled], verdicts[labelled], question[labelled].tolist()
        found = {
            "wald": wald(float(y.sum()), len(y), confidence),
            "wilson": wilson(float(y.sum()), len(y), confidence),
            "clustered": cluster_proportion(y, names, weights, confidence),
        }
        if not labelled.all():
            others = verdicts[~labelled]
            found["ppi_normal"] = ppi_mean(y, f, others, confidence)
            # A stratified sample leaves others that are not like the whole: compare with all answers.
            judged, whose = (verdicts, question) if study.strata else (others, question[~labelled])
            clustered = study.answers > 1 or study.strata > 0
            found["ppi"] = ppi_proportion(
                y,
                f,
                judged,
                clusters=names if clustered else None,
                judged_clusters=whose.tolist() if clustered else None,
                weights=weights,
                confidence=confidence,
            )
        yield {name: (one.low, one.high) for name, one in found.items()}


def _score_draws(
    study: ScoreStudy, rng: np.random.Generator, draws: int, confidence: float
) -> Iterator[_Ends]:
    """Intervals of scores of shape (questions, draws), for several designs."""
    for count in np.diff(np.linspace(0, draws, _DESIGNS + 1).round().astype(int)):
        sizes = rng.choice(study.sizes, study.filings)
        filing = np.repeat(np.arange(study.filings), sizes)
        mean = np.broadcast_to(
            (study.mean - study.harder * (sizes >= 3))[:, None], (study.filings, int(count))
        )
        rate = _rates(mean, study.correlation, rng)[filing]
        if study.kind == "hit":
            values = (rng.random(rate.shape) < rate).astype(np.float64)
        elif study.kind == "page_recall":
            pages = rng.choice(_GOLD_PAGES[0], rate.shape, p=_GOLD_PAGES[1])
            values = rng.binomial(pages, rate) / pages
        else:
            least = 1e-3  # of a parameter of the beta distribution
            wanted = study.concentration * rate
            values = rng.beta(np.maximum(wanted, least), np.maximum(study.concentration - wanted, least))
        filings = filing.astype(str).tolist()
        yield {
            "clustered": cluster_means(values, filings, confidence)[1:],
            "bootstrap": cluster_bootstrap(values, filings, _RESAMPLES, confidence, 1)[1:],
        }


def _rates(mean: Array, correlation: float, rng: np.random.Generator) -> Array:
    """Chances of success, beta distributed, so that successes that share one correlate."""
    if not correlation:
        return mean
    strength = (1 - correlation) / correlation
    return rng.beta(mean * strength, (1 - mean) * strength)
