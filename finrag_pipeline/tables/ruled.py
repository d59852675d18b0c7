"""Detector ``pymupdf``: tables by their ruling lines, as ``Page.find_tables`` finds them.

The baseline of the papers. Boxes of the cells are PyMuPDF's; their texts are the page's words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from finrag_pipeline.filings.pdf import Edges, find_ruled_tables
from finrag_pipeline.tables.boxed import table_of_slots
from finrag_pipeline.tables.model import Box, Cell, PageWords, Table


class RuledDetector:
    """Tables drawn with lines or filled rectangles; statements without rules are not found."""

    name = "pymupdf"
    version = "2"

    def detect(self, pages: Sequence[PageWords], path: Path) -> Iterator[list[Table]]:
        """Tables of each page from top to bottom; one list per page.

        Raises:
            FilingError: the PDF cannot be opened.
        """
        drawn = find_ruled_tables(path, [page.page for page in pages])
        for words, found in zip(pages, drawn, strict=True):
            # PyMuPDF knows of one row of headers.
            tables = [table_of_slots(slots_of(rows), words, self.name, int(len(rows) > 1)) for rows in found]
            known = [table for table in tables if table is not None]
            yield sorted(known, key=lambda table: (table.box.y0, table.box.x0))


def slots_of(rows: Sequence[Sequence[Edges | None]]) -> list[Cell]:
    """The grid of a table of `find_ruled_tables`; the first of several rows is a header."""
    columns = max((len(row) for row in rows), default=0)
    lefts = [_first_edge((row[column] for row in rows if column < len(row)), 0) for column in range(columns)]
    tops = [_first_edge(iter(row), 1) for row in rows]
    slots = []
    for number, row in enumerate(rows):
        for column, box in enumerate(row):
            if box is None:
                continue
            # A cell spans the columns (rows) that begin before its right (lower) edge.
            column_span = sum(box[0] <= left < box[2] - 1 for left in lefts[column:] if left is not None)
            row_span = sum(box[1] <= top < box[3] - 1 for top in tops[number:] if top is not None)
            spans = max(1, row_span), max(1, column_span)
            slots.append(Cell(number, column, Box(*box), "", *spans, header=number == 0 < len(rows) - 1))
    return slots


def _first_edge(boxes: Iterator[Edges | None], edge: int) -> float | None:
    return next((box[edge] for box in boxes if box is not None), None)
