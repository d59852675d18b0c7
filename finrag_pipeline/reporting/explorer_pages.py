"""Pages that a question shows as they look: picture or text, with the gold passages found on them.

The passages of a benchmark were copied out of the pages by another reader, with other line breaks and another
order of table cells. So runs of words and single lines are matched, wherever they stand, instead of the
passage as a whole.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError
from finrag_pipeline.reporting.page_pictures import Box, box_of, cell_layer, table_outlines
from finrag_pipeline.storage.lake import Lake

Place = tuple[str, int]
"""Filing and zero-based page."""

RUN = 3
"""Words in a row that must be the same; all of them for a passage that is shorter."""
_SHORTEST = 4  # a run without any figure that is shorter is chance, in a passage long enough to do without it
_PASSES = 4  # runs in another order than the page's are found from the second pass on
_GAP = 2  # words between two runs that are marked with them
_SHORTEST_NUMBER = 3  # digits of a number that is marked where it stands alone on its line
_WORD = re.compile(r"\S+")


def fold(word: str) -> str:
    """A word without case, accents' form, signs and separators: ``$5,363`` and ``5363`` are one."""
    return "".join(c for c in unicodedata.normalize("NFKC", word).casefold() if c.isalnum())


def marked_words(words: Sequence[str], lines: Sequence[Hashable], passages: Sequence[str]) -> list[bool]:
    """Which words of a page repeat any of the passages: in runs, or as a whole line.

    Args:
        words: words of the page, in reading order.
        lines: identifier of the line of each word.
        passages: gold passages of this page.

    Returns:
        One value per word.
    """
    kept = [(place, folded) for place, word in enumerate(words) if (folded := fold(word))]
    tokens = [folded for _, folded in kept]
    found = [False] * len(tokens)
    for passage in passages:
        wanted = [folded for word in _WORD.findall(passage) if (folded := fold(word))]
        hit = _tiles(tokens, wanted)
        _close_gaps(hit)
        if len(wanted) >= 2 * _SHORTEST:
            _drop_chance(hit, tokens)
        found = [old or new for old, new in zip(found, hit, strict=True)]
    found = [old or new for old, new in zip(found, _whole_lines(kept, lines, passages), strict=True)]
    marks = [False] * len(words)
    for (place, _), value in zip(kept, found, strict=True):
        marks[place] = value
    for (before, _), (after, _) in pairwise(kept):
        if marks[before] and marks[after]:  # signs between two marked words belong to them
            marks[before:after] = [True] * (after - before)
    return marks


def marked_boxes(words: Sequence[Mapping[str, Any]], passages: Sequence[str]) -> list[Box]:
    """Boxes around the words of a page that repeat the passages, one for each run on a line.

    Args:
        words: as in ``filing_pages``, with edges in points, ``text``, ``block`` and ``line``.
        passages: gold passages of this page.
    """
    lines = [(word["block"], word["line"]) for word in words]
    marks = marked_words([word["text"] for word in words], lines, passages)
    boxes: list[Box] = []
    before: tuple[int, int] | None = None
    for word, mark in zip(words, marks, strict=True):
        line = (word["block"], word["line"]) if mark else None
        if line is not None:
            box = (word["x0"], word["y0"], word["x1"], word["y1"])
            if line == before:
                box = _around(boxes.pop(), box)
            boxes.append(box)
        before = line
    return boxes


def marked_spans(text: str, passages: Sequence[str]) -> list[tuple[int, int]]:
    """Start and end of the stretches of a text that repeat the passages."""
    found = list(_WORD.finditer(text))
    ends = [place for place, character in enumerate(text) if character == "\n"]
    lines = [bisect(ends, word.start()) for word in found]
    marks = marked_words([word.group() for word in found], lines, passages)
    spans: list[tuple[int, int]] = []
    before = False
    for word, mark in zip(found, marks, strict=True):
        if mark:
            start = spans.pop()[0] if before else word.start()
            spans.append((start, word.end()))
        before = mark
    return spans


def _around(first: Box, second: Box) -> Box:
    return (
        min(first[0], second[0]),
        min(first[1], second[1]),
        max(first[2], second[2]),
        max(first[3], second[3]),
    )


def _tiles(tokens: Sequence[str], wanted: Sequence[str]) -> list[bool]:
    """Tokens of a page that are covered by runs of a passage, each word of the passage used once.

    Greedy string tiling (Wise, 1993, "String similarity via greedy string tiling and running Karp-Rabin
    matching"): the longest runs first, then those that are left, in whatever order they stand.
    """
    page: list[Hashable] = list(tokens)
    passage: list[Hashable] = list(wanted)
    hit = [False] * len(tokens)
    least = min(RUN, len(wanted))
    for _ in range(_PASSES if least else 0):
        blocks = SequenceMatcher(None, passage, page, autojunk=False).get_matching_blocks()
        found = [block for block in blocks if block.size >= least]
        if not found:
            break
        for block in found:
            hit[block.b : block.b + block.size] = [True] * block.size
            for step in range(block.size):  # what is used up is like nothing else
                passage[block.a + step], page[block.b + step] = ("passage", block.a + step), None
    return hit


def _whole_lines(
    kept: Sequence[tuple[int, str]], lines: Sequence[Hashable], passages: Sequence[str]
) -> list[bool]:
    """Words of lines that are lines of a passage too: of two words or more, or a number."""
    wanted = {
        tuple(folded for word in _WORD.findall(line) if (folded := fold(word)))
        for passage in passages
        for line in passage.splitlines()
    }
    hit: list[bool] = []
    for _, group in groupby(kept, key=lambda item: lines[item[0]]):
        tokens = tuple(folded for _, folded in group)
        number = len(tokens) == 1 and tokens[0].isdecimal() and len(tokens[0]) >= _SHORTEST_NUMBER
        hit += [tokens in wanted and (len(tokens) > 1 or number)] * len(tokens)
    return hit


