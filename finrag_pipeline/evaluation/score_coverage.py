"""How often the intervals of mean scores hold the truth, by simulation: questions in filings of unequal size.

A simulated study draws filings with their numbers of questions, a rate for each filing (beta distributed, so
that its questions succeed and fail together), and the score of every question: a hit of 0 or 1, the share of
one to three gold pages that are found, or an overlap anywhere in [0, 1]. The mean over the questions is a
ratio of sums, because the number of questions is drawn as well.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from finrag_pipeline.evaluation.cluster_intervals import cluster_means
from finrag_pipeline.evaluation.intervals import cluster_bootstrap

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
        name: for people.
        filings: number of filings.
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


def simulate_scores(
    study: ScoreStudy, rng: np.random.Generator, draws: int, confidence: float
) -> dict[str, tuple[float, float]]:
    """Coverage and mean half width of the intervals of a study.

    Returns:
        By interval: ``clustered`` (:func:`cluster_intervals.cluster_means`) and ``bootstrap``
        (:func:`intervals.cluster_bootstrap`, 1,000 resamples).
    """
    truth = study.truth()
    held: dict[str, list[NDArray[np.float64]]] = {"clustered": [], "bootstrap": []}
    for values, filings in _scores(study, rng, draws):
        found = {
            "clustered": cluster_means(values, filings, confidence),
            "bootstrap": cluster_bootstrap(values, filings, _RESAMPLES, confidence, 1),
        }
        for name, (_, low, high) in found.items():
            # Means of equal values carry an error in their last digit.
            covers = (low <= truth + 1e-12) & (high >= truth - 1e-12)
            held[name].append(np.stack([covers, (high - low) / 2]))
    return {
        name: (float(both[0]), float(both[1]))
        for name, parts in held.items()
        for both in [np.concatenate(parts, axis=1).mean(axis=1)]
    }


def _scores(
    study: ScoreStudy, rng: np.random.Generator, draws: int
) -> Iterator[tuple[NDArray[np.float64], list[str]]]:
    """Scores, shape (questions, draws), and the filing of each question, for several designs."""
    for count in np.diff(np.linspace(0, draws, _DESIGNS + 1).round().astype(int)):
        sizes = rng.choice(study.sizes, study.filings)
        filing = np.repeat(np.arange(study.filings), sizes)
        mean = np.broadcast_to(
            (study.mean - study.harder * (sizes >= 3))[:, None], (study.filings, int(count))
        )
        rates = mean
        if study.correlation:
            strength = (1 - study.correlation) / study.correlation
            rates = rng.beta(mean * strength, (1 - mean) * strength)
        rate = rates[filing]
        if study.kind == "hit":
            values = (rng.random(rate.shape) < rate).astype(np.float64)
        elif study.kind == "page_recall":
            pages = rng.choice(_GOLD_PAGES[0], rate.shape, p=_GOLD_PAGES[1])
            values = rng.binomial(pages, rate) / pages
        else:
            least = 1e-3  # of a parameter of the beta distribution
            wanted = study.concentration * rate
            values = rng.beta(np.maximum(wanted, least), np.maximum(study.concentration - wanted, least))
        yield values, filing.astype(str).tolist()
