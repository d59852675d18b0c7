"""Tables of judged answers for people: rates, calibration, estimates, tests between systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from finrag_pipeline.reporting.estimates import Estimate, metric_label
from finrag_pipeline.reporting.grid import (
    Cell,
    Column,
    Grid,
    Row,
    escape_markdown,
    estimate_cell,
    grid_markdown,
    number_cell,
    signed,
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
    found: dict[tuple[str, str], dict[str, Cell]] = {}
    for row in rows:
        if row["theme"] == row["difficulty"] == "all":
            cells = found.setdefault((row["system"], row["space"]), {})
            cells[row["metric"]] = estimate_cell(_estimate(row, "rate", row["questions"]))
    lines = [
        Row((_text(system), _text(space), *(cells.get(name, Cell("–", sort=-1.0)) for name in _METRICS)))
        for (system, space), cells in found.items()
    ]
    columns = (
        Column("System"),
        Column("Space", "tag"),
        *(Column(one, "number") for one in _METRICS.values()),
    )
    return Grid(
        "answer-rates",
        "Automatic metrics, intervals over questions",
        columns,
        tuple(lines),
        "No answers yet.",
    )


def calibration_grid(rows: Iterable[Mapping[str, Any]]) -> Grid:
    """Agreement of judges with people on all labelled answers.

    Args:
        rows: as ``schemas.JUDGE_CALIBRATION``.
    """
    lines = []
    for row in rows:
        if row["group"] == "all":
            cells = (
                _text(row["judge"]),
                _text(row["criterion"]),
                _text(row["labels"]),
                estimate_cell(_estimate(row, "observed", row["n"], "observed_")),
                Cell("–") if row["chance"] is None else Cell(f"{row['chance']:.3f}", sort=row["chance"]),
                estimate_cell(_estimate(row, "kappa", row["n"], "kappa_")),
                number_cell(row["n"]),
                number_cell(row["missing"]),
            )
            lines.append(Row(cells, row["judge"]))
    columns = (
        Column("Judge"),
        Column("Criterion", "tag"),
        Column("Labels", "tag"),
        *(Column(name, "number") for name in ("Agreement", "By chance", "Cohen's κ", "Answers", "Missing")),
    )
    empty = "No judge was held against labels of people."
    return Grid("judge-calibration", "Judges against people", columns, tuple(lines), empty)


def estimates_grid(rows: Iterable[Mapping[str, Any]], theme: str = "all") -> Grid:
    """Shares of good answers by people, judges and both.

    Args:
        rows: as ``schemas.JUDGED_ESTIMATES``.
        theme: type of questions.
    """
    lines = []
    for row in rows:
        if row["theme"] == theme:
            size = row["effective_n"]
            cells = (
                _text(row["system"]),
                _text(row["space"]),
                _text(row["criterion"]),
                _text("" if row["method"].startswith("human") else row["judge"]),
                _text(_METHODS[row["method"]]),
                estimate_cell(_estimate(row, "estimate", row["questions"])),
                Cell("–", sort=-1.0) if size is None else Cell(f"{size:.1f}", sort=size),
                number_cell(row["labels"]),
                number_cell(row["verdicts"]),
                number_cell(row["missing"]),
            )
            lines.append(Row(cells, f"{row['system']} {row['space']} {row['criterion']}"))
    columns = (
        Column("System"),
        *(Column(name, "tag") for name in ("Space", "Criterion", "Judge", "Method")),
        *(Column(name, "number") for name in ("Share", "Effective n", "Labels", "Verdicts", "Missing")),
    )
    return Grid(
        "judged-estimates", "People, judges, and both together", columns, tuple(lines), "No verdicts yet."
    )


def comparisons_grid(rows: Iterable[Mapping[str, Any]]) -> Grid:
    """Differences of systems from baselines, with intervals and corrected p-values.

    Args:
        rows: as ``schemas.SYSTEM_COMPARISONS``.
    """
    lines = []
    for row in rows:
        p, least = row["p_holm"], row["detectable"]
        ends = "" if row["low"] is None else f"[{signed(row['low'])}, {signed(row['high'])}]"
        shown = signed(row["difference"])
        cells = (
            _text(row["system"]),
            _text(row["baseline"]),
            _text(row["space"]),
            _text(metric_label(row["metric"], row["k"])),
            Cell(f"{row['mean']:.3f}", sort=row["mean"]),
            Cell(shown, ends, escape_markdown(f"{shown} {ends}".strip()), row["difference"]),
            Cell("–", sort=2.0) if p is None else Cell(f"{p:.4f}", sort=p),
            Cell("–", sort=-1.0) if least is None else Cell(f"{least:.3f}", sort=least),
            Cell(f"{row['better']} / {row['worse']} / {row['equal']}", sort=float(row["better"])),
        )
        group = f"{row['baseline']} {row['space']} {row['metric']}"
        lines.append(Row(cells, group, row["system"]))
    columns = (
        Column("System"),
        *(Column(name, "tag") for name in ("Against", "Space", "Metric")),
        Column("Mean", "number"),
        Column("Difference", "number", "95 % interval"),
        Column("p", "number", "Holm"),
        Column("Detectable", "number", "4 times of 5"),
        Column("Better / worse / equal", "number", "questions"),
    )
    caption = "Paired differences, bootstrap of documents"
    return Grid("system-comparisons", caption, columns, tuple(lines), "No two systems can be compared.")


def rates_markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """`rates_grid` as Markdown."""
    return grid_markdown(rates_grid(rows))


def calibration_markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """`calibration_grid` as Markdown."""
    return grid_markdown(calibration_grid(rows))


def estimates_markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """`estimates_grid` as Markdown."""
    return grid_markdown(estimates_grid(rows))


def comparisons_markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """`comparisons_grid` as Markdown."""
    return grid_markdown(comparisons_grid(rows))


def _text(text: str) -> Cell:
    return Cell(text, markdown=escape_markdown(text))


def _estimate(row: Mapping[str, Any], name: str, n: int, ends: str = "") -> Estimate | None:
    if row[name] is None:
        return None
    return Estimate(row[name], row[f"{ends}low"], row[f"{ends}high"], n, row.get("documents", n))
