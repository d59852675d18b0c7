"""Cross-validation folds: no filing, or no company, is both trained on and tested on."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import UsageError
from finrag_pipeline.schemas import FOLDS, conform


def assign_folds(
    questions: pa.Table, folds: int, seed: int, by: Literal["filing", "company"] = "filing"
) -> pa.Table:
    """Assign every measured question to the fold in which it is tested.

    Documents are shuffled, taken in descending number of questions, and each is given to the fold with the
    fewest questions so far (greedy longest-processing-time balancing: Graham, 1969). The result depends on
    the set of questions, not on the order of their rows. With fewer documents than folds some stay empty.

    Args:
        questions: table as ``schemas.BENCHMARK_QUESTIONS``.
        folds: number of folds.
        seed: seed of the shuffle.
        by: what stays together. Filings of one company in different years are near-copies: folds by company
            keep them apart too.

    Returns:
        Table as ``schemas.FOLDS``, in the order of ``questions``.

    Raises:
        UsageError: ``folds`` is not positive.
    """
    if folds < 1:
        raise UsageError(f"{folds} folds were asked for.", "Set evaluation.folds to 2 or more.")
    measured = questions.filter(pc.equal(questions["status"], "measured"))
    groups = measured[by].to_pylist()
    counts = Counter(groups)
    documents = sorted(counts)
    order = np.random.default_rng(seed).permutation(len(documents))
    shuffled = [documents[i] for i in order]
    load = [0] * folds
    fold_of: dict[str, int] = {}
    for document in sorted(shuffled, key=lambda name: -counts[name]):  # stable: ties stay shuffled
        fold = load.index(min(load))
        fold_of[document] = fold
        load[fold] += counts[document]
    table = pa.table(
        {
            "question_id": measured["question_id"],
            "filing": measured["filing"],
            "fold": pa.array([fold_of[group] for group in groups], pa.int32()),
        },
        schema=FOLDS,
    )
    return conform(table, "folds")
