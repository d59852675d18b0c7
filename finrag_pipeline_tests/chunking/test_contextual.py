from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from finrag_pipeline.chunking.contextual import contextual_chunks, identity_line
from finrag_pipeline.chunking.prose import Headings, heading_at, is_heading, text_outside
from finrag_pipeline.embedding.tokens import TokenCounter, token_counter
from finrag_pipeline.errors import UsageError
from finrag_pipeline.schemas import FILING_PAGES, PAGE_TABLES, conform
from finrag_pipeline.settings import ContextualChunkSettings, EncoderSettings
from finrag_pipeline.tables.context import filing_context
from finrag_pipeline.tables.model import Box, Cell, Table
from finrag_pipeline.tables.normalise import normalise_tables

ROW = {
    "filing": "ACME_2022_10K",
    "company": "Acme Corp",
    "declared_company": None,
    "form": "10-K",
    "fiscal_year": 2022,
    "fiscal_quarter": None,
    "period_end": None,
}
PROSE = [
    ("Item", 50, 20), ("7.", 80, 20), ("Discussion", 95, 20),
    ("Revenue", 50, 40), ("rose", 95, 40), ("because", 125, 40), ("prices", 170, 40), ("did.", 205, 40),
]  # fmt: skip
FIGURES = [
    ("2022", 300, 100), ("2021", 400, 100),
    ("Revenue", 50, 120), ("1,577", 300, 120), ("1,373", 400, 120),
    ("Net", 50, 140), ("income", 75, 140), ("(12)", 300, 140), ("34", 400, 140),
]  # fmt: skip


@pytest.fixture(scope="module")
def tokens(tiny_model: Path) -> TokenCounter:
    return token_counter(EncoderSettings(name=str(tiny_model)))


def _word(text: str, x: float, y: float, line: int) -> dict[str, Any]:
    return {
        "x0": x, "y0": y, "x1": x + 6.0 * len(text), "y1": y + 10, "text": text,
        "block": 0 if y < 90 else 1, "line": line, "word": 0,
    }  # fmt: skip


def _page(number: int, words: list[tuple[str, float, float]] | None, text: str = "") -> dict[str, Any]:
    boxed = None if words is None else [_word(t, x, y, int(y)) for t, x, y in words]
    lines: dict[int, list[str]] = {}
    for token, _, y in words or []:
        lines.setdefault(int(y), []).append(token)
    text = text or "\n".join(" ".join(line) for line in lines.values())
    return {
        "filing": ROW["filing"], "page": number, "label": None, "text": text, "characters": len(text),
        "word_count": len(text.split()), "image_count": None, "rotation": 0, "width": 600.0, "height": 800.0,
        "needs_ocr": False, "words": boxed,
    }  # fmt: skip


def _pages(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=FILING_PAGES)


def _tables(page: int, boxed: bool = True) -> pa.Table:
    def cell(row: int, column: int, text: str, x: float, y: float, header: bool = False) -> Cell:
        return Cell(row, column, Box(x, y, x + 40, y + 10) if boxed else Box(0, 0, 0, 0), text, header=header)

    cells = (
        cell(0, 1, "2022", 300, 100, True),
        cell(0, 2, "2021", 400, 100, True),
        cell(1, 0, "Revenue", 50, 120),
        cell(1, 1, "1,577", 300, 120),
        cell(1, 2, "1,373", 400, 120),
        cell(2, 0, "Net income", 50, 140),
        cell(2, 1, "$ (12)", 300, 140),
        cell(2, 2, "$ 34", 400, 140),
    )
    box = Box(50, 100, 440, 150) if boxed else Box(0, 0, 0, 0)
    caption = "Statement of Income"
    table = Table(page, "words", box, 3, 3, cells, 1, (0, 0, 0), caption, (caption, "(In millions)"))
    return normalise_tables(ROW["filing"], [table], filing_context(dict(ROW), [""]))


def _make(pages: pa.Table, tables: pa.Table, tokens: TokenCounter, limit: int = 128) -> list[dict[str, Any]]:
    chunks = contextual_chunks(pages, tables, ROW, ContextualChunkSettings(tokens=limit, overlap=8), tokens)
    conform(chunks, "contextual_chunks")
    assert max(chunks["tokens"].to_pylist(), default=0) <= limit
    assert chunks["tokens"].to_pylist() == tokens.count_all(chunks["text"].to_pylist())
    assert len(set(chunks["chunk_id"].to_pylist())) == chunks.num_rows
    return list(chunks.to_pylist())


def test_a_row_can_be_understood_alone(tokens: TokenCounter) -> None:
    chunks = _make(_pages(_page(0, PROSE + FIGURES)), _tables(0), tokens)
    rows = [chunk["text"] for chunk in chunks if chunk["kind"] == "table_row"]
    assert len(rows) == 2
    assert rows[0].startswith("Acme Corp, 10-K, fiscal year 2022 | Statement of Income | ")
    assert "In millions" in rows[0]
    assert rows[0].endswith("| Revenue | 2022: 1,577 | 2021: 1,373")
    assert rows[1].endswith("| Net income | 2022: $ (12) | 2021: $ 34")


