"""Layouts of primary statements, rebuilt without ruling lines, against the grid a reader sees."""

from __future__ import annotations

from pathlib import Path

from finrag_pipeline.tables.model import Table
from finrag_pipeline.tables.words.detector import detect_page
from finrag_pipeline_tests.tables.grids import texts_of
from finrag_pipeline_tests.tables.words.sheet import LEFT, Sheet

TWO, THREE = (430.0, 530.0), (370.0, 450.0, 530.0)


def _tables(sheet: Sheet, folder: Path) -> list[Table]:
    return detect_page(sheet.words(folder)[0])


def _spans(table: Table) -> dict[str, tuple[int, int, int, int]]:
    """Row, column, row span and column span of each header."""
    return {c.text: (c.row, c.column, c.row_span, c.column_span) for c in table.cells if c.header}


def test_borderless_statement_with_a_header_over_three_years(tmp_path: Path) -> None:
    sheet = Sheet(font="Times-Roman", size=10)
    sheet.centre(306, "Harrow Vale Corporation").down().centre(
        306, "Consolidated Statements of Earnings"
    ).down()
    sheet.centre(306, "(in millions, except per share data)").down(26)
    sheet.centre(432, "Years Ended December 31,").down().heads(("2031", "2030", "2029"), THREE)
    sheet.row("Net sales", ("", "", ""), THREE)
    sheet.row("Products", ("$ 54,928", "$ 50,053", "$ 45,005"), THREE, 6)
    sheet.row("Services", ("10,470", "9,759", "—"), THREE, 6)
    sheet.row("Total net sales", ("65,398", "59,812", "45,005"), THREE, 14)
    sheet.row("Cost of sales", ("(48,996)", "(44,589)", "(40,293)"), THREE)
    sheet.down(13).row("Earnings per share", ("", "", ""), THREE)
    sheet.row("Basic", ("$ 24.60", "$ 22.09", "$ 17.74"), THREE, 6).down(10)
    sheet.left(LEFT, "The accompanying notes are an integral part of these statements.")
    (table,) = _tables(sheet, tmp_path)
    assert texts_of(table) == [
        ["", "Years Ended December 31,", "", ""],
        ["", "2031", "2030", "2029"],
        ["Net sales", "", "", ""],
        ["Products", "$ 54,928", "$ 50,053", "$ 45,005"],
        ["Services", "10,470", "9,759", "—"],
        ["Total net sales", "65,398", "59,812", "45,005"],
        ["Cost of sales", "(48,996)", "(44,589)", "(40,293)"],
        ["Earnings per share", "", "", ""],
        ["Basic", "$ 24.60", "$ 22.09", "$ 17.74"],
    ]
    assert _spans(table)["Years Ended December 31,"] == (0, 1, 1, 3)
    assert table.header_rows == 2
    assert table.levels == (0, 0, 0, 1, 1, 2, 0, 0, 1)
    assert table.caption == "Consolidated Statements of Earnings"
    assert table.above[-1] == "(in millions, except per share data)"
    assert table.below[0].startswith("The accompanying notes")


def test_quarters_beside_year_to_date(tmp_path: Path) -> None:
    edges = (330.0, 395.0, 465.0, 530.0)
    sheet = Sheet()
    sheet.centre(345, "Three Months Ended").centre(480, "Nine Months Ended").down(11)
    sheet.centre(345, "September 30,").centre(480, "September 30,").down()
    sheet.heads(("2031", "2030", "2031", "2030"), edges, "(In thousands)")
    sheet.row("Room revenue", ("$ 1,200", "$ 1,100", "$ 3,600", "$ 3,300"), edges)
    sheet.row("Food and drink", ("400", "390", "1,250", "(1,170)"), edges)
    (table,) = _tables(sheet, tmp_path)
    assert texts_of(table) == [
        ["(In thousands)", "Three Months Ended September 30,", "", "Nine Months Ended September 30,", ""],
        ["", "2031", "2030", "2031", "2030"],
        ["Room revenue", "$ 1,200", "$ 1,100", "$ 3,600", "$ 3,300"],
        ["Food and drink", "400", "390", "1,250", "(1,170)"],
    ]
    spans = _spans(table)
    assert spans["Three Months Ended September 30,"] == (0, 1, 1, 2)
    assert spans["Nine Months Ended September 30,"] == (0, 3, 1, 2)
    assert spans["(In thousands)"] == (0, 0, 2, 1)


