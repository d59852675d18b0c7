"""Pages that no one would set so, and that must neither stop a run nor yield an invented table."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from finrag_pipeline.tables.model import PageWords, Table
from finrag_pipeline.tables.words.detector import WordsDetector, detect_page
from finrag_pipeline_tests.tables.grids import texts_of
from finrag_pipeline_tests.tables.words.sheet import Sheet

_NUMBERS = [f"{place:,}" for place in range(1000, 9000, 7)]


def _page(words: list[tuple[float, float, float, float, str]], width: float = 612) -> PageWords:
    boxes = np.array([word[:4] for word in words], np.float32).reshape(-1, 4)
    texts = tuple(word[4] for word in words)
    return PageWords(0, width, 792, " ".join(texts), boxes, texts)


def _grid(rows: int, columns: int, step: float = 60, pitch: float = 14) -> PageWords:
    words = [
        (
            40 + step * j,
            50 + pitch * i,
            40 + step * j + 24,
            60 + pitch * i,
            _NUMBERS[(i * columns + j) % len(_NUMBERS)],
        )
        for i in range(rows)
        for j in range(columns)
    ]
    return _page(words, 80 + step * columns)


def _sound(table: Table) -> None:
    """What holds of every table: cells inside the grid, none on top of another, all inside the box."""
    taken: set[tuple[int, int]] = set()
    for cell in table.cells:
        places = {
            (row, column)
            for row in range(cell.row, cell.row + cell.row_span)
            for column in range(cell.column, cell.column + cell.column_span)
        }
        assert not places & taken
        taken |= places
        assert all(row < table.rows and column < table.columns for row, column in places)
        assert table.box.x0 <= cell.box.x0 <= cell.box.x1 <= table.box.x1
        assert table.box.y0 <= cell.box.y0 <= cell.box.y1 <= table.box.y1
        assert cell.text
    assert len(table.levels) == table.rows >= 2
    assert table.columns >= 2


def test_text_only_page_has_no_tables() -> None:
    page = PageWords(0, 0.0, 0.0, "Cash 1 2", np.zeros((0, 4), np.float32), ())
    assert detect_page(page) == []
    assert list(WordsDetector().detect([page, page], Path())) == [[], []]


def test_page_of_only_numbers_is_a_grid() -> None:
    (table,) = detect_page(_grid(6, 5))
    assert (table.rows, table.columns, table.header_rows) == (6, 5, 0)
    assert texts_of(table)[0] == _NUMBERS[:5]


def test_unreadable_page_yields_nothing() -> None:
    page = _grid(6, 5)
    assert detect_page(page)
    assert detect_page(replace(page, needs_ocr=True)) == []


def test_four_hundred_columns_in_bounded_time() -> None:
    page = _grid(60, 400)
    start = time.process_time()
    (table,) = detect_page(page)
    assert time.process_time() - start < 10
    assert (table.rows, table.columns) == (60, 400)


def test_words_without_extent_are_left_out() -> None:
    page = _grid(3, 3)
    boxes = np.vstack((page.boxes, [[100, 55, 100, 55], [np.nan, 1, 2, 3], [40, 50, 64, 50]])).astype(
        np.float32
    )
    odd = PageWords(0, 612, 792, "", boxes, (*page.words, "9", "8", "7"))
    (table,) = detect_page(odd)
    assert texts_of(table) == texts_of(detect_page(page)[0])


def test_rotated_page_reads_as_shown(tmp_path: Path) -> None:
    sheet = Sheet().heads(("2031", "2030"), (430.0, 530.0))
    sheet.row("Leases", ("12", "14"), (430.0, 530.0)).row("Loans", ("3", "2"), (430.0, 530.0))
    (page,) = sheet.words(tmp_path, rotate=90)
    # Lines of a page that is shown on its side run down it: nothing is made of them.
    for table in detect_page(page):
        _sound(table)


_WORDS = st.lists(
    st.tuples(
        st.sampled_from([60.0, 130.0, 180.0, 300.0, 360.0, 420.0, 480.0]),
        st.integers(3, 55),
        st.sampled_from(
            [
                "Cash",
                "Total assets:",
                "$",
                "1,204",
                "(37)",
                ")",
                "%",
                "—",
                "2031",
                "(a)",
                "December",
                "31,",
                "net of",
                "(in millions)",
                "•",
                "of",
                "N/A",
                "5",
                "12.5%",
                ".....",
                "/s/",
                "Year ended",
            ]
        ),
        st.integers(0, 4),
    ),
    max_size=120,
)


@given(_WORDS)
@settings(max_examples=150, deadline=None)
def test_any_page_yields_sound_tables(words: list[tuple[float, int, str, int]]) -> None:
    page = _page([(x + s, 12.0 * y, x + s + 4.5 * len(t), 12.0 * y + 10, t) for x, y, t, s in words])
    tables = detect_page(page)
    for table in tables:
        _sound(table)
    assert [table.box.y0 for table in tables] == sorted(table.box.y0 for table in tables)
