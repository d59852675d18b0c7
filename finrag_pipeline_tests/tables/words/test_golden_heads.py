"""Heads of tables: headers set far above, choices of a vote, units, dates over texts that span columns."""

from __future__ import annotations

from pathlib import Path

from finrag_pipeline.tables.model import Table
from finrag_pipeline.tables.words.detector import detect_page
from finrag_pipeline_tests.tables.grids import texts_of
from finrag_pipeline_tests.tables.words.sheet import LEFT, Sheet

TWO, THREE, FOUR = (430.0, 530.0), (340.0, 430.0, 530.0), (280.0, 360.0, 440.0, 530.0)


def _table(sheet: Sheet, folder: Path) -> Table:
    (table,) = detect_page(sheet.words(folder)[0])
    return table


def _headers(table: Table) -> set[tuple[int, int, str]]:
    return {(cell.column, cell.column_span, cell.text) for cell in table.cells if cell.header}


def test_a_title_with_units_heads_no_columns(tmp_path: Path) -> None:
    edges = (380.0, 530.0)
    sheet = Sheet().centre(
        292, "Sales of the Regions in the Fiscal Years 2031 and 2030 (dollars in millions)"
    )
    sheet.down(14).heads(("2031", "2030"), edges)
    sheet.row("Europe", ("145", "130"), edges).row("Asia", ("45", "30"), edges)
    table = _table(sheet, tmp_path)
    assert texts_of(table)[0] == ["", "2031", "2030"]
    assert table.caption is not None and "dollars in millions" in table.caption


def test_spans_of_time_beside_figures_are_no_choices(tmp_path: Path) -> None:
    sheet = Sheet().heads(("Least", "Most", "Cost"), THREE)
    sheet.row("Software", ("2 years", "3 years", "130"), THREE).row(
        "Tools", ("3 years", "4 years", "45"), THREE
    )
    table = _table(sheet, tmp_path)
    assert (table.header_rows, table.rows) == (1, 3)


def test_dates_above_a_text_that_spans_them_head_their_own_columns(tmp_path: Path) -> None:
    edges = (470.0, 530.0)
    sheet = Sheet().heads(("2031", "2030"), edges).centre(489, "Parent Company").down()
    sheet.row("Notes", ("1,145", "1,130"), edges).row("Loans", ("45", "30"), edges)
    assert _headers(_table(sheet, tmp_path)) == {(1, 1, "2031"), (2, 1, "2030"), (1, 2, "Parent Company")}


def test_a_unit_right_behind_a_year_is_part_of_its_header(tmp_path: Path) -> None:
    sheet = Sheet().heads(("2031 $ million", "2030 $ million"), TWO, "Results")
    sheet.row("Net sales", ("145", "130"), TWO).row("Net income", ("45", "30"), TWO)
    assert texts_of(_table(sheet, tmp_path))[0] == ["Results", "2031 $ million", "2030 $ million"]


def test_ranges_of_amounts_in_words_are_figures(tmp_path: Path) -> None:
    sheet = Sheet().heads(("Outlook",), (530.0,))
    for label, text in (
        ("Net sales", "$10.95 billion to $11.05 billion"),
        ("Tax rate", "approximately 24.6%"),
    ):
        sheet.left(LEFT, label).centre(480, text).down()
    table = _table(sheet, tmp_path)
    assert table.header_rows == 1
    assert texts_of(table)[1] == ["Net sales", "$10.95 billion to $11.05 billion"]
