"""Where tables of figures are: runs of rows with values in columns, with the lines that head them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from finrag_pipeline.tables.words.groups import (
    Group,
    bridges,
    hangs,
    is_data,
    is_heading,
    is_label,
    is_year_row,
)
from finrag_pipeline.tables.words.rows import Line, Segment
from finrag_pipeline.tables.words.tokens import DASH, NUMBER, TEXT, YEAR, is_period, is_title, is_units

_MOST_HEADER_LINES = 14
_PAGE_HEAD = re.compile(r"pages?(?:\s+(?:no\.?|numbers?))?", re.I)
_REGISTRANT = re.compile(
    r"\(?(?:state or other jurisdiction|state of incorporation|i\.?r\.?s\.? employer|commission file"
    r"|zip code|for the (?:transition|quarterly) period|address of principal)",
    re.I,
)


@dataclass(slots=True)
class Region:
    """A run of lines: headers ``start`` to ``body``, body ``body`` to ``stop`` (excluded)."""

    start: int
    body: int
    stop: int


@dataclass(frozen=True, slots=True)
class Extent:
    """Edges of a table: of all its rows, and where the columns behind the labels begin."""

    left: float
    edge: float
    right: float
    columns: int


def head_of(lines: Sequence[Line], first_row: int, extent: Extent, floor: int) -> tuple[int, int]:
    """First line of the column headers above line ``first_row``, and of the body; none before ``floor``.

    The body may begin above ``first_row``, with headings and with labels that are set in several lines.
    """
    top = start = first_row
    end: int | None = None
    body = lines[first_row]
    edge = reach = extent.edge
    while top > floor:
        line, below = lines[top - 1], lines[top]
        height, gap = max(line.height, body.height), below.y0 - line.y1
        if gap > 3.0 * height or line.listed or first_row - top >= _MOST_HEADER_LINES:
            break
        segments = line.segments
        first, alone = segments[0], len(segments) == 1
        if alone and is_units(line.text) and line.x0 > edge - 3 * height:
            # '(in thousands)' right above the figures belongs to the headers if there are any above it.
            end = top if end is None else end
            top -= 1
            continue
        over = any(
            s.x1 > min(edge, reach) - 0.5 * height and (place or (s.x0 + s.x1) / 2 > edge - 2.5 * height)
            for place, s in enumerate(segments)
        )
        if alone and _is_body_label(line, extent, over, gap, height):
            if first_row - top >= 6:
                break
            top -= 1
            continue
        if not over and gap < 0.35 * height and _same_columns(line, below):
            top -= 1
            continue
        crossing = line.prose and line.x0 < edge - 3 * height and line.x1 > edge
        if not over or crossing or gap > 2.0 * height:
            break
        if alone and not _heads_columns(first, extent, height):
            break
        if segments[-1].x0 > extent.right + 6 * height:
            break
        top -= 1
        end = top + 1 if end is None else end
        start = top
        if alone:
            # A narrow header may stand left of the figures below a wider one.
            reach = min(reach, first.x0)
    if end is None or start == first_row:
        start = end = _lone_header(lines, first_row, extent, floor)
        return start, first_row if start < first_row else end
    return _with_stub(lines, start, extent, floor), end


def _lone_header(lines: Sequence[Line], first_row: int, extent: Extent, floor: int) -> int:
    """First line of the only header above rows: a period above the labels, units above the figures."""
    start = first_row
    while start > max(floor, first_row - 2):
        line, below = lines[start - 1], lines[start]
        if len(line.segments) > 1 or below.y0 - line.y1 > 0.8 * line.height:
            break
        units = is_units(line.text) and extent.edge - 4 * line.height < line.x0
        if not units and not _is_stub(line, extent):
            break
        start -= 1
    return start


def _with_stub(lines: Sequence[Line], start: int, extent: Extent, floor: int) -> int:
    """First line of the headers, with a period that stands above the labels right above them."""
    if start <= floor:
        return start
    line, below = lines[start - 1], lines[start]
    tight = below.y0 - line.y1 < 0.4 * line.height and below.x0 < line.x0 + 2 * line.height
    return start - 1 if tight and _is_stub(line, extent) else start


def _is_stub(line: Line, extent: Extent) -> bool:
    """Whether the line is a period that stands above the labels."""
    near = abs(line.x0 - extent.left) < 2 * line.height and line.x1 < extent.edge
    return near and len(line.segments) == 1 and is_period(line.text)


def _is_body_label(line: Line, extent: Extent, over: bool, gap: float, height: float) -> bool:
    """Whether one text above rows of figures may be a heading or a wrapped label of the body, or a stub."""
    if not over and line.x1 < extent.edge:
        return True
    return (
        gap < 0.6 * height
        and line.x0 < extent.left + 2 * height
        and line.x0 < extent.edge - 3 * height
        and line.x1 < extent.edge + 0.6 * (extent.right - extent.edge)
        and not line.text.endswith(".")
    )


def _same_columns(line: Line, below: Line) -> bool:
    """Whether texts side by side all begin or end where those of the line below do: cells of two lines."""
    return all(
        s.kind == TEXT and any(abs(s.x0 - b.x0) < 6 or abs(s.x1 - b.x1) < 3 for b in below.segments)
        for s in line.segments
    )


def _heads_columns(segment: Segment, extent: Extent, height: float) -> bool:
    """Whether one text above the columns heads them, rather than being a title above the table."""
    left, edge, right = extent.left, extent.edge, extent.right
    if segment.is_value or is_period(segment.text):
        return segment.x0 > edge - 6 * height or segment.kind == YEAR
    if segment.x0 < edge - 3 * height and segment.x0 < left + 0.5 * (edge - left):
        return False
    if is_units(segment.text):
        return False
    centre = (segment.x0 + segment.x1) / 2
    off = abs(centre - (left + right) / 2)
    centred_on_table = off < 0.6 * height
    centred_on_columns = abs(centre - (edge + right) / 2) < 1.2 * height
    if is_title(segment.text) and not centred_on_columns:
        return False
    return segment.words <= 14 and not (centred_on_table and extent.columns > 1)


def figure_regions(lines: Sequence[Line]) -> tuple[list[Region], list[tuple[int, int]]]:
    """Tables of figures among the lines of a page, top to bottom, and ranges of tables of contents."""
    groups: list[Group] = []
    group: Group | None = None
    for index, line in enumerate(lines):
        if not is_data(line):
            if group is not None and group.last == index - 1 and is_year_row(line, group):
                group.add(index, line)
            continue
        if group is not None and bridges(lines, group, index):
            group.add(index, line)
        else:
            group = Group(index, line)
            groups.append(group)
    regions: list[Region] = []
    contents: list[tuple[int, int]] = []
    floor = 0
    for place, group in enumerate(groups):
        start, body = head_of(lines, group.first, _extent(group), floor)
        if start == body:
            start = body = _first_label(lines, group, floor)
        ceiling = groups[place + 1].first if place + 1 < len(groups) else len(lines)
        stop = _tail_of(lines, group, ceiling)
        floor = stop
        headed = any(_PAGE_HEAD.fullmatch(s.text) for line in lines[start:body] for s in line.segments)
        if _is_contents(lines[group.first : stop], group, headed) or _is_cover(lines[start : stop + 1]):
            contents.append((start, stop))
        elif len(group.lines) > 1 or (start < body and _is_row(lines[group.first])):
            regions.append(Region(start, body, stop))
    return regions, contents


def _is_row(line: Line) -> bool:
    """Whether a line can be the only row of a table, rather than text that ends in a number."""
    return line.values > 1 or line.segments[0].words < 8


def _first_label(lines: Sequence[Line], group: Group, floor: int) -> int:
    """First line of the body of a table without headers: headings and wrapped labels right above its rows."""
    first = group.first
    while first > max(floor, group.first - 3):
        line, below = lines[first - 1], lines[first]
        if below.y0 - line.y1 > 0.35 * line.height or line.listed or not is_label(line, group.edge):
            break
        goes_on = below.text[:1].islower() or below.x0 > line.x0 + 2 or line.text.endswith(":")
        if not goes_on or is_title(line.text):
            break
        first -= 1
    return first


def _extent(group: Group) -> Extent:
    return Extent(group.left, min(group.edge, group.right), group.right, len(group.columns))


def _tail_of(lines: Sequence[Line], group: Group, ceiling: int) -> int:
    """One past the last line: the rest of a label, a total without a label, rows of text in the columns."""
    stop = group.last + 1
    while stop < ceiling:
        line, above = lines[stop], lines[stop - 1]
        gap = line.y0 - above.y1
        if gap < 0.35 * line.height and hangs(line, group.lines[-1]):
            stop += 1
            continue
        if line.prose or gap > 0.9 * line.height or line.listed:
            break
        first, others = line.segments[0], line.segments[1:]
        if first.kind in (NUMBER, DASH) and not others:
            fits = group.under(first)
        elif others:
            fits = first.kind == TEXT and line.x0 < group.left + 2 * line.height and first.x1 < group.edge
            fits = fits and all(map(group.under, others))
            # Not the headers of the next table.
            heads = any(other.values > 1 and is_heading(other) for other in lines[stop + 1 : ceiling][:3])
            fits = fits and not (heads or is_period(first.text))
        else:
            fits = first.kind == TEXT and line.x1 < group.edge and first.text[:1].islower()
            fits = fits and gap < 0.35 * line.height
        if not fits:
            break
        stop += 1
    return stop


def _is_cover(lines: Sequence[Line]) -> bool:
    """Whether it is the block of a cover that names the registrant's state, number and address."""
    return any(_REGISTRANT.match(s.text) for line in lines for s in line.segments)


def _is_contents(lines: Sequence[Line], group: Group, headed: bool) -> bool:
    """Whether it is a table of contents: one column of page numbers that never decrease.

    Two rows are enough where the column is ``headed`` 'Page'.
    """
    rows = [line for line in lines if is_data(line)]
    lasts = [line.segments[-1].text for line in rows if len(group.values(line)) < 2]
    pages = [int(last) for last in lasts if last.isdigit() and len(last) < 4]
    if len(rows) < (2 if headed else 3) or len(pages) < 0.7 * len(rows):
        return False
    rising = sum(b >= a for a, b in pairwise(pages))
    return rising >= 0.9 * (len(pages) - 1) and pages[-1] > pages[0] + (0 if headed else 1)
