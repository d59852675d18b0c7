"""The commands ``answers``, ``judge`` and ``labels``: answers to the benchmark, and what they are worth."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finrag_pipeline.commands.console import (
    Json,
    announce,
    app,
    current_lake,
    current_settings,
    err,
    hint,
    interval,
    joined,
    note,
    out,
    plain,
    print_json,
    print_rows,
)
from finrag_pipeline.errors import LakeError, UsageError

if TYPE_CHECKING:
    from finrag_pipeline.settings import Settings
    from finrag_pipeline.storage.lake import Lake


@app.command()
def answers(
    systems: Annotated[
        list[str] | None,
        typer.Option(help="Answering system; may be repeated. Those that need no language model by default."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Answer every question of the active benchmark, and score the answers."""
    from finrag_pipeline.answering.systems import get_answer_system
    from finrag_pipeline.evaluation.answer_metrics import SHOWN
    from finrag_pipeline.orchestration.instance import open_materialiser
    from finrag_pipeline.orchestration.partitions import sweep_range

    lake, progress = current_lake(), announce(as_json)
    chosen = [get_answer_system(name).name for name in systems or ("calculator", "extractive")]
    if lake.info("folds") is None:
        raise LakeError("The lake holds no benchmark.", "Run 'finrag run' first.")
    with open_materialiser(current_settings()) as materialiser:
        for system in chosen:  # each question over the ranking of the fold that left it out
            progress(system)
            materialiser.run_or_raise("answer", tags=sweep_range(system))
        progress("metrics")
        materialiser.run_or_raise("publish_answers")
    rows = lake.read("answer_metrics").to_pylist()
    if as_json:
        print_json(rows)
        return
    names = [metric.name for metric in SHOWN]
    shown = [
        {**row, "questions": row["slice_value"], row["metric"]: f"{row['mean']:.3f}"}
        for row in rows
        if row["metric"] in names and not row["k"] and row["slice"] in ("all", "question_type")
    ]
    keys = ["system", "space", "questions"]
    print_rows("Answers: means over questions", [*keys, "n", *names], joined(shown, keys))
    hint("Intervals: --json. Definitions: docs/answers.md")
    hint("Next: finrag judge, or finrag report to see them beside the retrieval")


_TABLES = {
    "rates": "answer_rates",
    "calibration": "judge_calibration",
    "estimates": "judged_estimates",
    "agreement": "judge_agreement",
    "comparisons": "system_comparisons",
    "sensitivity": "judge_sensitivity",
}
_RECORDED = "recorded "
_BY_CHANCE = {("baseline", "relevance")}
"""Judge and criterion that people's labels have shown to be worthless: docs/evaluation.md, calibration."""


def judge_answers(
    settings: Settings, systems: Sequence[str], progress: Callable[[str], object]
) -> dict[str, Any]:
    """Judge answers of the lake, and publish what people and judges say of them.

    Judges are those of the settings. All systems that have answers are judged when none is named, recorded
    answers in any case.

    Returns:
        Rows by ``rates``, ``calibration``, ``estimates``, ``agreement``, ``comparisons`` and
        ``sensitivity``; ``judges_not_asked`` and ``bad_sheets`` with reasons by name; ``missing``, the
        verdicts that no judge gave, by judge and criterion; ``not_calibrated``, why there is no calibration.

    Raises:
        UsageError: there is no such system.
        LakeError: the lake holds no answers.
        FinragError: a run failed; those before it are kept.
    """
    from finrag_pipeline.answering.systems import get_answer_system
    from finrag_pipeline.evaluation.baseline_judge import load_judges
    from finrag_pipeline.orchestration.instance import open_materialiser
    from finrag_pipeline.orchestration.partitions import sweep_range
    from finrag_pipeline.storage.lake import Lake

    lake = Lake(settings.lake).required()
    answered = list(dict.fromkeys(keys["system"] for keys in lake.partitions("answers")))
    chosen = [get_answer_system(name).name for name in systems]
    if not answered or (silent := [name for name in chosen if name not in answered]):
        what = f"no answers of {silent[0]}" if answered else "no answers"
        raise LakeError(f"The lake holds {what}.", "Run 'finrag answers' first.")
    with open_materialiser(settings) as materialiser:
        for system in chosen or [name for name in answered if name != "recorded"]:
            progress(system)
            materialiser.run_or_raise("judge", tags=sweep_range(system))
        progress("estimates, tests and simulations")
        materialiser.run_or_raise("publish_judgements")
    found: dict[str, Any] = {name: lake.read_all(table).to_pylist() for name, table in _TABLES.items()}
    names = ("judge", "criterion", "problem")
    verdicts = lake.read_all("verdicts", [*names, "label"]).to_pylist()
    missing = Counter(tuple(row[name] for name in names) for row in verdicts if row["label"] is None)
    entry = lake.ledger_entry("judge_calibration", "") or {}
    return found | {
        "missing": [dict(zip(names, key, strict=True)) | {"verdicts": n} for key, n in missing.items()],
        "judges_not_asked": load_judges(settings.judge, lake)[1],
        "bad_sheets": bad_sheets(lake),
        "not_calibrated": entry.get("error") if entry.get("outcome") == "skipped" else None,
    }


def bad_sheets(lake: Lake) -> dict[str, str]:
    """What was wrong with filled sheets when they were last read, by name of the sheet."""
    from finrag_pipeline.orchestration.assets.judging import PROBLEMS

    return lake.read_json(lake.path(*PROBLEMS)) or {}


