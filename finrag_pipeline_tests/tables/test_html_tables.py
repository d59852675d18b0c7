"""Tables of HTML filings: the grid as seen, headers, captions, and what is no table."""

from pathlib import Path

import pytest

from finrag_pipeline.filings.html import read_html
from finrag_pipeline.tables.context import TableContext
from finrag_pipeline.tables.html_tables import html_tables
from finrag_pipeline.tables.model import Table
from finrag_pipeline.tables.normalise import normalise_tables
from finrag_pipeline_tests.tables.grids import texts_of

BREAK = '<hr style="page-break-after:always">'


@pytest.fixture
def tables(tmp_path: Path):
    def read(body: str) -> list[Table]:
        path = tmp_path / "a.htm"
        path.write_text(f"<html><body>{body}</body></html>")
        return html_tables(path)

    return read


def rows(*rows: str) -> str:
    """Rows of cells apart by bars; ``3:text`` spans three columns."""
    made = []
    for row in rows:
        cells = []
        for cell in row.split("|"):
            span, text = (cell[0], cell[2:]) if cell[1:2] == ":" else ("", cell)
            cells.append(f'<td colspan="{span}">{text}</td>' if span else f"<td>{text}</td>")
        made.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(made)}</table>"


INCOME = rows(
    "3:|9:Three Months Ended|3:|3:Year Ended",
    "3:|3:June 28, 2025|3:|3:June 29, 2024|3:|3:June 28, 2025",
    "3:Net sales:|3:|3:|3:|3:|3:",
    "3:&nbsp;&nbsp;Products|$|66,613||3:|$|61,564||3:|$|1.5|%",
    "3:&nbsp;&nbsp;Returns||(171|)|3:||—||3:||(|2)",
)


def test_signs_and_spacers_are_no_columns(tables) -> None:
    (table,) = tables(f"<p>Statements of Income</p><p>(In millions)</p>{INCOME}")
    assert texts_of(table) == [
        ["", "Three Months Ended", "", "Year Ended"],
        ["", "June 28, 2025", "June 29, 2024", "June 28, 2025"],
        ["Net sales:", "", "", ""],
        ["Products", "$ 66,613", "$ 61,564", "$ 1.5%"],
        ["Returns", "(171)", "—", "(2)"],
    ]
    assert (table.header_rows, table.levels, table.caption) == (2, (0, 0, 0, 1, 1), "Statements of Income")
    assert [(cell.column, cell.column_span) for cell in table.cells if cell.row == 0] == [(1, 2), (3, 1)]


def test_cells_are_normalised_like_any_other_and_keep_their_anchors(tables, tmp_path: Path) -> None:
    found = normalise_tables("a", tables(f"<p>(In millions)</p>{INCOME}"), TableContext()).to_pylist()
    cell = next(row for row in found if row["text"] == "$ 66,613")
    assert (cell["value"], cell["row_path"]) == (66_613e6, ["Net sales:", "Products"])
    assert (cell["column_path"], cell["x0"]) == (["Three Months Ended", "June 28, 2025"], None)
    element = read_html(tmp_path / "a.htm").element(cell["anchor"])
    assert "".join(element.itertext()) == "66,613"


def test_a_header_stands_over_the_columns_that_it_spans(tables) -> None:
    body = rows("|2:Shareholders' equity|", "|Stock|Earnings|Others", "Balance|1|2|3")
    found = normalise_tables("a", tables(body), TableContext()).to_pylist()
    headers = [cell["column_path"] for cell in found if cell["kind"] == "number"]
    assert headers == [["Shareholders' equity", "Stock"], ["Shareholders' equity", "Earnings"], ["Others"]]


def test_a_caption_out_of_a_paragraph_breaks_off_no_sentence(tables) -> None:
    prose = (
        "Revenues are told by where customers are, and costs by where they arise, as in earlier years. " * 4
    )
    leads = "Sales by region were as follows (in millions):"
    (leading,), (plain,) = tables(f"<p>{prose}{leads}</p>{INCOME}"), tables(f"<p>{prose}</p>{INCOME}")
    assert leading.caption == leads
    assert plain.caption == " ".join([prose[: len(prose) // 4 - 1]] * 2)


def test_footnote_marks_in_cells_of_their_own_join_what_they_mark(tables) -> None:
    (table,) = tables(rows("|2024||2023", "Cash|1,200|(1)|1,100", "Debt|3,400|<sup>2</sup>|(3)"))
    assert texts_of(table) == [
        ["", "2024", "2023"],
        ["Cash", "1,200 (1)", "1,100"],
        ["Debt", "3,400 ²", "(3)"],
    ]


def test_titles_inside_a_table_are_its_caption(tables) -> None:
    (table,) = tables(rows("3:CONDENSED BALANCE SHEETS", "3:(in thousands)", "|2024|2023", "Cash|1|2"))
    assert texts_of(table) == [["", "2024", "2023"], ["Cash", "1", "2"]]
    assert table.caption == "CONDENSED BALANCE SHEETS"
    assert table.above[-1] == "(in thousands)"


@pytest.mark.parametrize(
    "layout",
    [
        rows("•|We sell things.", "•|We buy things."),
        rows("(1)|Unaudited.", "(2)|Restated."),
        rows("Item 5 of the form|" + "word " * 200, "Item 6|None"),
        rows("Acme Corp.||17"),
        f"<table><tr><td>{rows('a|b')}</td><td>1</td></tr><tr><td>c</td><td>2</td></tr></table>",
    ],
)
def test_what_lays_out_text_is_no_table(tables, layout: str) -> None:
    assert tables(layout) == []


def test_what_leads_to_a_table_may_stand_on_the_page_before(tables) -> None:
    head = "<p>Acme Corp.</p>"
    pages = [f"{head}<p>Debt was as follows (in millions):</p>", head + INCOME, head + "<p>Text</p>"]
    (table,) = tables(BREAK.join(pages))
    assert table.above == ("Debt was as follows (in millions):",)
    assert (table.page, table.caption) == (1, "Debt was as follows (in millions):")


def test_footnotes_of_the_table_before_lead_to_nothing(tables) -> None:
    pages = [f"<p>(in millions)</p>{INCOME}<p>(1) Restated.</p>", rows("|2022", "Cash|1", "Debt|2")]
    _, second = tables(BREAK.join(pages))
    assert (second.above, second.caption) == ((), None)


def test_a_table_that_is_all_a_running_foot_is_none(tables) -> None:
    foot = rows("Acme|10-K", "Page|3")
    found = tables(BREAK.join(f"{INCOME}<p>Text of page {number}</p>{foot}" for number in range(6)))
    assert [one.page for one in found] == list(range(6))


def test_a_table_under_the_headers_of_the_page_before_goes_on(tables) -> None:
    first, second = rows("|2024|2023", "Cash|1|2", "Debt|3|4"), rows("Loans|5|6", "Bonds|7|8")
    assert [one.continues for one in tables(f"{first}{BREAK}{second}")] == [False, True]
