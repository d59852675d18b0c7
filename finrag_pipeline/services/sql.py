"""SQL over a lake: every table as a view, and views in the shape in which people ask."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from textwrap import shorten

import pyarrow as pa

from finrag_pipeline.errors import UsageError, refused
from finrag_pipeline.schemas import TABLES
from finrag_pipeline.statements.concepts import concept_names
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import NAMES, View, lake_views, literal

_MONTHS = "CAST(round(datediff('day', period_start, period_end) / 30.4) AS INTEGER)"
# Years of 52 weeks end on another day than the month that some filings name.
_MONTH = "date_trunc('month', period_end - INTERVAL 5 DAY)"
_LATEST = f"""
    WITH shown AS (
        SELECT company, filed_for, amended, filed_on, coalesce(line, concept) AS name, {_MONTHS} AS months,
               f.* EXCLUDE (scope, line, concept)
        FROM (FROM statement_facts WHERE scope = 'primary' AND period_end IS NOT NULL) f
        JOIN (
            SELECT filing, company, period_end AS filed_for, form LIKE '%/A' AS amended,
                   if(bool_and(filed IS NOT NULL) OVER (PARTITION BY company), filed, NULL) AS filed_on
            FROM company_filings
        ) USING (filing)
    )
    SELECT company, statement, name AS concept, label, months, period_start, period_end, fiscal_year,
           fiscal_quarter, value, unit, currency, printed, filing, page, page + 1 AS page_label, fact_id
    FROM shown WHERE name IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY company, statement, name, {_MONTH}, months
        ORDER BY filed_on DESC NULLS LAST, filed_for DESC NULLS LAST, amended DESC NULLS LAST, filing
    ) = 1
"""  # noqa: S608 - our own names
_ANNUAL = "months BETWEEN 11 AND 13"


def _by_concept(kinds: dict[str, tuple[str, ...]], months: str, where: str) -> str:
    """One row per company and period of the latest facts of statements, with a column for each concept.

    A concept that several statements show is taken from the first.
    """
    order = "CASE statement " + " ".join(f"WHEN '{kind}' THEN {n}" for n, kind in enumerate(kinds)) + " END"
    names = dict.fromkeys(name for found in kinds.values() for name in found)
    columns = ", ".join(
        f"""arg_min(value, {order}) FILTER (WHERE concept = '{name}') AS "{name}\"""" for name in names
    )
    return f"""
        SELECT company, mode(period_end) AS period_end, {months}mode(fiscal_year) AS fiscal_year,
               mode(fiscal_quarter) AS fiscal_quarter, mode(currency) AS currency, {columns},
               list(DISTINCT filing) AS filings
        FROM latest_facts WHERE statement IN ('{"', '".join(kinds)}') AND {where}
        GROUP BY company, {_MONTH}{", months" if months else ""}
    """  # noqa: S608 - our own names


_PAGES = """
    SELECT company, form, fiscal_year, period_end, filing, page, page + 1 AS page_label, text
    FROM filing_pages JOIN company_filings USING (filing)
"""


def _views() -> dict[str, View]:
    income, balance, cash = (
        {kind: concept_names(kind)} for kind in ("income_statement", "financial_position", "cash_flows")
    )
    end = f"row(company, {_MONTH})"  # DuckDB before 1.2 compares no two columns with a query
    years = f"SELECT {end} FROM latest_facts WHERE {_ANNUAL}"  # noqa: S608
    of_a_year = f"({_ANNUAL} OR months IS NULL) AND {end} IN ({years})"
    return {
        "latest_facts": View(
            "Every line of the statements in every period, as the newest filing has it, or its amendment.",
            _LATEST,
        ),
        "income_statement": View(
            "One row per company and period of income statements, in full units; a column per concept.",
            _by_concept(income, "months, ", "months IS NOT NULL"),
        ),
        "balance_sheet": View(
            "One row per company and balance sheet date, in full units; a column per concept.",
            _by_concept(balance, "", "months IS NULL"),
        ),
        "cash_flow": View(
            "One row per company and period of cash flow statements, in full units; a column per concept.",
            _by_concept(cash, "months, ", "months IS NOT NULL"),
        ),
        "company_year": View(
            "One row per company and fiscal year: what its three statements show, in full units.",
            _by_concept(income | balance | cash, "", of_a_year),
        ),
        "page_text": View(
            "The text of every page, with company, form and year of its filing; page is zero-based.",
            _PAGES,
        ),
    }


