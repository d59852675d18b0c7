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
from contextlib import suppress
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError
from finrag_pipeline.reporting.page_pictures import EDGES, Box, around, box_of, cell_layer, table_outlines
from finrag_pipeline.storage.lake import Lake

Place = tuple[str, int]
"""Filing and zero-based page."""

RUN = 3
"""Words in a row that must be the same; all of them for a passage that is shorter."""
_SHORTEST = 4  # a run without any figure that is shorter is chance, in a passage long enough to do without it
_PASSES = 4  # runs in another order than the page's are found from the second pass on
_GAP = 2  # words between two runs that are marked with them
_SHORTEST_NUMBER = 3  # digits of a number that is marked where it stands alone on its line


def fold(word: str) -> str:
    """A word without case, accents' form, signs and separators: ``$5,363`` and ``5363`` are one."""
    return "".join(c for c in unicodedata.normalize("NFKC", word).casefold() if c.isalnum())


def _folded(text: str) -> list[str]:
    return [folded for word in text.split() if (folded := fold(word))]


def marked_words(words: Sequence[str], lines: Sequence[Hashable], passages: Sequence[str]) -> list[bool]:
    """Which words of a page, in reading order, repeat any of the passages: in runs, or as a whole line.

    ``lines`` names the line of each word.
    """
    kept = [place for place, word in enumerate(words) if fold(word)]
    tokens = [fold(words[place]) for place in kept]
    found = _whole_lines(tokens, [lines[place] for place in kept], passages)
    for passage in passages:
        wanted = _folded(passage)
        hit = _tiles(tokens, wanted)
        marked = [place for place, value in enumerate(hit) if value]
        for before, after in pairwise(marked):
            if after - before <= _GAP + 1:
                hit[before:after] = [True] * (after - before)
        if len(wanted) >= 2 * _SHORTEST:
            _drop_chance(hit, tokens)
        found = [old or new for old, new in zip(found, hit, strict=True)]
    marks = [False] * len(words)
    for place, value in zip(kept, found, strict=True):
        marks[place] = value
    for before, after in pairwise(kept):
        if marks[before] and marks[after]:  # signs between two marked words belong to them
            marks[before:after] = [True] * (after - before)
    return marks


def marked_boxes(words: Sequence[Mapping[str, Any]], passages: Sequence[str]) -> list[Box]:
    """Boxes around words of ``filing_pages`` that repeat passages of their page: one per run on a line."""
    lines = [(word["block"], word["line"]) for word in words]
    marks = marked_words([word["text"] for word in words], lines, passages)
    runs = groupby(zip(words, lines, marks, strict=True), key=lambda item: item[1:])
    return [around(box_of(word) for word, *_ in run) for (_, marked), run in runs if marked]


def marked_spans(text: str, passages: Sequence[str]) -> list[tuple[int, int]]:
    """Start and end of the stretches of a text that repeat the passages."""
    found = list(re.finditer(r"\S+", text))
    ends = [place for place, character in enumerate(text) if character == "\n"]
    lines = [bisect(ends, word.start()) for word in found]
    marks = marked_words([word.group() for word in found], lines, passages)
    runs = groupby(zip(found, marks, strict=True), key=lambda item: item[1])
    marked = [[word for word, _ in run] for marked, run in runs if marked]
    return [(run[0].start(), run[-1].end()) for run in marked]


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


def _whole_lines(tokens: Sequence[str], lines: Sequence[Hashable], passages: Sequence[str]) -> list[bool]:
    """Words of lines that are lines of a passage too: of two words or more, or a number."""
    wanted = {tuple(_folded(line)) for passage in passages for line in passage.splitlines()}
    hit: list[bool] = []
    for _, group in groupby(zip(lines, tokens, strict=True), key=lambda item: item[0]):
        line = tuple(token for _, token in group)
        number = len(line) == 1 and line[0].isdecimal() and len(line[0]) >= _SHORTEST_NUMBER
        hit += [line in wanted and (len(line) > 1 or number)] * len(line)
    return hit


def _drop_chance(hit: list[bool], tokens: Sequence[str]) -> None:
    for marked, group in groupby(range(len(hit)), key=hit.copy().__getitem__):
        run = list(group)
        figures = any(c.isdigit() for place in run for c in tokens[place])
        if marked and len(run) < _SHORTEST and not figures:
            hit[run[0] : run[-1] + 1] = [False] * len(run)


_CELLS = ("page", "table", *EDGES, "header", "kind", "value", "reason")
_FACTS = ("page", *EDGES, "concept", "label", "printed")
_LONGEST_TEXT = 20_000
_ROOM = {"tables": 3.0, "headers": 0.0, "numbers": 0.0, "unreadable": 0.0, "words": 0.5, "evidence": 1.5}
"""Points between what is drawn and the box around it, in the order of drawing."""


