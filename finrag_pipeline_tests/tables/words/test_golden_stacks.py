"""Stacked tables: where one ends and the next begins, and what only looks like the beginning of another."""

from __future__ import annotations

from pathlib import Path

import pytest

from finrag_pipeline.tables.model import Table
from finrag_pipeline.tables.words.detector import detect_page
from finrag_pipeline_tests.tables.grids import texts_of
from finrag_pipeline_tests.tables.words.sheet import LEFT, Sheet

ONE, TWO, THREE, FOUR = (530.0,), (430.0, 530.0), (340.0, 430.0, 530.0), (280.0, 360.0, 440.0, 530.0)


def _tables(sheet: Sheet, folder: Path) -> list[Table]:
    return detect_page(sheet.words(folder)[0])


def _labels(table: Table) -> list[str]:
    return [row[0] for row in texts_of(table)[table.header_rows :]]


def test_a_heading_with_a_verb_stays_within_columns_of_one_table(tmp_path: Path) -> None:
    sheet = Sheet().heads(("2031", "2030"), TWO, "(in millions)")
    sheet.row("Benefit obligation", ("845", "812"), TWO).row("Funded status", ("(45)", "(12)"), TWO)
    sheet.left(LEFT, "Amounts recognized consist of:").down()
    sheet.row("Other assets", ("8", "9"), TWO).row("Other liabilities", ("(53)", "(21)"), TWO)
    (table,) = _tables(sheet, tmp_path)
    assert "Amounts recognized consist of:" in _labels(table)


@pytest.mark.parametrize("title", ["Reconciliation of Organic Growth", ""])
def test_each_quarter_heads_a_table(tmp_path: Path, title: str) -> None:
    sheet = Sheet()
    for quarter in ("First", "Second", "Third"):
        if title:
            sheet.size = 13
            sheet.centre(300, title).down(14)
            sheet.size = 9
        sheet.centre(512, f"{quarter} Quarter").down(12)
        sheet.row("Reported", ("5.3%",), ONE).row("Currency", ("(1.2)%",), ONE).down(4)
    tables = _tables(sheet, tmp_path)
    assert [texts_of(table)[0] for table in tables] == [
        ["", f"{quarter} Quarter"] for quarter in ("First", "Second", "Third")
    ]


def test_the_foot_of_a_statement_belongs_to_it(tmp_path: Path) -> None:
    sheet = Sheet().heads(("2031", "2030"), TWO)
    sheet.row("Net sales", ("$ 145", "$ 133"), TWO).row("Net income", ("45", "33"), TWO).down(12)
    sheet.left(LEFT, "Reconciliation of the reported growth of the company to growth at constant currency")
    sheet.down(20).row("Volume", ("5", "3"), TWO).row("Price", ("2", "1"), TWO)
    (table,) = _tables(sheet, tmp_path)
    assert _labels(table)[-2:] == ["Volume", "Price"]


def test_percent_of_sales_heads_a_part_of_a_table(tmp_path: Path) -> None:
    sheet = Sheet().heads(("2031", "2030"), TWO)
    sheet.row("Marketing", ("$ 145", "$ 133"), TWO).row("Fulfilment", ("45", "33"), TWO)
    sheet.left(LEFT, "Percent of net sales:").down()
    sheet.row("Marketing", ("5.1%", "5.3%"), TWO).row("Fulfilment", ("2.2", "1.9"), TWO)
    (table,) = _tables(sheet, tmp_path)
    assert table.rows == 6


def test_a_long_label_up_to_its_figures_is_no_prose(tmp_path: Path) -> None:
    label, edges = (
        "Net earnings, including earnings attributable to redeemable and noncontrolling interests, as",
        (500.0, 570.0),
    )
    sheet = Sheet().heads(("2031", "2030"), edges, "(in millions)")
    sheet.row(label, ("$ 2,210", "$ 1,786"), edges).row("Depreciation", ("594", "620"), edges)
    (table,) = _tables(sheet, tmp_path)
    assert table.header_rows == 1
    assert [row[1:] for row in texts_of(table)] == [["2031", "2030"], ["$ 2,210", "$ 1,786"], ["594", "620"]]


def test_cells_of_two_lines_set_about_their_middle_stay_in_their_row(tmp_path: Path) -> None:
    sheet = Sheet().heads(("Pension", "2031", "2030"), THREE)
    for heading in ("Benefit obligation:", "Net cost:"):
        sheet.left(LEFT, heading).down().row("Discount rate", ("2.7%", "2.5%", "3.4%"), THREE)
        sheet.left(LEFT, "Trend").right(340, "N/A").centre(412, "graded from").centre(
            512, "graded from"
        ).down(11)
        sheet.centre(412, "6.25% in 2031").centre(512, "6.50% in 2030").down()
    (table,) = _tables(sheet, tmp_path)
    assert [row for row in texts_of(table) if row[0] == "Trend"] == [
        ["Trend", "N/A", "graded from 6.25% in 2031", "graded from 6.50% in 2030"]
    ] * 2
