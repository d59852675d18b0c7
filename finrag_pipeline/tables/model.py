"""What all table detectors share: a page's words in, tables as grids of cells out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np


class Box(NamedTuple):
    """A rectangle in PDF points on the page as shown, origin top left."""

    x0: float
    y0: float
    x1: float
    y1: float


def around(boxes: Sequence[tuple[float, float, float, float]]) -> Box:
    """The smallest rectangle that holds all of ``boxes``, of which there is at least one."""
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return Box(min(lefts), min(tops), max(rights), max(bottoms))


@dataclass(frozen=True, slots=True)
class PageWords:
    """A page as the detectors see it.

    Attributes:
        page: zero-based index.
        width, height: in points, as shown; 0 where the page came as text only.
        boxes: shape (words, 4), float32: x0, y0, x1, y1 in points; empty for text only.
        words: texts of the words, in the file's order.
        needs_ocr: the page carries no usable text.
    """

    page: int
    width: float
    height: float
    text: str
    boxes: np.ndarray
    words: tuple[str, ...]
    needs_ocr: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table. Empty cells are left out.

    Attributes:
        row, column: zero-based, top left of a spanning cell.
        row_span, column_span: at least 1.
        box: of its words.
        text: its words joined by single spaces; a currency sign, a per cent sign or a closing parenthesis
            that stands apart from its number is part of the number's cell (``$ 1,577``, ``(12.3)%``).
        header: part of the column headers (also the label above the row labels, such as '(Millions)').
        anchor: names its element in an HTML filing, whose boxes only tell what stands beside what; else None.
    """

    row: int
    column: int
    box: Box
    text: str
    row_span: int = 1
    column_span: int = 1
    header: bool = False
    anchor: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table on one page. Column 0 holds the row labels where the table has any.

    Attributes:
        page: zero-based.
        box: around all its cells, without caption.
        cells: non-empty cells, row by row.
        header_rows: so many first rows are column headers; 0 where there are none (a continuation).
        levels: indentation of each row from 0, shape (rows,): rows under a heading are one deeper.
        caption: the title above it, or None.
        above: lines of text right above the table, top first, caption and units line among them.
        below: lines right below it, such as footnotes; a few.
        continues: whether it goes on from the last table of the page before.
        problems: what could not be read, and why.
    """

    page: int
    detector: str
    box: Box
    rows: int
    columns: int
    cells: tuple[Cell, ...]
    header_rows: int = 0
    levels: tuple[int, ...] = ()
    caption: str | None = None
    above: tuple[str, ...] = ()
    below: tuple[str, ...] = ()
    continues: bool = False
    problems: tuple[str, ...] = ()


def column_extents(table: Table) -> tuple[tuple[float, float], ...]:
    """Left and right edge of each column in points, from cells that span no other; (0, 0) without any."""
    extents = [(0.0, 0.0)] * table.columns
    for cell in table.cells:
        if cell.column_span == 1:
            left, right = extents[cell.column]
            extents[cell.column] = (min(left or cell.box.x0, cell.box.x0), max(right, cell.box.x1))
    return tuple(extents)


class TableDetector(Protocol):
    """Finds the tables of pages and their structure."""

    name: str
    version: str
    """Raised whenever results may change; part of the fingerprint."""

    def detect(self, pages: Sequence[PageWords], path: Path) -> Iterator[list[Table]]:
        """Tables of each page from top to bottom, one list per page, in order; ``path`` is the original.

        A page that cannot be read yields a list that is empty; nothing is raised for a single page.

        Raises:
            FinragError: the detector cannot run at all (weights missing, no such file).
        """
        ...
