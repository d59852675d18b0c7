"""Filings into the lake, and what is made of them: run, ingest, edgar, index, backfill, stale and train."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer

from finrag_pipeline.commands.console import (
    PARTLY,
    Json,
    ProgressBar,
    announce,
    app,
    current_lake,
    current_settings,
    err,
    hint,
    out,
    print_json,
    print_rows,
    warn,
)
from finrag_pipeline.errors import UsageError
from finrag_pipeline.settings import Settings


@app.command()
def run(
    source: Annotated[
        Path | None,
        typer.Option(help="Folder of a benchmark (pdfs/ and FinanceBench's two JSONL files) or of filings."),
    ] = None,
    filings: Annotated[list[str] | None, typer.Option(help="Only this filing; may be repeated.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N filings.")] = None,
    systems: Annotated[
        list[str] | None, typer.Option(help="Only this retrieval system; may be repeated.")
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
    from finrag_pipeline.orchestration.runs import run as materialise

    done = _done(
        lambda bar: materialise(current_settings(), source, filings, limit, systems, bar, ablations), as_json
    )
    if done.measured and not as_json:
        from finrag_pipeline.commands.results import print_metrics
        from finrag_pipeline.services.results import metrics_table

        print_metrics(metrics_table(current_lake(), None), None, oracles=False)
        hint("With the oracle filing and pages: finrag metrics")
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
    files: Annotated[list[Path], typer.Argument(help="HTML, PDF, text or page-text (JSONL) files.")],
    as_json: Json = False,
) -> None:
    """Bring single files into the lake and make them searchable."""
    from finrag_pipeline.orchestration.runs import ingest as bring

    _end(lambda bar: bring(current_settings(), files, bar), as_json)


@app.command()
def edgar(
    companies: Annotated[
        list[str] | None,
        typer.Argument(help="Tickers or numbers (CIK); those of FINRAG_EDGAR__WATCH when absent."),
    ] = None,
    forms: Annotated[
        str | None, typer.Option(help="Forms, with commas between them; amendments belong to them.")
    ] = None,
    since: Annotated[
        datetime | None, typer.Option(help="Year or day of the first filings.", formats=["%Y", "%Y-%m-%d"])
    ] = None,
    as_json: Json = False,
) -> None:
    """Fetch filings with their releases from the SEC, and make them searchable; none is fetched twice."""
    from finrag_pipeline.orchestration.runs import ingest_from_edgar as bring

    settings = current_settings()
    asked = {
        "watch": tuple(companies or ()),
        "forms": tuple(forms.split(",")) if forms else (),
        "since": since and since.date(),
    }
    changes = {name: value for name, value in asked.items() if value}
    settings = settings.model_copy(update={"edgar": settings.edgar.model_copy(update=changes)})
    _end(lambda bar: bring(settings, bar), as_json)


@app.command()
def index(
    systems: Annotated[list[str], typer.Argument(help="Retrieval systems, such as dense.")],
    as_json: Json = False,
) -> None:
    """Make what only some systems read (vectors of chunks, other chunks) of every filing of the lake."""
    from finrag_pipeline.orchestration.runs import index as make

    _end(lambda bar: make(current_settings(), systems, bar), as_json)


@app.command()
def backfill(
    asset: Annotated[str, typer.Argument(help="Name of an asset, such as page_tables or page_scorer.")],
    parts: Annotated[
        list[str] | None,
        typer.Option(
            "--filings", "--folds", "--systems", help="Only this part; may be repeated. 'all' is the default."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make the parts of one asset that are missing or not fresh, whatever else is."""
    from finrag_pipeline.orchestration.runs import backfill as fill

    _end(lambda bar: fill(current_settings(), asset, parts, bar), as_json)


