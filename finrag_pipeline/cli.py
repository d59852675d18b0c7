"""The command line ``finrag``: the same graph as the Dagster UI, and answers from the index.

Exit codes: 0 all done; 1 it failed; 2 wrong usage; 3 done, but some filings failed or a system that was asked
for could not be run; 130 stopped by Ctrl-C.
Errors go to stderr: one line for people, ``{"error", "remedy"}`` with ``--json``.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, Optional

import typer
from rich.console import Console
from rich.table import Table

from finrag_pipeline.commands.answers import answers
from finrag_pipeline.commands.console import (
    Json,
    current_settings,
    err,
    out,
    plain,
    print_json,
    print_rows,
    use_settings,
    warn,
)
from finrag_pipeline.commands.evaluate import evaluate
from finrag_pipeline.commands.filings import facts, show
from finrag_pipeline.commands.judge import judge
from finrag_pipeline.commands.labels import labels
from finrag_pipeline.commands.progress_bar import ProgressBar
from finrag_pipeline.commands.questions import ask, search, systems
from finrag_pipeline.commands.report import report
from finrag_pipeline.commands.serve import serve
from finrag_pipeline.commands.tables import tables
from finrag_pipeline.commands.train import train
from finrag_pipeline.errors import FinragError, UsageError
from finrag_pipeline.settings import get_settings

FAILED, USAGE, PARTLY, STOPPED = 1, 2, 3, 130

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Index financial filings, measure retrieval on them, and ask them questions.",
    epilog='Start with: finrag run   then: finrag search "capital expenditure 2022"',
)


@app.callback()
def _options(
    lake: Annotated[
        Optional[str],  # noqa: UP045 - Typer reads this at run time
        typer.Option("--lake", help="Root of the lake; FINRAG_LAKE or ./data_lake when absent."),
    ] = None,
) -> None:
    settings = get_settings()
    use_settings(settings.model_copy(update={"lake": lake}) if lake else settings)


@app.command()
def run(
    source: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Folder of a benchmark (pdfs/ and FinanceBench's two JSONL files) or of PDFs."),
    ] = None,
    filings: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="Only this filing; may be repeated."),
    ] = None,
    limit: Annotated[Optional[int], typer.Option(min=1, help="Only the first N filings.")] = None,  # noqa: UP045
    systems: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="Only this retrieval system; may be repeated."),
    ] = None,
    ablations: Annotated[
        bool, typer.Option("--ablations", help="Also the variants that show what each chunking adds.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Materialise the graph: index filings and, where there are questions, measure every system.

    Without --source, the sample filings are used (generated on the first run). What is fresh is not
    done again.
    """
    from finrag_pipeline.commands.run import run as materialise
    from finrag_pipeline.storage.lake import Lake

    start = time.monotonic()
    with ProgressBar(as_json) as bar:
        done = materialise(current_settings(), source, filings, limit, systems, bar, ablations)
    _finish(done, as_json, time.monotonic() - start)
    if done.measured and not as_json:
        from finrag_pipeline.services.results import metrics_table

        _print_metrics(metrics_table(Lake(current_settings().lake), None), None)
        out.print(f"Report: {done.report}", soft_wrap=True)
        _print_examples(done.source)
    if done.not_run and not as_json:
        for name, reason in done.not_run.items():
            err.print(f"not run: {name}: {reason}", markup=False, soft_wrap=True, style="yellow")
        err.print(f"{len(done.not_run)} systems were not run. What each needs: finrag systems")
    asked_in_vain = systems and done.not_run
    raise typer.Exit(PARTLY if done.failures or asked_in_vain else 0)


@app.command()
def ingest(
    files: Annotated[list[Path], typer.Argument(help="PDF or page-text (JSONL) files.")],
    as_json: Json = False,
) -> None:
    """Bring single files into the lake and make them searchable."""
    from finrag_pipeline.commands.run import ingest as bring

    _brought(lambda bar: bring(current_settings(), files, bar), as_json)


@app.command()
def index(
    systems: Annotated[list[str], typer.Argument(help="Retrieval systems, such as dense.")],
    as_json: Json = False,
) -> None:
    """Make what only some systems read (vectors of chunks, other chunks) of every filing of the lake."""
    from finrag_pipeline.commands.run import index as make

    _brought(lambda bar: make(current_settings(), systems, bar), as_json)


def _brought(work: Callable[[ProgressBar], Any], as_json: bool) -> NoReturn:
    """Do ``work`` behind a progress bar, say what it did, and leave with the code that tells of failures."""
    start = time.monotonic()
    with ProgressBar(as_json) as bar:
        done = work(bar)
    _finish(done, as_json, time.monotonic() - start)
    raise typer.Exit(PARTLY if done.failures else 0)


def _print_examples(source: str) -> None:
    """What to try next on the sample, as it can be typed here."""
    from finrag_pipeline.sample import EXAMPLES, SAMPLE_NAME

    if source != SAMPLE_NAME:
        return
    script = Path(os.path.relpath(Path(sys.executable).parent / "finrag"))
    command = "finrag" if shutil.which("finrag") or not script.is_file() else str(script)
    out.print("Try:")
    for question in EXAMPLES:
        out.print(f'  {command} ask "{question}"', markup=False, highlight=False, soft_wrap=True)


