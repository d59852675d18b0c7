"""From the objects seen in a table's picture to its grid.

Rows and columns may overlap, spanning cells and headers may end within a row: what is seen is made a
grid without gaps or overlaps, better scores first.
"""

from __future__ import annotations

import numpy as np

from finrag_pipeline.tables.model import Box, Cell
from finrag_pipeline.tables.tatr.network import Seen

ROW, COLUMN, HEADER = "table row", "table column", "table column header"
PROJECTED, SPANNING = "table projected row header", "table spanning cell"
CLASSES = (ROW, COLUMN, HEADER, PROJECTED, SPANNING)
_OVERLAP = 0.5
"""Share of the smaller of two things from which they count as one."""


def grid_of(seen: Seen) -> tuple[list[Cell], int]:
    """Cells without text, boxes in pixels, and how many first rows are headers; no cells without rows."""
    rows = kept_apart(seen.boxes[seen.of(ROW)], axis=1)
    columns = kept_apart(seen.boxes[seen.of(COLUMN)], axis=0)
    if not len(rows) or not len(columns):
        return [], 0
    ys, xs = edges_between(rows[:, [1, 3]]), edges_between(columns[:, [0, 2]])
    headers = _header_rows(ys, seen.boxes[seen.of(HEADER)])
    owner = np.full((len(ys) - 1, len(xs) - 1), -1)
    spans: list[tuple[int, int, int, int]] = []
    for place in seen.of(SPANNING, PROJECTED):
        box = seen.boxes[place]
        top, bottom = _covered(ys, box[1], box[3])
        left, right = _covered(xs, box[0], box[2])
        if seen.labels[place] == PROJECTED:
            left, right = 0, len(xs) - 1
        if top < headers < bottom:
            bottom = headers  # no cell is half header
        if (bottom - top) * (right - left) < 2 or (owner[top:bottom, left:right] >= 0).any():
            continue
        owner[top:bottom, left:right] = len(spans)
        spans.append((top, bottom, left, right))
    slots = []
    for row in range(len(ys) - 1):
        for column in range(len(xs) - 1):
            top, bottom, left, right = row, row + 1, column, column + 1
            if owner[row, column] >= 0:
                top, bottom, left, right = spans[owner[row, column]]
                if (row, column) != (top, left):
                    continue
            box = Box(float(xs[left]), float(ys[top]), float(xs[right]), float(ys[bottom]))
            slots.append(Cell(row, column, box, "", bottom - top, right - left, row < headers))
    return slots, headers


def kept_apart(boxes: np.ndarray, axis: int) -> np.ndarray:
    """Boxes (best first, shape (n, 4)) without those that cover half of a better one along an axis, in order.

    Axis 0 is for columns (left to right), 1 for rows (top to bottom).
    """
    kept: list[np.ndarray] = []
    for box in boxes:
        low, high = box[axis], box[axis + 2]
        for other in kept:
            shared = min(high, other[axis + 2]) - max(low, other[axis])
            if shared > _OVERLAP * max(min(high - low, other[axis + 2] - other[axis]), 1e-9):
                break
        else:
            kept.append(box)
    if not kept:
        return np.zeros((0, 4))
    found = np.array(kept)
    return found[np.argsort(found[:, axis] + found[:, axis + 2], kind="stable")]


def edges_between(spans: np.ndarray) -> np.ndarray:
    """Edges of neighbouring spans, shape (n, 2), in order: midway where they part or overlap; (n + 1,)."""
    inner = (spans[:-1, 1] + spans[1:, 0]) / 2
    edges = np.concatenate([[spans[:, 0].min()], inner, [spans[:, 1].max()]])
    return np.maximum.accumulate(edges)


def best_boxes(boxes: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Places of boxes that do not share half of the smaller one with a better one; best first."""
    kept: list[int] = []
    areas = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    for place in np.argsort(-scores, kind="stable"):
        for other in kept:
            low = np.maximum(boxes[place, :2], boxes[other, :2])
            high = np.minimum(boxes[place, 2:], boxes[other, 2:])
            if np.prod(np.maximum(high - low, 0)) > _OVERLAP * min(areas[place], areas[other]):
                break
        else:
            kept.append(int(place))
    return np.array(kept, int)


def _covered(edges: np.ndarray, low: float, high: float) -> tuple[int, int]:
    """First, and one past the last, of the strips between edges of which half lies between low and high."""
    shared = np.minimum(edges[1:], high) - np.maximum(edges[:-1], low)
    inside = np.flatnonzero(shared >= _OVERLAP * np.maximum(edges[1:] - edges[:-1], 1e-9))
    return (int(inside[0]), int(inside[-1]) + 1) if len(inside) else (0, 0)


def _header_rows(edges: np.ndarray, boxes: np.ndarray) -> int:
    """Rows from the first on that the best column header covers; 0 where it leaves out the first."""
    for box in boxes:
        top, bottom = _covered(edges, box[1], box[3])
        if bottom and top == 0:
            return bottom
    return 0
