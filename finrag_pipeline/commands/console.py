"""What all commands share: consoles, the settings in use, and output for people or for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from finrag_pipeline.settings import Settings, get_settings

out = Console()
err = Console(stderr=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


class _State:
    settings: Settings | None = None


def use_settings(settings: Settings) -> None:
    """Let all commands of this process use ``settings``."""
    _State.settings = settings


def current_settings() -> Settings:
    """The settings of this process."""
    return _State.settings or get_settings()


def print_json(value: Any) -> None:
    """Print a value for programs."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n")


def warn(warnings: Sequence[str]) -> None:
    """Print what people should know beside an answer, apart from it."""
    for warning in warnings:
        err.print(f"warning: {warning}", markup=False, soft_wrap=True)


def plain(text: str) -> str:
    """Text that Rich does not take for markup."""
    from rich.markup import escape

    return escape(text)


def print_rows(title: str, columns: list[str], rows: list[dict[str, Any]]) -> None:
    """Print rows as a table for people."""
    table = Table(title=title)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(plain(str(row[column] if row[column] is not None else "")) for column in columns))
    out.print(table)
