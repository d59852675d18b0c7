"""``finrag judge``: judge the answers of the lake, and say how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from finrag_pipeline.commands.console import Json, current_settings, err, out, plain, print_json, print_rows
from finrag_pipeline.errors import LakeError

if TYPE_CHECKING:
    from finrag_pipeline.settings import Settings
    from finrag_pipeline.storage.lake import Lake

_TABLES = {
    "rates": "answer_rates",
    "calibration": "judge_calibration",
    "estimates": "judged_estimates",
    "agreement": "judge_agreement",
    "comparisons": "system_comparisons",
    "sensitivity": "judge_sensitivity",
    "coverage": "interval_coverage",
}
_RECORDED = "recorded "
_BY_CHANCE = {("baseline", "relevance")}
"""Judge and criterion that people's labels have shown to be worthless: docs/evaluation.md, calibration."""


def judge_answers(
    settings: Settings, systems: Sequence[str], progress: Callable[[str], object]
) -> dict[str, Any]:
    """Judge answers of the lake, and publish what people and judges say of them.

    Args:
        settings: of the lake; they name the judges.
        systems: answering systems; all that have answers when empty. Recorded answers are judged in any case.
        progress: told what is next.

    Returns:
        Rows by ``rates``, ``calibration``, ``estimates``, ``agreement``, ``comparisons``, ``sensitivity`` and
        ``coverage``; ``judges_not_asked`` and ``bad_sheets`` with reasons by name; ``missing``, the verdicts
        that no judge gave, by judge and criterion; ``not_calibrated``, why there is no calibration, or None.

    Raises:
        UsageError: there is no such system.
        LakeError: the lake holds no answers.
        FinragError: a run failed; those before it are kept.
    """
    from finrag_pipeline.answering.systems import get_answer_system
    from finrag_pipeline.commands.instance import open_materialiser
    from finrag_pipeline.commands.run import run_or_raise
    from finrag_pipeline.evaluation.baseline_judge import load_judges
    from finrag_pipeline.orchestration.schedules import sweep_range
    from finrag_pipeline.storage.lake import Lake

    lake = Lake(settings.lake)
    answered = list(dict.fromkeys(keys["system"] for keys in lake.partitions("answers")))
    chosen = [get_answer_system(name).name for name in systems]
    if not answered or (silent := [name for name in chosen if name not in answered]):
        what = f"no answers of {silent[0]}" if answered else "no answers"
        raise LakeError(f"The lake holds {what}.", "Run 'finrag answers' first.")
    with open_materialiser(settings) as materialiser:
        for system in chosen or [name for name in answered if name != "recorded"]:
            progress(system)
            run_or_raise(materialiser, "judge", None, system, tags=sweep_range(system))
        progress("estimates, tests and simulations")
        run_or_raise(materialiser, "publish_judgements", None, "")
    found: dict[str, Any] = {name: lake.read_all(table).to_pylist() for name, table in _TABLES.items()}
    missing: dict[tuple[str, str, str], int] = {}
    verdicts = lake.read_all("verdicts", ["judge", "criterion", "label", "problem"])
    for row in verdicts.to_pylist():
        if row["label"] is None:
            key = (row["judge"], row["criterion"], row["problem"])
            missing[key] = missing.get(key, 0) + 1
    names = ("judge", "criterion", "problem")
    entry = lake.ledger_entry("judge_calibration", "") or {}
    return found | {
        "missing": [dict(zip(names, key, strict=True)) | {"verdicts": n} for key, n in missing.items()],
        "judges_not_asked": load_judges(settings.judge, lake)[1],
        "bad_sheets": bad_sheets(lake),
        "not_calibrated": entry.get("error") if entry.get("outcome") == "skipped" else None,
    }


def bad_sheets(lake: Lake) -> dict[str, str]:
    """What was wrong with filled sheets when they were last read, by name of the sheet."""
    from finrag_pipeline.orchestration.assets.labels import PROBLEMS

    return lake.read_json(lake.path(*PROBLEMS)) or {}


