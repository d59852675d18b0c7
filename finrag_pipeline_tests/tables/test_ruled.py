from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from finrag_pipeline.engine import Engine
from finrag_pipeline.errors import FilingError, UsageError
from finrag_pipeline.filings import pdf
from finrag_pipeline.filings.pages import read_page_text
from finrag_pipeline.schemas import PAGE_TABLES
from finrag_pipeline.settings import TableSettings
from finrag_pipeline.tables.boxed import table_of_slots
from finrag_pipeline.tables.extract import DETECTORS, extract_tables, get_detector
from finrag_pipeline.tables.model import Box, Cell, PageWords
from finrag_pipeline.tables.ruled import RuledDetector, slots_of
from finrag_pipeline.tables.words_of_pages import words_by_ocr
from finrag_pipeline_tests.small_filings import write_lines
from finrag_pipeline_tests.tables.drawn import (
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


def test_a_ruled_table_is_read_with_its_caption(tmp_path: Path) -> None:
    ((table,),) = detected(RuledDetector(), write_table(tmp_path / "ruled.pdf"))
    assert texts_of(table) == ROWS
    assert table.header_rows == 1
    assert [cell.text for cell in table.cells if cell.header] == ROWS[0]
    assert table.caption == "Consolidated Statements of Income"
    assert table.box == pytest.approx((LEFT, TOP, LEFT + sum(WIDTHS), TOP + len(ROWS) * ROW_HEIGHT), abs=1.5)
    sales = next(cell for cell in table.cells if cell.text == "$ 1,577")
    assert LEFT + WIDTHS[0] < sales.box.x0 < sales.box.x1 < LEFT + WIDTHS[0] + WIDTHS[1]
    assert TOP + ROW_HEIGHT < sales.box.y0 < sales.box.y1 < TOP + 2 * ROW_HEIGHT


def test_boxes_of_a_rotated_page_are_those_of_the_page_as_shown(tmp_path: Path) -> None:
    path = write_table(tmp_path / "turned.pdf", turned=True)
    assert pdf.read_pages(path, "turned", 0, 1)["rotation"].to_pylist() == [90]
    (page,) = words_of(path)
    ((table,),) = detected(RuledDetector(), path)
    assert {cell.text for cell in table.cells} == {text for row in ROWS for text in row}
    for cell in table.cells:
        assert 0 <= cell.box.x0 < cell.box.x1 <= page.width
        assert 0 <= cell.box.y0 < cell.box.y1 <= page.height


def test_a_page_without_rules_has_no_table_and_nothing_is_printed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = write_table(tmp_path / "bare.pdf", ruled=False)
    assert list(RuledDetector().detect(words_of(path) * 2, path)) == [[], []]
    assert capfd.readouterr() == ("", "")


def test_a_page_that_fails_has_no_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_table(tmp_path / "ruled.pdf")
    (page,) = words_of(path)
    assert list(RuledDetector().detect([replace(page, page=5)], path)) == [[]]

    def fails(table: object) -> None:
        raise RuntimeError("broken page")

    monkeypatch.setattr(pdf, "_ruled_table", fails)
    assert detected(RuledDetector(), path) == [[]]


def test_missing_files_are_refused(tmp_path: Path) -> None:
    pages = words_of(write_table(tmp_path / "ruled.pdf"))
    with pytest.raises(FilingError, match="cannot be opened"):
        next(RuledDetector().detect(pages, tmp_path / "gone.pdf"))


def test_spans_follow_from_the_boxes() -> None:
    slots = slots_of([[(0, 0, 10, 20), (10, 0, 30, 10), None], [None, (10, 10, 20, 20), (20, 10, 30, 20)]])
    assert [slot.header for slot in slots] == [True, True, False, False]
    assert [(slot.row, slot.column, slot.row_span, slot.column_span) for slot in slots] == [
        (0, 0, 2, 1),
        (0, 1, 1, 2),
        (1, 1, 1, 1),
        (1, 2, 1, 1),
    ]


def _page(words: list[tuple[float, float, float, float, str]]) -> PageWords:
    return PageWords(
        0,
        200,
        200,
        " ".join(word[4] for word in words),
        np.array([word[:4] for word in words], np.float32),
        tuple(word[4] for word in words),
    )


def test_signs_in_columns_of_their_own_join_their_numbers() -> None:
    texts = ["Sales", "$", "1,577", ")", "%"]
    page = _page([(10 * n, 0, 10 * n + 8, 8, text) for n, text in enumerate(texts)])
    slots = [Cell(0, n, Box(10 * n, 0, 10 * n + 10, 10), "") for n in range(len(texts))]
    table = table_of_slots(slots, page, "test", 0)
    assert table is not None
    assert texts_of(table) == [["Sales", "$ 1,577)%"]]
    assert table.cells[1].box == Box(10, 0, 48, 8)


def test_a_sign_without_a_number_stays() -> None:
    page = _page([(0, 0, 8, 8, "$"), (10, 0, 18, 8, "Sales"), (20, 0, 28, 8, "$")])
    slots = [Cell(0, n, Box(10 * n, 0, 10 * n + 10, 10), "") for n in range(3)]
    table = table_of_slots(slots, page, "test", 0)
    assert table is not None
    assert texts_of(table) == [["$", "Sales", "$"]]


def test_empty_rows_and_columns_are_dropped_and_spans_shrink() -> None:
    page = _page([(0, 0, 28, 8, "Year"), (0, 20, 8, 28, "a"), (20, 20, 28, 28, "b")])
    slots = [
        Cell(0, 0, Box(0, 0, 30, 10), "", 1, 3, header=True),
        *(Cell(1, n, Box(10 * n, 10, 10 * n + 10, 20), "") for n in range(3)),
        *(Cell(2, n, Box(10 * n, 20, 10 * n + 10, 30), "") for n in range(3)),
    ]
    table = table_of_slots(slots, page, "test", 1)
    assert table is not None
    assert texts_of(table) == [["Year", ""], ["a", "b"]]
    assert (table.cells[0].column_span, table.header_rows) == (2, 1)


def test_words_of_a_cell_are_in_reading_order() -> None:
    page = _page([(40, 1, 60, 9, "share"), (0, 0, 30, 8, "Earnings per"), (0, 12, 20, 20, "diluted")])
    table = table_of_slots([Cell(0, 0, Box(0, 0, 100, 30), "")], page, "test", 0)
    assert table is not None
    assert table.cells[0].text == "Earnings per share diluted"


def test_the_registry_names_its_detectors() -> None:
    assert set(DETECTORS) == {"words", "pymupdf", "tatr"}
    assert get_detector("pymupdf", TableSettings()).name == "pymupdf"
    with pytest.raises(UsageError, match="no table detector 'camelot'"):
        get_detector("camelot", TableSettings())


@pytest.mark.parametrize("detector", ["words", "pymupdf", "tatr"])
def test_page_text_has_no_tables(tmp_path: Path, detector: Literal["words", "pymupdf", "tatr"]) -> None:
    row = {"doc": "ACME", "page": 0, "text": "Net sales\n$\n1,577\n1,373\nNet income\n98\n76\n"}
    path = write_lines(tmp_path / "ACME.jsonl", [row])
    pages = read_page_text(path, "ACME")
    filing = {"filing": "ACME", "source": "page_text"}
    found = extract_tables(filing, pages, TableSettings(detector=detector), path, Engine(1, 60.0))
    assert found.schema.names == PAGE_TABLES.names and not found.num_rows


def test_without_tesseract_ocr_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TESSDATA_PREFIX", str(tmp_path))
    path = write_table(tmp_path / "scan.pdf")
    with pytest.raises(FilingError, match="Install Tesseract"):
        words_by_ocr(path, words_of(path)[0])


def test_pictures_have_the_size_of_the_page_as_shown(tmp_path: Path) -> None:
    path = write_table(tmp_path / "turned.pdf", turned=True)
    picture, missing = pdf.page_pictures(path, [0, 7], dpi=36)
    assert picture is not None
    assert picture.shape == (396, 306, 3)
    assert picture.min() < 100 < picture.max()
    assert missing is None