@app.command()
def stale(as_json: Json = False) -> None:
    """Say what the next run would make of the filings of the lake, and why; nothing is run."""
    from finrag_pipeline.filings.originals import all_sources
    from finrag_pipeline.orchestration.lineage import why_stale

    lake = current_lake()
    rows = [
        {"asset": asset, "filing": filing, "why": why}
        for asset, filing, why in why_stale(lake, current_settings(), all_sources(lake))
    ]
    if as_json:
        print_json(rows)
    elif rows:
        print_rows("What the next run makes", ["filing", "asset", "why"], rows)
    else:
        out.print("Everything is fresh.")


def _done(work: Callable[[ProgressBar], Any], as_json: bool) -> Any:
    """Do ``work`` under a progress bar, and say what it did."""
    start = time.monotonic()
    with ProgressBar(as_json) as bar:
        done = work(bar)
    seconds = time.monotonic() - start
    if as_json:
        told = {name: value for name, value in vars(done).items() if name != "measured"}
        failures = [{"filing": name, "error": text} for name, text in done.failures.items()]
        print_json(told | {"failures": failures, "seconds": round(seconds, 2)})
        return done
    warn(done.warnings)
    for name, text in done.failures.items():
        err.print(f"failed: {name}: {text}", markup=False, soft_wrap=True, style="red")
    out.print(
        f"{done.source}: {done.filings} filings, {len(done.indexed)} indexed, {len(done.fresh)} fresh, "
        f"{len(done.failures)} failed, {seconds:.1f} s"
    )
    return done


def _end(work: Callable[[ProgressBar], Any], as_json: bool) -> NoReturn:
    """Do ``work``, say what it did, and end the command."""
    raise typer.Exit(PARTLY if _done(work, as_json).failures else 0)


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


Model = Literal["page_scorer", "reranker"]
COLUMNS = ["fold", "policy", "best_epoch", "validation_page_rec", "tested_page_rec"]
_SHOWN = {
    "page_scorer": ("Page scorers", "page_scorer"),
    "reranker": ("Rerankers, among the candidates of a filing", "finrag_rerank"),
}


def train_models(
    settings: Settings, model: Model, folds: Sequence[str] | None, progress: Callable[[str], object]
) -> list[dict[str, Any]]:
    """Train models on the active benchmark; for each fold and policy the epoch kept and its page recall."""
    from finrag_pipeline.orchestration.instance import open_materialiser
    from finrag_pipeline.orchestration.partitions import trained_partitions
    from finrag_pipeline.storage.lake import Lake

    known = trained_partitions.get_partition_keys()
    chosen = list(dict.fromkeys(folds or known))
    if unknown := [fold for fold in chosen if fold not in known]:
        raise UsageError(f"There is no fold '{unknown[0]}'.", f"Choose from: {', '.join(known)}.")
    lake, rows = Lake(settings.lake).required(), []
    with open_materialiser(settings) as materialiser:
        for fold in chosen:
            progress(f"training {fold}")
            materialiser.run_or_raise(f"train_{model}", partition=fold)
            if lake.info(model, {"fold": fold}) is None:
                continue  # nothing to learn from outside this fold
            for row in lake.read(model, {"fold": fold}).to_pylist():
                if row["chosen"]:
                    values = (fold, row["policy"], row["epoch"], row["page_rec"], row["tested_page_rec"])
                    rows.append(dict(zip(COLUMNS, values, strict=True)))
    return rows


@app.command()
def train(
    model: Annotated[Model, typer.Argument(help="What to train.")],
    folds: Annotated[
        list[str] | None,
        typer.Option(help="Only this fold (fold_0 …, production); may be repeated."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Train a model on the active benchmark, for each fold without its questions, and one for searching.

    A killed training goes on where it was. Hours without a GPU; the settings are FINRAG_PAGE_SCORER__… and
    FINRAG_RERANKER_TRAINING__….
    """
    rows = train_models(current_settings(), model, folds, announce(as_json))
    if as_json:
        print_json(rows)
        return
    shown = [{k: f"{v:.3f}" if isinstance(v, float) else v for k, v in row.items()} for row in rows]
    title, system = _SHOWN[model]
    print_rows(f"{title}: PageRec@5", COLUMNS, shown)
    hint(f"Next: finrag run --systems {system}")
