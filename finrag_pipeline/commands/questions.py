"""The commands ``search``, ``ask`` and ``systems``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from finrag_pipeline.commands.console import (
    Json,
    app,
    current_settings,
    hint,
    out,
    plain,
    print_json,
    print_rows,
    warn,
)

if TYPE_CHECKING:
    from finrag_pipeline.answering.evidence import EvidenceRow


@app.command()
def search(
    question: Annotated[str, typer.Argument(help="The question.")],
    system: Annotated[
        str | None,
        typer.Option(
            help="Retrieval system; see: finrag systems. Else finrag, or dense until it is trained."
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Results.")] = 5,
    filing: Annotated[
        list[str] | None,
        typer.Option(help="Only in this filing; may be repeated."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Find the pages that answer a question."""
    from finrag_pipeline.services.search import Searcher

    answer = Searcher(current_settings()).search(question, system, k, filing or [])
    code = warn(answer.warnings)
    if as_json:
        print_json(answer.as_json())
        raise typer.Exit(code)
    for result in answer.results:
        out.print(
            f"[bold]{result['rank']}. {plain(result['filing'])}[/bold], page {result['page_label']}"
            f"  [dim]{plain(result['why'])}[/dim]",
            soft_wrap=True,
        )
        out.print(f"   {result['snippet']}", markup=False, soft_wrap=True)
    hint(f"{answer.system}, {answer.seconds:.2f} s")
    raise typer.Exit(code)


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    mode: Annotated[
        Literal["calculator", "prompt", "cot", "grounded"],
        typer.Option(help="calculator needs no language model; grounded holds one to its facts."),
    ] = "calculator",
    filing: Annotated[
        list[str] | None,
        typer.Option(help="Only from this filing; may be repeated."),
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(help="Retrieval system; see: finrag systems."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Answer a question, with the formula and the page of every number; or say that it cannot be had."""
    from finrag_pipeline.services.ask import Asker

    reply = Asker(current_settings()).ask(question, mode, filing or [], system)
    code = warn(reply.warnings)
    if as_json:
        print_json(reply.as_json())
        raise typer.Exit(code)
    out.print(reply.answer.as_text(), markup=False, soft_wrap=True, highlight=False)
    if reply.evidence:
        print_evidence(reply.evidence)
    made = ", ".join(part for part in (reply.answer.mode, reply.system) if part)
    hint(f"{made}, {reply.seconds:.2f} s")
    raise typer.Exit(code)


def print_evidence(evidence: Sequence[EvidenceRow]) -> None:
    """Print rows as excerpts of their tables: a grid for each table, under the headers of its columns."""
    from rich.table import Table

    from finrag_pipeline.answering.evidence import cut

    out.print("\nNot answered. The closest rows:", markup=False)
    tables: dict[tuple[object, ...], list[EvidenceRow]] = {}
    for found in evidence:
        headers = tuple(value.header for value in found.values)
        tables.setdefault((found.row.filing, found.row.page, found.row.table, *headers), []).append(found)
    for rows in tables.values():
        row, caption = rows[0].row, cut(rows[0].row.caption)
        place = f"{row.filing}, page {row.page + 1}" + (f": {caption}" if caption else "")
        out.print(f"\n  {place}", markup=False, soft_wrap=True, highlight=False)
        grid = Table(box=None, pad_edge=True, padding=(0, 1))
        grid.add_column("", overflow="fold")
        for value in rows[0].values:
            grid.add_column(
                plain(value.header.replace(" months to ", " months\nto ")), justify="right", overflow="fold"
            )
        grid.add_column("unit", overflow="fold")
        for found in rows:
            path = cut(" > ".join(found.row.path))
            cells = [path, *(value.printed for value in found.values), found.unit or ""]
            grid.add_row(*(plain(cell) for cell in cells))
        out.print(grid, highlight=False)


@app.command()
def systems(
    every: Annotated[
        bool, typer.Option("--all", help="Also variants that show what a choice adds, and oracles.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the systems of the papers and of this project: measured, runs here, or what each needs."""
    from finrag_pipeline.answering.systems import ANSWER_SYSTEMS, DEFAULT_RETRIEVAL
    from finrag_pipeline.retrieval.systems import ABLATIONS, ALIASES
    from finrag_pipeline.services.search import list_systems

    rows = list_systems(current_settings())
    if as_json:
        print_json(rows)
        return
    other = (name for name, one in ANSWER_SYSTEMS.items() if one.retrieval != DEFAULT_RETRIEVAL)
    folded = {*ABLATIONS, *ALIASES, *other}
    rows = [row for row in rows if every or row["name"] not in folded]
    for kind, title in (
        ("retrieval", "Retrieval"),
        ("answers", "Answers"),
        ("tables", "Detectors of tables"),
    ):
        print_rows(title, ["name", "status", "why"], [row for row in rows if row["kind"] == kind])
    hint("With variants and oracles: --all. Where each comes from: --json")
    commands: dict[str, list[str]] = {}
    for row in rows:
        if row["status"] == "needs":
            commands.setdefault(row["command"], []).append(row["name"])
    for command, names in commands.items():  # whole lines, to be copied
        out.print(f"[dim]{', '.join(names)}:[/dim]", soft_wrap=True)
        out.print(f"  {command}", markup=False, soft_wrap=True, highlight=False)
