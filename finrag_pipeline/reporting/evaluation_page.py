"""The page of one evaluation: how systems did on questions of one's own, and every question."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from finrag_pipeline.errors import UsageError, refused
from finrag_pipeline.reporting.grid import Cell, Estimate, make_grid, metric_label, number, prose, tag, text
from finrag_pipeline.reporting.site import TEMPLATES, render_page


def write_evaluation(name: str, done: Mapping[str, Any], path: Path) -> None:
    """Write the fields of an `Evaluation` of the file ``name`` as one HTML file.

    Raises:
        UsageError: the file cannot be written.
    """
    means = [row for row in (*done["metrics"], *done["answer_metrics"]) if row["slice"] == "all"]
    results = make_grid(
        "results",
        "Systems and metrics",
        (
            text("System", of="system"),
            text("Metric", of=lambda row: metric_label(row["metric"], row["k"])),
            number("Mean", of=lambda row: Estimate(row["mean"], row["low"], row["high"], row["n"], row["n"])),
            number("Questions", of="n"),
        ),
        means,
        "Nothing is known of right answers or pages.",
        group="system",
    )
    asked = {row["question_id"]: row for row in done["asked"]}
    found = {(row["system"], row["question_id"]): row["pages"] for row in done["per_question"]}
    questions = make_grid(
        "questions",
        "Questions and answers",
        (
            prose("Question", of=lambda row: Cell(asked[row["question_id"]]["question"], row["question_id"])),
            text("System", of="system"),
            prose("Answer", of=lambda row: Cell("not answered" if row["abstained"] else row["answer"])),
            prose("Right answer", of=lambda row: Cell(row["gold"] or "–")),
            tag("Right", of=_verdict),
            text("Page", of=lambda row: _gold(asked[row["question_id"]])),
            prose(
                "First pages",
                of=lambda row: Cell("; ".join(found.get((row["system"], row["question_id"]), ())) or "–"),
            ),
        ),
        done["answers"],
        group="question_id",
    )
    answered = sum(not row["abstained"] for row in done["answers"])
    summary = f"{done['questions']} questions, {answered} of {len(done['answers'])} answers given."
    html = render_page(
        "evaluation.html.jinja",
        "",
        name=name,
        style=(TEMPLATES / "report.css").read_text(encoding="utf-8"),
        summary=summary,
        remarks=remarks(done),
        grids=[("Results", results), ("Questions", questions)],
    )
    with refused(UsageError, f"{path} cannot be written", "Choose another file."):
        path.write_bytes(html.encode("utf-8", "replace"))


def remarks(done: Mapping[str, Any]) -> list[str]:
    """What people must know beside the figures, a sentence each."""
    told = []
    if done["columns"]:
        unused = f"; not used: {', '.join(done['unused'])}" if done["unused"] else ""
        told.append(f"Columns found: {', '.join(done['columns'])}{unused}.")
    told += done["problems"]
    told += [
        f"{name} was trained on {len(seen)} of these questions: its scores on them are too good."
        for name, seen in done["learned_from"].items()
    ]
    return told + [f"{name} was not run: {reason}" for name, reason in done["not_run"].items()]


def _verdict(row: Mapping[str, Any]) -> str:
    value = row["numeric_match"] if row["strict_match"] is None else row["strict_match"]
    return "" if value is None or row["abstained"] else "yes" if value >= 1 else "no"


def _gold(row: Mapping[str, Any]) -> str:
    pages = ", ".join(str(page + 1) for page in row["gold_pages"])
    return f"{row['filing']}{f' p. {pages}' if pages else ''}" or "–"
