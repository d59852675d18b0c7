"""``finrag tables``: how well detectors of tables do, by the benchmark that comes with the repository."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Optional

import typer

from finrag_pipeline.commands.console import app, current_settings
from finrag_pipeline.errors import UsageError
from finrag_pipeline.settings import REPOSITORY

_LABELS = REPOSITORY / "finrag_pipeline_tests" / "golden" / "table_labels.jsonl"


@app.command()
def tables(
    detector: Annotated[str, typer.Option(help="words, pymupdf or tatr; several with commas.")] = "words",
    pdfs: Annotated[
        Optional[Path],  # noqa: UP045 - Typer reads this at run time
        typer.Option(help="Folder of the PDFs of the labelled pages, FILING.pdf."),
    ] = None,
    labels: Annotated[Path, typer.Option(help="Labelled pages, one JSON object per line.")] = _LABELS,
    ixbrl: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(help="Folder of filings in inline XBRL: printed to PDF, and scored by their tags."),
    ] = None,
) -> None:
    """Score detectors of tables on labelled pages, and on filings in inline XBRL."""
    from finrag_pipeline.tables.extract import detector_problem

    if not (REPOSITORY / "benchmarks").is_dir():
        raise UsageError("The benchmarks are not installed.", "Run it in a clone of the repository.")
    for name in detector.split(","):
        if problem := detector_problem(name, current_settings().tables):
            raise UsageError(f"The detector {name} cannot run: {problem}", problem.command)
    given = {"--pdfs": pdfs, "--labels": labels if pdfs else None, "--ixbrl": ixbrl}
    paths = [part for option, path in given.items() if path for part in (option, str(path.absolute()))]
    if not paths:
        raise UsageError("There is nothing to score on.", "Give --pdfs, --ixbrl, or both.")
    sys.path.insert(0, str(REPOSITORY))
    import_module("benchmarks.tables").main(["--detector", detector, *paths])
