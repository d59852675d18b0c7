"""The markup in which filings are written."""

from __future__ import annotations

import jinja2
import pymupdf
import pytest

from finrag_pipeline.sample import templates
from finrag_pipeline.sample.company import load_company
from finrag_pipeline.sample.typesetting import Place, typeset


def filled(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[Place]]:
    """Text of the pages that a template gives, and the marked passages."""
    monkeypatch.setattr(templates._environment(), "loader", jinja2.DictLoader({"filing": text}))
    company = load_company("torvexley")
    pdf, places = typeset(*templates.fill("filing", company, 2022), company.theme, "A filing")
    with pymupdf.open(stream=pdf) as document:
        return [page.get_text().strip() for page in document], places


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("# Item 7. | Discussion", ["Item 7. Discussion"]),
        ("## [centred] FORM 10-K", ["FORM 10-K"]),
        ("A word\nand more of {{ year }}", ["A word and more of 2022"]),
        ("* [a.b] One", ["•\nOne"]),
        ("Left ||\nright", ["Left\nright"]),
        ("[t widths=2,1 total]\n| a | |\n| 1 | 2 |", ["a\n1\n2"]),
        ("One\n\n---\n\nTwo", ["One", "Two"]),
        ("One\n\n--- body\n\n===\n\n~ 12\n\nTwo", ["One", "TORVEXLEY INDUSTRIES, INC.\nTwo\n1"]),
        ("[contents]\n\n# INDEX => - | Statements", ["Page\nStatements\nINDEX"]),
    ],
)
def test_a_block_of_each_kind(text: str, pages: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert filled(text, monkeypatch)[0] == pages


@pytest.mark.parametrize("text", ["[x small] Words", "* [x] One", "[widths=2,1 x]\n| a | |\n| 1 | 2 |"])
def test_the_place_of_a_marked_block_is_told(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, (place,) = filled(f"Before\n\n---\n\n{text}\n\nAfter", monkeypatch)
    assert (place.mark, place.page) == ("x", 1)
    assert 40 < place.top < place.bottom < 100


def test_a_table_of_the_books_stands_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    (page,), (place,) = filled("Before {{ annual_statement('income', year, 2) }} after", monkeypatch)
    assert page.startswith("Before\nTORVEXLEY INDUSTRIES, INC.\nCONSOLIDATED STATEMENTS OF INCOME\n")
    assert "2022\n2021\nNet sales\n$\n3,529\n$\n3,150\n" in page and page.endswith("after")
    assert place.mark == "income"


@pytest.mark.parametrize("text", ["{{ nothing }}", "{{ now.netincome }}", "{{ c.wording.targets }}"])
def test_a_misspelt_name_is_an_error(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(jinja2.UndefinedError):
        filled(text, monkeypatch)
