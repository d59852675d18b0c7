"""The markup in which filings are written."""

from __future__ import annotations

import jinja2
import pytest

from finrag_pipeline.sample import templates
from finrag_pipeline.sample.company import load_company
from finrag_pipeline.sample.content import (
    Block,
    Contents,
    Figures,
    Heading,
    PageBreak,
    Pair,
    Ruled,
    RuleLine,
    Space,
    Text,
)


def blocks(text: str, monkeypatch: pytest.MonkeyPatch) -> list[Block]:
    monkeypatch.setattr(templates._environment(), "loader", jinja2.DictLoader({"filing": text}))
    return templates.write_blocks("filing", load_company("torvexley"), 2022)


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("# Item 7. | Discussion", Heading("Item 7. Discussion", 1, ("Item 7.", "Discussion"))),
        ("# INDEX => - | Statements", Heading("INDEX", 1, ("", "Statements"))),
        ("## [centred] FORM 10-K", Heading("FORM 10-K", 2, None, True)),
        ("A word\nand more of {{ year }}", Text("A word and more of 2022")),
        ("[mdna.sales small] Words", Text("Words", "mdna.sales", small=True)),
        ("* [a.b] One", Text("One", "a.b", bullet=True)),
        ("Left ||\nright", Pair("Left", "right")),
        ("| a | |\n| 1 | 2 |", Ruled(("a", ""), [("1", "2")])),
        (
            "[t widths=2,1 total]\n| a | b |\n| 1 | 2 |",
            Ruled(("a", "b"), [("1", "2")], "t", (2.0, 1.0), True),
        ),
        ("---", PageBreak()),
        ("--- body", PageBreak("body")),
        ("===", RuleLine()),
        ("~ 12", Space(12)),
        ("[contents]", Contents()),
    ],
)
def test_a_block_of_each_kind(text: str, block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    assert blocks(f"Before\n\n{text}\n\nAfter\n", monkeypatch) == [Text("Before"), block, Text("After")]


def test_a_table_of_the_books_stands_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    before, table, after = blocks("Before {{ annual_statement('income', year, 2) }} after", monkeypatch)
    assert (before, after) == (Text("Before"), Text("after"))
    assert isinstance(table, Figures) and table.columns == ("2022", "2021")
    assert table.lines[0].cells == ("3,529", "3,150")


@pytest.mark.parametrize("text", ["{{ nothing }}", "{{ now.netincome }}", "{{ c.wording.targets }}"])
def test_a_misspelt_name_is_an_error(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(jinja2.UndefinedError):
        blocks(text, monkeypatch)
