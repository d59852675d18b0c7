"""Small tables as rows of ``page_tables``, without a PDF."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa

from finrag_pipeline.schemas import PAGE_TABLES

YEARS = {year: (dt.date(year, 1, 1), dt.date(year, 12, 31), year) for year in (2022, 2023)}


def number(
    row: int, column: int, path: list[str], printed: str, value: float, **other: Any
) -> dict[str, Any]:
    """A cell in millions of dollars; of the year 2023 in column 1, of 2022 in column 2."""
    start, end, year = YEARS[2024 - column] if column in (1, 2) else (None, None, None)
    return {
        "row": row, "column": column, "text": printed, "kind": "number", "value": value, "printed": value / 1e6,
        "scale": 1e6, "unit": "currency", "currency": "USD", "row_label": path[-1] if path else None,
        "row_path": path, "column_path": [str(year)] if year else [], "period_start": start, "period_end": end,
        "period_kind": "duration" if end else None, "fiscal_year": year, "x0": 10.0, "y0": 20.0 + row,
        "x1": 30.0, "y1": 29.0 + row,
    } | other  # fmt: skip


def page_table(
    cells: list[dict[str, Any]], page: int = 0, table: int = 0, caption: str | None = None
) -> pa.Table:
    """Cells as rows of ``page_tables``; what is not given is as in a plain cell."""
    usual = {
        "filing": "ACME_2023_10K", "page": page, "table": table, "detector": "words", "caption": caption,
        "continues": False, "row_span": 1, "column_span": 1, "header": False, "level": 0, "column_path": [],
        "row_path": [],
    }  # fmt: skip
    return pa.Table.from_pylist([usual | cell for cell in cells], schema=PAGE_TABLES)


def printed_row(row: int, path: list[str], now: float, before: float) -> list[dict[str, Any]]:
    """Label and two years of a row, in millions."""
    return [
        {"row": row, "column": 0, "text": path[-1], "kind": "label", "row_label": path[-1], "row_path": path},
        number(row, 1, path, f"{now:,.0f}", now * 1e6),
        number(row, 2, path, f"{before:,.0f}", before * 1e6),
    ]