def _close_gaps(hit: list[bool]) -> None:
    marked = [place for place, value in enumerate(hit) if value]
    for before, after in pairwise(marked):
        if after - before <= _GAP + 1:
            hit[before:after] = [True] * (after - before)


def _drop_chance(hit: list[bool], tokens: Sequence[str]) -> None:
    start = 0
    while start < len(hit):
        end = start
        while end < len(hit) and hit[end]:
            end += 1
        run = tokens[start:end]
        if run and len(run) < _SHORTEST and not any(c.isdigit() for token in run for c in token):
            hit[start:end] = [False] * (end - start)
        start = max(end, start + 1)


_EDGES = ("x0", "y0", "x1", "y1")
_CELLS = ("page", "table", *_EDGES, "header", "kind", "value", "reason")
_LONGEST_TEXT = 20_000
_ROOM = 1.5  # points between a word and the box around it
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


@dataclass(frozen=True)
class ShownPage:
    """A page that a question shows as it looks.

    Attributes:
        place: filing and zero-based page.
        roles: why it is shown.
        evidence: boxes around the words of the gold passages.
        spans: the same in the page's text, as start and end.
        used: boxes of the cells that a calculation read.
    """

    place: Place
    roles: tuple[str, ...]
    evidence: tuple[Box, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    used: tuple[Box, ...] = ()


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
        layers: dict[str, list[Box]] = defaultdict(list)
        for cell in cells[page]:
            if (box := box_of(cell)) and (layer := cell_layer(cell)):
                layers[layer].append(box)
        found[place] = PageContent(
            place,
            source,
            row["width"],
            row["height"],
            row["text"],
            tuple(row["words"] or ()),
            tuple(table_outlines(cells[page]).values()),
            tuple(layers["headers"]),
            tuple(layers["numbers"]),
            tuple(layers["unreadable"]),
            tuple(
                (box, fact["concept"] or fact["label"], fact["printed"])
                for fact in facts[page]
                if (box := box_of(fact))
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


def sheet_view(shown: ShownPage, content: PageContent, picture: str | None, anchor: str) -> dict[str, Any]:
    """What the template shows of a page.

    Args:
        shown: why it is shown, and what is marked on it.
        content: what was read from it.
        picture: path from the folder of the report, beginning with ``pages/``; or why there is no picture.
        anchor: its identifier on the page.
    """
    filing, page = shown.place
    path = picture if picture and picture.startswith("pages/") else None
    problem = content.problem or (picture if picture and not path and content.source == "pdf" else None)
    size = (content.width, content.height) if content.width and content.height else None
    return {
        "filing": filing,
        "number": page + 1,
        "anchor": anchor,
        "roles": shown.roles,
        "problem": problem,
        "picture": path if size else None,
        "width": round(size[0]) if size else None,
        "height": round(size[1]) if size else None,
        "layers": [
            {"name": name, "path": outline(boxes, room)}
            for name, boxes, room in (
                ("tables", content.tables, 3.0),
                ("headers", content.headers, 0.0),
                ("numbers", content.numbers, 0.0),
                ("unreadable", content.unreadable, 0.0),
                ("evidence", shown.evidence, _ROOM),
            )
            if boxes
        ],
        "facts": [
            {"box": _rectangle(box, 0.5), "name": f"{name}: {printed}"}
            for box, name, printed in content.facts
        ],
        "used": outline(shown.used, 2.5) if shown.used else None,
        "counts": _counts(shown, content),
        "parts": text_parts(content.text, shown.spans) if not (path and size) else [],
    }


def outline(boxes: Iterable[Box], room: float = 0.0) -> str:
    """Rectangles as one SVG path, in points rounded to a tenth."""
    parts = []
    for x0, y0, x1, y1 in boxes:
        left, top, right, bottom = (_short(edge) for edge in (x0 - room, y0 - room, x1 + room, y1 + room))
        parts.append(f"M{left} {top}H{right}V{bottom}H{left}Z")
    return "".join(parts)


def text_parts(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[str, bool]]:
    """A text in pieces, each with whether it is marked; a very long one ends early."""
    parts: list[tuple[str, bool]] = []
    shown = text[:_LONGEST_TEXT]
    start = 0
    for begin, end in spans:
        if begin >= len(shown):
            break
        parts += [(shown[start:begin], False), (shown[begin:end], True)]
        start = end
    parts.append((shown[start:], False))
    if len(text) > len(shown):
        parts.append((f" … ({len(text) - len(shown):,} more characters)", False))
    return [part for part in parts if part[0]]


def _rectangle(box: Box, room: float) -> dict[str, str]:
    x0, y0, x1, y1 = box
    return {
        "x": _short(x0 - room),
        "y": _short(y0 - room),
        "width": _short(x1 - x0 + 2 * room),
        "height": _short(y1 - y0 + 2 * room),
    }


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _counts(shown: ShownPage, content: PageContent) -> str:
    """``1 table, 99 facts, evidence on 40 lines``; empty where nothing was read."""
    parts = [
        _plural(len(content.tables), "table"),
        _plural(len(content.facts), "fact"),
        _plural(len(shown.used), "cell used in the calculation", "cells used in the calculation"),
        _plural(
            len(shown.evidence) or len(shown.spans),
            "marked passage of evidence",
            "marked passages of evidence",
        ),
    ]
    return ", ".join(part for part in parts if part)


def _plural(count: int, one: str, many: str | None = None) -> str:
    return "" if not count else f"{count:,} {one if count == 1 else many or one + 's'}"
