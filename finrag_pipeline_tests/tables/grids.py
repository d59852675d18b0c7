"""Tables built from rows of text, for tests."""

from __future__ import annotations

from collections.abc import Sequence

from finrag_pipeline.tables.model import Box, Cell, Table

WIDTH, HEIGHT = 60.0, 12.0


def make_table(
    rows: Sequence[Sequence[str]],
    *,
    header_rows: int = 1,
    levels: Sequence[int] = (),
    spans: dict[tuple[int, int], int] | None = None,
    caption: str | None = None,
    above: Sequence[str] = (),
    page: int = 0,
    top: float = 100.0,
    continues: bool = False,
) -> Table:
    """A table of ``rows``; empty texts are empty cells, ``spans`` widens the cells at (row, column)."""
    width = max(len(row) for row in rows)
    cells = []
    for place, row in enumerate(rows):
        for column, text in enumerate(row):
            if not text:
                continue
            span = (spans or {}).get((place, column), 1)
            left, upper = 50 + column * 2 * WIDTH, top + place * HEIGHT
            box = Box(left, upper, left + WIDTH + (span - 1) * 2 * WIDTH, upper + HEIGHT - 2)
            cells.append(Cell(place, column, box, text, 1, span, place < header_rows))
    return Table(
        page=page,
        detector="made up",
        box=Box(50, top, 50 + width * 2 * WIDTH, top + len(rows) * HEIGHT),
        rows=len(rows),
        columns=width,
        cells=tuple(cells),
        header_rows=header_rows,
        levels=tuple(levels) or (0,) * len(rows),
        caption=caption,
        above=tuple(above),
        continues=continues,
    )


def texts_of(table: Table) -> list[list[str]]:
    """Texts, shape (rows, columns); a spanning cell stands at its top left, empty cells are ''."""
    texts = [[""] * table.columns for _ in range(table.rows)]
    for cell in table.cells:
        texts[cell.row][cell.column] = cell.text
    return texts
