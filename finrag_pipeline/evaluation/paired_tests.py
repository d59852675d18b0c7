"""Is one system better than another? Paired differences over questions, bootstrap of documents, Holm.

Every system answers the same questions, so differences are taken question by question, and questions on one
filing are resampled together as in :mod:`finrag_pipeline.evaluation.intervals`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.intervals import Array, cluster_codes, resampled_counts
from finrag_pipeline.schemas import SYSTEM_COMPARISONS
from finrag_pipeline.storage.warehouse import query_tables

FAMILIES_VERSION = "1"
"""Changes with the families and with the tests."""

POWER = 0.8
"""Chance of finding a difference of the size called detectable (Cohen, 1988)."""


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for testing all of them (Holm, 1979), in the given order; NaN stays NaN, uncounted.

    Rejecting those below α errs anywhere in the family with a chance of at most α.
    """
    corrected = np.array(p_values, dtype=np.float64)
    order = np.argsort(corrected, kind="stable")[: np.isfinite(corrected).sum()]  # NaN sorts last
    steps = np.arange(len(order), 0, -1) * corrected[order]
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return list(corrected.tolist())


def detectable_difference(standard_error: float, confidence: float = 0.95, tests: int = 1) -> float:
    """Least true difference that a two-sided test finds with `POWER`: (z₁₋α/₂ + z_power) · SE.

    α is divided by the size of the family, as Holm's procedure does for its first step.
    """
    normal = NormalDist()
    return (normal.inv_cdf(1 - (1 - confidence) / tests / 2) + normal.inv_cdf(POWER)) * standard_error


@dataclass(frozen=True, slots=True)
class Family:
    """Tests whose p-values are corrected together: all systems against one baseline by one metric.

    Attributes:
        baseline: system that the others are compared with.
        k: cut-off of the metric.
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


_PAIRED = """
    WITH measured AS (
        SELECT question_id, filing, row_number() OVER () AS place FROM questions WHERE status = 'measured'
    ),
    chosen AS (
        SELECT system, question_id, value, place, row_number() OVER () AS row
        FROM scores JOIN measured USING (question_id)
        WHERE metric = $metric AND k = $k AND space = $space
    )
    SELECT one.system, list(one.value ORDER BY one.place) AS ours,
        list(base.value ORDER BY one.place) AS theirs,
        list(one.place - 1 ORDER BY one.place) AS places,
        count(*) > count(DISTINCT one.question_id) AS twice
    FROM chosen AS one JOIN chosen AS base USING (question_id)
    WHERE base.system = $baseline AND (one.system <> $baseline)
    GROUP BY one.system ORDER BY min(one.row)
"""


def compare_families(
    scores: pa.Table,
    questions: pa.Table,
    families: Iterable[Family],
    *,
    draws: int = 10_000,
    confidence: float = 0.95,
    seed: int = 17,
) -> pa.Table:
    """Differences of systems from the baseline of every family that is scored, where they share a question.

    The p-value is that of a bootstrap of documents under the null hypothesis, differences shifted to mean 0:
    (1 + draws at least as far from 0 as the one observed) / (1 + draws) (Davison & Hinkley, 1997, section
    4.4), corrected for the number of systems. All systems share the draws. A pair is compared on the
    questions that both are scored on.

    Args:
        scores: as ``schemas.RETRIEVAL_SCORES``.
        questions: columns ``question_id``, ``filing`` and ``status`` of ``schemas.BENCHMARK_QUESTIONS``; only
            measured questions count.
        draws: resamples of documents.
        confidence: coverage of the interval aimed at, and 1 − α of the detectable difference.

    Returns:
        Table as ``schemas.SYSTEM_COMPARISONS``, family by family.

    Raises:
        LakeError: a question is scored twice.
    """
    measured = questions.filter(pc.equal(questions["status"], "measured"))
    (documents,), count = cluster_codes(measured["filing"].to_pylist())
    rows: list[dict[str, Any]] = []
    for family in families:
        found = query_tables(_PAIRED, asdict(family), scores=scores, questions=questions).to_pylist()
        if twice := [one["system"] for one in found if one["twice"]]:
            raise LakeError(
                f"A question is scored twice for '{twice[0]}' or '{family.baseline}'.",
                "Two folds overlap: materialise folds and retrieval_scores again.",
            )
        picks = resampled_counts(count, draws, seed) if found and count > 1 else None
        tested: list[dict[str, Any]] = []
        for one in found:
            ours, theirs = np.array(one["ours"]), np.array(one["theirs"])
            where = documents[np.array(one["places"])]
            means = {"mean": float(ours.mean()), "baseline_mean": float(theirs.mean())}
            row = _paired(ours - theirs, where, picks, confidence, len(found))
            tested.append({"system": one["system"], **asdict(family), **means, **row})
        corrected = holm([row["p_value"] for row in tested])
        rows += [{**row, "p_holm": p} for row, p in zip(tested, corrected, strict=True)]
    arrays = [
        pa.array([row[field.name] for row in rows], field.type, from_pandas=True)
        for field in SYSTEM_COMPARISONS
    ]
    return pa.table(arrays, schema=SYSTEM_COMPARISONS)


def _paired(
    differences: Array,
    documents: NDArray[np.intp],
    picks: Array | None,
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
    low, high = np.quantile(estimates, [(1 - confidence) / 2, (1 + confidence) / 2])
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
