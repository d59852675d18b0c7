"""Contamination of rankings: how much of the first chunks is of another company, or of another year.

The guide to hybrid retrieval over filings reports "cross-company contamination" of about 12 % before its
metadata filters and 2 % after, and "temporal contamination" of 8 % and 1 % (sections 7 and 12.4), without
saying how it counts. Here, of the first k chunks of a ranking (all of them where it is shorter):

* ``wrong_company@k``: share that stands in filings of another company than the gold filing's;
* ``wrong_year@k``: share that stands in filings of the gold filing's company for another fiscal year.

The two shares add up to at most 1. A chunk of another company counts once, whatever its year. Where the
fiscal year of either filing is unknown, the year is not called wrong. An empty ranking holds nothing wrong:
read the figures beside recall. Another year is not always a mistake: annual reports repeat earlier years.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.failure_modes import FilingIdentity
from finrag_pipeline.evaluation.retrieval_metrics import RankedChunk, rankings, scores_table

METRICS = ("wrong_company", "wrong_year")
CUTOFF = 5


def contamination(ranked: Iterable[str], gold: str, identities: Mapping[str, FilingIdentity]) -> list[float]:
    """Contamination of one ranking, in the order of :data:`METRICS`; values in [0, 1].

    Raises:
        LakeError: a filing has no identity.
    """
    filings = list(ranked)
    if unknown := {gold, *filings} - set(identities):
        raise LakeError(
            f"Filing '{min(unknown)}' of a ranking is not in the table filings.",
            "Materialise filings and retrieval_runs again.",
        )
    wrong = [identities[filing].wrong_beside(identities[gold]) for filing in filings]
    return [wrong.count(label) / max(len(filings), 1) for label in METRICS]


def contamination_scores(
    runs: pa.Table,
    questions: pa.Table,
    identities: Mapping[str, FilingIdentity],
    k: int = CUTOFF,
    *,
    expected: Collection[tuple[str, str]] = (),
) -> pa.Table:
    """Contamination of the first k chunks for every question of every (system, space).

    The table has the columns of ``retrieval_scores``, so that
    :func:`finrag_pipeline.evaluation.summary.summarise` gives its means with document-cluster intervals.

    Args:
        questions: table as ``schemas.BENCHMARK_QUESTIONS``; only measured questions are scored.
        k: cut-off, in chunks.
        expected: (system, space) pairs to score even if ``runs`` holds no row of theirs.

    Raises:
        LakeError: a filing has no identity.
    """
    measured = questions.filter(pc.equal(questions["status"], "measured"))
    gold = dict(zip(measured["question_id"].to_pylist(), measured["filing"].to_pylist(), strict=True))
    rows = []
    found: dict[tuple[str, str], dict[str, list[RankedChunk]]] = {pair: {} for pair in expected}
    for (system, space), ranked in (found | rankings(runs)).items():
        for question, filing in gold.items():
            first = [chunk.filing for chunk in ranked.get(question, ())[:k]]
            values = zip(METRICS, contamination(first, filing, identities), strict=True)
            rows += [(system, space, question, metric, k, value) for metric, value in values]
    return scores_table(rows)
