"""The HTML reader: pages, what is shown, lines, and cells of tables."""

from pathlib import Path

import pytest

from finrag_pipeline.errors import FilingError
from finrag_pipeline.filings.html import parse, read_html


def html(body: str, head: str = "") -> bytes:
    return f"<html><head>{head}</head><body>{body}</body></html>".encode()


def texts(body: str, head: str = "") -> list[str]:
    return [page.text for page in parse(html(body, head)).pages]


def test_a_file_is_parsed_once_until_it_or_the_file_changes(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_bytes(html("<p>First</p>"))
    assert read_html(path) is read_html(path)
    path.write_bytes(html("<p>Other</p>"))
    assert read_html(path).pages[0].text == "Other"


@pytest.mark.parametrize(
    "between",
    [
        '<hr style="page-break-after:always"/>',
        '<p style="page-break-before: always">&nbsp;</p>',
        '<div style="BREAK-AFTER: PAGE"></div>',
        '<hr style="page-break-after:always"/><div style="break-before:page"></div>',
        '<p class="over"></p>',
        "<PAGE>",
    ],
)
def test_page_breaks_of_any_kind_part_pages_once(between: str) -> None:
    sheet = "<style>p.over {page-break-before: always}</style>"
    assert texts(f"<p>One</p>{between}<p>Two</p>{between}", sheet) == ["One", "Two"]


def test_what_no_browser_shows_is_left_out() -> None:
    body = (
        "<ix:header><ix:hidden><ix:nonFraction>7</ix:nonFraction></ix:hidden></ix:header>"
        '<p>Seen<span style="display:none">unseen</span> and <script>run()</script>seen</p>'
        '<img src="http://elsewhere/x.gif" alt="Logo">'
    )
    filing = parse(html(body, "<title>Title</title>"))
    (page,) = filing.pages
    assert (page.text, page.images) == ("Seen and seen", 1)
    (fact,) = filing.root.iter("ix:nonfraction")
    assert filing.page_of(fact) is None


def test_elements_know_their_page_and_are_found_by_their_anchor() -> None:
    filing = parse(html('<p>A</p><hr style="page-break-after:always"><p id="x">B<b>C</b></p>'))
    bold = next(filing.root.iter("b"))
    assert filing.page_of(bold) == 1
    assert filing.anchor(bold) == "#x/0"
    assert filing.element("#x/0") is bold
    assert filing.element("#y/0") is None and filing.element("/9") is None


def test_rows_read_as_lines_with_signs_beside_their_numbers() -> None:
    body = (
        "<table><tr><td>Net sales</td><td>$</td><td>1,234</td><td></td><td>(</td><td>5.6</td><td>)%</td></tr>"
        "<tr><td>Costs<sup>1</sup></td><td></td><td>(7</td><td>)</td><td></td><td>—</td></tr></table>"
    )
    assert texts(body) == ["Net sales $1,234 (5.6)%\nCosts ¹ (7) —"]


def test_cells_have_their_place_in_the_grid_and_their_indentation() -> None:
    body = (
        '<table><tr><td rowspan="2">Sales</td><td colspan="2">Ended</td></tr><tr><td>2024</td><td>2023</td></tr>'
        '<tr><td style="padding:0 0 0 9pt">&nbsp;&nbsp;Products</td><td>1</td><td>2</td></tr></table>'
    )
    (table,) = parse(html(body)).tables
    found = [(cell.row, cell.column, cell.row_span, cell.column_span, cell.text) for cell in table.cells]
    assert found[:4] == [
        (0, 0, 2, 1, "Sales"),
        (0, 1, 1, 2, "Ended"),
        (1, 1, 1, 1, "2024"),
        (1, 2, 1, 1, "2023"),
    ]
    assert (table.columns, table.cells[4].indent) == (3, 14.0)


def test_a_table_over_a_page_break_comes_once_for_each_page() -> None:
    body = '<table><tr><td>A</td></tr><tr style="page-break-before:always"><td>B</td></tr></table>'
    filing = parse(html(body))
    assert [page.text for page in filing.pages] == ["A", "B"]
    assert [(table.page, table.continues, table.cells[0].row) for table in filing.tables] == [
        (0, False, 0),
        (1, True, 0),
    ]


def test_a_document_without_breaks_is_cut_between_its_blocks() -> None:
    pages = texts(f"<p>{'word ' * 500}</p>" * 9)
    assert len(pages) == 2 and all(len(page) < 13_000 for page in pages)


def test_documents_in_other_character_sets_are_read() -> None:
    assert parse(b"<?xml version='1.0' encoding='ASCII'?><p>a&#8212;b&#151;</p>").pages[0].text == "a—b—"
    assert parse("<p>Société – €</p>".encode("cp1252")).pages[0].text == "Société – €"


def test_the_first_document_of_a_submission_is_read() -> None:
    data = b"<SEC-HEADER>x</SEC-HEADER><DOCUMENT><TYPE>10-K<TEXT><html><body>Report</body></html></TEXT>"
    assert parse(data + b"<DOCUMENT><TEXT><html>Exhibit</html></TEXT>").pages[0].text == "Report"


@pytest.mark.parametrize("deep", [1000, 50_000])
def test_deep_nesting_is_read_or_refused_whole(deep: int) -> None:
    data = html("<div>" * deep + "x" + "</div>" * deep)
    if deep == 1000:
        assert parse(data).pages[0].text == "x"
    else:
        with pytest.raises(FilingError, match=r"^x\.htm is nested too deeply"):
            parse(data, "x.htm")


@pytest.mark.parametrize("data", [b"", b" \n", b"<!-- nothing -->"])
def test_empty_documents_are_refused_by_name(data: bytes) -> None:
    with pytest.raises(FilingError, match=r"^x\.htm"):
        parse(data, "x.htm")
