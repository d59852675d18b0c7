"""Detector ``tatr``: Microsoft's Table Transformer, which finds tables and their structure by sight.

Pictures of pages go through one model that sees tables, crops of these through one that sees their parts; the
page's own words fill the cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from finrag_pipeline.errors import FilingError, ModelError
from finrag_pipeline.filings.pdf import page_pictures
from finrag_pipeline.settings import TableSettings
from finrag_pipeline.storage.model_folders import model_folder
from finrag_pipeline.storage.torch_models import AGAIN, loading, read_config, torch_device
from finrag_pipeline.tables.boxed import table_of_slots
from finrag_pipeline.tables.model import Box, Cell, PageWords, Table, around
from finrag_pipeline.tables.words_of_pages import words_by_ocr

# Mean and standard deviation per colour of the pictures the backbone was trained on (ImageNet).
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True, slots=True)
class Seen:
    """Objects seen in a picture.

    Attributes:
        labels: class of each; shape (n,).
        scores: shape (n,), in [0, 1].
        boxes: x0, y0, x1, y1 in pixels of the picture; shape (n, 4).
    """

    labels: tuple[str, ...]
    scores: np.ndarray
    boxes: np.ndarray

    def of(self, *labels: str) -> np.ndarray:
        """Places of the objects of some classes, best first."""
        places = np.array([place for place, label in enumerate(self.labels) if label in labels], int)
        return places[np.argsort(-self.scores[places], kind="stable")]


class Network:
    """A loaded model.

    Args:
        folder: with its files.
        needed: classes it has to know.
        longest: pictures are scaled to this length of their longer side, as in training.
        threshold: least score of an object.
        batch_size: pictures per forward pass.

    Raises:
        ModelError: see `load_model`.
    """

    def __init__(
        self, folder: Path, needed: tuple[str, ...], longest: int, threshold: float, batch_size: int
    ) -> None:
        import torch

        self._model, self._labels = load_model(folder, needed)
        self._device = torch.device(torch_device())
        self._model.to(self._device)
        self._longest, self._threshold, self._batch_size = longest, threshold, batch_size

    def see(self, pictures: Sequence[np.ndarray]) -> Iterator[Seen]:
        """Objects of each picture, RGB, shape (height, width, 3), uint8."""
        for start in range(0, len(pictures), self._batch_size):
            yield from self._batch(pictures[start : start + self._batch_size])

    def _batch(self, pictures: Sequence[np.ndarray]) -> Iterator[Seen]:
        import torch

        pixels, mask = self._pixels(pictures)
        half = self._device.type == "cuda"
        with torch.inference_mode(), torch.autocast(self._device.type, torch.float16, enabled=half):
            output = self._model(pixel_values=pixels, pixel_mask=mask)
        # The last class is 'no object'.
        likely = output.logits.float().softmax(-1)[..., :-1].max(-1)
        scores, classes = likely.values.cpu().numpy(), likely.indices.cpu().numpy()
        boxes = output.pred_boxes.float().cpu().numpy()
        for place, picture in enumerate(pictures):
            keep = scores[place] >= self._threshold
            yield Seen(
                tuple(self._labels[int(one)] for one in classes[place][keep]),
                scores[place][keep].astype(np.float64),
                _corners(boxes[place][keep].astype(np.float64), picture.shape[1], picture.shape[0]),
            )

    def _pixels(self, pictures: Sequence[np.ndarray]) -> tuple[Any, Any]:
        """Scaled, normalised, padded pictures, shape (n, 3, h, w), and where each has content, (n, h, w)."""
        import torch
        from torch.nn.functional import interpolate

        mean = torch.tensor(_MEAN, device=self._device).view(1, 3, 1, 1)
        deviation = torch.tensor(_DEVIATION, device=self._device).view(1, 3, 1, 1)
        scaled = []
        for picture in pictures:
            height, width = picture.shape[:2]
            factor = self._longest / max(height, width)
            size = (max(1, round(height * factor)), max(1, round(width * factor)))
            image = torch.from_numpy(np.ascontiguousarray(picture)).to(self._device)
            image = image.permute(2, 0, 1)[None].float() / 255
            image = interpolate(image, size, mode="bilinear", antialias=True, align_corners=False)
            scaled.append((image.clamp(0, 1) - mean) / deviation)
        height = max(image.shape[2] for image in scaled)
        width = max(image.shape[3] for image in scaled)
        pixels = torch.zeros(len(scaled), 3, height, width, device=self._device)
        mask = torch.zeros(len(scaled), height, width, dtype=torch.long, device=self._device)
        for place, image in enumerate(scaled):
            pixels[place, :, : image.shape[2], : image.shape[3]] = image[0]
            mask[place, : image.shape[2], : image.shape[3]] = 1
        return pixels, mask


def _corners(boxes: np.ndarray, width: int, height: int) -> np.ndarray:
    """Boxes given by centre and size as shares of the picture, as corners in pixels within it."""
    halves = boxes[:, 2:] / 2
    corners = np.concatenate([boxes[:, :2] - halves, boxes[:, :2] + halves], axis=1).clip(0, 1)
    return corners * np.array([width, height, width, height])


def load_model(folder: Path, needed: tuple[str, ...]) -> tuple[Any, dict[int, str]]:
    """The model of a folder on the CPU, and the names of its classes.

    Raises:
        ModelError: the files are missing or damaged, it is another architecture, timm is missing, or a class
            of ``needed`` is unknown to it.
    """
    config = read_config(folder)
    if config.get("model_type") != "table-transformer":
        raise ModelError(
            f"{folder} holds a model of type '{config.get('model_type')}', not 'table-transformer'.",
            "Choose a Table Transformer.",
        )
    from transformers import TableTransformerConfig, TableTransformerForObjectDetection

    with loading(folder) as shared:
        # Some files say null where a value is left out, which the library does not read.
        stated = TableTransformerConfig(**{name: one for name, one in config.items() if one is not None})
        try:
            loaded: Any = TableTransformerForObjectDetection.from_pretrained(
                folder, config=stated, use_safetensors=True, output_loading_info=True, **shared
            )
        except ImportError as error:
            raise ModelError(
                f"The backbone of {folder} needs timm and torchvision.",
                "Install the tatr extra: pip install 'finrag_pipeline[tatr]'.",
            ) from error
    model, report = loaded
    # Counters of batches in normalisation layers are not used when predicting.
    missing = [key for key in report["missing_keys"] if not key.endswith("num_batches_tracked")]
    if missing:
        raise ModelError(
            f"{folder} lacks {len(missing)} of the model's weights, {sorted(missing)[0]} among them.",
            AGAIN,
        )
    labels = {int(number): str(label) for number, label in model.config.id2label.items()}
    unknown = [label for label in needed if label not in labels.values()]
    if unknown:
        raise ModelError(
            f"{folder} does not know the class '{unknown[0]}'; it has {', '.join(labels.values())}.",
            "Choose a model for detection for the one stage, for structure for the other.",
        )
    return model.eval(), labels


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

    def detect(self, pages: Sequence[PageWords], path: Path) -> Iterator[list[Table]]:
        """Tables of each page from top to bottom; one list per page.

        Raises:
            FilingError: the PDF cannot be opened.
        """
        numbers = [page.page for page in pages]
        pictures = zip(pages, page_pictures(path, numbers, self._settings.dpi), strict=True)
        while batch := list(islice(pictures, self._settings.batch_size)):
            yield from self._batch(path, batch)

    def _batch(self, path: Path, batch: list[tuple[PageWords, np.ndarray | None]]) -> Iterator[list[Table]]:
        drawn = [(place, picture) for place, (_, picture) in enumerate(batch) if picture is not None]
        crops = []
        for (place, picture), seen in zip(drawn, self._tables.see([one for _, one in drawn]), strict=True):
            found = seen.of(TABLE, SIDEWAYS)
            for best in found[best_boxes(seen.boxes[found], 0, 1)]:
                sideways = seen.labels[best] == SIDEWAYS
                crops.append(self._crop(place, picture, seen.boxes[best], sideways))
        tables: list[list[Table]] = [[] for _ in batch]
        for crop, seen in zip(crops, self._parts.see([crop.picture for crop in crops]), strict=True):
            grid, header_rows = grid_of(seen)
            if not grid:
                continue
            page, problem = _readable(path, batch[crop.place][0])
            slots = [replace(slot, box=self._on_page(slot.box, crop)) for slot in grid]
            table = table_of_slots(slots, page, self.name, header_rows)
            if table is None and problem:
                box = around([slot.box for slot in slots])
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
    found = boxes[best_boxes(boxes, axis)]
    return found[np.argsort(found[:, axis] + found[:, axis + 2], kind="stable")]


def edges_between(spans: np.ndarray) -> np.ndarray:
    """Edges of neighbouring spans, shape (n, 2), in order: midway where they part or overlap; (n + 1,)."""
    inner = (spans[:-1, 1] + spans[1:, 0]) / 2
    edges = np.concatenate([[spans[:, 0].min()], inner, [spans[:, 1].max()]])
    return np.maximum.accumulate(edges)


def best_boxes(boxes: np.ndarray, *axes: int) -> list[int]:
    """Places of boxes, best first, that do not share half of the smaller one with a better one.

    Shared and smaller are meant along ``axes``: 0 across, 1 down.
    """
    low, high = boxes[:, axes], boxes[:, np.add(axes, 2)]
    sizes = np.prod(high - low, axis=1)
    kept: list[int] = []
    for place in range(len(boxes)):
        shared = np.minimum(high[place], high[kept]) - np.maximum(low[place], low[kept])
        smaller = np.maximum(np.minimum(sizes[place], sizes[kept]), 1e-9)
        if not (np.prod(np.maximum(shared, 0), axis=1) > _OVERLAP * smaller).any():
            kept.append(place)
    return kept


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
