"""The detector ``tatr``: pictures of pages, tables in them, their structure, and the page's words in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from finrag_pipeline.errors import FilingError
from finrag_pipeline.filings.pdf import page_pictures
from finrag_pipeline.settings import TableSettings
from finrag_pipeline.storage.model_folders import model_folder
from finrag_pipeline.tables.boxed import table_of_slots
from finrag_pipeline.tables.model import Box, Cell, FilingWords, PageWords, Table, around
from finrag_pipeline.tables.tatr.network import Network, Seen
from finrag_pipeline.tables.words_of_pages import words_by_ocr

TABLE, SIDEWAYS = "table", "table rotated"
_POINTS = 72.0
# Longer side of the pictures in training: pages, and crops of tables.
_PAGE_SIDE, _TABLE_SIDE = 800, 1000


@dataclass(frozen=True, slots=True)
class _Crop:
    """A table found on a page, cut out with some padding; origin and size in pixels of the page's picture."""

    place: int
    left: int
    top: int
    picture: np.ndarray
    sideways: bool


class TatrDetector:
    """Tables by Microsoft's Table Transformer (Smock et al., 'PubTables-1M', CVPR 2022).

    Args:
        settings: models, thresholds, resolution and batch size.

    Raises:
        ModelError: a model cannot be loaded.
    """

    name = "tatr"
    version = "2"

    def __init__(self, settings: TableSettings) -> None:
        self._settings = settings
        detection = model_folder(
            settings.detection_model, settings.detection_revision, "FINRAG_TABLES__DETECTION_MODEL"
        )
        structure = model_folder(
            settings.structure_model, settings.structure_revision, "FINRAG_TABLES__STRUCTURE_MODEL"
        )
        batch = settings.batch_size
        self._tables = Network(detection, (TABLE,), _PAGE_SIDE, settings.detection_threshold, batch)
        self._parts = Network(structure, CLASSES, _TABLE_SIDE, settings.structure_threshold, batch)

    def detect(self, filing: FilingWords) -> Iterator[list[Table]]:
        """Tables of each page from top to bottom; one list per page.

        Raises:
            FilingError: the PDF cannot be opened.
        """
        assert filing.path is not None
        numbers = [page.page for page in filing.pages]
        pictures = zip(filing.pages, page_pictures(filing.path, numbers, self._settings.dpi), strict=True)
        while batch := list(islice(pictures, self._settings.batch_size)):
            yield from self._batch(filing.path, batch)

    def _batch(self, path: Path, batch: list[tuple[PageWords, np.ndarray | None]]) -> Iterator[list[Table]]:
        drawn = [(place, picture) for place, (_, picture) in enumerate(batch) if picture is not None]
        crops = []
        for (place, picture), seen in zip(drawn, self._tables.see([one for _, one in drawn]), strict=True):
            found = seen.of(TABLE, SIDEWAYS)
            for best in found[best_boxes(seen.boxes[found], seen.scores[found])]:
                sideways = seen.labels[best] == SIDEWAYS
                crops.append(self._crop(place, picture, seen.boxes[best], sideways))
        tables: list[list[Table]] = [[] for _ in batch]
        for crop, seen in zip(crops, self._parts.see([crop.picture for crop in crops]), strict=True):
            grid, header_rows = grid_of(seen)
            if not grid:
                continue
            page, problem = _readable(path, batch[crop.place][0])
            slots = [replace(slot, box=self._on_page(slot.box, crop)) for slot in grid]
            box = around([slot.box for slot in slots])
            table = table_of_slots(slots, page, self.name, box, header_rows)
            if table is None and problem:
                rows = max(slot.row + slot.row_span for slot in slots)
                columns = max(slot.column + slot.column_span for slot in slots)
                table = Table(page.page, self.name, box, rows, columns, (), problems=(problem,))
            if table is not None:
                tables[crop.place].append(table)
        for found_tables in tables:
            yield sorted(found_tables, key=lambda table: (table.box.y0, table.box.x0))

    def _crop(self, place: int, picture: np.ndarray, box: np.ndarray, sideways: bool) -> _Crop:
        height, width = picture.shape[:2]
        pad = self._settings.padding
        left, top = max(0, round(box[0]) - pad), max(0, round(box[1]) - pad)
        right, bottom = min(width, round(box[2]) + pad), min(height, round(box[3]) + pad)
        cut = picture[top:bottom, left:right]
        if sideways:  # turned clockwise, as in training
            cut = np.rot90(cut, k=-1)
        return _Crop(place, left, top, cut, sideways)

    def _on_page(self, box: Box, crop: _Crop) -> Box:
        """A box in pixels of a crop, in points of its page."""
        if crop.sideways:
            side = crop.picture.shape[1]  # height of the crop before it was turned
            box = Box(box.y0, side - box.x1, box.y1, side - box.x0)
        scale = _POINTS / self._settings.dpi
        return Box(
            (box.x0 + crop.left) * scale,
            (box.y0 + crop.top) * scale,
            (box.x1 + crop.left) * scale,
            (box.y1 + crop.top) * scale,
        )


def _readable(path: Path, page: PageWords) -> tuple[PageWords, str | None]:
    """The page with words, by OCR where it has none of its own, or why it has none."""
    if page.words and not page.needs_ocr:
        return page, None
    try:
        return words_by_ocr(path, page), None
    except FilingError as error:
        return replace(page, words=(), boxes=np.zeros((0, 4), np.float32)), str(error)


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
