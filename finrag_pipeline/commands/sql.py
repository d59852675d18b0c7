"""The command ``sql``: queries over everything that the lake holds."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from finrag_pipeline.commands.console import Json, app, current_lake, hint, out, print_json, print_rows


@app.command()
def sql(
    query: Annotated[
        str | None, typer.Argument(help="One SELECT; without one, the tables and views are listed.")
    ] = None,
    to: Annotated[
        Path | None, typer.Option(help="File to write the rows to: .csv, .parquet or .xlsx.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Query the lake in SQL (DuckDB); nothing is changed.

    finrag sql "SELECT company, fiscal_year, Revenues FROM company_year"
    """
    from finrag_pipeline.services.sql import list_views, run_sql, write_rows

    if query is None:
        views = list_views(current_lake())
        if as_json:
            print_json(views)
        else:
            print_rows("Tables and views", ["name", "kind", "what"], views)
            hint('Columns: finrag sql "DESCRIBE company_year"')
        return
    rows = run_sql(current_lake(), query)
    if to is not None:
        write_rows(rows, to)
        out.print(f"{rows.num_rows} rows: {to}", markup=False, soft_wrap=True)
    elif as_json:
        sys.stdout.write(json.dumps(rows.to_pylist(), ensure_ascii=False, default=str) + "\n")
    else:
        import duckdb

        with duckdb.connect() as connection:
            connection.from_arrow(rows).show(max_width=out.width, max_rows=_SHOWN, null_value="")


_SHOWN = 40
