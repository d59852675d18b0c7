"""Means with intervals of groups of scores: by system, search space, slice of the questions, and metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.intervals import ROUNDING, Moments, mean_intervals
from finrag_pipeline.schemas import conform
from finrag_pipeline.settings import EvaluationSettings
from finrag_pipeline.storage.warehouse import query_tables

SUMMARY_VERSION = "3"
"""Changes whenever a mean or an interval may change."""

SLICES = ("all", "question_type", "kind", "doc_type", "company", "source")
SLICED = ("question_id", "question", "question_type", "doc_type", "company")
"""Columns of questions that slices are made of, which do not enter the scores."""
UNKNOWN = "unknown"
"""Slice value of questions of which the benchmark does not say it: form, source, theme, difficulty."""

_GROUPS = """
    WITH scores AS ({rows}),
    clusters AS (
        SELECT {keys}, cluster, count(*)::DOUBLE AS n, sum(value) AS total, sum(value * value) AS square,
            min(value) AS least, max(value) AS most, min(place) AS place
        FROM scores GROUP BY {keys}, cluster
    )
    SELECT {keys}, sum(n) AS n, sum(total) AS total, sum(square) AS square, sum(n * n) AS weight_square,
        sum(total * total) AS total_square, sum(n * total) AS product, count(*) AS clusters,
        min(least) AS least, max(most) AS most
    FROM clusters GROUP BY {keys} ORDER BY min(place)
"""


def grouped_means(
    rows: str,
    keys: Sequence[str],
    confidence: float,
    parameters: Mapping[str, Any] | None = None,
    *,
    fewest: int = 2,
    **tables: pa.Table,
) -> pa.Table:
    """Means of groups of scores, with the intervals of :func:`intervals.cluster_proportion`.

    A percentile bootstrap of documents is too narrow near 0 and 1 and with few documents
    (:mod:`finrag_pipeline.evaluation.simulations`).

    Args:
        rows: query that gives the columns of ``keys``, ``cluster`` (the document or question that a score is
            of), ``value`` in [0, 1], and ``place``, by which groups are ordered.
        keys: columns that make a group.
        parameters: of the query, by name.
        fewest: clusters below which there is no interval: they say nothing about how documents differ.

    Returns:
        The columns of ``keys``, ``mean``, ``low``, ``high``, ``n``, ``clusters`` and ``effective_n``.

    Raises:
        ValueError: a score is outside [0, 1].
    """
    sql = _GROUPS.format(rows=rows, keys=", ".join(keys))
    found = query_tables(sql, dict(parameters) if parameters else None, **tables)
    sums = {name: found[name].to_numpy().astype(np.float64) for name in found.column_names[len(keys) :]}
    if not ((sums["least"] >= -ROUNDING) & (sums["most"] <= 1 + ROUNDING)).all():
        raise ValueError("values must be between 0 and 1")
    of = (sums[name] for name in ("n", "n", "total", "square", "weight_square", "total_square", "product"))
    mean, low, high, effective = mean_intervals(Moments(*of), confidence)
    ends = {"low": low, "high": high}
    columns = {
        "mean": mean,
        **{name: np.where(sums["clusters"] >= fewest, end, np.nan) for name, end in ends.items()},
        **{name: sums[name].astype(np.int64) for name in ("n", "clusters")},
        "effective_n": effective,
    }
    arrays = {name: pa.array(values, from_pandas=True) for name, values in columns.items()}  # NaN is null
    return pa.table({key: found[key] for key in keys} | arrays)


def summarise(
    scores: pa.Table, questions: pa.Table, sources: Mapping[str, str], settings: EvaluationSettings
) -> pa.Table:
    """Mean and interval over documents of every series on every slice (:func:`grouped_means`).

    Args:
        scores: table as ``schemas.RETRIEVAL_SCORES`` or of the same columns.
        questions: table as ``schemas.BENCHMARK_QUESTIONS``; only measured questions count.
        sources: ``pdf`` or ``page_text`` by filing.
        settings: confidence.

    Returns:
        Table as ``schemas.SYSTEM_METRICS``, ordered by slice and slice value (kinds in their order, others by
        the alphabet), then as the series first appear in ``scores``.

    Raises:
        LakeError: a question is scored twice in one series.
        ValueError: a score is outside [0, 1].
    """
    from finrag_pipeline.evaluation.question_kinds import KINDS, question_kind  # reads grammars

    measured = questions.filter(pc.equal(questions["status"], "measured"))
    asked = measured.select(["question", "company", "filing"]).to_pylist()
    labels = {name: pc.if_else(pc.equal(measured[name], ""), None, measured[name]) for name in SLICED[2:]}
    labels |= {
        "all": ["all"] * len(asked),
        "kind": [question_kind(one["question"], [one["company"]] if one["company"] else []) for one in asked],
        "source": [sources.get(one["filing"]) for one in asked],
    }
    named = {name: pc.fill_null(pa.array(labels[name], pa.string()), UNKNOWN) for name in SLICES}
    tables = {
        "scores": scores,
        "asked": pa.table({"question_id": measured["question_id"], "filing": measured["filing"], **named}),
    }
    twice = "SELECT 1 FROM scores SEMI JOIN asked USING (question_id) GROUP BY {} HAVING count(*) > 1 LIMIT 1"
    if query_tables(twice.format("system, space, metric, k, question_id"), **tables).num_rows:
        raise LakeError(
            "A question is scored twice on one metric of a system.",
            "Two folds overlap: materialise folds and retrieval_scores again.",
        )
    listed = ", ".join(f'"{name}"' for name in SLICES)
    rows = f"""
        SELECT system, space, slice, slice_value, metric, k, filing AS cluster, value,
            (list_position($slices, slice), coalesce(list_position($kinds, slice_value), 0), slice_value,
                first) AS place
        FROM (
            SELECT *, min(row) OVER (PARTITION BY system, space, metric, k) AS first
            FROM (SELECT *, row_number() OVER () AS row FROM scores) SEMI JOIN asked USING (question_id)
        ) JOIN (UNPIVOT asked ON {listed} INTO NAME slice VALUE slice_value) USING (question_id)
    """  # noqa: S608 - our own names
    keys = ("system", "space", "slice", "slice_value", "metric", "k")
    order = {"slices": list(SLICES), "kinds": list(KINDS)}
    means = grouped_means(rows, keys, settings.confidence, order, **tables)
    return conform(
        means.drop_columns("effective_n").rename_columns({"clusters": "documents"}), "system_metrics"
    )


def metrics_records(table: pa.Table) -> list[dict[str, Any]]:
    """Rows of ``schemas.SYSTEM_METRICS`` as JSON-ready records; an end that is unknown is None."""
    names = ["system", "space", "slice", "slice_value", "metric", "k", "mean", "low", "high", "n"]
    return list(table.select(names).to_pylist())
