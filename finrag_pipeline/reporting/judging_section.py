"""The part of the overview on judged answers: what judges are worth, and what they and people say."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa

from finrag_pipeline.reporting.estimates import space_label
from finrag_pipeline.reporting.grid import Cell, Grid, Row
from finrag_pipeline.reporting.judging_tables import calibration_grid, estimates_grid, rates_grid
from finrag_pipeline.reporting.plots import coverage_plot, sensitivity_plot
from finrag_pipeline.reporting.report_data import Plot, ReportData

_REMEDY = "'finrag judge' judges the answers in the lake."


def judging_context(data: ReportData) -> dict[str, Any]:
    """Grids of the section with their filters."""
    estimates = _rows(data.table("judged_estimates"))
    shown = [row for row in estimates if row["theme"] == "all"]
    judged = estimates_grid(shown)
    rows = tuple(
        replace(
            row,
            cells=(row.cells[0], Cell(space_label(found["space"])), *row.cells[2:]),
            data=(("criterion", found["criterion"]), ("method", found["method"])),
        )
        for row, found in zip(judged.rows, shown, strict=True)
    )
    methods = {found["method"]: row.cells[4].text for row, found in zip(judged.rows, shown, strict=True)}
    criteria = dict.fromkeys(found["criterion"] for found in shown)
    return {
        "calibration": _or_remedy(calibration_grid(_rows(data.table("judge_calibration")))),
        "judged": _or_remedy(replace(judged, rows=rows)),
        "judged_choices": [
            ("Criterion", "criterion", "All", [(name, name) for name in criteria]),
            ("Said by", "method", "All", list(methods.items())),
        ],
        "rates": _or_remedy(rates_grid(_rows(data.table("answer_rates")))),
    }


def judging_plots(data: ReportData) -> dict[str, Plot]:
    """Plots of the section for which there is data."""
    plots: dict[str, Plot] = {}
    if (sensitivity := data.table("judge_sensitivity")) is not None:
        plots["judge-sensitivity"] = partial(sensitivity_plot, sensitivity.to_pylist())
    if (coverage := data.table("interval_coverage")) is not None:
        plots["interval-coverage"] = partial(coverage_plot, coverage.to_pylist(), data.confidence)
    return plots


def _rows(table: pa.Table | None) -> list[dict[str, Any]]:
    return table.to_pylist() if table is not None else []


def _or_remedy(grid: Grid) -> Grid:
    rows: tuple[Row, ...] = grid.rows
    return grid if rows else replace(grid, empty=f"{grid.empty} {_REMEDY}")
