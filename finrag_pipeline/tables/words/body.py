"""Body of a table: lines into rows, segments into cells, indentation into levels."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from finrag_pipeline.tables.words.columns import Columns
from finrag_pipeline.tables.words.rows import VALUES, Line, Segment
from finrag_pipeline.tables.words.tokens import MARK

_OPEN_END = re.compile(
    r"(?:[,&/(–—-]|\b(?:of|and|or|the|for|in|to|from|on|by|with|at|as|per|net|a|an|than|before|after|under|its|our"
    r"|other|total|excluding|including|attributable|related|that|which))$",
    re.I,
)


_INDENT = 2.5  # points between the left edges of two levels


@dataclass(slots=True)
class Row:
    """A row: the segments of each cell by column."""

    cells: dict[int, list[Segment]] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Text of the first column."""
        return " ".join(segment.text for segment in self.cells.get(0, ()))

    @property
    def left(self) -> float | None:
        """Left edge of its label."""
        return self.cells[0][0].x0 if 0 in self.cells else None

    def only_label(self) -> bool:
        """Whether it holds nothing but a label."""
        return set(self.cells) == {0}

    def take(self, other: Row) -> None:
        """Add the cells of the row below."""
        for column, segments in other.cells.items():
            # A footnote mark set on the line before its number still follows it.
            both = [*self.cells.get(column, []), *segments]
            self.cells[column] = sorted(both, key=lambda segment: segment.kind == MARK)


def _row(line: Line, columns: Columns) -> Row:
    row = Row()
    edge = columns.columns[1].core if columns.labelled and len(columns.columns) > 1 else float("inf")
    for place, segment in enumerate(line.segments):
        inside = not segment.is_value or segment.x0 < columns.columns[0].x1
        label = columns.labelled and place == 0 and inside and segment.x0 < edge
        row.cells.setdefault(0 if label else columns.of(segment), []).append(segment)
    return row


def body_rows(lines: Sequence[Line], columns: Columns) -> list[Row]:
    """Rows of the body; a label or a text that is set in several lines belongs to one row."""
    rows = [_row(line, columns) for line in lines]
    if len(rows) < 2:
        return rows
    height = median(line.height for line in lines)
    steps = [b.centre - a.centre for a, b in pairwise(lines)]
    figures = sum(line.values > (line.segments[0].kind in VALUES) for line in lines)
    # Lines of a cell are closer than rows; among texts, most lines may go on a cell.
    pitch = sorted(steps)[len(steps) // 2 if figures * 2 > len(lines) else len(steps) * 3 // 4]
    widest = max((row.cells[0][-1].x1 for row in rows if 0 in row.cells), default=0.0)
    merged: list[Row] = [rows[0]]
    for step, above_line, line, row in zip(steps, lines, lines[1:], rows[1:], strict=False):
        above = merged[-1]
        tight = line.y0 - above_line.y1 < 0.3 * height and step < 1.05 * pitch
        if tight and _goes_on(above, row, step / pitch, widest if columns.labelled else None):
            above.take(row)
        else:
            merged.append(row)
    return merged


def _goes_on(above: Row, row: Row, step: float, widest: float | None) -> bool:
    """Whether ``row`` is the rest of the row ``above``.

    ``step`` is the way from centre to centre, in steps of the table's rows; ``widest`` is where labels end,
    None where there are none.
    """
    textual = not any(s.is_value for cell in row.cells.values() for s in cell)
    known = all(column in above.cells for column in row.cells)
    if 0 not in row.cells and textual:
        return known
    if widest is None:
        return False
    if 0 not in row.cells:
        # Figures that stand between the two lines of their label.
        return above.only_label() and step < 0.75 and not above.label.endswith(":")
    if 0 not in above.cells:
        return row.only_label() and step < 0.75
    if not above.only_label() and not row.only_label():
        # Figures of one row on two baselines, as under a label of two lines; texts side by side.
        shared = set(above.cells) & set(row.cells) == {0}
        return (step < 0.75 and shared) or (step < 0.88 and textual and known)
    one, two = above.cells[0][-1], row.cells[0][0]
    if above.label.endswith(":"):
        return False
    opened = bool(_OPEN_END.search(one.text)) or above.label.count("(") > above.label.count(")")
    small = two.text[:1].islower() or (two.text[:1] in "&(" and opened)
    hanging = two.x0 > one.x0 + 2
    closer = step < 0.88
    if above.only_label():
        return small or opened or (closer and two.x0 >= one.x0 - 1 and _broken(one, two, widest))
    return small or (opened and hanging) or (closer and (hanging or opened))


def _broken(one: Segment, two: Segment, widest: float) -> bool:
    """Whether the first word of ``two`` had no room behind ``one``, in labels that reach to ``widest``."""
    word = (two.x1 - two.x0) * len(two.text.split(" ", 1)[0]) / len(two.text)
    return one.x1 + word > widest - 0.5 * (one.y1 - one.y0)


def levels(lefts: Sequence[float | None]) -> tuple[int, ...]:
    """Level of each row: the rank of the left edge of its label, in points, among those of the table.

    A row without a label (None) is as deep as the row above it, 0 at the top.
    """
    steps: list[float] = []
    for edge in sorted(left for left in lefts if left is not None):
        if not steps or edge > steps[-1] + _INDENT:
            steps.append(edge)
    found = []
    last = 0
    for left in lefts:
        last = last if left is None else bisect_right(steps, left) - 1
        found.append(last)
    return tuple(found)