def judge(
    systems: Annotated[
        Optional[list[str]],  # noqa: UP045 - Typer reads this at run time
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
    found = judge_answers(
        current_settings(), systems or [], lambda name: None if as_json else err.print(plain(f"{name} …"))
    )
    if as_json:
        print_json(found)
        return
    for name, problem in found["judges_not_asked"].items():
        err.print(f"[yellow]{plain(f'Judge {name} is not asked: {problem}')}[/yellow]")
    for problem in found["bad_sheets"].values():
        err.print(f"[yellow]{plain(problem)}[/yellow]")
    for row in found["missing"]:
        whose = f"{row['judge']} on {row['criterion']}"
        told = f"{row['verdicts']} verdicts of {whose} are missing: {row['problem']}"
        err.print(f"[yellow]{plain(told)}[/yellow]")
    _print_rates(found["rates"])
    if found["not_calibrated"]:
        err.print(f"[yellow]{plain(found['not_calibrated'])}[/yellow]")
    else:
        _print_calibration(found["calibration"])
    chance = set() if every else no_better_than_chance(found["calibration"], found["agreement"])
    shown = [row for row in found["estimates"] if (row["judge"], row["criterion"]) not in chance]
    print_estimates(shown)
    for name, criterion in sorted({(row["judge"], row["criterion"]) for row in found["estimates"]} & chance):
        told = f"{name} on {criterion} agrees with people no more than by chance; its estimates: --all"
        err.print(f"[yellow]{plain(told)}[/yellow]")
    out.print(
        "[dim]Recorded answers, tests between systems, simulations: --json. Method: docs/evaluation.md[/dim]"
    )
    out.print("[dim]Next: finrag report, to see what was judged question by question[/dim]")


def no_better_than_chance(
    calibration: Sequence[dict[str, Any]], agreement: Sequence[dict[str, Any]]
) -> set[tuple[str, str]]:
    """Judges and criteria whose kappa with people's labels is not above 0: measured here, or known before."""
    kappas = dict.fromkeys(_BY_CHANCE, 0.0)
    for row in [*(row for row in calibration if row["group"] == "all"), *agreement]:
        if row.get("theme", "all") == "all" and row["kappa"] is not None:
            kappas[row["judge"], row["criterion"]] = row["kappa"]
    return {key for key, kappa in kappas.items() if kappa <= 0}


def interval(value: float | None, low: float | None, high: float | None) -> str:
    """``0.827 [0.79, 0.86]``; empty where there is no value."""
    if value is None:
        return ""
    return f"{value:.3f}" if low is None or high is None else f"{value:.3f} [{low:.2f}, {high:.2f}]"


def _print_rates(rows: Sequence[dict[str, Any]]) -> None:
    shown: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        if row["theme"] == row["difficulty"] == "all" and not row["system"].startswith(_RECORDED):
            line = shown.setdefault((row["system"], row["space"]), {})
            line |= {"system": row["system"], "space": row["space"]}
            line[row["metric"]] = interval(row["rate"], row["low"], row["high"])
    columns = ["system", "space", "correct_language", "response", "functional_citation"]
    table = [{name: line.get(name) for name in columns} for line in shown.values()]
    print_rows("Automatic metrics: rates, intervals over questions", columns, table)


def _print_calibration(rows: Sequence[dict[str, Any]]) -> None:
    table = [
        {
            **{name: row[name] for name in ("judge", "criterion", "labels", "n", "missing")},
            "agreement": interval(row["observed"], row["observed_low"], row["observed_high"]),
            "chance": f"{row['chance']:.3f}" if row["chance"] is not None else None,
            "kappa": interval(row["kappa"], row["kappa_low"], row["kappa_high"]),
        }
        for row in rows
        if row["group"] == "all"
    ]
    columns = ["judge", "criterion", "labels", "n", "missing", "agreement", "chance", "kappa"]
    print_rows("Judges against labels of people", columns, table)


def print_estimates(rows: Sequence[dict[str, Any]]) -> None:
    """Print estimates over all types of questions for people; recorded answers are left to ``--json``."""
    columns = ["system", "space", "criterion", "judge", "method", "share", "effective n"]
    table = [
        {name: row.get(name) for name in columns}
        | {
            "share": interval(row["estimate"], row["low"], row["high"]),
            "effective n": f"{row['effective_n']:.1f}" if row["effective_n"] is not None else None,
        }
        for row in rows
        if row["theme"] == "all" and not row["system"].startswith(_RECORDED)
    ]
    print_rows("People, judges, and both: share of good answers or sentences", columns, table)
