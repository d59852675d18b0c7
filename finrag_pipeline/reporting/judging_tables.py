"""Tables of judged answers for people: rates, calibration, estimates, tests between systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from finrag_pipeline.reporting.estimates import Estimate, metric_label
from finrag_pipeline.reporting.grid import (
    Cell,
    Grid,
    decimal_cell,
    escape_markdown,
    make_grid,
    make_row,
    number,
    signed,
    tag,
    text,
    text_cell,
)

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
            *(text_cell(one[name]) for name in ("system", "space", "criterion")),
            text_cell("" if one["method"].startswith("human") else one["judge"]),
            text_cell(_METHODS[one["method"]]),
            _estimate(one, "estimate", one["questions"]),
            decimal_cell(one["effective_n"], 1),
            one["labels"],
            one["verdicts"],
            one["missing"],
            group=f"{one['system']} {one['space']} {one['criterion']}",
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


def comparisons_grid(rows: Iterable[Mapping[str, Any]]) -> Grid:
    """Differences of systems from baselines, with intervals and corrected p-values.

    Args:
        rows: as ``schemas.SYSTEM_COMPARISONS``.
    """
    lines = []
    for one in rows:
        ends = "" if one["low"] is None else f"[{signed(one['low'])}, {signed(one['high'])}]"
        shown = signed(one["difference"])
        cells = (
            *(text_cell(one[name]) for name in ("system", "baseline", "space")),
            text_cell(metric_label(one["metric"], one["k"])),
            decimal_cell(one["mean"]),
            Cell(shown, ends, escape_markdown(f"{shown} {ends}".strip()), one["difference"]),
            decimal_cell(one["p_holm"], 4, missing=2.0),
            decimal_cell(one["detectable"]),
            Cell(f"{one['better']} / {one['worse']} / {one['equal']}", sort=float(one["better"])),
        )
        group = f"{one['baseline']} {one['space']} {one['metric']}"
        lines.append(make_row(*cells, group=group, system=one["system"]))
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
    return make_grid("system-comparisons", caption, columns, lines, "No two systems can be compared.")


def _estimate(row: Mapping[str, Any], name: str, n: int, ends: str = "") -> Estimate | None:
    if row[name] is None:
        return None
    return Estimate(row[name], row[f"{ends}low"], row[f"{ends}high"], n, row.get("documents", n))
