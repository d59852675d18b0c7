"""Where tables begin and end: stacked tables, headers set apart, texts of several lines, what is no table."""

from __future__ import annotations

from pathlib import Path

from finrag_pipeline.tables.model import Table
from finrag_pipeline.tables.words.detector import detect_page
from finrag_pipeline_tests.tables.grids import texts_of
from finrag_pipeline_tests.tables.words.sheet import LEFT, Sheet

ONE, TWO, FOUR = (530.0,), (430.0, 530.0), (280.0, 360.0, 440.0, 530.0)


def _tables(sheet: Sheet, folder: Path) -> list[Table]:
    return detect_page(sheet.words(folder)[0])


def test_same_headers_under_another_date_begin_a_table(tmp_path: Path) -> None:
    sheet = Sheet()
    for date in ("June 30, 2031", "December 31, 2030"):
        sheet.left(LEFT, date).down(11).heads(("Carrying value", "Fair value"), TWO, "(in millions)")
        sheet.row("Retained", ("317", "165"), TWO).row("Held for sale", ("—", "49"), TWO).down(1)
    one, two = _tables(sheet, tmp_path)
    assert (one.rows, two.rows) == (3, 3)
    assert texts_of(one)[0][0] == "June 30, 2031 (in millions)"
    assert texts_of(two)[0] == ["December 31, 2030 (in millions)", "Carrying value", "Fair value"]


