"""Paired tests as the overview shows them: by family, best first, with filters."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa

from finrag_pipeline.reporting.answer_grids import ANSWER_SERIES
from finrag_pipeline.reporting.estimates import METRIC_NAMES, metric_label, space_label
from finrag_pipeline.reporting.grid import Cell, Grid, system_cell
from finrag_pipeline.reporting.judging_tables import comparisons_grid

EMPTY = "No paired tests yet; 'finrag judge' tests every system that was measured against the baselines."

_ANSWERS = dict(ANSWER_SERIES)
_Choice = tuple[str, str, str, list[tuple[str, str]]]


def comparison_grid(table: pa.Table | None) -> Grid:
    """System beside baseline: difference with interval, corrected p-value, detectable difference, questions.

    Args:
        table: as ``schemas.SYSTEM_COMPARISONS``; None for none.
    """
    rows = _sorted(table)
    grid = comparisons_grid(rows)
    shown = []
    for found, row in zip(grid.rows, rows, strict=True):
        space, metric = space_label(row["space"]), _metric(row)
        mean = replace(found.cells[4], small=f"n = {row['n']}")
        names = (system_cell(row["system"]), found.cells[1], Cell(space), Cell(metric), mean)
        data = (("baseline", row["baseline"]), ("metric", metric), ("space", row["space"]))
        shown.append(replace(found, cells=(*names, *found.cells[5:]), data=data))
    return replace(grid, rows=tuple(shown), empty=EMPTY)


def comparison_choices(table: pa.Table | None) -> list[_Choice]:
    """Filters of `comparison_grid`: baseline, metric and space."""
    rows = _sorted(table)
    baselines = dict.fromkeys(row["baseline"] for row in rows)
    metrics = dict.fromkeys(map(_metric, rows))
    spaces = dict.fromkeys(row["space"] for row in rows)
    return [
        ("Baseline", "baseline", "All", [(name, name) for name in baselines]),
        ("Metric", "metric", "All", [(name, name) for name in metrics]),
        ("Space", "space", "All", [(name, space_label(name)) for name in spaces]),
    ]


def family_sizes(table: pa.Table | None) -> list[int]:
    """Numbers of systems that were compared at once and corrected for, ascending."""
    return sorted(set(Counter(map(_family, _sorted(table))).values()))


def _family(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["baseline"], row["metric"], row["k"], row["space"])


def _sorted(table: pa.Table | None) -> list[dict[str, Any]]:
    """Rows by family in the order of the table, then by difference, largest first; NaN is null."""
    if table is None:
        return []
    rows = [
        {name: None if isinstance(v, float) and math.isnan(v) else v for name, v in row.items()}
        for row in table.to_pylist()
    ]
    order = {family: place for place, family in enumerate(dict.fromkeys(map(_family, rows)))}
    return sorted(rows, key=lambda row: (order[_family(row)], -row["difference"]))


def _metric(row: dict[str, Any]) -> str:
    metric: str = row["metric"]
    return metric_label(metric, row["k"]) if metric in METRIC_NAMES else _ANSWERS.get(metric, metric)
