"""Chunks of tables: each row with all its context, and each table whole as Markdown.

After the Mixpeek technical guide, section 4 (innovation 2): caption | scale | every header level | row. The
row's own headings and the filing's identity are added, so that a piece can be understood alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from finrag_pipeline.chunking.pieces import Piece, fit, join_context
from finrag_pipeline.embedding.tokens import TokenCounter

_COLUMNS = (
    "page", "table", "caption", "row", "column", "text", "header", "row_label", "row_path", "column_path",
    "unit", "scale_source", "x0", "y0", "x1", "y1",
)  # fmt: skip


@dataclass(frozen=True)
class TableCells:
    """The cells of one table, as dictionaries with the columns of ``page_tables``."""

    page: int
    caption: str
    scale: str
    cells: list[dict[str, Any]]

    @property
    def box(self) -> tuple[float, float, float, float] | None:
        """Around all cells, in points; None where the page came as text."""
        boxes = [[c["x0"], c["y0"], c["x1"], c["y1"]] for c in self.cells]
        if not boxes or any(edge is None for box in boxes for edge in box):
            return None
        x0, y0, x1, y1 = zip(*boxes, strict=True)
        return min(x0), min(y0), max(x1), max(y1)

    def rows(self) -> list[list[dict[str, Any]]]:
        """Body cells by row, each row by column."""
        rows: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for cell in self.cells:
            if not cell["header"]:
                rows[cell["row"]].append(cell)
        return [sorted(rows[row], key=lambda cell: cell["column"]) for row in sorted(rows)]


def tables_of(page_tables: pa.Table) -> list[TableCells]:
    """The tables of a filing, in order.

    Args:
        page_tables: rows of ``page_tables`` of one filing.
    """
    grouped: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for cell in page_tables.select(_COLUMNS).to_pylist():
        grouped[cell["page"], cell["table"]].append(cell)
    found = []
    for (page, _), cells in sorted(grouped.items()):
        # Of money alone: the per cent columns of a table say nothing of its scale.
        sources = Counter(c["scale_source"] for c in cells if c["unit"] == "currency" and c["scale_source"])
        # 'units line: (in millions)': where it was found is of no use to a reader of the chunk.
        scale = sources.most_common(1)[0][0].partition(": ")[2] if sources else ""
        found.append(TableCells(page, cells[0]["caption"] or "", scale.strip(" ()"), cells))
    return found


def row_pieces(
    table: TableCells, identity: str, section: str, limit: int, tokens: TokenCounter
) -> list[Piece]:
    """One piece per body row that has a cell besides its label."""
    pieces: list[Piece] = []
    for row in table.rows():
        values = [cell for cell in row if cell["text"] != cell["row_label"] or cell["column"] > 0]
        values = [cell for cell in values if cell["column"] > 0] or values[1:]
        if not values:
            continue
        path = " > ".join(row[0]["row_path"]) or (row[0]["row_label"] or "")
        context = join_context(identity, section, table.caption, table.scale, path)
        parts = [_with_header(cell) for cell in values]
        pieces.extend(
            Piece(table.page, "table_row", text) for text in fit(context, parts, " | ", limit, tokens)
        )
    return pieces


def _with_header(cell: dict[str, Any]) -> str:
    header = " ".join(cell["column_path"])
    return f"{header}: {cell['text']}" if header else str(cell["text"])


def table_pieces(
    table: TableCells, identity: str, section: str, limit: int, tokens: TokenCounter
) -> list[Piece]:
    """The table as Markdown; a long one in several pieces, each with the context and the column headers."""
    rows = table.rows()
    if not rows:
        return []
    columns = sorted({cell["column"] for row in rows for cell in row})
    headers = _headers(table.cells, columns)
    context = join_context(identity, section, table.caption, table.scale)
    head = (
        f"{context}\n{_markdown(headers)}\n{_markdown(['---'] * len(columns))}" if any(headers) else context
    )
    lines = []
    for row in rows:
        texts = {cell["column"]: cell["text"] for cell in row}
        lines.append(_markdown([texts.get(column, "") for column in columns]))
    return [Piece(table.page, "table", text) for text in fit(head, lines, "\n", limit, tokens)]


def _headers(cells: Sequence[dict[str, Any]], columns: Sequence[int]) -> list[str]:
    paths: dict[int, str] = {}
    for cell in cells:
        if not cell["header"] and cell["column_path"]:
            paths.setdefault(cell["column"], " ".join(cell["column_path"]))
    return [paths.get(column, "") for column in columns]


def _markdown(texts: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "/") for text in texts) + " |"