def _finish(done: Any, as_json: bool, seconds: float) -> None:
    if as_json:
        print_json(
            {
                "source": done.source,
                "filings": done.filings,
                "indexed": done.indexed,
                "fresh": done.fresh,
                "failures": [{"filing": name, "error": text} for name, text in done.failures.items()],
                "warnings": done.warnings,
                "not_run": done.not_run,
                "report": done.report,
                "seconds": round(seconds, 2),
            }
        )
        return
    warn(done.warnings)
    for name, text in done.failures.items():
        err.print(f"failed: {name}: {text}", markup=False, soft_wrap=True, style="red")
    out.print(
        f"{done.source}: {done.filings} filings, {len(done.indexed)} indexed, {len(done.fresh)} fresh, "
        f"{len(done.failures)} failed, {seconds:.1f} s"
    )


@app.command()
def metrics(
    by: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Slice: question_type, kind, doc_type, company or source."),
    ] = None,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="All results as one Markdown page, such as docs/results.md.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the metrics of the active benchmark, with intervals."""
    from finrag_pipeline.services.results import metrics_json, metrics_table
    from finrag_pipeline.storage.lake import Lake

    lake = Lake(current_settings().lake)
    if as_markdown:
        if by or as_json:
            raise UsageError("--markdown writes all results.", "Leave out --by and --json beside it.")
        from finrag_pipeline.reporting.results_page import results_markdown

        sys.stdout.write(results_markdown(lake, current_settings()))
        return
    if as_json:
        print_json(metrics_json(lake, by))
        return
    _print_metrics(metrics_table(lake, by), by)


HEADLINE = (("doc_rec", 5), ("page_rec", 5), ("max_rouge_l", 5), ("ndcg", 10), ("mrr", 0))


def _print_metrics(table: Any, by: str | None) -> None:
    from finrag_pipeline.retrieval.systems import ABLATIONS

    # The variants stand in the report, and in --json.
    rows = [
        row for row in table.to_pylist() if row["slice"] == (by or "all") and row["system"] not in ABLATIONS
    ]
    cells = {(r["slice_value"], r["space"], r["system"], r["metric"], r["k"]): r for r in rows}
    order = {"corpus": 0, "filing": 1, "pages": 2}
    groups = dict.fromkeys((r["slice_value"], r["space"], r["system"]) for r in rows)
    grid = Table(title=f"Metrics by {by}" if by else "Metrics: mean [95 % interval over documents]")
    names = [f"{metric}@{k}" if k else metric for metric, k in HEADLINE]
    for column in [*([by] if by else []), "space", "system", "n", *names]:
        grid.add_column(column, no_wrap=True)
    for value, space, system in sorted(groups, key=lambda g: (g[0], order.get(g[1], 9))):
        found = [cells.get((value, space, system, metric, k)) for metric, k in HEADLINE]
        n = next((str(cell["n"]) for cell in found if cell), "")
        grid.add_row(*([plain(value)] if by else []), space, system, n, *map(_interval, found))
    Console(width=max(out.width, 170 if by else 140)).print(grid)
    for told in fewer_questions(rows):
        out.print(f"[yellow]{plain(told)}[/yellow]", soft_wrap=True)


def fewer_questions(rows: list[dict[str, Any]]) -> list[str]:
    """What people must know of systems that were measured over fewer questions than others."""
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        by_system = counts.setdefault((row["slice_value"], row["space"]), {})
        by_system[row["system"]] = max(row["n"], by_system.get(row["system"], 0))
    return list(
        dict.fromkeys(
            f"{name} was measured on {count} of {max(found.values())} questions only: do not compare it."
            for found in counts.values()
            for name, count in found.items()
            if count < max(found.values())
        )
    )


