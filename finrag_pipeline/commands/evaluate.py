"""``finrag evaluate`` on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from finrag_pipeline.commands.console import Json, current_settings, err, out, plain, print_json, print_rows


def evaluate(
    questions: Annotated[Path, typer.Option(help="Questions, as JSON Lines in FinanceBench's format.")],
    systems: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="Retrieval system; may be repeated."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Score questions of a file over the filings of the lake; nothing is trained."""
    from finrag_pipeline.services.evaluate import evaluate as score

    done = score(current_settings(), questions, systems or [])
    if as_json:
        print_json(done.as_json())
        return
    for problem in done.problems:
        err.print(f"[yellow]{plain(problem)}[/yellow]")
    for name, seen in done.learned_from.items():
        told = f"{name} was trained on {len(seen)} of these questions: its scores on them are too good."
        err.print(f"[yellow]{plain(told)}[/yellow]")
    for name, reason in done.not_run.items():
        err.print(f"[yellow]{name} was not run: {plain(reason)}[/yellow]")
    rows = [
        {
            "system": row["system"],
            "questions": f"{row['slice']} {row['slice_value']}" if row["slice"] != "all" else "all",
            "metric": f"{row['metric']}@{row['k']}" if row["k"] else row["metric"],
            "value": _interval_text(row),
            "n": str(row["n"]),
        }
        for row in [*done.metrics, *done.answer_metrics]
        if row["slice"] in ("all", "question_type", "doc_type")
    ]
    columns = ["system", "questions", "metric", "value", "n"]
    print_rows("Evaluation: mean [95 % interval over documents]", columns, rows)
    out.print(f"[dim]{done.questions} questions, {done.seconds:.1f} s[/dim]")


def _interval_text(cell: dict[str, Any]) -> str:
    interval = "" if cell["low"] is None else f" [{cell['low']:.2f}, {cell['high']:.2f}]"
    return f"{cell['mean']:.3f}{interval}"
