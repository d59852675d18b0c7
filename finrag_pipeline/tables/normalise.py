"""From tables as printed to cells with value, unit, scale and period: the rows of ``page_tables``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from finrag_pipeline.schemas import PAGE_TABLES
from finrag_pipeline.tables.context import TableContext, filing_context
from finrag_pipeline.tables.model import Table
from finrag_pipeline.tables.table_reader import NO_FINDING, PreviousTable, TableReader

__all__ = ["TableContext", "filing_context", "normalise_tables"]


def normalise_tables(filing: str, tables: Sequence[Table], context: TableContext) -> pa.Table:
    """The cells of a filing's tables, one row each, in the order of the tables.

    Scale and headers of a table that goes on from the page before are those of its beginning.

    Args:
        filing: identifier of the filing.
        tables: all its tables by one detector, by page and from top to bottom.
        context: what holds for the whole filing.

    Returns:
        Table with the schema ``PAGE_TABLES``. A dash in a column of numbers has the value 0, kind
        ``missing`` and the reason; what cannot be read has neither ``printed`` nor ``value``.
    """
    columns: dict[str, list[Any]] = {name: [] for name in PAGE_TABLES.names}
    before: PreviousTable | None = None
    page, ordinal = -1, 0
    for table in tables:
        ordinal = ordinal + 1 if table.page == page else 0
        page = table.page
        reader = TableReader(table, context, before)
        before = reader.as_previous()
        _append(columns, filing, ordinal, table, reader)
    return pa.table(
        {field.name: pa.array(columns[field.name], field.type) for field in PAGE_TABLES}, schema=PAGE_TABLES
    )


def _append(
    columns: dict[str, list[Any]], filing: str, ordinal: int, table: Table, reader: TableReader
) -> None:
    paths = reader.paths
    levels = [*table.levels, *[0] * (table.rows - len(table.levels))]
    boxed = table.box.x1 > table.box.x0
    count = len(table.cells)
    constant = {
        "filing": filing,
        "page": table.page,
        "table": ordinal,
        "detector": table.detector,
        "caption": table.caption,
        "continues": table.continues,
    }
    for name, value in constant.items():
        columns[name] += [value] * count
    by_row = paths.column_paths()
    for cell in table.cells:
        row, column = cell.row, cell.column
        finding = reader.finding(cell)
        data = finding is not NO_FINDING and finding.kind not in ("header", "label")
        columns["row"].append(row)
        columns["column"].append(column)
        columns["row_span"].append(cell.row_span)
        columns["column_span"].append(cell.column_span)
        for place, edge in enumerate(("x0", "y0", "x1", "y1")):
            columns[edge].append(cell.box[place] if boxed else None)
        columns["text"].append(cell.text)
        columns["header"].append(finding.kind == "header")
        columns["level"].append(levels[row])
        columns["row_label"].append(paths.labels[row])
        columns["row_path"].append(paths.rows[row])
        columns["column_path"].append(by_row[row][column] if data else ())
        columns["kind"].append(finding.kind)
        columns["printed"].append(finding.printed)
        columns["value"].append(finding.value)
        columns["scale"].append(finding.scale)
        columns["scale_source"].append(finding.scale_source)
        columns["unit"].append(finding.unit)
        columns["currency"].append(finding.currency)
        period = finding.period
        columns["period_start"].append(period.start if period else None)
        columns["period_end"].append(period.end if period else None)
        columns["period_kind"].append(period.kind if period else None)
        columns["fiscal_year"].append(period.fiscal_year if period else None)
        columns["fiscal_quarter"].append(period.fiscal_quarter if period else None)
        columns["reason"].append(finding.reason)