def read_pages(
    lake: Lake, places: Iterable[Place], sources: Mapping[str, str]
) -> dict[Place, dict[str, Any]]:
    """What the lake holds of pages; ``sources`` says pdf or page_text by filing.

    Returns:
        For each place ``source`` and ``problem``, why nothing else is known. Without a problem as well
        ``width``, ``height``, ``text`` and ``words`` as in ``filing_pages``; ``layers``: boxes by name; and
        ``facts``: box, name and print of each. Boxes are in points from the upper left corner.
    """
    by_filing: dict[str, set[int]] = defaultdict(set)
    for filing, page in places:
        by_filing[filing].add(page)
    found: dict[Place, dict[str, Any]] = {}
    for filing, numbers in sorted(by_filing.items()):
        known: dict[int, dict[str, Any]] = {}
        count: int | None = None
        with suppress(LakeError):
            table = lake.read("filing_pages", {"filing": filing})
            count = table.num_rows
            known = {page: rows[0] for page, rows in _by_page(table, numbers).items()}
        cells = _rows(lake, "page_tables", filing, numbers, _CELLS) if known else {}
        facts = _rows(lake, "statement_facts", filing, numbers, _FACTS) if known else {}
        for page in numbers:
            problem = f"{filing} has {count or 0:,} pages; there is no page {page + 1}."
            if count is None:
                problem = f"The lake holds no pages of {filing}."
            content: dict[str, Any] = {"source": sources.get(filing), "problem": problem}
            if page in known:
                boxed = [(box, fact) for fact in facts.get(page, ()) if (box := box_of(fact))]
                content |= known[page] | {
                    "problem": None,
                    "layers": _layers(cells.get(page, ())),
                    "facts": [(box, one["concept"] or one["label"], one["printed"]) for box, one in boxed],
                }
            found[filing, page] = content
    return found


def _by_page(table: pa.Table, numbers: Iterable[int]) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in table.filter(pc.is_in(table["page"], pa.array(sorted(numbers), pa.int32()))).to_pylist():
        found[row["page"]].append(row)
    return found


def _rows(
    lake: Lake, name: str, filing: str, numbers: Iterable[int], columns: Sequence[str]
) -> dict[int, list[dict[str, Any]]]:
    keys = {"filing": filing}
    return {} if lake.info(name, keys) is None else _by_page(lake.read(name, keys, columns), numbers)


def _layers(cells: Sequence[Mapping[str, Any]]) -> dict[str, list[Box]]:
    layers: dict[str, list[Box]] = defaultdict(list, tables=list(table_outlines(cells).values()))
    for cell in cells:
        if (box := box_of(cell)) and (layer := cell_layer(cell)):
            layers[layer].append(box)
    return layers


def sheet_view(
    shown: Mapping[str, Any], content: Mapping[str, Any], picture: str | None, anchor: str
) -> dict[str, Any]:
    """What the template shows of a page.

    Args:
        shown: why it is shown, and what is marked on it, as `explorer_data.ExplorerQuestion.shown`.
        content: what was read from it, as `read_pages`.
        picture: path from the folder of the report, beginning with ``pages/``; or why there is no picture.
        anchor: its identifier on the page.
    """
    filing, page = shown["place"]
    layers = content.get("layers", {}) | {"evidence": shown["evidence"]}
    facts = content.get("facts", ())
    drawn = bool(picture and picture.startswith("pages/"))
    sized = bool(content.get("width") and content.get("height"))
    counts = (
        (len(layers.get("tables", ())), "table", "tables"),
        (len(facts), "fact", "facts"),
        (len(shown["used"]), "cell used in the calculation", "cells used in the calculation"),
        (
            len(shown["evidence"]) or len(shown["spans"]),
            "marked passage of evidence",
            "marked passages of evidence",
        ),
    )
    return {
        "filing": filing,
        "number": page + 1,
        "anchor": anchor,
        "roles": shown["roles"],
        "problem": content["problem"] or (None if drawn or content["source"] != "pdf" else picture),
        "picture": picture if drawn and sized else None,
        "width": round(content["width"]) if sized else None,
        "height": round(content["height"]) if sized else None,
        "layers": [(name, outline(layers[name], room)) for name, room in _ROOM.items() if layers.get(name)],
        "facts": [(_rectangle(box, 0.5), f"{name}: {printed}") for box, name, printed in facts],
        "used": outline(shown["used"], 2.5),
        "counts": ", ".join(f"{n:,} {one if n == 1 else many}" for n, one, many in counts if n),
        "parts": [] if drawn and sized else text_parts(content.get("text", ""), shown["spans"]),
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
    edges = {"x": x0 - room, "y": y0 - room, "width": x1 - x0 + 2 * room, "height": y1 - y0 + 2 * room}
    return {name: _short(value) for name, value in edges.items()}


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
