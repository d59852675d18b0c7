"""``finrag answers``: answer and score every question of the active benchmark, and the recorded answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from finrag_pipeline.commands.console import Json, current_settings, err, out, plain, print_json, print_rows
from finrag_pipeline.errors import LakeError

if TYPE_CHECKING:
    from finrag_pipeline.settings import Settings


def answer_benchmark(
    settings: Settings, systems: Sequence[str], progress: Callable[[str], object]
) -> list[dict[str, Any]]:
    """Answer the active benchmark with systems, score the answers, and read the means of all there are.

    Each question is answered over the ranking of the fold that left it out; what is fresh is not made again.

    Args:
        settings: of the lake.
        systems: names of answering systems.
        progress: told which system is next.

    Returns:
        Rows of ``answer_metrics``.

    Raises:
        UsageError: there is no such system.
        LakeError: the lake holds no benchmark.
        FinragError: a run failed; those before it are kept.
    """
    from finrag_pipeline.answering.systems import get_answer_system
    from finrag_pipeline.commands.instance import open_materialiser
    from finrag_pipeline.commands.run import run_or_raise
    from finrag_pipeline.orchestration.schedules import sweep_range
    from finrag_pipeline.storage.lake import Lake

    lake = Lake(settings.lake)
    chosen = [get_answer_system(name).name for name in systems]
    if lake.info("folds") is None:
        raise LakeError("The lake holds no benchmark.", "Run 'finrag run' first.")
    with open_materialiser(settings) as materialiser:
        for job, system in [*(("answer", name) for name in chosen), ("publish_answers", "")]:
            progress(system or "metrics")
            run_or_raise(materialiser, job, None, system, tags=sweep_range(system) if system else None)
    return list(lake.read("answer_metrics").to_pylist())


def answers(
    systems: Annotated[
        Optional[list[str]],  # noqa: UP045 - Typer reads this at run time
        typer.Option(help="Answering system; may be repeated. Those that need no language model by default."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Answer every question of the active benchmark, and score the answers."""
    from finrag_pipeline.evaluation.answer_metrics import SHOWN

    names = [metric.name for metric in SHOWN]
    rows = answer_benchmark(
        current_settings(),
        systems or ["calculator", "extractive"],
        lambda name: None if as_json else err.print(plain(f"{name} …")),
    )
    if as_json:
        print_json(rows)
        return
    shown: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in rows:
        if row["metric"] in names and not row["k"] and row["slice"] in ("all", "question_type"):
            key = (row["system"], row["space"], row["slice_value"])
            line = shown.setdefault(
                key, dict(zip(("system", "space", "questions"), key, strict=True)) | {"n": str(row["n"])}
            )
            line[row["metric"]] = f"{row['mean']:.3f}"
    columns = ["system", "space", "questions", "n", *names]
    table = [{name: line.get(name) for name in columns} for line in shown.values()]
    print_rows("Answers: means over questions", columns, table)
    out.print("[dim]Intervals: --json. Definitions: docs/answers.md[/dim]")
    out.print("[dim]Next: finrag judge, or finrag report to see them beside the retrieval[/dim]")