def test_the_whole_table_is_markdown_under_its_context(tokens: TokenCounter) -> None:
    (table,) = [
        c for c in _make(_pages(_page(0, PROSE + FIGURES)), _tables(0), tokens) if c["kind"] == "table"
    ]
    lines = table["text"].split("\n")
    assert lines[0].startswith("Acme Corp, 10-K, fiscal year 2022 | Statement of Income")
    assert lines[1:] == [
        "|  | 2022 | 2021 |",
        "| --- | --- | --- |",
        "| Revenue | 1,577 | 1,373 |",
        "| Net income | $ (12) | $ 34 |",
    ]


def test_prose_stands_under_its_heading_without_the_table(tokens: TokenCounter) -> None:
    (text,) = [c for c in _make(_pages(_page(0, PROSE + FIGURES)), _tables(0), tokens) if c["kind"] == "text"]
    assert "Revenue rose because prices did." in text["text"]
    assert "1,577" not in text["text"]
    assert text["text"].startswith("Acme Corp, 10-K, fiscal year 2022")


def test_a_section_goes_on_over_pages(tokens: TokenCounter) -> None:
    later = _page(
        1, [("More", 50, 30), ("about", 80, 30), ("the", 120, 30), ("same", 140, 30), ("matter.", 170, 30)]
    )
    chunks = _make(_pages(_page(0, PROSE), later), _tables(1).slice(0, 0), tokens, limit=200)
    assert [chunk["page"] for chunk in chunks] == [0, 1]
    assert "Item 7. Discussion" in chunks[1]["text"]


def test_page_text_keeps_its_tables_in_the_prose(tokens: TokenCounter) -> None:
    """Without boxes nobody can say which words are the table's: nothing is taken away."""
    page = _page(0, None, "Statement of Income\n2022\n2021\nRevenue\n1,577\n1,373\nNet income\n(12)\n34\n")
    kinds = {c["kind"]: c["text"] for c in _make(_pages(page), _tables(0, boxed=False), tokens)}
    assert "1,373" in kinds["text"]
    assert {"table_row", "table"} <= set(kinds)


def test_pages_that_need_ocr_and_pages_without_text_give_nothing(tokens: TokenCounter) -> None:
    garbled = {**_page(0, None, "\ufffd" * 60), "needs_ocr": True}
    assert _make(_pages(garbled, _page(1, [], " ")), PAGE_TABLES.empty_table(), tokens) == []


def test_long_prose_is_cut_with_its_context(tokens: TokenCounter) -> None:
    text = "Item 1. Business\n" + "revenue income assets cash " * 200
    chunks = _make(_pages(_page(0, None, text)), PAGE_TABLES.empty_table(), tokens, limit=200)
    assert len(chunks) > 3
    assert all(chunk["text"].startswith("Acme Corp, 10-K") for chunk in chunks)
    assert all("Item 1. Business" in chunk["text"] for chunk in chunks)


def test_an_overlap_must_be_smaller_than_the_chunk(tokens: TokenCounter) -> None:
    with pytest.raises(UsageError, match="not smaller"):
        contextual_chunks(
            _pages(_page(0, PROSE)), _tables(0), ROW, ContextualChunkSettings(tokens=64, overlap=64), tokens
        )


@pytest.mark.parametrize(
    ("filing", "line"),
    [
        (ROW, "Acme Corp, 10-K, fiscal year 2022"),
        ({**ROW, "form": "10-Q", "fiscal_quarter": 2}, "Acme Corp, 10-Q, quarter 2 of fiscal year 2022"),
        ({**ROW, "company": None, "declared_company": "ACME"}, "ACME, 10-K, fiscal year 2022"),
        ({"company": None, "form": None}, ""),
    ],
)
def test_who_reports_on_what(filing: dict[str, Any], line: str) -> None:
    assert identity_line(filing) == line


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("Item 7. Management's Discussion", True),
        ("NOTE 12 — DEBT", True),
        ("Liquidity and Capital Resources", True),
        ("3. Leases", True),
        ("2022. Income from operations was $13.4 million.", False),
        ("We sell bonds.", False),
        ("Revenue 1,577 1,373", False),
        ("and the other matters", False),
        ("17", False),
        ("", False),
    ],
)
def test_headings(line: str, heading: bool) -> None:
    assert is_heading(line) is heading


def test_the_heading_at_a_place() -> None:
    headings = Headings()
    text = "Item 7. Discussion\nsome words here\nCash Flows\nmore words"
    marks = headings.read(text)
    assert heading_at(marks, text.index("some")) == "Item 7. Discussion"
    assert heading_at(marks, text.index("more")) == "Item 7. Discussion | Cash Flows"
    assert headings.read("next page")[0] == (0, "Item 7. Discussion")


def test_words_outside_tables_keep_their_lines() -> None:
    words = [_word(t, x, y, int(y)) for t, x, y in PROSE + FIGURES]
    left = text_outside(words, [(45, 95, 450, 160)])
    assert left == "Item 7. Discussion\nRevenue rose because prices did."
    assert "1,577" in text_outside(words, [])
