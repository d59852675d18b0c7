"""What all commands share: the application, settings, and output for people or for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape as plain
from rich.measure import Measurement
from rich.table import Table

import finrag_pipeline
from finrag_pipeline.errors import Fallback
from finrag_pipeline.settings import Settings, get_settings

if TYPE_CHECKING:
    from finrag_pipeline.storage.lake import Lake

FAILED, USAGE, PARTLY, STOPPED = 1, 2, 3, 130

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Index financial filings, measure retrieval on them, and ask them questions.",
    epilog='Start with: finrag run   then: finrag search "capital expenditure 2022"',
)
"""The command line: every module of this package adds its commands."""
out = Console()
err = Console(stderr=True)

_settings: ContextVar[Settings | None] = ContextVar("settings", default=None)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def _print_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"finrag_pipeline {finrag_pipeline.__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    lake: Annotated[
        str | None,
        typer.Option("--lake", help="Root of the lake; FINRAG_LAKE or ./data_lake when absent."),
    ] = None,
) -> None:
    settings = get_settings()
    _settings.set(settings.model_copy(update={"lake": lake}) if lake else settings)


def current_settings() -> Settings:
    """The settings that the command was called with."""
    return _settings.get() or get_settings()


def current_lake() -> Lake:
    """The lake that the command works on.

    Raises:
        LakeError: there is none.
    """
    from finrag_pipeline.storage.lake import Lake

    return Lake(current_settings().lake).required()


def print_json(value: Any) -> None:
    """Print a value for programs."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n")


def warn(warnings: Sequence[str]) -> int:
    """Print what people should know beside an answer, apart from it; the exit code that follows from it."""
    for warning in warnings:
        err.print(f"warning: {warning}", markup=False, soft_wrap=True)
    return PARTLY if any(isinstance(warning, Fallback) for warning in warnings) else 0


def note(text: str) -> None:
    """Print what is odd about a result, apart from it."""
    err.print(f"[yellow]{plain(text)}[/yellow]")


def hint(text: str) -> None:
    """Print where to go from here."""
    out.print(f"[dim]{text}[/dim]")


def announce(as_json: bool) -> Callable[[str], None]:
    """A function that says what is next; silent in JSON mode."""
    return lambda what: None if as_json else err.print(plain(f"{what} …"))


def interval(value: float | None, low: float | None, high: float | None) -> str:
    """``0.827 [0.79, 0.86]``; empty where there is no value."""
    if value is None:
        return ""
    return f"{value:.3f}" if low is None or high is None else f"{value:.3f} [{low:.2f}, {high:.2f}]"


_SHORT, _NARROW = 12, 8
"""Characters up to which a cell stays on one line, and the fewest that a column of sentences is given."""


def print_rows(title: str, columns: list[str], rows: Sequence[dict[str, Any]]) -> None:
    """Print rows as a table for people."""
    table = Table(
        title=plain(title), box=SIMPLE_HEAD, title_justify="left", collapse_padding=True, pad_edge=False
    )
    texts = [["" if row.get(one) is None else str(row[one]) for one in columns] for row in rows]
    needed = 0
    for place, column in enumerate(columns):
        cells = [column, *(line[place] for line in texts)]
        longest = max(map(len, cells))
        sentences = longest > _SHORT and any(" " in cell for cell in cells)
        needed += 2 + (_NARROW if sentences else longest)
        table.add_column(column.replace("_", " "), overflow="fold", no_wrap=not sentences)
    for line in texts:
        table.add_row(*map(plain, line))
    print_table(table, needed)


def print_table(table: Table, least: int | None = None) -> None:
    """Print a table as wide as the terminal, or wider: ``least`` columns, or all that it needs when None."""
    if least is None:
        least = Measurement.get(out, out.options.update(max_width=10_000), table).maximum
    Console(width=max(out.width, least)).print(table)


def joined(rows: Iterable[dict[str, Any]], keys: Sequence[str]) -> list[dict[str, Any]]:
    """Rows that agree in ``keys`` as one, with the columns of all."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), {}).update(row)
    return list(found.values())


class ProgressBar:
    """A Rich progress bar fed by (stage, item, done, total); silent in JSON mode."""

    def __init__(self, silent: bool) -> None:
        from rich.progress import (  # not for commands without a bar
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        self._progress = Progress(
            TextColumn("{task.description:<10}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[item]}", markup=False),
            console=Console(stderr=True),
            disable=silent,
        )
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._tasks:
            self._progress.stop()

    def __call__(self, stage: str, item: str, done: int, total: int) -> None:
        """Show that ``done`` of ``total`` items of ``stage`` are done and that ``item`` is next."""
        if not self._tasks:  # not before: a bar without stages would leave an empty line
            self._progress.start()
        if stage not in self._tasks:
            number = self._progress.add_task(stage, total=total, item=item, rate="")
            self._tasks[stage] = self._progress.tasks[number]
        task = self._tasks[stage]
        if done < task.completed:  # the stage began again, for instance the embedding of the next filing
            self._progress.reset(task.id, total=total)
        rate = f"{done / task.elapsed:.2f}/s" if done and (task.elapsed or 0.0) > 0.5 else ""
        self._progress.update(task.id, completed=done, total=total, item=item, rate=rate)
