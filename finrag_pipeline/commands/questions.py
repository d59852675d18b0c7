"""``finrag search``, ``finrag ask`` and ``finrag systems`` on the command line."""

from __future__ import annotations

from typing import Annotated, Literal, Optional

import typer

from finrag_pipeline.commands.console import Json, current_settings, out, plain, print_json, print_rows, warn


def search(
    question: Annotated[str, typer.Argument(help="The question.")],
    system: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="Retrieval system; see: finrag systems. Else finrag, or dense until it is trained."
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Results.")] = 5,
    filing: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="Only in this filing; may be repeated."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Find the pages that answer a question."""
    from finrag_pipeline.services.search import Searcher

    answer = Searcher(current_settings()).search(question, system, k, filing or [])
    warn(answer.warnings)
    if as_json:
        print_json(answer.as_json())
        return
    for result in answer.results:
        out.print(
            f"[bold]{result['rank']}. {plain(result['filing'])}[/bold], page {result['page_label']}"
            f"  [dim]{result['score']:.4f}  {plain(result['why'])}[/dim]"
        )
        out.print(f"   {result['snippet']}", markup=False, soft_wrap=True)
    out.print(f"[dim]{answer.system}, {answer.seconds:.2f} s[/dim]")


def ask(
    question: Annotated[str, typer.Argument(help="The question.")],
    mode: Annotated[
        Literal["calculator", "prompt", "cot", "grounded"],
        typer.Option(help="calculator needs no language model; grounded holds one to its facts."),
    ] = "calculator",
    filing: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="Only from this filing; may be repeated."),
    ] = None,
    system: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Retrieval system; see: finrag systems."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Answer a question, with the formula and the page of every number; or say that it cannot be had."""
    from finrag_pipeline.services.ask import Asker

    reply = Asker(current_settings()).ask(question, mode, filing or [], system)
    warn(reply.warnings)
    if as_json:
        print_json(reply.as_json())
        return
    out.print(reply.answer.as_text(), markup=False, soft_wrap=True, highlight=False)
    made = ", ".join(part for part in (reply.answer.mode, reply.system) if part)
    out.print(f"[dim]{made}, {reply.seconds:.2f} s[/dim]")


def systems(as_json: Json = False) -> None:
    """List the retrieval systems, where they come from, and whether they can run here."""
    from finrag_pipeline.services.search import list_systems

    rows = list_systems(current_settings())
    if as_json:
        print_json(rows)
        return
    print_rows("Retrieval systems", ["name", "space", "status", "source", "why"], rows)
