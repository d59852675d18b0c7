"""Tables of HTML filings: from the cells of the document to the grid that a reader sees.

Filers set signs, brackets and the space between columns in cells of their own, so a column as seen is
several of the document. Cells that lie under one another are a column, the narrowest first; a cell over
several of them spans these. What stands above a table, its captions and whether it continues are told as for
any other table, on pages whose lines are laid out one below the other.
"""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, takewhile
from operator import attrgetter
from pathlib import Path

from finrag_pipeline.filings.html import HtmlCell, HtmlPage, HtmlTable, read_html
from finrag_pipeline.filings.html import Line as HtmlLine
from finrag_pipeline.filings.sentences import sentences
from finrag_pipeline.tables.model import Box, Cell, Table
from finrag_pipeline.tables.scale import find_scale, only_scale
from finrag_pipeline.tables.values import parse_value
from finrag_pipeline.tables.words.body import levels
from finrag_pipeline.tables.words.captions import (
    ABOVE,
    caption_of,
    mark_continuation,
    texts_above,
    texts_below,
)
from finrag_pipeline.tables.words.rows import Line, Segment
from finrag_pipeline.tables.words.tokens import TEXT, is_period, is_units

NAME = "html"
_WIDTH, _STEP, _HEIGHT, _GAP = 540.0, 12.0, 10.0, 8.0
"""Points that a page is wide, that lines are apart and high, and that are left between paragraphs."""
_LINE = 110
"""Characters of a line of running text."""
_EDGE, _FEWEST = 3, 3
"""Lines at the head and foot of a page that may be furniture, and pages that show it at least."""
_DIGITS = re.compile(r"\d+")
_OPENING = re.compile(r"(?:[A-Z]{1,3})?[$€£¥]\s*\(?|\(")
_CLOSING = re.compile(r"\)?\s*(?:%|x|pts?\.?|bps)?\s*\)?")
_MARKS = re.compile(r"(?:\((?:[a-z]|\d{1,2})\)|[*†‡⁰¹²³⁴-⁹,\s])+")
_NUMERIC = re.compile(r"[-–—$€£¥(\s]*(?:[\d.,]*\d|[—–-]+).*")
_BULLET = re.compile(r"[•●▪■◦○·☐☒✓–—*†‡⁰¹²³⁴-⁹-]+|\(?\w{1,4}[.)]")
_LONGEST_CELL = 400
"""Characters past which a cell without a number beside it is a paragraph, and its table but a layout."""


@dataclass(slots=True)
class _Spot:
    """A cell as seen: the columns of the document from ``start`` to ``stop`` (excluded)."""

    start: int
    stop: int
    row_span: int
    text: str
    indent: float
    anchor: str
    heads: bool

    @property
    def numeric(self) -> bool:
        """Whether it reads as a number or a dash, years aside."""
        value = parse_value(self.text)
        return value.number is not None and not value.looks_like_year


def html_tables(path: Path) -> list[Table]:
    """All tables of an HTML filing that hold data, by page and from top to bottom.

    Raises:
        FilingError: as `finrag_pipeline.filings.html.read_html`.
    """
    filing = read_html(path)
    furniture = _furniture(filing.pages)
    pages = [[line for line in page.lines if _bare(line.text) not in furniture] for page in filing.pages]
    by_page = {page: list(group) for page, group in groupby(filing.tables, attrgetter("page"))}
    found: list[Table] = []
    before: list[Table] = []
    height_before = 0.0
    for number, lines in enumerate(pages):
        grids = [(one, grid) for one in by_page.get(number, ()) if (grid := _grid(one))]
        if number and grids and lines and grids[0][0].first <= lines[0].order:
            last = max((one.last for one in by_page.get(number - 1, ())), default=-1)
            ahead = [line for line in pages[number - 1][-ABOVE:] if line.order > last]
            lines = [*(ahead if ahead and _leads(ahead[-1].text) else ()), *lines]
        tables, height = _page_tables(lines, grids)
        before = mark_continuation(before, tables, height_before, height)
        height_before = height
        found += before
    return found


def _leads(text: str) -> bool:
    """Whether the last line of a page leads to the table on the next one."""
    return text.endswith(":") or is_units(text) or bool(find_scale([text]))


def _bare(text: str) -> str:
    return _DIGITS.sub("#", text)


