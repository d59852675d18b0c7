"""The weight of ``hybrid_alpha``: every weight tried on every question, and the choice of one without a fold.

The sweep itself learns nothing. A weight is chosen from the questions outside a fold, so that no question
decides the weight it is measured with; Kim et al. choose it on the questions they report.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.retrieval.component import Inputs, no_more
from finrag_pipeline.retrieval.fusion import WeightedSum, fuse_scores
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.retrieval.system import RetrievalSystem
from finrag_pipeline.schemas import RETRIEVAL_SCORES

ALPHA_VERSION = "1"
CUTOFF = 5
"""Chunks that a weight is judged by."""

GRID = tuple(round(step / 20, 2) for step in range(21))
"""Weights of the dense score that are tried: 0, 0.05, … 1."""

_PREFIX = "alpha="


def alpha_sweep(
    system: RetrievalSystem,
    inputs: Inputs,
    questions: Iterable[dict[str, Any]],
    grid: Sequence[float] = GRID,
) -> pa.Table:
    """DocRec@5 and PageRec@5 of every weight on every question in every space.

    The first stages are searched once per question and space. Metrics are those of
    ``evaluation.retrieval_metrics``: whether a chunk of the gold filing is among the first five, and the
    share of the gold pages on which one of them stands. The system must fuse a dense and a lexical ranking by
    their scores.

    Returns:
        Rows of ``retrieval_scores``; the system is ``alpha=0.35`` for a weight of 0.35.
    """
    questions = list(questions)
    fusion = system.first
    assert isinstance(fusion, WeightedSum)
    queries = system.queries([question["question"] for question in questions], inputs)
    depth = inputs.corpus.settings.retrieval.depth
    rows: list[dict[str, Any]] = []
    for question in questions:
        query, gold = queries[question["question"]], set(question["gold_pages"])
        for space in Space:
            scope = space.scope(question["filing"], question["gold_pages"])
            dense, lexical = fusion.dense_and_lexical(fusion.rankings(query, inputs, scope, depth, no_more))
            locations = {hit.chunk_id: (hit.filing, hit.page) for hit in (*dense, *lexical)}
            for alpha in grid:
                found = [locations[name] for name, _ in fuse_scores(dense, lexical, alpha)[:CUTOFF]]
                pages = {page for filing, page in found if filing == question["filing"]}
                scores = {"doc_rec": float(bool(pages)), "page_rec": len(pages & gold) / len(gold)}
                told = {
                    "system": f"{_PREFIX}{alpha:.2f}",
                    "space": space.value,
                    "question_id": question["question_id"],
                    "k": CUTOFF,
                }
                rows += [{**told, "metric": metric, "value": value} for metric, value in scores.items()]
    return pa.Table.from_pylist(rows, schema=RETRIEVAL_SCORES)


def alpha_means(sweep: pa.Table) -> dict[str, dict[float, float]]:
    """Mean PageRec@5 by space and weight, of a result of `alpha_sweep`."""
    return _means(sweep, "page_rec", None)


def pick_alphas(sweep: pa.Table, questions: Collection[str]) -> dict[str, float]:
    """The weight with the best PageRec@5 by space, over ``questions`` alone; empty without any of them.

    Ties go to the better DocRec@5, then to the weight nearest to one half, then to the lower one: where the
    questions, those outside the fold that is measured, do not decide, neither ranking is preferred.
    """
    page, doc = (_means(sweep, metric, questions) for metric in ("page_rec", "doc_rec"))
    chosen = {}
    for space, means in page.items():
        # Means of equal values in another order differ in their last bits.
        ranked = [
            (-round(mean, 9), -round(doc[space][alpha], 9), round(abs(alpha - 0.5), 9), alpha)
            for alpha, mean in means.items()
        ]
        chosen[space] = min(ranked)[-1]
    return chosen


def _means(sweep: pa.Table, metric: str, questions: Collection[str] | None) -> dict[str, dict[float, float]]:
    kept = sweep.filter(pc.equal(sweep["metric"], metric))
    if questions is not None:
        kept = kept.filter(pc.is_in(kept["question_id"], pa.array(sorted(questions), pa.string())))
    means: dict[str, dict[float, float]] = {}
    for row in kept.group_by(["space", "system"]).aggregate([("value", "mean")]).to_pylist():
        alpha = float(row["system"].removeprefix(_PREFIX))
        means.setdefault(row["space"], {})[alpha] = row["value_mean"]
    return {space: dict(sorted(found.items())) for space, found in sorted(means.items())}
