"""Layouts of notes, MD&A and exhibits, rebuilt without ruling lines, against the grid a reader sees."""

from __future__ import annotations

from pathlib import Path

from finrag_pipeline.tables.model import Table
from finrag_pipeline.tables.words.detector import WordsDetector, detect_page
from finrag_pipeline_tests.tables.grids import texts_of
from finrag_pipeline_tests.tables.words.sheet import LEFT, PROSE, Sheet

TWO = (430.0, 530.0)


def _tables(sheet: Sheet, folder: Path) -> list[Table]:
    return detect_page(sheet.words(folder)[0])


def test_percentages_and_footnote_marks_stay_with_their_numbers(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.heads(("2031", "2030"), TWO, "Rates")
    sheet.left(LEFT, "Tax").left(88, "(a)", size=5, rise=3)
    sheet.right(TWO[0], "21.0").left(TWO[0] + 3, "%").left(TWO[0] + 14, "(b)", size=5, rise=3)
    sheet.right(TWO[1], "(3.5)").left(TWO[1] + 5, "%").down()
    sheet.row("Growth", ("4.8", "6.1"), TWO).row("Share of sales", ("97%", "(2)%"), TWO)
    (table,) = _tables(sheet, tmp_path)
    assert texts_of(table)[1:] == [
        ["Tax (a)", "21.0 % (b)", "(3.5) %"],
        ["Growth", "4.8", "6.1"],
        ["Share of sales", "97%", "(2)%"],
    ]


def test_tables_with_captions_of_their_own_are_two(tmp_path: Path) -> None:
    sheet = Sheet()
    for title, label in (("Cost of sales", "Freight"), ("Other expense", "Interest")):
        sheet.left(LEFT, title).down(22)
        sheet.heads(("2031", "2030"), TWO, "(Millions)")
        sheet.row(label, ("12", "14"), TWO).row("Other", ("3", "2"), TWO).row("Total", ("15", "16"), TWO)
        sheet.down(26)
    one, two = _tables(sheet, tmp_path)
    assert (one.caption, two.caption) == ("Cost of sales", "Other expense")
    assert texts_of(one)[1] == ["Freight", "12", "14"]
    assert texts_of(two)[1] == ["Interest", "12", "14"]


def test_prose_parts_tables(tmp_path: Path) -> None:
    sheet = Sheet()
    for _ in range(2):
        sheet.prose().row("Leases", ("12", "14"), TWO).row("Loans", ("3", "2"), TWO)
    one, two = _tables(sheet.prose(), tmp_path)
    assert texts_of(one) == texts_of(two) == [["Leases", "12", "14"], ["Loans", "3", "2"]]
    assert one.header_rows == 0
    assert one.caption == " ".join(PROSE)


def test_side_by_side_tables_in_two_columns_of_type(tmp_path: Path) -> None:
    sheet = Sheet(size=8)
    labels = (
        "Consumer and business loans",
        "Home lending, retained",
        "Card",
        "Auto",
        "Deposits",
        "Equity",
        "Staff",
    )
    for x, shift, scale in ((LEFT, 0.0, 1), (316.0, 5.0, 7)):
        sheet.y = 90 + shift
        sheet.left(x, "Selected metrics of the segment").down(18)
        sheet.left(x, "(in millions)").centre(x + 160, "2031").centre(x + 215, "2030").down(15)
        for number, label in enumerate(labels):
            sheet.left(x, label).right(x + 175, f"{scale * (number + 3) * 111:,}")
            sheet.right(x + 230, f"{scale * (number + 2) * 97:,}").down(14)
        for line in range(4):
            sheet.left(x, f"Line {line} of the discussion goes across the column of type").down(10)
    one, two = sorted(_tables(sheet, tmp_path), key=lambda table: table.box.x0)
    assert texts_of(one)[0] == texts_of(two)[0] == ["(in millions)", "2031", "2030"]
    assert [row[0] for row in texts_of(one)[1:]] == [row[0] for row in texts_of(two)[1:]] == list(labels)
    assert texts_of(one)[1] == ["Consumer and business loans", "333", "194"]
    assert texts_of(two)[1] == ["Consumer and business loans", "2,331", "1,358"]


def test_years_as_labels(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.left(LEFT, "Fiscal year").right(530, "Payments").down()
    for year, amount in (
        ("2032", "$ 42,545"),
        ("2033", "54,811"),
        ("Thereafter", "269,377"),
        ("Total", "$ 366,733"),
    ):
        sheet.row(year, (amount,), (530.0,))
    (table,) = _tables(sheet, tmp_path)
    assert texts_of(table) == [
        ["Fiscal year", "Payments"],
        ["2032", "$ 42,545"],
        ["2033", "54,811"],
        ["Thereafter", "269,377"],
        ["Total", "$ 366,733"],
    ]


def test_exhibits_are_a_table_of_text(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.left(LEFT, "Exhibit No.").left(150, "Description").down(18)
    for number, lines in (
        ("3.1", ("Restated Certificate of Incorporation of the registrant",)),
        (
            "10.1",
            (
                "Credit Agreement dated as of May 1, 2031, among the registrant and the",
                "lenders named therein",
            ),
        ),
        ("10.2", ("Form of Award Agreement under the Long-Term Plan",)),
        ("21", ("Subsidiaries of the registrant",)),
    ):
        sheet.left(LEFT, number)
        for line in lines:
            sheet.left(150, line).down(10.5)
        sheet.down(6)
    (table,) = _tables(sheet, tmp_path)
    assert table.header_rows == 1
    assert texts_of(table) == [
        ["Exhibit No.", "Description"],
        ["3.1", "Restated Certificate of Incorporation of the registrant"],
        [
            "10.1",
            "Credit Agreement dated as of May 1, 2031, among the registrant and the lenders named therein",
        ],
        ["10.2", "Form of Award Agreement under the Long-Term Plan"],
        ["21", "Subsidiaries of the registrant"],
    ]


def test_text_columns_among_figures(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.left(LEFT, "Name").centre(250, "Age").left(300, "Position").down(16)
    for name, age, position in (
        ("Ada Quill", "54", "President and Chief Executive Officer"),
        ("Bo Marsh", "49", "Chief Financial Officer"),
        ("Cy Thorn", "61", "Vice President, Operations"),
    ):
        sheet.left(LEFT, name).centre(250, age).left(300, position).down(15)
    (table,) = _tables(sheet, tmp_path)
    assert texts_of(table) == [
        ["Name", "Age", "Position"],
        ["Ada Quill", "54", "President and Chief Executive Officer"],
        ["Bo Marsh", "49", "Chief Financial Officer"],
        ["Cy Thorn", "61", "Vice President, Operations"],
    ]


def test_continuation_over_a_page_break(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.y = 560
    sheet.centre(306, "Consolidated Statements of Cash Flows").down(24)
    sheet.heads(("2031", "2030"), TWO, "(Millions)")
    for number in range(9):
        sheet.row(f"Inflow {number}", (str(100 + number), str(300 + number)), TWO)
    sheet.page()
    for number in range(5):
        sheet.row(f"Outflow {number}", (f"({200 + number})", f"({400 + number})"), TWO)
    sheet.prose().heads(("2031",), TWO[1:], "Other").row("Paid", ("5",), TWO[1:]).row("Due", ("6",), TWO[1:])
    (first,), (second, third) = WordsDetector().detect(sheet.words(tmp_path), tmp_path)
    assert (first.continues, second.continues, third.continues) == (False, True, False)
    assert second.header_rows == 0


def test_what_is_no_table(tmp_path: Path) -> None:
    contents = Sheet()
    for number, title in enumerate(
        ("Business", "Risk Factors", "Properties", "Legal Proceedings", "Controls")
    ):
        contents.left(LEFT, f"Item {number + 1}.").left(110, title).right(530, str(4 + 9 * number)).down(16)
    assert _tables(contents.prose(), tmp_path) == []
    bullets = Sheet().prose()
    for mark, text in (
        ("•", "the price of raw materials"),
        ("•", "the rate of interest"),
        ("•", "the weather"),
    ):
        bullets.left(LEFT + 10, mark).left(LEFT + 30, text).down(16)
    for mark, text in (("(a)", "all cash of the seller"), ("(b)", "all contracts"), ("(c)", "all permits")):
        bullets.left(LEFT + 10, mark).left(LEFT + 30, text).down(16)
    assert _tables(bullets.prose(), tmp_path) == []
    signed = Sheet().prose()
    for name in ("Ada Quill", "Bo Marsh", "Cy Thorn"):
        signed.left(LEFT, f"/s/ {name}").left(250, "Director").left(420, "May 1, 2032").down(18)
    assert _tables(signed, tmp_path) == []
    one_line = Sheet().prose().row("Total", ("5", "6"), TWO)
    assert _tables(one_line.prose(), tmp_path) == []