def test_equity_statement_with_stacked_headers(tmp_path: Path) -> None:
    edges = (225.0, 280.0, 340.0, 400.0, 470.0, 535.0)
    sheet = Sheet(size=8)
    sheet.heads(("", "", "Capital in", "", "Comprehensive", ""), edges)
    sheet.centre(235, "Common Stock").heads(("", "", "Excess of", "Retained", "Income", "Total"), edges)
    sheet.heads(("Shares", "Amount", "Par Value", "Earnings", "(Loss)", "Equity"), edges)
    for year in (2030, 2031):
        sheet.row(
            f"Balances, {year}", ("3,228", "$ 323", "$ 2,462", "$ 85,777", "$ (7,168)", "$ 81,394"), edges
        )
        sheet.row("Net income", ("—", "—", "—", "14,694", "—", "14,694"), edges)
        sheet.row("Shares bought back", ("(65)", "(6)", "(102)", "(4,148)", "—", "(4,256)"), edges)
    (table,) = _tables(sheet, tmp_path)
    assert (table.rows, table.columns, table.header_rows) == (8, 7, 2)
    assert _spans(table) == {
        "Common Stock": (0, 1, 1, 2),
        "Shares": (1, 1, 1, 1),
        "Amount": (1, 2, 1, 1),
        "Capital in Excess of Par Value": (0, 3, 2, 1),
        "Retained Earnings": (0, 4, 2, 1),
        "Comprehensive Income (Loss)": (0, 5, 2, 1),
        "Total Equity": (0, 6, 2, 1),
    }
    assert texts_of(table)[2] == [
        "Balances, 2030",
        "3,228",
        "$ 323",
        "$ 2,462",
        "$ 85,777",
        "$ (7,168)",
        "$ 81,394",
    ]
    assert texts_of(table)[7] == ["Shares bought back", "(65)", "(6)", "(102)", "(4,148)", "—", "(4,256)"]


def test_wrapped_labels_belong_to_the_row_of_their_figures(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.heads(("2031", "2030"), TWO)
    sheet.down(4).left(LEFT, "Common stock, $0.01 par value; 800 shares").down(10.5)
    sheet.row("authorized, 412 issued", ("$ 4", "$ 4"), TWO, 8)  # figures on the last line
    sheet.down(4).row("Changes in other assets and", ("(125)", "91"), TWO)
    sheet.y -= 2.5
    sheet.left(LEFT + 8, "liabilities of the group").down(17)  # figures on the first line
    sheet.left(LEFT, "Retained earnings of").down(5.5)
    sheet.right(TWO[0], "7,301").right(TWO[1], "6,990").down(5.5)
    sheet.left(LEFT + 8, "foreign subsidiaries").down(17)  # figures between the lines
    sheet.row("Total", ("7,180", "7,085"), TWO)
    (table,) = _tables(sheet, tmp_path)
    assert texts_of(table)[1:] == [
        ["Common stock, $0.01 par value; 800 shares authorized, 412 issued", "$ 4", "$ 4"],
        ["Changes in other assets and liabilities of the group", "(125)", "91"],
        ["Retained earnings of foreign subsidiaries", "7,301", "6,990"],
        ["Total", "7,180", "7,085"],
    ]


def test_headings_and_blank_lines_do_not_part_a_balance_sheet(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.heads(("May 31, 2031", "May 31, 2030"), TWO)
    sheet.row("ASSETS", ("", ""), TWO).row("Current assets:", ("", ""), TWO)
    sheet.row("Cash", ("$ 10", "$ 12"), TWO, 8).row("Receivables", ("30", "28"), TWO, 8)
    sheet.row("Total current assets", ("40", "40"), TWO, 16).down(20)
    sheet.row("LIABILITIES AND EQUITY", ("", ""), TWO).row("Current liabilities:", ("", ""), TWO)
    sheet.row("Payables", ("$ 15", "$ 14"), TWO, 8).row("Equity", ("25", "26"), TWO)
    sheet.row("Total liabilities and equity", ("$ 40", "$ 40"), TWO)
    (table,) = _tables(sheet, tmp_path)
    assert [row[0] for row in texts_of(table)[1:]] == [
        "ASSETS",
        "Current assets:",
        "Cash",
        "Receivables",
        "Total current assets",
        "LIABILITIES AND EQUITY",
        "Current liabilities:",
        "Payables",
        "Equity",
        "Total liabilities and equity",
    ]
    assert table.levels == (0, 0, 0, 1, 1, 2, 0, 0, 1, 0, 0)


def test_signs_far_from_their_numbers_and_split_parentheses(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.heads(("2031", "Change"), TWO)
    for label, figure, change in (("Freight", "1,577", "12.3"), ("Fuel", "981", "4.0")):
        sheet.left(LEFT, label).left(300, "$").left(TWO[0] - 18, figure)
        sheet.left(TWO[1] - 26, "(").left(TWO[1] - 20, change).left(TWO[1] + 3, ")").left(
            TWO[1] + 8, "%"
        ).down()
    (table,) = _tables(sheet, tmp_path)
    assert texts_of(table) == [
        ["", "2031", "Change"],
        ["Freight", "$ 1,577", "( 12.3 ) %"],
        ["Fuel", "$ 981", "( 4.0 ) %"],
    ]


def test_box_is_that_of_the_cells_without_caption_and_footnotes(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.prose()
    sheet.left(LEFT, "Segment results").down(11).left(LEFT, "(Dollars in millions)").down(20)
    top = sheet.y
    sheet.heads(("2031", "2030"), TWO).row("North", ("12", "13"), TWO).row("South", ("14", "15"), TWO)
    bottom = sheet.y - 13
    sheet.down(12).left(LEFT, "(1)").left(
        LEFT + 16, "Includes the stores that were bought during the year."
    ).down()
    sheet.prose()
    (table,) = _tables(sheet, tmp_path)
    assert abs(table.box.y0 - (top - 7)) < 5
    assert abs(table.box.y1 - bottom) < 5
    assert abs(table.box.x0 - LEFT) < 1
    assert abs(table.box.x1 - TWO[1]) < 6
    assert table.caption == "Segment results"
    assert table.above[-2:] == ("Segment results", "(Dollars in millions)")
    assert table.below[0].startswith("(1) Includes")
