"""``finrag labels``: the sheets that people label answers on, out and back in."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finrag_pipeline.commands.console import Json, current_settings, err, out, plain, print_json, print_rows
from finrag_pipeline.commands.judge import bad_sheets, print_estimates
from finrag_pipeline.errors import LakeError, UsageError

if TYPE_CHECKING:
    from finrag_pipeline.settings import Settings
    from finrag_pipeline.storage.lake import Lake

labels = typer.Typer(
    no_args_is_help=True, help="Sheets that people label answers on: write them, check them, read them."
)
_STATES = ("agreed", "decided", "open", "one", "empty")


def write_label_sheets(settings: Settings) -> list[dict[str, Any]]:
    """Draw the sample and write its sheets; those that hold it already are left as they are.

    Returns:
        ``sheet``, ``items``, ``of``, ``path`` of each.

    Raises:
        LakeError: the lake holds no answers.
        FinragError: the run failed.
    """
    from finrag_pipeline.commands.instance import open_materialiser
    from finrag_pipeline.commands.run import run_or_raise
    from finrag_pipeline.evaluation.labels import FOLDER, sheet_name
    from finrag_pipeline.storage.lake import Lake

    lake = Lake(settings.lake)
    if not lake.partitions("answers"):
        raise LakeError("The lake holds no answers.", "Run 'finrag answers' first.")
    with open_materialiser(settings) as materialiser:
        run_or_raise(materialiser, "publish_judgements", None, "", assets=["label_sample"])
    counts: dict[str, list[int]] = {}
    for row in lake.read("label_sample").to_pylist():
        count = counts.setdefault(sheet_name(row["system"], row["criterion"]), [0, 0])
        count[0] += row["sampled"]
        count[1] += 1
    folder = lake.local_path(FOLDER)
    return [
        {"sheet": name, "items": drawn, "of": total, "path": str(folder / f"{name}.xlsx")}
        for name, (drawn, total) in counts.items()
    ]


def check_sheets(lake: Lake, paths: Sequence[Path]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """How far sheets are filled, and what is wrong with them; nothing is read into the lake.

    Returns:
        ``sheet`` and a count of the items in each state, and a sentence for each bad sheet by its name.

    Raises:
        LakeError: no sheet was written yet.
    """
    from finrag_pipeline.evaluation.labels import read_sheets, sampled_items

    if lake.info("label_sample") is None:
        raise LakeError("No sheet was written yet.", "Write them: finrag labels write.")
    table, problems = read_sheets(paths, sampled_items(lake.read("label_sample")))
    rows: dict[str, dict[str, Any]] = {}
    for row in table.to_pylist():
        line = rows.setdefault(row["sheet"], {"sheet": row["sheet"], **dict.fromkeys(_STATES, 0)})
        line[row["state"]] += 1
    return list(rows.values()), problems


def import_sheets(settings: Settings, paths: Sequence[Path]) -> dict[str, Any]:
    """Copy sound sheets into the lake, and make labels, agreement and estimates from all that are there.

    Returns:
        ``sheets``: how far each is filled; ``bad_sheets``; ``labels``: final ones; ``estimates`` and
        ``agreement``: rows of the tables.

    Raises:
        UsageError: a sheet is bad, or two have the same name; none is copied then.
        LakeError: no sheet was written yet, or nothing was judged.
        FinragError: the run failed.
    """
    from finrag_pipeline.commands.instance import open_materialiser
    from finrag_pipeline.commands.run import run_or_raise
    from finrag_pipeline.evaluation.labels import FILLED, FOLDER, filled_sheets
    from finrag_pipeline.storage.lake import Lake

    lake = Lake(settings.lake)
    folder = lake.local_path(FOLDER)
    if twice := sorted({path.name for path in paths if [one.name for one in paths].count(path.name) > 1}):
        raise UsageError(f"Two sheets are called {twice[0]}.", "Rename one of them.")
    kept = [path for path in filled_sheets(folder) if path.name not in {new.name for new in paths}]
    _, problems = check_sheets(lake, [*kept, *paths])
    bad = [problems[path.name] for path in paths if path.name in problems]
    if bad:
        reason, _, remedy = bad[0].rpartition(". ")
        raise UsageError(f"{reason}.", remedy)
    if not lake.partitions("verdicts"):
        raise LakeError("No answer was judged yet.", "Run 'finrag judge' first.")
    for path in paths:
        target = folder / FILLED / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.resolve() != target.resolve():
            shutil.copyfile(path, target)
    assets = ["human_labels", "judged_estimates", "judge_agreement"]
    with open_materialiser(settings) as materialiser:
        run_or_raise(materialiser, "publish_judgements", None, "", assets=assets)
    table = lake.read("human_labels")
    return {
        "sheets": check_sheets(lake, filled_sheets(folder))[0],
        "bad_sheets": bad_sheets(lake),
        "labels": table.num_rows - table["label"].null_count,
        "estimates": lake.read("judged_estimates").to_pylist(),
        "agreement": lake.read("judge_agreement").to_pylist(),
    }


@labels.command()
def write(as_json: Json = False) -> None:
    """Draw a stratified sample of the answers, and write the sheets to label it on (CSV and XLSX)."""
    rows = write_label_sheets(current_settings())
    if as_json:
        print_json(rows)
        return
    print_rows("Sheets", ["sheet", "items", "of"], rows)
    for row in rows:
        out.print(row["path"], soft_wrap=True, markup=False)
    out.print("[dim]Label them, then: finrag labels import FILE …[/dim]")


@labels.command()
def check(
    files: Annotated[list[Path], typer.Argument(help="Filled sheets, CSV or XLSX.")], as_json: Json = False
) -> None:
    """Say how far sheets are filled, and what is wrong with them."""
    from finrag_pipeline.storage.lake import Lake

    rows, problems = check_sheets(Lake(current_settings().lake), files)
    if as_json:
        print_json({"sheets": rows, "bad_sheets": problems})
    else:
        print_rows("Labels", ["sheet", *_STATES], rows)
        for problem in problems.values():
            err.print(plain(problem), style="red", soft_wrap=True)
    raise typer.Exit(1 if problems else 0)


@labels.command(name="import")
def import_(
    files: Annotated[list[Path], typer.Argument(help="Filled sheets, CSV or XLSX.")], as_json: Json = False
) -> None:
    """Read filled sheets into the lake, and estimate again."""
    done = import_sheets(current_settings(), files)
    if as_json:
        print_json(done)
        return
    print_rows("Labels", ["sheet", *_STATES], done["sheets"])
    for problem in done["bad_sheets"].values():
        err.print(plain(problem), style="yellow", soft_wrap=True)
    print_estimates([row for row in done["estimates"] if row["labels"]])
