"""Citations are held against the words of the page, not against what the answer was made from."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from finrag_pipeline.evaluation.answer_metrics import PrintedPages, printed_citations
from finrag_pipeline.schemas import FILING_PAGES
from finrag_pipeline.storage.lake import Lake

FILING = "ALDER_2021_10K"
BOX = [100.0, 200.0, 140.0, 210.0]


def word(text: str, x: float, y: float = 205.0) -> dict[str, Any]:
    box = {"x0": x - 5, "x1": x + 5, "y0": y - 4, "y1": y + 4}
    return {**box, "text": text, "block": 0, "line": 0, "word": 0}


@pytest.fixture
def pages(lake: Lake) -> PrintedPages:
    blank = {"string": "", "int32": 0, "float": 0.0, "double": 0.0, "bool": False}
    row = {f.name: None if f.nullable else blank.get(str(f.type), []) for f in FILING_PAGES}
    words = [word("(", 108), word("1,577", 120), word(")", 132), word("1,402", 160)]
    row |= {"filing": FILING, "page": 3, "text": "Capital expendi-\ntures rose.", "words": words}
    lake.write("filing_pages", pa.Table.from_pylist([row], FILING_PAGES), "x", {"filing": FILING})
    return PrintedPages(lake)


def cell(printed: str, box: list[float] | None = BOX, page: int = 3, filing: str = FILING) -> dict[str, Any]:
    return {"filing": filing, "page": page, "box": box, "printed": printed}


def row(*inputs: dict[str, Any], quote: str | None = None, **changes: Any) -> dict[str, Any]:
    sources = [f"{FILING}/p3/c0"]
    cited = (
        [{"text": quote, "sources": sources}] if quote else [{"text": "It was 1,577.", "sources": sources}]
    )
    found = {"abstained": False, "answer": f"“{quote}” ({FILING}, page 4)", "citations": json.dumps(cited)}
    return {**found, "derivation": json.dumps({"inputs": inputs}), **changes}


def test_a_number_is_all_that_the_words_in_its_box_say(pages: PrintedPages) -> None:
    wide, empty = [100.0, 200.0, 170.0, 210.0], [0.0, 0.0, 5.0, 5.0]
    told = row(cell("(1,577)"), cell("1,402"), cell("577"), cell("1,577", wide), cell("1,577", empty))
    assert list(printed_citations(told, pages)) == [True, False, False, False, False]


def test_what_has_no_boxes_is_not_measured(pages: PrintedPages) -> None:
    told = row(cell("1,577", None), cell("1,577", page=9), cell("1,577", filing="BIRCH_2021_10K"))
    assert list(printed_citations(told, pages)) == []


def test_a_quote_stands_on_its_page(pages: PrintedPages) -> None:
    assert list(printed_citations(row(quote="Capital expenditures rose."), pages)) == [True]
    assert list(printed_citations(row(quote="Capital expenditures fell."), pages)) == [False]
    assert list(printed_citations(row(quote="x", answer="It rose."), pages)) == [], "no quote of the answer"


def test_an_abstention_cites_nothing(pages: PrintedPages) -> None:
    assert list(printed_citations(row(cell("1,402"), abstained=True), pages)) == []