def test_period_over_years_begins_a_table(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.centre(462, "Twelve Months Ended June 30,").down(11).heads(("2031", "2030"), TWO, "Reported")
    sheet.row("Net sales", ("14,544", "14,694"), TWO).row("Net income", ("805", "1,048"), TWO)
    sheet.centre(462, "Twelve Months Ended June 30,").down(11).heads(("2031", "2030"), TWO, "Adjusted")
    sheet.row("Operating profit", ("2,117", "2,018"), TWO).row("Free cash flow", ("1,066", "848"), TWO)
    one, two = _tables(sheet, tmp_path)
    assert [row[0] for row in texts_of(one)[one.header_rows :]] == ["Net sales", "Net income"]
    assert [row[0] for row in texts_of(two)[two.header_rows :]] == ["Operating profit", "Free cash flow"]
    assert two.header_rows == 2


def test_sections_by_year_stay_one_table(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.heads(("Accruals", "Payments"), TWO, "(Dollars in millions)")
    for year in ("2031", "2030"):
        sheet.left(LEFT, year).down()
        sheet.row("Rebates", ("6,131", "(6,107)"), TWO).row("Returns", ("531", "(534)"), TWO).down(24)
    (table,) = _tables(sheet, tmp_path)
    assert [row[0] for row in texts_of(table)[1:]] == [
        "2031",
        "Rebates",
        "Returns",
        "2030",
        "Rebates",
        "Returns",
    ]


def test_period_over_the_labels_heads_years_and_amounts(tmp_path: Path) -> None:
    sheet = Sheet().left(LEFT, "For the years ending December 31,").down()
    sheet.row("2032", ("$ 72",), ONE).row("2033", ("61",), ONE).row("Thereafter", ("8",), ONE)
    (table,) = _tables(sheet, tmp_path)
    assert table.header_rows == 1
    assert texts_of(table)[:2] == [["For the years ending December 31,", ""], ["2032", "$ 72"]]


def test_units_over_the_figures_are_their_only_header(tmp_path: Path) -> None:
    sheet = Sheet().right(534, "(in thousands)").down()
    sheet.row("Due within one year", ("$ 137,927",), ONE).row("Due later", ("363,458",), ONE)
    (table,) = _tables(sheet, tmp_path)
    assert table.header_rows == 1
    assert texts_of(table)[0] == ["", "(in thousands)"]


def test_first_line_of_a_narrow_header_is_kept(tmp_path: Path) -> None:
    sheet = Sheet()
    for text in ("Fiscal", "2031 vs. 2030", "Percentage Change"):
        sheet.centre(494, text).down(11)
    sheet.row("Volume", ("(2)",), ONE).row("Net sales growth", ("2",), ONE)
    (table,) = _tables(sheet, tmp_path)
    assert texts_of(table)[0][1] == "Fiscal 2031 vs. 2030 Percentage Change"


def test_spans_of_time_head_columns(tmp_path: Path) -> None:
    sheet = Sheet().centre(400, "Payments due by period").down()
    sheet.heads(("Total", "Less than 1 year", "1 - 3 years", "More than 3 years"), FOUR)
    sheet.centre(400, "(in thousands)").down()
    sheet.row("Notes", ("$ 3,044", "$ 7", "$ 2,032", "$ 1,005"), FOUR)
    sheet.row("Leases", ("566", "70", "151", "345"), FOUR)
    (table,) = _tables(sheet, tmp_path)
    texts = [cell.text for cell in table.cells if cell.header]
    assert "Less than 1 year" in texts and "1 - 3 years" in texts
    assert texts_of(table)[table.header_rows] == ["Notes", "$ 3,044", "$ 7", "$ 2,032", "$ 1,005"]
    assert table.rows == table.header_rows + 2


def test_long_texts_behind_the_age_do_not_part_a_table(tmp_path: Path) -> None:
    sheet = Sheet().left(LEFT, "Name").left(200, "Age").left(250, "Office and experience").down()
    for name, age in (("Ada Marsh", "58"), ("Ben Holt", "51"), ("Cleo Wren", "47")):
        sheet.left(LEFT, name).left(202, age)
        for _ in range(5):
            sheet.left(250, "held a number of offices in the finance and the planning of the group").down(10)
        sheet.down(6)
    (table,) = _tables(sheet, tmp_path)
    assert (table.rows, table.columns) == (4, 3)
    assert [row[:2] for row in texts_of(table)[1:]] == [
        ["Ada Marsh", "58"],
        ["Ben Holt", "51"],
        ["Cleo Wren", "47"],
    ]
    assert texts_of(table)[3][2].count("offices") == 5


def test_units_beside_years_begin_a_table(tmp_path: Path) -> None:
    sheet = Sheet()
    for heads in (("Consumer", "Wholesale"), ("Corporate", "Total")):
        sheet.heads(heads, TWO, "As of or for the year").heads(("2031", "2030"), TWO, "(in millions)")
        sheet.row("Net income", ("5,306", "3,108"), TWO).row("Total assets", ("620", "500"), TWO)
    one, two = _tables(sheet, tmp_path)
    assert [row[0] for row in texts_of(one)[one.header_rows :]] == ["Net income", "Total assets"]
    assert [row[0] for row in texts_of(two)[two.header_rows :]] == ["Net income", "Total assets"]
    assert "Corporate" in texts_of(two)[0][1]


def test_wrapped_header_over_texts_is_kept(tmp_path: Path) -> None:
    sheet = Sheet().centre(480, "Name of each exchange on").down(10)
    sheet.left(LEFT, "Title of each class").centre(330, "Trading symbol").centre(
        480, "which registered"
    ).down()
    sheet.left(LEFT, "Common stock").centre(330, "HVC").centre(480, "Harbour Exchange").down()
    sheet.left(LEFT, "Preferred stock").centre(330, "HVP").centre(480, "Harbour Exchange").down()
    (table,) = _tables(sheet, tmp_path)
    assert texts_of(table)[0][2] == "Name of each exchange on which registered"


def test_cover_block_and_short_contents_are_no_tables(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.centre(180, "Delaware").centre(440, "12-3456789").down(11)
    sheet.centre(180, "State or other jurisdiction of").centre(440, "(I.R.S. Employer").down(11)
    sheet.centre(180, "100 Mill Lane, Harrow Vale").centre(440, "55403").down(60)
    sheet.right(530, "Page").down()
    sheet.row("Financial statements", ("70",), ONE).row("Schedule of reserves", ("71",), ONE)
    assert _tables(sheet, tmp_path) == []


def test_one_row_of_figures_under_a_header_each_is_a_table(tmp_path: Path) -> None:
    sheet = Sheet().prose()
    sheet.heads(("2032", "2033", "2034", "Thereafter"), FOUR)
    sheet.row("", ("$ 156", "$ 422", "$ 382", "$ 6,580"), FOUR).prose()
    (table,) = _tables(sheet, tmp_path)
    assert texts_of(table) == [["2032", "2033", "2034", "Thereafter"], ["$ 156", "$ 422", "$ 382", "$ 6,580"]]
    assert table.header_rows == 1


def test_one_row_of_figures_without_headers_is_none(tmp_path: Path) -> None:
    sheet = Sheet().prose()
    sheet.row("", ("156", "422", "382", "6,580"), FOUR).prose()
    assert _tables(sheet, tmp_path) == []
