"""Is one system better than another? Paired differences over questions, bootstrap of documents, Holm.

Every system answers the same questions, so differences are taken question by question, and questions on one
filing are resampled together as in :mod:`finrag_pipeline.evaluation.intervals`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from finrag_pipeline.errors import LakeError, UsageError
from finrag_pipeline.evaluation.intervals import cluster_codes
from finrag_pipeline.schemas import SYSTEM_COMPARISONS

FAMILIES_VERSION = "1"
"""Changes with the families and with the tests."""


POWER = 0.8
"""Chance of finding a difference of the size called detectable (Cohen, 1988)."""


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for testing all of them (Holm, 1979), in the given order; NaN stays NaN, uncounted.

    Rejecting those below α errs anywhere in the family with a chance of at most α.
    """
    known = sorted((p, place) for place, p in enumerate(p_values) if not np.isnan(p))
    corrected = [float("nan")] * len(p_values)
    greatest = 0.0
    for rank, (p, place) in enumerate(known):
        greatest = max(greatest, min(1.0, (len(known) - rank) * p))
        corrected[place] = greatest
    return corrected


def detectable_difference(
    standard_error: float, confidence: float = 0.95, power: float = POWER, tests: int = 1
) -> float:
    """Least true difference that a two-sided test finds with the given power: (z₁₋α/₂ + z_power) · SE.

    Args:
        standard_error: of the difference.
        confidence: 1 − α.
        power: chance of finding it.
        tests: size of the family; α is divided by it, as Holm's procedure does for its first step.
    """
    alpha = (1 - confidence) / tests
    normal = NormalDist()
    return (normal.inv_cdf(1 - alpha / 2) + normal.inv_cdf(power)) * standard_error


def compare_systems(
    scores: pa.Table,
    questions: pa.Table,
    baseline: str,
    metric: str,
    k: int,
    space: str,
    *,
    systems: Sequence[str] | None = None,
    draws: int = 10_000,
    confidence: float = 0.95,
    seed: int = 17,
) -> pa.Table:
    """Differences of systems from a baseline, with intervals and p-values corrected for their number.

    The p-value is that of a bootstrap of documents under the null hypothesis, differences shifted to mean 0:
    (1 + draws at least as far from 0 as the one observed) / (1 + draws) (Davison & Hinkley, 1997, section
    4.4). All systems share the draws. A pair is compared on the questions that both are scored on.

    Args:
        scores: table as ``schemas.RETRIEVAL_SCORES``.
        questions: columns ``question_id``, ``filing`` and ``status`` of ``schemas.BENCHMARK_QUESTIONS``; only
            measured questions count.
        baseline: system that the others are compared with.
        metric: name of the metric.
        k: its cut-off.
        space: search space.
        systems: the family, in the order of the rows; all others in ``scores`` by default.
        draws: resamples of documents.
        confidence: coverage of the interval aimed at, and 1 − α of the detectable difference.
        seed: of the resampling.

    Returns:
        Table as ``schemas.SYSTEM_COMPARISONS``.

    Raises:
        UsageError: the baseline or a system is not scored on this metric in this space.
        LakeError: a question is scored twice.
    """
    measured = questions.filter(pc.equal(questions["status"], "measured"))
    ids = measured["question_id"].to_pylist()
    values = _values(scores, ids, metric, k, space)
    where = f"{metric}@{k} in the space '{space}'"
    if systems is None:
        systems = [name for name in values if name != baseline]
    for name in (baseline, *systems):
        if name not in values:
            raise UsageError(
                f"System '{name}' is not scored on {where}.", f"There are: {', '.join(values) or 'none'}."
            )
    (documents,), count = cluster_codes(measured["filing"].to_pylist())
    rng = np.random.default_rng(seed)
    picks = rng.multinomial(count, np.full(count, 1 / count), size=draws) if count > 1 else None
    rows: list[dict[str, Any]] = []
    for name in systems:
        ours, theirs = values[name], values[baseline]
        both = ~(np.isnan(ours) | np.isnan(theirs))
        if not both.any():
            raise UsageError(
                f"'{name}' and '{baseline}' share no question on {where}.", "Run both on the same questions."
            )
        rows.append(
            {
                "system": name,
                "baseline": baseline,
                "space": space,
                "metric": metric,
                "k": k,
                "mean": float(ours[both].mean()),
                "baseline_mean": float(theirs[both].mean()),
                **_paired((ours - theirs)[both], documents[both], picks, confidence, len(systems)),
            }
        )
    for row, corrected in zip(rows, holm([row["p_value"] for row in rows]), strict=True):
        row["p_holm"] = corrected
    arrays = [
        pa.array([row[field.name] for row in rows], field.type, from_pandas=True)
        for field in SYSTEM_COMPARISONS
    ]
    return pa.table(arrays, schema=SYSTEM_COMPARISONS)


