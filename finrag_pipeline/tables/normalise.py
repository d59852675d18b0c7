"""From tables as printed to cells with value, unit, scale and period: the rows of ``page_tables``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from finrag_pipeline.schemas import PAGE_TABLES
from finrag_pipeline.tables.applied_scale import Source
from finrag_pipeline.tables.context import TableContext
from finrag_pipeline.tables.model import Table
from finrag_pipeline.tables.table_reader import TableReader


def normalise_tables(filing: str, tables: Sequence[Table], context: TableContext) -> pa.Table:
    """The cells of a filing's tables, one row each, in the order of the tables.

    ``tables`` are all those of one detector, by page and from top to bottom: scale and headers of one that
    goes on from the page before are those of its beginning.

    Returns:
        Table with the schema ``PAGE_TABLES``. A dash in a column of numbers has the value 0, kind
        ``missing`` and the reason; what cannot be read has neither ``printed`` nor ``value``.
    """
    readers: list[TableReader] = []
    for table in tables:
        readers.append(TableReader(table, context, readers[-1] if readers else None))
    _share_scales(readers)
    rows: list[dict[str, Any]] = []
    page, ordinal = -1, 0
    for table, reader in zip(tables, readers, strict=True):
        ordinal = ordinal + 1 if table.page == page else 0
        page = table.page
        place = {"filing": filing, "page": page, "table": ordinal, "detector": table.detector}
        rows += ({**place, **row} for row in _rows(table, reader))
    return pa.Table.from_pylist(rows, schema=PAGE_TABLES)


def _share_scales(readers: Sequence[TableReader]) -> None:
    """Gives tables of large amounts that state no scale that of the tables around them, where both agree.

    The words that set it stand on the page before, or nowhere.
    """
    stated = [reader.stated_money for reader in readers]
    before: Source | None = None
    for place, (own, reader) in enumerate(zip(stated, readers, strict=True)):
        before = own or before
        after = next(filter(None, stated[place:]), None)
        if before and after and before.rules[0].scale == after.rules[0].scale:
            reader.take_scale(before)


def _rows(table: Table, reader: TableReader) -> Iterator[dict[str, Any]]:
    levels = [*table.levels, *[0] * (table.rows - len(table.levels))]
    boxed = table.box.x1 > table.box.x0
    column_paths = reader.paths.column_paths()
    for cell in table.cells:
        row, found = cell.row, reader.finding(cell)
        kind = found["kind"]
        if period := found.pop("period", None):
            found |= {
                "period_start": period.start,
                "period_end": period.end,
                "period_kind": period.kind,
                "fiscal_year": period.fiscal_year,
                "fiscal_quarter": period.fiscal_quarter,
            }
        yield {
            **found,
            **(cell.box._asdict() if boxed and cell.anchor is None else {}),
            "anchor": cell.anchor,
            "caption": table.caption,
            "continues": table.continues,
            "row": row,
            "column": cell.column,
            "row_span": cell.row_span,
            "column_span": cell.column_span,
            "text": cell.text,
            "header": kind == "header",
            "level": levels[row],
            "row_label": reader.paths.labels[row],
            "row_path": reader.paths.rows[row],
            "column_path": column_paths[row][cell.column] if kind not in ("label", "header") else (),
        }