_VIEWS = _views()
_COMPANIES = "company_filings"


def sql_views(lake: Lake) -> dict[str, View]:
    """Views of a lake by name, each after those that it reads.

    Which filings are of one company, whose name may have changed, is worked out here, from their covers.
    """
    from finrag_pipeline.resolver.resolver import IDENTITY, load_resolver

    rows = {str(row["filing"]): row for row in lake.first_rows("filings", IDENTITY).to_pylist()}
    keys = load_resolver(lake, rows, rows.values()).companies()
    pairs = ", ".join(f"({literal(filing)}, {literal(key)})" for filing, key in keys.items())
    groups = f"LEFT JOIN (VALUES {pairs}) groups (filing, key) USING (filing)" if pairs else ""
    whose = f"PARTITION BY {'coalesce(key, filing)' if pairs else 'filing'}"
    sql = f"""
        SELECT coalesce(mode(company) OVER ({whose}), declared_company, filing) AS company, filing, form,
               fiscal_year, fiscal_quarter, period_end, filed, ticker, sector, pages
        FROM filings {groups} WHERE status = 'ok'
    """  # noqa: S608 - literals
    return {_COMPANIES: View("Every filing that could be read, with one name of its company.", sql), **_VIEWS}


def run_sql(lake: Lake, sql: str) -> pa.Table:
    """Rows of one query over the tables and views of a lake; nothing is written.

    Raises:
        UsageError: the query is none, does more than to read, or names what there is not.
        LakeError: a part of the lake is damaged.
    """
    import duckdb

    remedy = "List tables and views with: finrag sql."
    try:
        statements = duckdb.extract_statements(sql)
        if [one.type for one in statements] != [duckdb.StatementType.SELECT]:
            raise UsageError("This is not one query.", "Give a single SELECT; the lake is only read.")
        named = any(name in sql.lower() for name in (_COMPANIES, *_VIEWS))
        with lake_views(lake, sql_views(lake) if named else {}) as query:
            return query(sql)
    except duckdb.Error as error:
        told = str(error).partition("\n\nLINE")[0].replace("\n", " ")
        raise UsageError(f"The query cannot be run: {told}.", remedy) from error


def list_views(lake: Lake) -> list[dict[str, str]]:
    """Tables and views that queries may name, ``{name, kind, what}`` each."""
    views = [{"name": name, "kind": "view", "what": view.doc} for name, view in sql_views(lake).items()]
    columns = {name: ", ".join(TABLES[name].names) for name in (*reversed(NAMES[:-1]), NAMES[-1])}
    tables = [{"name": name, "kind": "table", "what": shorten(of, 72)} for name, of in columns.items()]
    return views + tables


def write_rows(rows: pa.Table, to: Path) -> None:
    """Write rows to a file, whose ending says how: ``.csv``, ``.parquet`` or ``.xlsx``.

    Raises:
        UsageError: another ending, or a file that cannot be written.
    """
    writers = {".csv": _write_csv, ".parquet": _write_parquet, ".xlsx": _write_xlsx}
    if to.suffix.lower() not in writers:
        raise UsageError(f"{to.name} has no known ending.", f"Choose one of: {', '.join(writers)}.")
    with refused(UsageError, f"{to} cannot be written", "Choose another file."):
        writers[to.suffix.lower()](rows, to)


def _write_csv(rows: pa.Table, to: Path) -> None:
    import duckdb

    # DuckDB writes lists too, PyArrow none; the file is opened here for the errors of the system.
    with to.open("wb"), duckdb.connect() as connection:
        connection.from_arrow(rows).write_csv(str(to))


def _write_parquet(rows: pa.Table, to: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(rows, to, compression="zstd")


def _write_xlsx(rows: pa.Table, to: Path) -> None:
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = Workbook(write_only=True)
    sheet = book.create_sheet("rows")
    sheet.freeze_panes = "A2"

    def cell(value: object) -> object:
        if isinstance(value, (int, float, date)) or value is None:
            return value.replace(tzinfo=None) if isinstance(value, datetime) else value
        made = WriteOnlyCell(sheet, ILLEGAL_CHARACTERS_RE.sub(" ", str(value))[:_LONGEST_CELL])
        made.data_type = "s"  # never a formula: texts of filings are not ours
        return made

    sheet.append(rows.column_names)
    for batch in rows.to_batches():
        for row in batch.to_pylist():
            sheet.append([cell(value) for value in row.values()])
    book.save(to)


_LONGEST_CELL = 32_767