def _paired(
    differences: NDArray[np.float64],
    documents: NDArray[np.intp],
    picks: NDArray[np.int64] | None,
    confidence: float,
    tests: int,
) -> dict[str, float | int]:
    """Interval, p-value and detectable difference of the mean of ``differences``."""
    mean = float(differences.mean())
    row: dict[str, float | int] = {
        "difference": mean,
        **dict.fromkeys(("low", "high", "p_value", "detectable", "detectable_in_family"), float("nan")),
        "better": int((differences > 0).sum()),
        "worse": int((differences < 0).sum()),
        "equal": int((differences == 0).sum()),
        "n": len(differences),
        "documents": len(np.unique(documents)),
    }
    if picks is None or row["documents"] < 2:
        return row
    count = picks.shape[1]
    sizes = np.bincount(documents, minlength=count).astype(np.float64)
    sums = np.bincount(documents, differences, count)
    weights = picks @ sizes
    drawn = weights > 0  # a draw may hold only documents without a shared question
    estimates = (picks @ sums)[drawn] / weights[drawn]
    shifted = (picks @ (sums - mean * sizes))[drawn] / weights[drawn]
    tail = (1 - confidence) / 2
    low, high = np.quantile(estimates, [tail, 1 - tail])
    # Rounding must neither hide a tie with the observed difference nor make one.
    as_far = np.abs(shifted) >= abs(mean) - 1e-12
    error = float(estimates.std())
    row |= {
        "low": min(float(low), mean),
        "high": max(float(high), mean),
        "p_value": (1 + int(as_far.sum())) / (1 + len(shifted)),
        "detectable": detectable_difference(error, confidence),
        "detectable_in_family": detectable_difference(error, confidence, tests=tests),
    }
    return row


def _values(
    scores: pa.Table, ids: Sequence[str], metric: str, k: int, space: str
) -> dict[str, NDArray[np.float64]]:
    """Values by system in the order of ``ids``, NaN where not scored; systems in order of appearance."""
    chosen = scores.filter(
        pc.and_(
            pc.and_(pc.equal(scores["metric"], metric), pc.equal(scores["k"], k)),
            pc.equal(scores["space"], space),
        )
    )
    place = {question_id: row for row, question_id in enumerate(ids)}
    values: dict[str, NDArray[np.float64]] = {}
    names = ("system", "question_id", "value")
    for system, question_id, value in zip(*(chosen[name].to_pylist() for name in names), strict=True):
        series = values.setdefault(system, np.full(len(ids), np.nan))
        if question_id in place:
            if not np.isnan(series[place[question_id]]):
                raise LakeError(
                    f"Question '{question_id}' is scored twice for '{system}'.",
                    "Two folds overlap: materialise folds and retrieval_scores again.",
                )
            series[place[question_id]] = value
    return values


@dataclass(frozen=True, slots=True)
class Family:
    """Tests whose p-values are corrected together: all systems against one baseline by one metric.

    Attributes:
        baseline: system that the others are compared with.
        metric: name of the metric.
        k: its cut-off.
        space: search space.
    """

    baseline: str
    metric: str
    k: int
    space: str = "corpus"


RETRIEVAL = tuple(
    Family(baseline, metric, 5) for baseline in ("dense", "page_scorer") for metric in ("page_rec", "doc_rec")
)
"""PageRec@5 and DocRec@5 over the corpus, against dense retrieval and against the learned page scorer."""

ANSWERS = tuple(
    Family("calculator on finrag", metric, 0, space)
    for space in ("corpus", "filing", "pages")
    for metric in ("numeric_match", "strict_match")
)
"""Answers by numeric match, and by strict match on the questions whose gold answer is one number."""


def compare_families(
    scores: pa.Table,
    questions: pa.Table,
    families: Iterable[Family],
    *,
    draws: int = 10_000,
    confidence: float = 0.95,
    seed: int = 17,
) -> pa.Table:
    """Every family whose baseline is scored, with all systems that share a question with it.

    Args:
        scores: as ``schemas.RETRIEVAL_SCORES``.
        questions: as ``schemas.BENCHMARK_QUESTIONS``.
        families: what is compared.
        draws: resamples of documents.
        confidence: coverage of the intervals.
        seed: of the resampling.

    Returns:
        Table as ``schemas.SYSTEM_COMPARISONS``, family by family.

    Raises:
        LakeError: a question is scored twice.
    """
    measured = set(questions.filter(pc.equal(questions["status"], "measured"))["question_id"].to_pylist())
    found = [SYSTEM_COMPARISONS.empty_table()]
    for family in families:
        chosen = scores.filter(
            (pc.field("metric") == family.metric)
            & (pc.field("k") == family.k)
            & (pc.field("space") == family.space)
        )
        asked: dict[str, set[str]] = {}
        for system, question in zip(
            chosen["system"].to_pylist(), chosen["question_id"].to_pylist(), strict=True
        ):
            if question in measured:
                asked.setdefault(system, set()).add(question)
        theirs = asked.pop(family.baseline, set())
        systems = [name for name, ours in asked.items() if ours & theirs]
        if systems:
            found.append(
                compare_systems(
                    chosen, questions, family.baseline, family.metric, family.k, family.space,
                    systems=systems, draws=draws, confidence=confidence, seed=seed,
                )
            )  # fmt: skip
    return pa.concat_tables(found)
