"""The commands ``filings``, ``show``, ``facts`` and ``sql``: what the lake holds, and queries over it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from finrag_pipeline.commands.console import Json, app, current_lake, hint, out, plain, print_json, print_rows

Statement = Literal["income_statement", "comprehensive_income", "financial_position", "cash_flows", "equity"]


@app.command()
def filings(
    failed: Annotated[bool, typer.Option("--failed", help="Only filings that could not be read.")] = False,
    as_json: Json = False,
) -> None:
    """List the filings of the lake: identity, state, and what is odd about them."""
    from finrag_pipeline.services.filings import list_filings

    rows = list_filings(current_lake(), failed)
    if as_json:
        print_json(rows)
        return
    if not rows:
        out.print("No filing failed." if failed else "The lake holds no filings yet. Bring some: finrag run.")
        return
    for row in rows:
        quarter = f"Q{row['fiscal_quarter']} " if row["fiscal_quarter"] else ""
        row["period"] = f"{quarter}FY{row['fiscal_year']}" if row["fiscal_year"] else row["period_end"]
    known = [column for column in ("filed", "tagged") if any(row[column] for row in rows)]
    print_rows("Filings", ["filing", "form", "period", *known, "company"], rows)
    for row in rows:
        why = " ".join(filter(None, (row["reason"], row["remedy"])))
        if said := [*filter(None, [why]), *row["conflicts"], *row["warnings"]]:
            state = "" if row["status"] == "ok" else f"{row['status']}: "
            told = f"{row['filing']}: {state}{'; '.join(said)}"
            out.print(told, markup=False, highlight=False, soft_wrap=True)


@app.command()
def show(
    filing: Annotated[str, typer.Argument(help="Filing; see: finrag filings.")],
    page: Annotated[int, typer.Argument(help="Page as people count, from 1.")],
    to: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path(),
    as_json: Json = False,
) -> None:
    """Draw a page with its tables, headers, cells and facts, and print the grids."""
    from rich.table import Table

    from finrag_pipeline.services.filings import show_page

    shown = show_page(current_lake(), filing, page, to)
    if as_json:
        print_json(shown)
        return
    for table in shown["tables"]:
        title = " · ".join(filter(None, (f"table {table['table']}", table["caption"], *table["scales"])))
        grid = Table(title=plain(title), show_header=False)
        for row, texts in enumerate(table["grid"]):
            grid.add_row(*map(plain, texts), style="bold" if row < table["header_rows"] else None)
        out.print(grid)
    if not shown["tables"]:
        out.print(f"No table was found on page {page} of {shown['filing']}.", markup=False)
    if shown["facts"]:
        print_rows("Facts", FACT_COLUMNS, [_for_people(fact) for fact in shown["facts"]])
    picture = shown["picture"]
    out.print(f"Picture: {picture}" if picture else "No picture: the filing came as text.", soft_wrap=True)


FACT_COLUMNS = ["concept", "label", "period", "value", "unit", "printed", "page"]


@app.command()
def facts(
    filing: Annotated[
        str, typer.Argument(help="Filing (see: finrag filings); for a series a company or its ticker.")
    ],
    concept: Annotated[
        str | None,
        typer.Option(help="us-gaap name, such as Revenues or AssetsCurrent."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="Words of the printed label.")] = None,
    year: Annotated[int | None, typer.Option(help="Fiscal year.")] = None,
    statement: Annotated[Statement | None, typer.Option(help="Only this statement.")] = None,
    every_scope: Annotated[
        bool, typer.Option("--all", help="Also from notes, summaries and parent-only statements.")
    ] = False,
    quarterly: Annotated[
        bool, typer.Option("--quarterly", help="The concept by quarters over all filings of the company.")
    ] = False,
    yearly: Annotated[bool, typer.Option("--yearly", help="The same by fiscal years.")] = False,
    trailing: Annotated[
        bool, typer.Option("--trailing", help="The same over the twelve months up to each quarter.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the values of a filing's statements, in full units, with the page each stands on.

    A series names the filing that each value is taken from, how it is told where it is not printed, and what
    other filings show instead.
    """
    from finrag_pipeline.services.filings import asked_series, facts_json

    series = asked_series(quarterly, yearly, trailing)
    found = facts_json(
        current_lake(), filing, concept, series=series,
        label=label, year=year, statement=statement, every_scope=every_scope,
    )  # fmt: skip
    if as_json:
        print_json(found)
    elif series:
        _print_series(f"{concept} of {filing}", found)
    elif found:
        print_rows(f"Facts of {found[0]['filing']}", FACT_COLUMNS, [_for_people(fact) for fact in found])
    else:
        out.print("No fact of this filing is what was asked for. Its remarks: finrag filings.")


def _print_series(title: str, found: Sequence[Mapping[str, Any]]) -> None:
    rows = [
        {
            "period": one["period"],
            "value": "not told" if one["value"] is None else f"{one['value']:,.15g}",
            "unit": (one["unit"] or "").replace("currency", one["currency"] or "currency"),
            "how": one["how"] or ("printed" if one["sources"] else ""),
            "source": "; ".join(
                f"{source['filing']} p. {source['page_label']}: {source['printed']}"
                for source in one["sources"]
            ),
            "other figures": "; ".join(
                f"{other['filing']} p. {other['page_label']}: {other['answer']}" for other in one["others"]
            ),
        }
        for one in found
    ]
    print_rows(title, list(rows[0]), rows)


def _for_people(fact: dict[str, Any]) -> dict[str, Any]:
    start, end = fact["period_start"], fact["period_end"]
    return {
        **fact,
        "period": f"{start} to {end}" if start else end or fact["fiscal_year"],
        "value": f"{fact['value']:,.15g}",
        "unit": " ".join(filter(None, (fact["currency"], fact["unit"]))),
        "page": fact["page"] + 1,
    }


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
            connection.from_arrow(rows).show(max_width=out.width, max_rows=40, null_value="")
