r"""How well tables are found and read, against labelled pages.

* Detection: a detected box is right if it can be paired with a labelled one at an intersection over union
  (IoU) of at least the threshold; boxes are paired one to one, as many as possible.
* Structure: cell adjacency (Göbel, Hassan, Oro & Orsi, "A methodology for evaluating algorithms for table
  understanding in PDF documents", DocEng 2012). Every non-empty cell is related to its next non-empty cell to
  the right and below; blank cells between are passed over. Precision and recall are those of the relations.
* Values: a chosen cell is read where a cell of ``page_tables`` covers its centre; its value is exact within a
  relative tolerance of 1e-9, and so is its scale.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isclose
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finrag_pipeline.tables.model import Box, Cell

TOLERANCE = 1e-9
"""Relative difference up to which a value or scale is exact."""
COVERED = 0.5
"""Share of a detection's area within an optional region from which on it counts neither way."""
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—―−", "-"))


def _areas(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.maximum(boxes[:, 2] - boxes[:, 0], 0) * np.maximum(boxes[:, 3] - boxes[:, 1], 0)


def _as_array(boxes: Sequence[Box]) -> NDArray[np.float64]:
    return np.asarray(boxes, dtype=np.float64).reshape(len(boxes), 4)


def intersections(first: Sequence[Box], second: Sequence[Box]) -> NDArray[np.float64]:
    """Area that each pair of boxes shares, shape (len(first), len(second)), in square points."""
    a, b = _as_array(first)[:, None, :], _as_array(second)[None, :, :]
    width = np.minimum(a[..., 2], b[..., 2]) - np.maximum(a[..., 0], b[..., 0])
    height = np.minimum(a[..., 3], b[..., 3]) - np.maximum(a[..., 1], b[..., 1])
    shared: NDArray[np.float64] = np.maximum(width, 0) * np.maximum(height, 0)
    return shared


def ious(first: Sequence[Box], second: Sequence[Box]) -> NDArray[np.float64]:
    """Intersection over union of each pair of boxes, shape (len(first), len(second)), in [0, 1]."""
    shared = intersections(first, second)
    union = _areas(_as_array(first))[:, None] + _areas(_as_array(second))[None, :] - shared
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)


@dataclass(frozen=True)
class Detections:
    """Boxes of a page paired one to one.

    Attributes:
        found: for each labelled box, the index of its detection, or None.
        right: for each detection, whether it is paired; None if it lies in an optional region and is not.
    """

    found: tuple[int | None, ...]
    right: tuple[bool | None, ...]


def match_tables(
    labelled: Sequence[Box], detected: Sequence[Box], threshold: float, optional: Sequence[Box] = ()
) -> Detections:
    """Pairs the boxes of a page: as many pairs as possible at an IoU of at least ``threshold``.

    Of several largest matchings, the one with the greatest sum of IoU is taken. A detection that is not
    paired and lies with at least half its area in one of the ``optional`` regions counts neither way.
    """
    from scipy.optimize import linear_sum_assignment

    found: list[int | None] = [None] * len(labelled)
    right: list[bool | None] = [False] * len(detected)
    if labelled and detected:
        overlap = ious(labelled, detected)
        # The IoU breaks ties only: all of it together weighs less than one pair more.
        most = min(overlap.shape) + 1
        weights = np.where(overlap >= threshold, 1 + overlap / most, 0)
        for row, column in zip(*linear_sum_assignment(weights, maximize=True), strict=True):
            if weights[row, column] > 0:
                found[row], right[column] = int(column), True
    if optional and detected:
        shared = intersections(detected, optional).max(axis=1)
        for place, (part, area) in enumerate(zip(shared, _areas(_as_array(detected)), strict=True)):
            if not right[place] and part >= COVERED * area:
                right[place] = None
    return Detections(tuple(found), tuple(right))


