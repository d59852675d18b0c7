"""Means with intervals for every system, search space, slice of the questions, and metric."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.intervals import cluster_means
from finrag_pipeline.schemas import SYSTEM_METRICS, conform
from finrag_pipeline.settings import EvaluationSettings

SUMMARY_VERSION = "3"
"""Changes whenever a mean or an interval may change."""

SLICES = ("all", "question_type", "kind", "doc_type", "company", "source")
SLICED = ("question_id", "question", "question_type", "doc_type", "company")
"""Columns of questions that slices are made of, which do not enter the scores."""
UNKNOWN = "unknown"
"""Slice value of questions whose form or source is not known."""

_Series = tuple[str, str, str, int]  # system, space, metric, k


def summarise(
    scores: pa.Table,
    questions: pa.Table,
    sources: Mapping[str, str],
    settings: EvaluationSettings,
) -> pa.Table:
    """Mean and interval over documents of every series on every slice.

    Intervals are those of :func:`finrag_pipeline.evaluation.intervals.cluster_means`. A percentile
    bootstrap of documents is too narrow near 0 and 1 and with few documents
    (:mod:`finrag_pipeline.evaluation.simulations`).

    Args:
        scores: table as ``schemas.RETRIEVAL_SCORES`` or of the same columns.
        questions: table as ``schemas.BENCHMARK_QUESTIONS``; only measured questions count.
        sources: ``pdf`` or ``page_text`` by filing.
        settings: confidence.

    Returns:
        Table as ``schemas.SYSTEM_METRICS``, ordered by slice and slice value, then as the series first appear
        in ``scores``.

    Raises:
        LakeError: a question is scored twice in one series.
        ValueError: a score is outside [0, 1].
    """
    measured = questions.filter(pc.equal(questions["status"], "measured"))
    ids = measured["question_id"].to_pylist()
    filings = np.array(measured["filing"].to_pylist(), dtype=object)
    series, values = _matrix(scores, ids)
    columns: dict[str, list] = {name: [] for name in SYSTEM_METRICS.names}
    for name, value, rows in _slices(measured, sources):
        present = ~np.isnan(values[rows])
        # Series over the same questions (normally all) are done in one go.
        patterns, group_of = np.unique(present, axis=1, return_inverse=True)
        results: dict[int, tuple[float, float, float, int, int]] = {}
        for group in range(patterns.shape[1]):
            kept = rows[patterns[:, group]]
            if not len(kept):
                continue
            members = np.flatnonzero(group_of.reshape(-1) == group)
            clusters = filings[kept].tolist()
            ends = cluster_means(values[np.ix_(kept, members)], clusters, settings.confidence)
            for member, mean, low, high in zip(members, *ends, strict=True):
                results[int(member)] = (mean, low, high, len(kept), len(set(clusters)))
        for position, result in sorted(results.items()):
            system, space, metric, k = series[position]
            row = (system, space, name, value, metric, k, *result)
            for column, cell in zip(columns.values(), row, strict=True):
                column.append(cell)
    arrays = [
        pa.array(column, field.type, from_pandas=True)  # NaN ends become null
        for column, field in zip(columns.values(), SYSTEM_METRICS, strict=True)
    ]
    return conform(pa.table(arrays, schema=SYSTEM_METRICS), "system_metrics")


def metrics_records(table: pa.Table) -> list[dict[str, Any]]:
    """Rows of ``schemas.SYSTEM_METRICS`` as JSON-ready records.

    Returns:
        Records with the keys system, space, slice, slice_value, metric, k, mean, low, high, n; an end that is
        unknown is None.
    """
    names = ["system", "space", "slice", "slice_value", "metric", "k", "mean", "low", "high", "n"]
    return [
        {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in row.items()}
        for row in table.select(names).to_pylist()
    ]


def _matrix(scores: pa.Table, ids: list[str]) -> tuple[list[_Series], NDArray[np.float64]]:
    """Series in order of appearance and their values, shape (questions, series), NaN where not scored."""
    known = scores.filter(pc.is_in(scores["question_id"], pa.array(ids, pa.string())))
    row_of = {question_id: row for row, question_id in enumerate(ids)}
    column_of: dict[_Series, int] = {}
    keys = zip(*(known[name].to_pylist() for name in ("system", "space", "metric", "k")), strict=True)
    columns = [column_of.setdefault(key, len(column_of)) for key in keys]
    rows = [row_of[question_id] for question_id in known["question_id"].to_pylist()]
    if len(set(zip(rows, columns, strict=True))) != len(rows):
        raise LakeError(
            "A question is scored twice on one metric of a system.",
            "Two folds overlap: materialise folds and retrieval_scores again.",
        )
    values = np.full((len(ids), len(column_of)), np.nan)
    values[rows, columns] = known["value"].to_numpy()
    return list(column_of), values


def _slices(measured: pa.Table, sources: Mapping[str, str]) -> list[tuple[str, str, NDArray[np.intp]]]:
    """(slice, slice value, rows of its questions): kinds in their order, other values by the alphabet."""
    from finrag_pipeline.evaluation.question_kinds import KINDS, question_kind  # reads grammars

    asked = zip(measured["question"].to_pylist(), measured["company"].to_pylist(), strict=True)
    labels: dict[str, list[str]] = {
        "all": ["all"] * len(measured),
        "source": [sources.get(filing, UNKNOWN) for filing in measured["filing"].to_pylist()],
        "kind": [question_kind(question, [company] if company else []) for question, company in asked],
    }
    for name in ("question_type", "doc_type", "company"):
        labels[name] = [value or UNKNOWN for value in measured[name].to_pylist()]

    def order(item: tuple[str, list[int]]) -> tuple[int, str]:
        return (KINDS.index(item[0]) if item[0] in KINDS else 0), item[0]

    slices = []
    for name in SLICES:
        members: dict[str, list[int]] = defaultdict(list)
        for row, value in enumerate(labels[name]):
            members[value].append(row)
        slices += [
            (name, value, np.array(rows, dtype=np.intp)) for value, rows in sorted(members.items(), key=order)
        ]
    return slices