def _interval(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return ""
    if cell["low"] is None:
        return f"{cell['mean']:.3f}"
    interval = plain(f"[{cell['low']:.2f}, {cell['high']:.2f}]")
    return f"{cell['mean']:.3f} [dim]{interval}[/dim]"


@app.command(name="export-run")
def export_run(
    system: Annotated[str, typer.Argument(help="Retrieval system.")],
    space: Annotated[str, typer.Option(help="corpus, filing or pages.")] = "corpus",
    level: Annotated[Literal["chunk", "page"], typer.Option(help="What a document is.")] = "chunk",
    cut: Annotated[Optional[int], typer.Option("-k", min=1, help="Cut rankings at k chunks.")] = None,  # noqa: UP045
    output_format: Annotated[Literal["trec"], typer.Option("--format", help="File format.")] = "trec",
    to: Annotated[Path, typer.Option(help="Folder to write into.")] = Path(),
    as_json: Json = False,
) -> None:
    """Write a system's rankings and the gold labels for other evaluators (trec_eval, ranx, ir_measures)."""
    from finrag_pipeline.services.results import write_trec
    from finrag_pipeline.storage.lake import Lake

    run_path, qrels_path = write_trec(Lake(current_settings().lake), system, space, level, cut, to)
    if as_json:
        print_json({"run": str(run_path), "qrels": str(qrels_path), "format": output_format})
    else:
        out.print(f"{run_path}\n{qrels_path}", soft_wrap=True)


@app.command()
def filings(
    failed: Annotated[bool, typer.Option("--failed", help="Only filings that could not be read.")] = False,
    as_json: Json = False,
) -> None:
    """List the filings of the lake: identity, state, and what is odd about them."""
    from finrag_pipeline.services.filings import list_filings
    from finrag_pipeline.storage.lake import Lake

    rows = list_filings(Lake(current_settings().lake), failed)
    if as_json:
        print_json(rows)
        return
    shown = [
        {
            **row,
            "odd": "; ".join(
                [*filter(None, (row["reason"], row["remedy"])), *row["conflicts"], *row["warnings"]]
            ),
        }
        for row in rows
    ]
    print_rows(
        "Filings", ["filing", "status", "company", "form", "fiscal_year", "period_end", "pages", "odd"], shown
    )


@app.command()
def fetch(what: Annotated[Literal["financebench"], typer.Argument(help="What to download.")]) -> None:
    """Download a public benchmark into the lake (needs a connection)."""
    from finrag_pipeline.commands.fetch import fetch_financebench
    from finrag_pipeline.storage.lake import Lake

    with ProgressBar(False) as bar:
        folder, failures = fetch_financebench(
            Lake(current_settings().lake), lambda item, n, of: bar(what, item, n, of)
        )
    for name, reason in failures.items():
        err.print(f"failed: {name}: {reason}", markup=False, soft_wrap=True)
    out.print(f"{folder}\nNext: finrag run --source {folder}", soft_wrap=True)
    raise typer.Exit(PARTLY if failures else 0)


@app.command()
def doctor(as_json: Json = False) -> None:
    """Say what is installed and reachable, and what to do about each gap."""
    from finrag_pipeline.commands.doctor import examine

    findings = examine(current_settings())
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            out.print(
                f"{finding['status']:<7}{finding['check']}: {finding['found']}", soft_wrap=True, markup=False
            )
            if finding["remedy"]:
                out.print(f"       {finding['remedy']}", soft_wrap=True, markup=False, style="dim")
    raise typer.Exit(FAILED if any(finding["status"] == "broken" for finding in findings) else 0)


@app.command()
def home() -> None:
    """Print the folder of the Dagster instance: DAGSTER_HOME=$(finrag home) dagster dev."""
    from finrag_pipeline.commands.instance import dagster_home

    sys.stdout.write(f"{dagster_home(current_settings())}\n")


@app.command()
def clean() -> None:
    """Remove temporary files that killed runs left in the lake."""
    from finrag_pipeline.storage.lake import Lake

    lake = Lake(current_settings().lake)
    leftovers = lake.leftovers(older_than=60.0)
    for path in leftovers:
        lake.fs.rm(path, recursive=True)
    out.print(f"removed {len(leftovers)} files")


app.command()(search)
app.command()(ask)
app.command()(systems)
app.command()(answers)
app.command()(judge)
app.add_typer(labels, name="labels")
app.command()(evaluate)
app.command()(tables)
app.command()(report)
app.command()(show)
app.command()(facts)
app.command()(train)
app.command()(serve)


def main() -> None:
    """Entry point; turns errors into one line for people or JSON for programs."""
    # What is imported stays: looking through it for garbage is an eighth of a short command's time.
    gc.set_threshold(100_000)
    try:
        code = app(standalone_mode=False)
    except FinragError as error:
        _fail(error.reason, error.remedy, USAGE if isinstance(error, UsageError) else FAILED)
    except (KeyboardInterrupt, typer.Abort):
        code = STOPPED
    except Exception as error:
        # Typer's own errors: an unknown option, a missing argument, a value of the wrong type.
        context, message = getattr(error, "ctx", None), getattr(error, "format_message", None)
        if message is None:
            if "--json" not in sys.argv:
                raise
            reason = (str(error).strip().splitlines() or [""])[0]
            _fail(
                f"{type(error).__name__}: {reason}",
                "This is a defect; run without --json to see where.",
                FAILED,
            )
        if type(error).__name__ == "NoArgsIsHelpError":
            sys.stderr.write(f"{message()}\n")
            sys.exit(USAGE)
        command = context.command_path if context else "finrag"
        _fail(f"{message().rstrip('.')}.", f"See: {command} --help", USAGE)
    if code == STOPPED:  # Typer makes a keyboard interrupt into this code
        _fail("Stopped.", "Run the same command again to go on: what is done is kept.", STOPPED)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(reason: str, remedy: str, code: int) -> NoReturn:
    if "--json" in sys.argv:
        sys.stderr.write(json.dumps({"error": reason, "remedy": remedy}, ensure_ascii=False) + "\n")
    else:
        err.print(f"error: {reason} {remedy}", markup=False, soft_wrap=True, style="red")
    sys.exit(code)


if __name__ == "__main__":
    main()