@dataclass(frozen=True)
class Rates:
    """Counts that precision and recall are made of; they add up over pages.

    Attributes:
        labelled: labelled things.
        detected: detected things.
        matched: of them, the right ones.
    """

    labelled: int = 0
    detected: int = 0
    matched: int = 0

    def __add__(self, other: Rates) -> Rates:
        return Rates(
            self.labelled + other.labelled, self.detected + other.detected, self.matched + other.matched
        )

    @property
    def precision(self) -> float:
        """Share of the detected that is right; NaN where nothing is detected."""
        return self.matched / self.detected if self.detected else float("nan")

    @property
    def recall(self) -> float:
        """Share of the labelled that is found; NaN where nothing is labelled."""
        return self.matched / self.labelled if self.labelled else float("nan")

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; NaN where nothing is labelled nor detected."""
        total = self.labelled + self.detected
        return 2 * self.matched / total if total else float("nan")


def detection_rates(detections: Detections) -> Rates:
    """The counts of a page; detections that count neither way are left out."""
    counted = [right for right in detections.right if right is not None]
    return Rates(len(detections.found), len(counted), sum(counted))


def normal_text(text: str) -> str:
    """A cell's text for comparison: compatibility forms, one kind of dash, no white space, no case."""
    folded = unicodedata.normalize("NFKC", text).translate(_DASHES).casefold()
    return "".join(folded.split())


Relation = tuple[str, str, str]
"""Text, text of the neighbour, and 'right' or 'below'."""


def adjacency_relations(cells: Iterable[Cell]) -> Counter[Relation]:
    """Relations of a table's non-empty cells with their next non-empty cells to the right and below.

    A spanning cell has a neighbour in each row and column that it spans; a pair of cells is related once per
    direction.
    """
    filled = [(cell, normal_text(cell.text)) for cell in cells]
    filled = [(cell, text) for cell, text in filled if text]
    rows: dict[int, list[tuple[int, int]]] = defaultdict(list)
    columns: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for place, (cell, _) in enumerate(filled):
        for row in range(cell.row, cell.row + cell.row_span):
            rows[row].append((cell.column, place))
        for column in range(cell.column, cell.column + cell.column_span):
            columns[column].append((cell.row, place))
    relations: Counter[Relation] = Counter()
    for direction, lanes in (("right", rows), ("below", columns)):
        pairs: set[tuple[int, int]] = set()
        for lane in lanes.values():
            order = [place for _, place in sorted(lane)]
            pairs.update(pairwise(order))
        relations.update((filled[one][1], filled[other][1], direction) for one, other in pairs)
    return relations


def adjacency_rates(labelled: Iterable[Iterable[Cell]], detected: Iterable[Iterable[Cell]]) -> Rates:
    """Counts of relations of all tables of a page or document, compared as multisets."""
    truth: Counter[Relation] = Counter()
    guess: Counter[Relation] = Counter()
    for cells in labelled:
        truth.update(adjacency_relations(cells))
    for cells in detected:
        guess.update(adjacency_relations(cells))
    return Rates(truth.total(), guess.total(), (truth & guess).total())


def covering(box: Sequence[float], cells: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Rows of ``page_tables`` of a page that cover the centre of a box (x0, y0, x1, y1)."""
    x0, y0, x1, y1 = box
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    return [
        cell
        for cell in cells
        if cell["x0"] is not None and cell["x0"] <= x <= cell["x1"] and cell["y0"] <= y <= cell["y1"]
    ]


def smallest(cells: Iterable[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The row of ``page_tables`` with the smallest box; None of none."""
    return min(cells, key=lambda one: (one["x1"] - one["x0"]) * (one["y1"] - one["y0"]), default=None)


def read_cell(label: Mapping[str, Any], cells: Iterable[Mapping[str, Any]]) -> dict[str, bool | None]:
    """Compares a chosen cell of a labelled page with the cells of that page.

    Args:
        label: with ``box`` (x0, y0, x1, y1 in points), ``printed``, ``value``, ``scale``, ``unit`` and
            ``period_end`` (ISO date or None).
        cells: rows of ``page_tables`` of that page. Where several cover the centre, the smallest counts.

    Returns:
        Whether the cell is ``found``, and whether ``printed``, ``value``, ``scale``, ``unit`` and
        ``period_end`` are as labelled; None for the last where none is labelled.
    """
    cell = smallest(covering(label["box"], cells))
    read: dict[str, bool | None] = {"found": cell is not None}
    for name in ("printed", "value", "scale"):
        read[name] = cell is not None and exact(cell[name], label[name])
    read["unit"] = cell is not None and cell["unit"] == label["unit"]
    end = label["period_end"]
    read["period_end"] = None if end is None else cell is not None and str(cell["period_end"]) == end
    return read


def exact(value: float | None, truth: float) -> bool:
    """Whether a number is the true one."""
    return value is not None and isclose(value, truth, rel_tol=TOLERANCE)
