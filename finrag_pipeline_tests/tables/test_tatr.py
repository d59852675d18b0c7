from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks.published_models import DETECTED, TABLE_CLASSES, write_table_transformer
from finrag_pipeline.errors import ModelError
from finrag_pipeline.filings.pdf import page_pictures
from finrag_pipeline.settings import TableSettings
from finrag_pipeline.storage.model_folders import model_folder
from finrag_pipeline.tables import extract, tatr
from finrag_pipeline.tables.extract import detector_problem, get_detector
from finrag_pipeline.tables.model import PageWords
from finrag_pipeline.tables.tatr import (
    CLASSES,
    Network,
    Seen,
    TatrDetector,
    best_boxes,
    edges_between,
    grid_of,
    kept_apart,
    load_model,
)
from finrag_pipeline_tests.tables.drawn import (
    HEIGHT,
    LEFT,
    ROW_HEIGHT,
    ROWS,
    TOP,
    WIDTHS,
    detected,
    words_of,
    write_table,
)
from finrag_pipeline_tests.tables.grids import texts_of
from finrag_pipeline_tests.tables.tiny_tatr import write_detection, write_structure

BOX = (
    (LEFT + sum(WIDTHS) / 2) / 612,
    (TOP + len(ROWS) * ROW_HEIGHT / 2) / HEIGHT,
    sum(WIDTHS) / 612,
    len(ROWS) * ROW_HEIGHT / HEIGHT,
)
"""Where the drawn table stands on its page: centre and size as shares."""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> TableSettings:
    folder = tmp_path_factory.mktemp("tatr")
    (page,) = page_pictures(write_table(folder / "page.pdf"), [0], dpi=72)
    assert page is not None
    top, left = round(TOP), round(LEFT)
    crop = page[top - 10 : top + 90, left - 10 : left + 390]
    return TableSettings(
        detection_model=str(write_detection(folder / "detection", BOX)),
        structure_model=str(write_structure(folder / "structure", crop, seed=7)),
        structure_threshold=0.0,
        dpi=72,
        padding=10,
        batch_size=2,
    )


def seen(*objects: tuple[str, float, tuple[float, float, float, float]]) -> Seen:
    labels, scores, boxes = zip(*objects, strict=True)
    return Seen(tuple(labels), np.array(scores), np.array(boxes, float))


def row(y0: float, y1: float, score: float = 0.9) -> tuple[str, float, tuple[float, float, float, float]]:
    return ("table row", score, (0, y0, 100, y1))


def column(x0: float, x1: float, score: float = 0.9) -> tuple[str, float, tuple[float, float, float, float]]:
    return ("table column", score, (x0, 0, x1, 60))


PLAIN = [row(0, 20), row(20, 40), row(40, 60), column(0, 50), column(50, 75), column(75, 100)]


def test_rows_and_columns_make_a_grid() -> None:
    slots, headers = grid_of(seen(*PLAIN, ("table column header", 0.9, (0, 0, 100, 19))))
    assert (headers, len(slots), slots[-1].row, slots[-1].column) == (1, 9, 2, 2)
    assert [slot.header for slot in slots] == [True] * 3 + [False] * 6
    assert slots[4].box == (50, 20, 75, 40)


def test_a_spanning_cell_takes_its_places_and_the_better_one_wins() -> None:
    slots, headers = grid_of(
        seen(
            *PLAIN,
            ("table column header", 0.9, (0, 0, 100, 40)),
            ("table spanning cell", 0.8, (51, 1, 99, 19)),
            ("table spanning cell", 0.7, (51, 1, 74, 39)),
        )
    )
    assert headers == 2
    spanning = [slot for slot in slots if slot.column_span > 1 or slot.row_span > 1]
    assert [(slot.row, slot.column, slot.row_span, slot.column_span) for slot in spanning] == [(0, 1, 1, 2)]
    assert len(slots) == 8
    assert spanning[0].box == (50, 0, 100, 20)