@app.command()
def judge(
    systems: Annotated[
        list[str] | None,
        typer.Option(help="Answering system; may be repeated. All that have answers by default."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Also estimates by judges that agree with people only by chance.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Judge the answers of the lake: rates, calibration of the judges, and estimates with intervals.

    Language models that judge are named by FINRAG_JUDGE__MODELS__<NAME>__BASE_URL, __NAME and __KEY.
    """
    found = judge_answers(current_settings(), systems or [], announce(as_json))
    if as_json:
        print_json(found)
        return
    for name, problem in found["judges_not_asked"].items():
        note(f"Judge {name} is not asked: {problem}")
    for problem in found["bad_sheets"].values():
        note(problem)
    for row in found["missing"]:
        whose = f"{row['judge']} on {row['criterion']}"
        note(f"{row['verdicts']} verdicts of {whose} are missing: {row['problem']}")
    keys = ["system", "space"]
    rates = [
        {**row, row["metric"]: interval(row["rate"], row["low"], row["high"])}
        for row in found["rates"]
        if row["theme"] == row["difficulty"] == "all" and not row["system"].startswith(_RECORDED)
    ]
    columns = [*keys, "correct_language", "response", "functional_citation"]
    print_rows("Automatic metrics: rates, intervals over questions", columns, joined(rates, keys))
    if found["not_calibrated"]:
        note(found["not_calibrated"])
    else:
        calibrated = [
            row
            | {
                "agreement": interval(row["observed"], row["observed_low"], row["observed_high"]),
                "chance": f"{row['chance']:.3f}" if row["chance"] is not None else None,
                "kappa": interval(row["kappa"], row["kappa_low"], row["kappa_high"]),
            }
            for row in found["calibration"]
            if row["group"] == "all"
        ]
        columns = ["judge", "criterion", "labels", "n", "missing", "agreement", "chance", "kappa"]
        print_rows("Judges against labels of people", columns, calibrated)
    chance = set() if every else _no_better_than_chance(found["calibration"], found["agreement"])
    shown = [row for row in found["estimates"] if (row["judge"], row["criterion"]) not in chance]
    _print_estimates(shown)
    for name, criterion in sorted({(row["judge"], row["criterion"]) for row in found["estimates"]} & chance):
        told = f"{name} on {criterion} agrees with people no more than by chance; its estimates: --all"
        err.print(f"[yellow]{plain(told)}[/yellow]")
    hint("Recorded answers, tests between systems, simulations: --json. Method: docs/evaluation.md")
    hint("Next: finrag report, to see what was judged question by question")


def _no_better_than_chance(
    calibration: Sequence[dict[str, Any]], agreement: Sequence[dict[str, Any]]
) -> set[tuple[str, str]]:
    """Judges and criteria whose kappa with people's labels is not above 0: measured here, or known before."""
    kappas = dict.fromkeys(_BY_CHANCE, 0.0)
    for row in [*(row for row in calibration if row["group"] == "all"), *agreement]:
        if row.get("theme", "all") == "all" and row["kappa"] is not None:
            kappas[row["judge"], row["criterion"]] = row["kappa"]
    return {key for key, kappa in kappas.items() if kappa <= 0}


def _print_estimates(rows: Sequence[dict[str, Any]]) -> None:
    """Print estimates over all types of questions for people; recorded answers are left to ``--json``."""
    columns = ["system", "space", "criterion", "judge", "method", "share", "effective n"]
    table = [
        row
        | {
            "share": interval(row["estimate"], row["low"], row["high"]),
            "effective n": f"{row['effective_n']:.1f}" if row["effective_n"] is not None else None,
        }
        for row in rows
        if row["theme"] == "all" and not row["system"].startswith(_RECORDED)
    ]
    print_rows("People, judges, and both: share of good answers or sentences", columns, table)


labels = typer.Typer(
    no_args_is_help=True, help="Sheets that people label answers on: write them, check them, read them."
)
app.add_typer(labels, name="labels")
_STATES = ("agreed", "decided", "open", "one", "empty")


def check_sheets(lake: Lake, paths: Sequence[Path]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """How far sheets are filled, and what is wrong with them, by name; nothing is read into the lake.

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
    from finrag_pipeline.evaluation.labels import FILLED, FOLDER, filled_sheets
    from finrag_pipeline.orchestration.instance import open_materialiser
    from finrag_pipeline.storage.lake import Lake

    lake = Lake(settings.lake).required()
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
        materialiser.run_or_raise("publish_judgements", assets=assets)
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
    from finrag_pipeline.evaluation.labels import FOLDER, sheet_name
    from finrag_pipeline.orchestration.instance import open_materialiser

    lake = current_lake()
    if not lake.partitions("answers"):
        raise LakeError("The lake holds no answers.", "Run 'finrag answers' first.")
    with open_materialiser(current_settings()) as materialiser:  # sheets that hold the sample are left
        materialiser.run_or_raise("publish_judgements", assets=["label_sample"])
    sheets: dict[str, list[bool]] = {}
    for row in lake.read("label_sample").to_pylist():
        sheets.setdefault(sheet_name(row["system"], row["criterion"]), []).append(row["sampled"])
    folder = lake.local_path(FOLDER)
    rows = [
        {"sheet": name, "items": sum(drawn), "of": len(drawn), "path": str(folder / f"{name}.xlsx")}
        for name, drawn in sheets.items()
    ]
    if as_json:
        print_json(rows)
        return
    print_rows("Sheets", ["sheet", "items", "of"], rows)
    for row in rows:
        out.print(row["path"], soft_wrap=True, markup=False)
    hint("Label them, then: finrag labels import FILE …")


@labels.command()
def check(
    files: Annotated[list[Path], typer.Argument(help="Filled sheets, CSV or XLSX.")], as_json: Json = False
) -> None:
    """Say how far sheets are filled, and what is wrong with them."""
    rows, problems = check_sheets(current_lake(), files)
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
    _print_estimates([row for row in done["estimates"] if row["labels"]])
