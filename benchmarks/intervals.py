"""How often each interval of this package holds the truth, and how wide it is, in simulated studies.

A simulated study of intervals draws a success rate per question (beta distributed, so that answers to one
question are correlated), answers, the judge's verdicts, and labels on some answers, and computes every
interval with the functions of this package. A study of mean scores draws filings with their numbers of
questions, a rate for each filing (beta distributed, so that its questions succeed and fail together), and the
score of every question: a hit of 0 or 1, the share of one to three gold pages that are found, or an overlap
anywhere in [0, 1]. The mean over the questions is a ratio of sums, because the number of questions is drawn
as well.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from benchmarks import arguments
from finrag_pipeline.evaluation.intervals import (
    Array,
    cluster_means,
    cluster_proportion,
    resampled_counts,
    stratum_weights,
    wald,
    wilson,
)
from finrag_pipeline.evaluation.ppi import ppi_mean, ppi_proportion


def cluster_bootstrap(
    values: Array, clusters: Sequence[str], draws: int, confidence: float, seed: int
) -> tuple[Array, Array, Array]:
    """Percentile bootstrap interval of the mean, resampling whole clusters (documents).

    Questions on one document share its retrieval difficulty, so an interval over questions as if they were
    independent is too narrow. Each draw takes as many documents as there are, with replacement (Davison &
    Hinkley, *Bootstrap Methods and their Application*, 1997, section 3.8); its estimate is the sum of the
    values over the number of questions drawn, a ratio of sums, because documents differ in their number of
    questions. All series share the draws: they are counts of documents, and the estimates one matrix product.

    Args:
        values: shape (questions, series), finite.
        clusters: document of each question.

    Returns:
        Mean, lower end and upper end, each of shape (series,). The ends are NaN with fewer than two clusters,
        which say nothing about how documents differ; the mean is NaN without questions.

    Raises:
        ValueError: shapes disagree or a value is not finite.
    """
    if values.ndim != 2 or len(values) != len(clusters):
        raise ValueError(f"values of shape {values.shape} do not fit {len(clusters)} clusters")
    if not np.isfinite(values).all():
        raise ValueError("values must be finite")
    unknown = np.full(values.shape[1], np.nan)
    if not len(values):
        return unknown, unknown, unknown
    mean = values.mean(axis=0)
    _, membership = np.unique(np.asarray(clusters, dtype=object).astype(str), return_inverse=True)
    sizes = np.bincount(membership).astype(np.float64)
    if len(sizes) < 2:
        return mean, unknown, unknown
    sums = np.zeros((len(sizes), values.shape[1]))
    np.add.at(sums, membership, values)
    counts = resampled_counts(len(sizes), draws, seed)
    estimates = (sums.T @ counts.T) / (counts @ sizes)  # (series, draws): quantiles run along memory
    low, high = np.quantile(estimates, [(1 - confidence) / 2, (1 + confidence) / 2], axis=1)
    # A constant series has no spread; rounding in the products must not put its mean outside its interval.
    return mean, np.minimum(low, mean), np.maximum(high, mean)


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
) -> list[dict[str, Any]]:
    """Coverage and mean half width of every interval in every study.

    Intervals: ``wald``, ``wilson`` (labels as if independent), ``clustered`` (over questions, weighted where
    there are strata), ``ppi_normal`` (as published) and ``ppi`` (``ppi_proportion``, over questions
    and weighted likewise). Those with a judge are left out where every answer is labelled. Of mean scores:
    ``clustered`` (``cluster_means``) and ``bootstrap`` (``cluster_bootstrap``).

    The figures of a study, each simulated so many times as there are draws, do not depend on the others.

    Returns:
        Rows of ``study``, ``interval``, ``coverage`` and ``half_width``.
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
            rows.append({"study": study.name, "interval": name, "coverage": covered, "half_width": width})
    return rows


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


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--draws", type=int, default=3000, help="simulations of each study")
    parser.add_argument("--confidence", type=float, default=0.95)
    options = parser.parse_args()
    sys.stdout.write("| study | interval | coverage | half width |\n|---|---|---|---|\n")
    for row in interval_coverage(draws=options.draws, confidence=options.confidence):
        figures = f"{row['coverage']:.3f} | {row['half_width']:.3f}"
        sys.stdout.write(f"| {row['study']} | {row['interval']} | {figures} |\n")


if __name__ == "__main__":
    main()