def test_a_projected_row_header_spans_its_row() -> None:
    slots, _ = grid_of(seen(*PLAIN, ("table projected row header", 0.8, (0, 21, 40, 39))))
    assert [(slot.row, slot.column, slot.column_span) for slot in slots if slot.row == 1] == [(1, 0, 3)]


def test_no_cell_is_half_header() -> None:
    slots, _ = grid_of(
        seen(
            *PLAIN,
            ("table column header", 0.9, (0, 0, 100, 20)),
            ("table spanning cell", 0.8, (50, 0, 100, 60)),
        )
    )
    (span,) = [slot for slot in slots if slot.column_span > 1]
    assert (span.row, span.row_span, span.header) == (0, 1, True)


def test_a_header_that_leaves_out_the_first_row_is_none() -> None:
    _, headers = grid_of(seen(*PLAIN, ("table column header", 0.9, (0, 40, 100, 60))))
    assert headers == 0


@pytest.mark.parametrize("lacking", ["table row", "table column"])
def test_without_rows_or_columns_there_is_no_grid(lacking: str) -> None:
    assert grid_of(seen(*(one for one in PLAIN if one[0] != lacking))) == ([], 0)


def test_rows_seen_twice_are_kept_once() -> None:
    boxes = np.array([[0, 20, 100, 40], [0, 0, 100, 20], [0, 22, 100, 41], [0, 38, 100, 60]], float)
    assert kept_apart(boxes, axis=1)[:, 1].tolist() == [0, 20, 38]


def test_edges_lie_midway_and_never_go_back() -> None:
    assert edges_between(np.array([[0, 18], [22, 40], [38, 60]], float)).tolist() == [0, 20, 39, 60]
    assert edges_between(np.array([[0, 50], [10, 20], [12, 40]], float)).tolist() == [0, 30, 30, 50]


def test_overlapping_tables_are_one() -> None:
    boxes = np.array([[0, 10, 100, 100], [0, 200, 100, 300], [0, 0, 100, 100]], float)
    assert best_boxes(boxes, 0, 1) == [0, 1]


def test_both_stages_run_on_a_page(settings: TableSettings, tmp_path: Path) -> None:
    ((table,),) = detected(get_detector("tatr", settings), write_table(tmp_path / "page.pdf"))
    assert table.detector == "tatr"
    placed = [word for cell in table.cells for word in cell.text.split()]
    printed = [word for row in ROWS for text in row for word in text.split()]
    assert placed
    assert set(placed) <= {*printed, "Consolidated", "Statements", "of", "Income"}
    for cell in table.cells:
        assert cell.row + cell.row_span <= table.rows
        assert cell.column + cell.column_span <= table.columns


class Known:
    """Sees the drawn table's rows and columns in every crop of 10 pixels padding at 72 dpi."""

    def see(self, pictures: Sequence[np.ndarray]) -> Iterator[Seen]:
        for picture in pictures:
            assert picture.shape[:2] == (len(ROWS) * 20 + 20, 380 + 20)
            rows = [
                ("table row", 0.9, (10, 10 + 20 * number, 390, 30 + 20 * number))
                for number in range(len(ROWS))
            ]
            edges = np.cumsum([10, *WIDTHS])
            columns = [("table column", 0.9, (left, 10, right, 90)) for left, right in pairwise(edges)]
            yield seen(*rows, *columns, ("table column header", 0.9, (10, 10, 390, 30)))


def test_what_is_seen_becomes_a_table_in_points(settings: TableSettings, tmp_path: Path) -> None:
    detector = TatrDetector(settings)
    detector._parts = Known()
    ((table,),) = detected(detector, write_table(tmp_path / "page.pdf"))
    assert texts_of(table) == ROWS
    assert table.header_rows == 1
    assert table.box == pytest.approx((LEFT, TOP, LEFT + 380, TOP + 80), abs=1)
    assert table.caption == "Consolidated Statements of Income"


