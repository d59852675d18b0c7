"""Pages that the question explorer shows: their size, what was read from them, and their text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError
from finrag_pipeline.reporting.explorer_evidence import Box
from finrag_pipeline.reporting.explorer_rankings import Place
from finrag_pipeline.storage.lake import Lake

_EDGES = ("x0", "y0", "x1", "y1")
_CELLS = ("page", "table", *_EDGES, "header", "kind", "value", "reason")
_FACTS = ("page", *_EDGES, "concept", "label", "printed")


@dataclass(frozen=True)
class PageContent:
    """What is known of a page; boxes are in points from its upper left corner.

    Attributes:
        place: filing and zero-based page.
        source: pdf or page_text; None for a filing that the lake does not hold.
        width: in points; None for page text.
        height: in points; None for page text.
        text: its text.
        words: with edges, block and line; empty for page text.
        tables: around all cells of each table.
        headers: cells of column headers.
        numbers: cells with a number that was read.
        unreadable: cells with a number that could not be read.
        facts: (box, concept or label, as printed) of each fact.
        problem: why nothing is known, in a sentence.
    """

    place: Place
    source: str | None = None
    width: float | None = None
    height: float | None = None
    text: str = ""
    words: tuple[Mapping[str, Any], ...] = ()
    tables: tuple[Box, ...] = ()
    headers: tuple[Box, ...] = ()
    numbers: tuple[Box, ...] = ()
    unreadable: tuple[Box, ...] = ()
    facts: tuple[tuple[Box, str, str], ...] = ()
    problem: str | None = None


def read_pages(lake: Lake, places: Iterable[Place], sources: Mapping[str, str]) -> dict[Place, PageContent]:
    """Contents of pages, filing by filing.

    Args:
        lake: holds ``filing_pages``, and perhaps ``page_tables`` and ``statement_facts``.
        places: which pages.
        sources: pdf or page_text by filing.

    Returns:
        One for each place; with a ``problem`` for a page that the lake does not hold.
    """
    by_filing: dict[str, set[int]] = defaultdict(set)
    for filing, page in places:
        by_filing[filing].add(page)
    found: dict[Place, PageContent] = {}
    for filing, numbers in sorted(by_filing.items()):
        found |= _filing_pages(lake, filing, sorted(numbers), sources.get(filing))
    return found


def _filing_pages(
    lake: Lake, filing: str, numbers: Sequence[int], source: str | None
) -> dict[Place, PageContent]:
    try:
        table = lake.read("filing_pages", {"filing": filing})
    except LakeError:
        problem = f"The lake holds no pages of {filing}."
        return {
            (filing, page): PageContent((filing, page), source=source, problem=problem) for page in numbers
        }
    rows = {row["page"]: row for row in _on(table, numbers)}
    cells = _by_page(lake, "page_tables", filing, numbers, _CELLS)
    facts = _by_page(lake, "statement_facts", filing, numbers, _FACTS)
    found = {}
    for page in numbers:
        place = (filing, page)
        row = rows.get(page)
        if row is None:
            problem = f"{filing} has {table.num_rows:,} pages; there is no page {page + 1}."
            found[place] = PageContent(place, source=source, problem=problem)
            continue
        found[place] = PageContent(
            place,
            source,
            row["width"],
            row["height"],
            row["text"],
            tuple(row["words"] or ()),
            _tables(cells[page]),
            _boxes(cell for cell in cells[page] if cell["header"]),
            _boxes(
                cell
                for cell in cells[page]
                if not cell["header"] and cell["kind"] in ("number", "missing") and not _unreadable(cell)
            ),
            _boxes(cell for cell in cells[page] if not cell["header"] and _unreadable(cell)),
            tuple(
                (box, fact["concept"] or fact["label"], fact["printed"])
                for fact in facts[page]
                if (box := _box(fact))
            ),
        )
    return found


def _on(table: pa.Table, numbers: Sequence[int]) -> list[dict[str, Any]]:
    return list(table.filter(pc.is_in(table["page"], pa.array(numbers, pa.int32()))).to_pylist())


def _by_page(
    lake: Lake, name: str, filing: str, numbers: Sequence[int], columns: Sequence[str]
) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    if lake.info(name, {"filing": filing}) is not None:
        for row in _on(lake.read(name, {"filing": filing}, columns), numbers):
            found[row["page"]].append(row)
    return found


def _unreadable(cell: Mapping[str, Any]) -> bool:
    return cell["kind"] in ("number", "missing") and cell["value"] is None and bool(cell["reason"])


def _box(row: Mapping[str, Any]) -> Box | None:
    x0, y0, x1, y1 = (row[edge] for edge in _EDGES)
    return None if None in (x0, y0, x1, y1) else (x0, y0, x1, y1)


def _boxes(rows: Iterable[Mapping[str, Any]]) -> tuple[Box, ...]:
    return tuple(box for row in rows if (box := _box(row)))


def _tables(cells: Sequence[Mapping[str, Any]]) -> tuple[Box, ...]:
    boxes: dict[int, list[Box]] = defaultdict(list)
    for cell in cells:
        if box := _box(cell):
            boxes[cell["table"]].append(box)
    return tuple(
        (
            min(box[0] for box in found),
            min(box[1] for box in found),
            max(box[2] for box in found),
            max(box[3] for box in found),
        )
        for _, found in sorted(boxes.items())
    )
