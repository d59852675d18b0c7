"""Tables of judged answers for people: rates, calibration, estimates, tests between systems.

Each as it stands in Markdown, and as the overview of the report shows it, with filters.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from finrag_pipeline.evaluation.answer_metrics import ANSWER_METRICS
from finrag_pipeline.reporting.estimates import Estimate, metric_label, space_label
from finrag_pipeline.reporting.grid import (
    Cell,
    Grid,
    decimal_cell,
    escape_markdown,
    make_grid,
    make_row,
    number,
    signed,
    system_cell,
    tag,
    text,
    text_cell,
)
from finrag_pipeline.reporting.report_data import ReportData

_REMEDY = "'finrag judge' judges the answers in the lake."
_NO_TESTS = "No paired tests yet; 'finrag judge' tests every system that was measured against the baselines."
_METRICS = {
    "correct_language": "Right language",
    "response": "Response",
    "functional_citation": "Functional citations",
}
_METHODS = {
    "human": "People, over questions",
    "human_wald": "People, Wald",
    "judge": "Judge alone",
    "ppi": "PPI, over questions",
    "ppi_normal": "PPI++, as published",
}


def rates_grid(rows: Iterable[Mapping[str, Any]]) -> Grid:
    """Systems × automatic metrics, over all questions.

    Args:
        rows: as ``schemas.ANSWER_RATES``.
    """
    found: dict[tuple[str, str], dict[str, Estimate | None]] = {}
    for one in rows:
        if one["theme"] == one["difficulty"] == "all":
            rates = found.setdefault((one["system"], one["space"]), {})
            rates[one["metric"]] = _estimate(one, "rate", one["questions"])
    lines = [
        (text_cell(system), text_cell(space), *(rates.get(name) for name in _METRICS))
        for (system, space), rates in found.items()
    ]
    columns = (text("System"), tag("Space"), *map(number, _METRICS.values()))
    caption = "Automatic metrics, intervals over questions"
    return make_grid("answer-rates", caption, columns, lines, "No answers yet.")


def calibration_grid(rows: Iterable[Mapping[str, Any]]) -> Grid:
    """Agreement of judges with people on all labelled answers.

    Args:
        rows: as ``schemas.JUDGE_CALIBRATION``.
    """
    lines = [
        make_row(
            *(text_cell(one[name]) for name in ("judge", "criterion", "labels")),
            _estimate(one, "observed", one["n"], "observed_"),
            Cell("–") if one["chance"] is None else decimal_cell(one["chance"]),
            _estimate(one, "kappa", one["n"], "kappa_"),
            one["n"],
            one["missing"],
            group=one["judge"],
        )
        for one in rows
        if one["group"] == "all"
    ]
    names = ("Agreement", "By chance", "Cohen's κ", "Answers", "Missing")
    columns = (text("Judge"), tag("Criterion"), tag("Labels"), *map(number, names))
    empty = "No judge was held against labels of people."
    return make_grid("judge-calibration", "Judges against people", columns, lines, empty)


def estimates_grid(rows: Iterable[Mapping[str, Any]], theme: str = "all") -> Grid:
    """Shares of good answers by people, judges and both.

    Args:
        rows: as ``schemas.JUDGED_ESTIMATES``.
        theme: type of questions.
    """
    lines = [
        make_row(
            text_cell(one["system"]),
            text_cell(space_label(one["space"])),
            text_cell(one["criterion"]),
            text_cell("" if one["method"].startswith("human") else one["judge"]),
            text_cell(_METHODS[one["method"]]),
            _estimate(one, "estimate", one["questions"]),
            decimal_cell(one["effective_n"], 1),
            one["labels"],
            one["verdicts"],
            one["missing"],
            group=f"{one['system']} {one['space']} {one['criterion']}",
            data=(("criterion", one["criterion"]), ("method", one["method"])),
        )
        for one in rows
        if one["theme"] == theme
    ]
    columns = (
        text("System"),
        *map(tag, ("Space", "Criterion", "Judge", "Method")),
        *map(number, ("Share", "Effective n", "Labels", "Verdicts", "Missing")),
    )
    caption = "People, judges, and both together"
    return make_grid("judged-estimates", caption, columns, lines, "No verdicts yet.")


def comparison_grid(table: pa.Table | None) -> Grid:
    """System beside baseline: difference with interval, corrected p-value, detectable difference, questions.

    Args:
        table: as ``schemas.SYSTEM_COMPARISONS``; None for none.
    """
    lines = []
    for one in _sorted(table):
        ends = "" if one["low"] is None else f"[{signed(one['low'])}, {signed(one['high'])}]"
        shown, metric = signed(one["difference"]), _metric(one)
        cells = (
            system_cell(one["system"]),
            text_cell(one["baseline"]),
            Cell(space_label(one["space"])),
            Cell(metric),
            replace(decimal_cell(one["mean"]), small=f"n = {one['n']}"),
            Cell(shown, ends, escape_markdown(f"{shown} {ends}".strip()), one["difference"]),
            decimal_cell(one["p_holm"], 4, missing=2.0),
            decimal_cell(one["detectable"]),
            Cell(f"{one['better']} / {one['worse']} / {one['equal']}", sort=float(one["better"])),
        )
        group = f"{one['baseline']} {one['space']} {one['metric']}"
        data = (("baseline", one["baseline"]), ("metric", metric), ("space", one["space"]))
        lines.append(make_row(*cells, group=group, system=one["system"], data=data))
    columns = (
        text("System"),
        *map(tag, ("Against", "Space", "Metric")),
        number("Mean"),
        number("Difference", "95 % interval"),
        number("p", "Holm"),
        number("Detectable", "4 times of 5"),
        number("Better / worse / equal", "questions"),
    )
    caption = "Paired differences, bootstrap of documents"
    return make_grid("system-comparisons", caption, columns, lines, _NO_TESTS)


def judging_context(data: ReportData) -> dict[str, Any]:
    """Grids of the section with their filters."""
    shown = [row for row in _rows(data.table("judged_estimates")) if row["theme"] == "all"]
    grids = {
        "calibration": calibration_grid(_rows(data.table("judge_calibration"))),
        "judged": estimates_grid(shown),
        "rates": rates_grid(_rows(data.table("answer_rates"))),
    }
    criteria = dict.fromkeys((row["criterion"], row["criterion"]) for row in shown)
    methods = dict.fromkeys((row["method"], _METHODS[row["method"]]) for row in shown)
    return {
        **{name: replace(grid, empty=f"{grid.empty} {_REMEDY}") for name, grid in grids.items()},
        "judged_choices": [
            ("Criterion", "criterion", "All", list(criteria)),
            ("Said by", "method", "All", list(methods)),
        ],
    }


def comparison_choices(table: pa.Table | None) -> list[tuple[str, str, str, list[tuple[str, str]]]]:
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
    rows = [
        {name: None if isinstance(v, float) and math.isnan(v) else v for name, v in row.items()}
        for row in _rows(table)
    ]
    order = {family: place for place, family in enumerate(dict.fromkeys(map(_family, rows)))}
    return sorted(rows, key=lambda row: (order[_family(row)], -row["difference"]))


def _metric(row: dict[str, Any]) -> str:
    answers = {one.name: one.term for one in ANSWER_METRICS}
    return answers.get(row["metric"]) or metric_label(row["metric"], row["k"])


def _rows(table: pa.Table | None) -> list[dict[str, Any]]:
    return table.to_pylist() if table is not None else []


def _estimate(row: Mapping[str, Any], name: str, n: int, ends: str = "") -> Estimate | None:
    if row[name] is None:
        return None
    return Estimate(row[name], row[f"{ends}low"], row[f"{ends}high"], n, row.get("documents", n))