def test_a_sideways_table_is_turned_for_the_model_and_back(settings: TableSettings, tmp_path: Path) -> None:
    folder = write_detection(tmp_path / "sideways", BOX, "table rotated")
    detector = TatrDetector(settings.model_copy(update={"detection_model": str(folder)}))
    shapes = []

    class OneCell:
        def see(self, pictures: Sequence[np.ndarray]) -> Iterator[Seen]:
            for picture in pictures:
                shapes.append(picture.shape[:2])
                # Turned clockwise, the left end of the table is up and its top is to the right.
                yield seen(("table row", 0.9, (10, 10, 90, 210)), ("table column", 0.9, (70, 10, 90, 390)))

    detector._parts = OneCell()
    ((table,),) = detected(detector, write_table(tmp_path / "page.pdf"))
    assert shapes == [(400, 100)]
    assert table.box == pytest.approx((LEFT, TOP, LEFT + 200, TOP + 20), abs=1.5)
    assert texts_of(table) == [["(in millions)"]]


def test_tables_keep_the_order_of_pages_over_batches(settings: TableSettings, tmp_path: Path) -> None:
    path = write_table(tmp_path / "page.pdf")
    detector = TatrDetector(settings)
    detector._parts = Known()
    (page,) = words_of(path)
    missing = replace(page, page=9)
    found = list(detector.detect([page, missing, page, page, page], path))
    assert [len(tables) for tables in found] == [1, 0, 1, 1, 1]