def _furniture(pages: Sequence[HtmlPage]) -> set[str]:
    """Running heads and feet, numbers aside: what stands first or last on several pages."""
    counts: Counter[str] = Counter()
    for page in pages:
        counts.update({_bare(line.text) for line in (*page.lines[:_EDGE], *page.lines[-_EDGE:])})
    return {text for text, count in counts.items() if count >= max(_FEWEST, len(pages) // 5)}


def _page_tables(
    shown: Sequence[HtmlLine], grids: Sequence[tuple[HtmlTable, _Grid]]
) -> tuple[list[Table], float]:
    """The tables of a page, and its height."""
    lines, orders = _laid_out(shown)
    height = lines[-1].y1 if lines else 0.0
    placed = [
        (one, grid, bisect_left(orders, one.first), bisect_right(orders, one.last)) for one, grid in grids
    ]
    placed = [one for one in placed if one[2] < one[3]]  # else it is all a running head or foot
    tables = []
    for place, (one, grid, start, stop) in enumerate(placed):
        floor = placed[place - 1][3] if place else 0
        ceiling = placed[place + 1][2] if place + 1 < len(placed) else len(lines)
        table = _table(one, grid, lines, (floor, start, stop, ceiling), height)
        told = [line.text for line in shown if line.order < one.first]
        tables.append(replace(table, caption=_whole_sentences(table.caption, told)))
    return tables, height


def _whole_sentences(caption: str | None, told: Sequence[str]) -> str | None:
    """A caption out of a paragraph without a sentence that is broken off; one that leads on is enough."""
    text = next((one for one in told[: -ABOVE - 1 : -1] if caption and one.endswith(caption)), None)
    if caption is None or text is None:
        return caption
    parts = sentences(text)
    while len(parts) > 1 and (text.endswith(":") or len(" ".join(parts)) > len(caption)):
        parts.pop(0)
    return " ".join(parts)


def _laid_out(shown: Sequence[HtmlLine]) -> tuple[list[Line], list[int]]:
    """Lines one below the other, running text in several, and the order of each."""
    lines: list[Line] = []
    orders = []
    top = 0.0
    for line in shown:
        parts = textwrap.wrap(line.text, _LINE) if len(line.text) > _LINE * 1.5 else [line.text]
        for part in parts:
            words = part.count(" ") + 1
            segment = Segment(0.0, top, _WIDTH, top + _HEIGHT, 0.0, TEXT, words, part)
            lines.append(Line([segment], *segment[:4], _HEIGHT, words, prose=len(parts) > 1))
            orders.append(line.order)
            top += _STEP
        top += _GAP - (_STEP - _HEIGHT)
    return lines, orders


@dataclass(slots=True)
class _Grid:
    """A table as seen.

    Attributes:
        titles: texts of rows above the headers that head the whole table.
        rows: spots by row.
        columns: first and last column of the document of each column.
    """

    titles: list[str]
    rows: list[list[_Spot]]
    columns: list[tuple[int, int]]
    header_rows: int


def _grid(table: HtmlTable) -> _Grid | None:
    """The rows and columns of a table as seen; None for one that but lays out text."""
    in_order = sorted(table.cells, key=attrgetter("row", "column"))
    rows = [list(_joined(cells)) for _, cells in groupby(in_order, attrgetter("row"))]
    titles = []
    while rows and len(rows[0]) == 1 and not rows[0][0].numeric and _is_title(rows[0][0], rows):
        titles.append(rows.pop(0)[0].text)
    columns = _columns([spot for row in rows for spot in row])
    rows = _without_marks(rows, columns)
    if len(rows) < 2 or len(columns) < 2 or _lays_out(rows):
        return None
    return _Grid(titles, rows, columns, _header_rows(rows, columns))


def _joined(cells: Iterator[HtmlCell]) -> Iterator[_Spot]:
    """The cells of a row, with signs that stand apart joined to their numbers."""
    opened: _Spot | None = None
    last: _Spot | None = None
    for cell in cells:
        stop = cell.column + cell.column_span
        spot = _Spot(cell.column, stop, cell.row_span, cell.text, cell.indent, cell.anchor, cell.heads)
        if opened is not None and _NUMERIC.fullmatch(spot.text):
            apart = "" if opened.text.endswith("(") else " "
            spot.text, spot.start, opened = f"{opened.text}{apart}{spot.text}", opened.start, None
        elif last is not None and _CLOSING.fullmatch(spot.text) and _NUMERIC.fullmatch(last.text):
            last.text, last.stop = last.text + spot.text, spot.stop
            continue
        if opened is not None:
            yield from (one for one in (last, opened) if one is not None)
            last = opened = None
        if _OPENING.fullmatch(spot.text):
            opened = spot
            continue
        if last is not None:
            yield last
        last = spot
    yield from (one for one in (last, opened) if one is not None)


def _is_title(spot: _Spot, rows: Sequence[Sequence[_Spot]]) -> bool:
    """Whether a text alone in the first row heads the whole table rather than some of its columns."""
    first = min(one.start for row in rows for one in row)
    last = max(one.stop for row in rows for one in row)
    whole = spot.start == first and spot.stop >= last
    return whole and not is_period(spot.text)


def _columns(spots: Sequence[_Spot]) -> list[tuple[int, int]]:
    """The columns as seen, left to right: cells under one another, the narrowest first."""
    found: list[list[int]] = []
    for spot in sorted(spots, key=lambda spot: (spot.stop - spot.start, not spot.numeric)):
        under = [column for column in found if spot.start < column[1] and column[0] < spot.stop]
        if not under:
            found.append([spot.start, spot.stop])
        elif len(under) == 1:
            wider = [min(under[0][0], spot.start), max(under[0][1], spot.stop)]
            if not any(o is not under[0] and wider[0] < o[1] and o[0] < wider[1] for o in found):
                under[0][:] = wider
    return [(start, stop) for start, stop in sorted(found)]


def _covered(spot: _Spot, columns: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """First and last of the columns that a spot lies over."""
    over = [n for n, (start, stop) in enumerate(columns) if spot.start < stop and start < spot.stop]
    return over[0], over[-1]


def _without_marks(rows: list[list[_Spot]], columns: list[tuple[int, int]]) -> list[list[_Spot]]:
    """The rows with columns of nothing but footnote marks joined to the column before, in place."""
    held: dict[int, list[_Spot]] = {}
    for row in rows:
        for spot in row:
            first, last = _covered(spot, columns)
            if first == last:
                held.setdefault(first, []).append(spot)
    for number in range(len(columns) - 1, 0, -1):
        if all(_MARKS.fullmatch(spot.text) for spot in held.get(number, ())):
            (start, _), (_, stop) = columns[number - 1], columns[number]
            columns[number - 1 : number + 1] = [(start, stop)]
    merged = []
    for row in rows:
        kept: dict[tuple[int, int], _Spot] = {}
        for spot in row:
            place = _covered(spot, columns)
            if place in kept:
                kept[place].text += f" {spot.text}"
                kept[place].stop = spot.stop
            else:
                kept[place] = spot
        merged.append(list(kept.values()))
    return merged


def _lays_out(rows: Sequence[Sequence[_Spot]]) -> bool:
    """Whether a table holds running text, a list or boxes to tick rather than data."""
    spots = [spot for row in rows for spot in row]
    if any(spot.numeric for row in rows for spot in row[1:]):
        return False
    if max(len(spot.text) for spot in spots) > _LONGEST_CELL:
        return True
    listed = sum(bool(_BULLET.fullmatch(row[0].text)) for row in rows)
    return 2 * listed > len(rows) or sum(len(row) > 1 for row in rows) < 2


def _header_rows(rows: Sequence[Sequence[_Spot]], columns: Sequence[tuple[int, int]]) -> int:
    """How many of the first rows are column headers: those before the first with a number or a label alone.

    Of a table without numbers the first row is, unless its cells say themselves what they are.
    """
    marked = len(list(takewhile(lambda row: all(spot.heads for spot in row), rows)))
    if 0 < marked < len(rows):
        return marked
    if not any(spot.numeric for row in rows for spot in row[1:]):
        return 1
    for number, row in enumerate(rows):
        label = row[0] if _covered(row[0], columns)[0] == 0 else None
        values = row[1:] if label else row
        if any(spot.numeric for spot in values):
            return number
        if (
            label
            and not values
            and not (is_units(label.text) or only_scale(label.text) or is_period(label.text))
        ):
            return number
    return 0


def _table(
    raw: HtmlTable, grid: _Grid, lines: Sequence[Line], places: tuple[int, int, int, int], height: float
) -> Table:
    floor, start, stop, ceiling = places
    top, bottom = lines[start].y0, lines[min(stop, len(lines)) - 1].y1
    pitch = (bottom - top) / len(grid.rows)
    scale = _WIDTH / max(raw.columns, 1)
    cells = []
    lefts: list[float | None] = []
    for number, row in enumerate(grid.rows):
        headed = number < grid.header_rows
        lefts.append(None)
        for spot in row:
            first, last = _covered(spot, grid.columns)
            if first == 0 and not headed:
                lefts[-1] = spot.indent
                if len(row) == 1:
                    last = 0
            edges = [grid.columns[first][0], grid.columns[last][1]]
            cells.append(
                Cell(
                    number,
                    first,
                    Box(edges[0] * scale, top + number * pitch, edges[1] * scale, top + (number + 1) * pitch),
                    spot.text,
                    min(spot.row_span, len(grid.rows) - number),
                    last - first + 1,
                    headed,
                    spot.anchor,
                )
            )
    start += len(grid.titles)
    return Table(
        page=raw.page,
        detector=NAME,
        box=Box(0.0, top, _WIDTH, bottom),
        rows=len(grid.rows),
        columns=len(grid.columns),
        cells=tuple(cells),
        header_rows=grid.header_rows,
        levels=levels(lefts),
        caption=caption_of(lines, start, floor, height),
        above=texts_above(lines, start, floor, height),
        below=texts_below(lines, stop, ceiling, height),
        continues=raw.continues,
    )
