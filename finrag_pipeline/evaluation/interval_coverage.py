"""How often each interval holds the truth, by simulation: the evidence for the intervals that are used.

A simulated study draws a success rate per question (beta distributed, so that answers to one question are
correlated), answers, the judge's verdicts, and labels on some answers, and computes every interval with the
functions of this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from finrag_pipeline.evaluation.cluster_intervals import cluster_proportion, stratum_weights
from finrag_pipeline.evaluation.ppi import ppi_mean, ppi_proportion
from finrag_pipeline.evaluation.proportion_intervals import wald, wilson
from finrag_pipeline.evaluation.score_coverage import SCORE_STUDIES, ScoreStudy, simulate_scores
from finrag_pipeline.schemas import INTERVAL_COVERAGE

COVERAGE_VERSION = "2"
"""Changes with the studies and the intervals."""


@dataclass(frozen=True, slots=True)
class Study:
    """What is simulated.

    Attributes:
        name: for people.
        questions: number of questions.
        answers: answers to each.
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
    ``clustered`` and ``bootstrap`` (:mod:`finrag_pipeline.evaluation.score_coverage`).

    Args:
        studies: studies of labels and verdicts.
        scores: studies of mean scores.
        draws: simulated studies of each.
        confidence: coverage aimed at.
        seed: of the simulation; a study's figures do not depend on the others.

    Returns:
        Table as ``schemas.INTERVAL_COVERAGE``.
    """
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for study in studies:
        rng = np.random.default_rng([seed, *study.name.encode()])
        held: dict[str, list[tuple[bool, float]]] = {}
        for _ in range(draws):
            for name, (low, high) in _one_draw(study, rng, confidence).items():
                held.setdefault(name, []).append((low <= study.share <= high, (high - low) / 2))
        means = {name: np.array(outcomes, dtype=np.float64).mean(axis=0) for name, outcomes in held.items()}
        found[study.name] = {name: (float(covered), float(width)) for name, (covered, width) in means.items()}
    for one in scores:
        rng = np.random.default_rng([seed, *one.name.encode()])
        found[one.name] = simulate_scores(one, rng, draws, confidence)
    rows = [
        {"study": study, "interval": name, "coverage": covered, "half_width": width, "draws": draws}
        for study, intervals in found.items()
        for name, (covered, width) in intervals.items()
    ]
    return pa.Table.from_pylist(rows, schema=INTERVAL_COVERAGE)


def _one_draw(study: Study, rng: np.random.Generator, confidence: float) -> dict[str, tuple[float, float]]:
    """Ends of every interval in one simulated study."""
    question = np.repeat(np.arange(study.questions), study.answers)
    group = _groups(study, rng, len(question))
    truth = (rng.random(len(question)) < _rates(study, rng, group)[question]).astype(np.float64)
    passed = np.where(truth == 1, study.sensitivity, 1 - study.specificity)
    verdicts = (rng.random(len(question)) < passed).astype(np.float64)
    labelled = np.zeros(len(question), dtype=bool)
    if study.strata:
        for stratum in range(study.strata):
            labelled[rng.choice(np.flatnonzero(group == stratum), 3, replace=False)] = True
        weights = stratum_weights(group.tolist(), labelled)
    else:
        labelled[rng.choice(len(question), study.labels, replace=False)] = True
        weights = np.ones(study.labels)
    y, f, names = truth[labelled], verdicts[labelled], question[labelled].tolist()
    total = float(y.sum())
    plain, score = wald(total, len(y), confidence), wilson(total, len(y), confidence)
    robust = cluster_proportion(y, names, weights, confidence)
    ends = {
        "wald": (plain.low, plain.high),
        "wilson": (score.low, score.high),
        "clustered": (robust.low, robust.high),
    }
    if not labelled.all():
        others = verdicts[~labelled]
        normal = ppi_mean(y, f, others, confidence)
        # A stratified sample leaves others that are not like the whole: compare with all answers.
        judged, whose = (verdicts, question) if study.strata else (others, question[~labelled])
        small = ppi_proportion(
            y,
            f,
            judged,
            clusters=names if study.answers > 1 or study.strata else None,
            judged_clusters=whose.tolist() if study.answers > 1 or study.strata else None,
            weights=weights,
            confidence=confidence,
        )
        ends |= {"ppi_normal": (normal.low, normal.high), "ppi": (small.low, small.high)}
    return ends


def _groups(study: Study, rng: np.random.Generator, count: int) -> NDArray[np.intp]:
    """Stratum of each answer, sizes falling as 1, 1/2, 1/3, … and at least four; all 0 without strata."""
    if not study.strata:
        return np.zeros(count, dtype=np.intp)
    sizes = 1 / np.arange(1, study.strata + 1)
    fixed = np.repeat(np.arange(study.strata), 4)
    drawn = rng.choice(study.strata, count - len(fixed), p=sizes / sizes.sum())
    return np.concatenate([fixed, drawn])


def _rates(study: Study, rng: np.random.Generator, group: NDArray[np.intp]) -> NDArray[np.float64]:
    """Chance of success of each question; their mean over answers is ``study.share`` in expectation."""
    if study.strata:
        # Small strata do worse, so that a sample that ignores its weights is biased.
        worse = group / max(1, study.strata - 1)
        return np.clip(study.share + 0.4 * (worse.mean() - worse), 0.0, 1.0)
    if study.correlation == 0:
        return np.full(study.questions, study.share)
    strength = (1 - study.correlation) / study.correlation
    return rng.beta(study.share * strength, (1 - study.share) * strength, study.questions)