def test_a_picture_without_words_tells_why_it_is_empty(
    settings: TableSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TESSDATA_PREFIX", str(tmp_path))
    path = write_table(tmp_path / "page.pdf")
    blank = PageWords(0, 612, 792, "", np.zeros((0, 4), np.float32), (), needs_ocr=True)
    detector = TatrDetector(settings)
    detector._parts = Known()
    ((table,),) = detector.detect([blank], path)
    assert table.cells == ()
    assert (table.rows, table.columns) == (4, 3)
    assert "Tesseract" in table.problems[0]


def test_pictures_of_unlike_size_share_a_batch(settings: TableSettings) -> None:
    found = Network(Path(settings.detection_model), ("table",), 128, 0.5, 4)
    pictures = [np.full((50, 100, 3), 255, np.uint8), np.full((120, 60, 3), 255, np.uint8)]
    wide, tall = found.see(pictures)
    assert wide.boxes[0] == pytest.approx(
        np.array([LEFT / 612, TOP / HEIGHT, 452 / 612, 280 / HEIGHT]) * [100, 50, 100, 50], abs=0.1
    )
    assert tall.boxes[0] == pytest.approx(wide.boxes[0] * [0.6, 2.4, 0.6, 2.4], abs=0.1)


def test_padding_is_masked(settings: TableSettings) -> None:
    found = Network(Path(settings.detection_model), ("table",), 100, 0.5, 4)
    white = np.full((50, 100, 3), 255, np.uint8)
    pixels, mask = found._pixels([white, np.full((100, 50, 3), 255, np.uint8)])
    assert pixels.shape == (2, 3, 100, 100)
    assert mask.sum(dim=(1, 2)).tolist() == [5000, 5000]
    assert pixels[0, :, 50:].abs().max() == 0
    assert pixels[0, :, 0, 0].tolist() == pytest.approx(
        [(1 - mean) / deviation for mean, deviation in zip(tatr._MEAN, tatr._DEVIATION, strict=True)]
    )


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(ModelError, match="type 'bert'"):
        load_model(tmp_path, CLASSES)


def test_the_stages_cannot_be_swapped(settings: TableSettings) -> None:
    with pytest.raises(ModelError, match="does not know the class 'table row'"):
        load_model(Path(settings.detection_model), CLASSES)


def test_damaged_weights_are_refused(settings: TableSettings, tmp_path: Path) -> None:
    source = Path(settings.structure_model)
    (tmp_path / "config.json").write_bytes((source / "config.json").read_bytes())
    (tmp_path / "model.safetensors").write_bytes((source / "model.safetensors").read_bytes()[:1000])
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_model(tmp_path, CLASSES)


def test_weights_that_are_not_there_are_told(settings: TableSettings, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    source = Path(settings.structure_model)
    (tmp_path / "config.json").write_bytes((source / "config.json").read_bytes())
    weights = load_file(source / "model.safetensors")
    weights.pop("class_labels_classifier.weight")
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match="lacks 1 of the model's weights"):
        load_model(tmp_path, CLASSES)


def test_a_missing_timm_names_the_extra(
    settings: TableSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import TableTransformerForObjectDetection

    def fails(*args: object, **values: object) -> None:
        raise ImportError("TimmBackbone requires the timm library")

    monkeypatch.setattr(TableTransformerForObjectDetection, "from_pretrained", fails)
    with pytest.raises(ModelError, match=r"finrag_pipeline\[tatr\]"):
        load_model(Path(settings.structure_model), CLASSES)


def test_a_model_nowhere_to_be_had_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError, match="FINRAG_TABLES__DETECTION_MODEL"):
        model_folder("nobody/no-such-model", None, "FINRAG_TABLES__DETECTION_MODEL")


def test_a_name_that_cannot_be_one_is_refused() -> None:
    with pytest.raises(ModelError, match="neither a folder nor the name"):
        model_folder("no/such/folder", None, "FINRAG_TABLES__STRUCTURE_MODEL")


PUBLISHED = {"detection": (DETECTED, 15, True), "structure": (TABLE_CLASSES, 125, False)}
"""Labels, queries, and whether the weights are a pickle."""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both models in their published size, under their published names, with random weights."""
    pytest.importorskip("timm", reason="timm is not installed: pip install 'finrag_pipeline[tatr]'")
    root = tmp_path_factory.mktemp("published")
    return {name: write_table_transformer(root / name, *what) for name, what in PUBLISHED.items()}


@pytest.mark.parametrize("stage", PUBLISHED)
def test_a_published_checkpoint_is_loaded_whole(
    published: dict[str, Path], stage: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """ResNet-18 of timm; every tensor of the file has its place, and no place is left at random."""
    import torch
    from safetensors.torch import load_file

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = model_folder(str(published[stage]), None, "X")
    tensors = load_file(folder / "model.safetensors")
    model, labels = load_model(folder, PUBLISHED[stage][0])
    own = model.state_dict()
    assert [name for name in tensors if not torch.equal(tensors[name], own[name])] == []
    assert {name for name in own if not name.endswith("num_batches_tracked")} == tensors.keys()
    assert tuple(labels.values()) == PUBLISHED[stage][0] and sum(map(torch.numel, tensors.values())) > 28e6


def test_published_sizes_run_from_page_to_grid(
    published: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    names = {f"{stage}_model": str(folder) for stage, folder in published.items()}
    settings = TableSettings(**names, detection_threshold=0.0, structure_threshold=0.0)
    assert detector_problem("tatr", settings) is None
    (tables,) = detected(get_detector("tatr", settings), write_table(tmp_path / "page.pdf"))
    assert all(table.rows and table.columns for table in tables), "random weights may see nothing"


def test_what_tatr_lacks_is_told_with_the_command(
    settings: TableSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert detector_problem("words", TableSettings()) is None
    assert detector_problem("tatr", settings) is None, "its backbone needs no timm"
    problem = detector_problem("tatr", TableSettings())
    assert problem is not None and "FINRAG_TABLES__DETECTION_MODEL" in problem.command
    folder = write_table_transformer(tmp_path / "detection", *PUBLISHED["detection"])
    monkeypatch.setattr(extract, "find_spec", lambda name: None)
    problem = detector_problem("tatr", settings.model_copy(update={"detection_model": str(folder)}))
    assert problem is not None and problem.command == "pip install 'finrag_pipeline[tatr]'"


def test_published_configurations_ask_for_timm(settings: TableSettings) -> None:
    """The hub's files name the backbone of timm in the old way; transformers has to understand it still."""
    from transformers import TableTransformerConfig

    config = TableTransformerConfig(**json.loads('{"use_timm_backbone": true, "backbone": "resnet18"}'))
    assert config.backbone_config.model_type == "timm_backbone"
    assert config.backbone_config.backbone == "resnet18"
    assert not config.backbone_config.use_pretrained_backbone
