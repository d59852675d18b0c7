"""``finrag reproduce`` on the command line."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from finrag_pipeline.commands.console import Json, announce, app, current_settings, print_json


@app.command()
def reproduce(
    paper: Annotated[
        Literal["page-scorer", "eval-rag", "financerag", "table-rag"] | None,
        typer.Argument(help="The paper; every table with what it needs when absent."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(envvar="FINRAG_DATA", help="Folder of public data: eval_rag, financerag, finqa, …"),
    ] = None,
    documents: Annotated[
        int | None,
        typer.Option(min=1, help="Documents of each corpus of FinanceRAG at most; drawn by the seed."),
    ] = None,
    queries: Annotated[
        int | None,
        typer.Option(min=1, help="Queries of each corpus of FinanceRAG at most; drawn by the seed."),
    ] = None,
    train: Annotated[
        bool, typer.Option("--train", help="Train the encoder and the reranker of FinanceRAG's rows.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print the tables of a paper, published figures beside those of this lake; see docs/reproduce.md."""
    if paper is None:
        from finrag_pipeline.services.experiments import PAPER_TABLES
        from finrag_pipeline.services.reproduce import Printed

        tables = [Printed("Tables of the papers", [asdict(table) for table in PAPER_TABLES])]
    else:
        from finrag_pipeline.services.reproduce import Options
        from finrag_pipeline.services.reproduce import reproduce as run

        tell = announce(as_json)
        tables = run(paper, Options(current_settings(), data, documents, queries, train, tell))
    if as_json:
        print_json([asdict(table) for table in tables])
        return
    sys.stdout.write("\n".join(table.markdown() for table in tables))
