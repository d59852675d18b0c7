"""A page of an HTML filing as a document of its own."""

import pytest

from finrag_pipeline.errors import UsageError
from finrag_pipeline.filings.html import HtmlFiling, parse
from finrag_pipeline.filings.html_page import page_html

BREAK = '<hr style="page-break-after:always">'


def parsed(body: str) -> HtmlFiling:
    return parse(f"<html><head><title>T</title></head><body>{body}</body></html>".encode())


def body_of(document: str) -> str:
    return document.partition("<body>")[2].partition("</body>")[0]


def test_a_page_holds_what_stands_on_it_within_what_it_stands_in() -> None:
    filing = parsed(f'<div align="center">A<p>a</p>{BREAK}B<p>b<br>c</p>&lt;x{BREAK}</div>C<p>d</p>')
    pages = [body_of(page_html(filing, page, "x")) for page in range(3)]
    assert [parse(page.encode()).pages[0].text for page in pages] == [page.text for page in filing.pages]
    assert pages[1] == (
        '<div><div><div align="center">B<p>b<br>c</p>&lt;x'
        '<hr style="page-break-after:always"></div></div></div>'
    )


def test_nothing_in_it_acts_or_names_an_address() -> None:
    document = page_html(
        parsed(
            "<script>alert(1)</script>"
            '<p onclick="alert(2)" style="color:red; background:url(http://x/a.gif); width:expression(alert(3));'
            ' b\\65 havior:x; position:fixed" class="c" id="i">Net <a href="http://x/">sales</a></p>'
            '<img src="http://x/b.gif" onerror="alert(4)"><iframe src="http://x"></iframe>'
            '<form action="http://x"><input name="a"></form><object data="http://x"></object>'
            '<svg onload="alert(5)"></svg><style>@import "http://x/c.css"; p {color: blue}</style>'
            '<font color="&quot;><script>alert(6)</script>">x</font>&lt;script&gt;'
        ),
        0,
        "<b>",
    )
    shown = body_of(document)
    assert '<p style="color:red">Net <span>sales</span></p>' in shown
    for bad in (
        "http",
        "url",
        "alert(1",
        "alert(2",
        "onerror",
        "<script",
        "<iframe",
        "<form",
        "behav",
        "fixed",
    ):
        assert bad not in shown
    assert 'color="&quot;&gt;&lt;script&gt;' in shown
    assert "<title>&lt;b&gt;</title>" in document


def test_cells_are_marked_by_their_anchors() -> None:
    filing = parsed('<table><tr><td>1</td><td id="c">2</td><td>3</td></tr></table>')
    first, second, third = (cell.anchor for cell in filing.tables[0].cells)
    shown = body_of(page_html(filing, 0, "x", {"/9/9": "used", third: "facts", second: "used"}))
    assert '<td>1</td><td data-mark="used" id="marked">2</td><td data-mark="facts">3</td>' in shown
    assert first not in shown


@pytest.mark.parametrize("page", [-1, 1])
def test_a_page_that_is_not_there_is_named(page: int) -> None:
    with pytest.raises(UsageError, match=f"There is no page {page + 1}"):
        page_html(parsed("x"), page, "x")
