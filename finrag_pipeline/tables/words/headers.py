"""Column headers: which columns each text above the columns covers, and on which level."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from finrag_pipeline.tables.words.columns import Column
from finrag_pipeline.tables.words.rows import Line, Segment
from finrag_pipeline.tables.words.tokens import YEAR, is_period, is_units

_SERIES = re.compile(r"(?:level|stage|tier) \d|(?:first|second|third|fourth|1st|2nd|3rd|4th) quarter", re.I)


@dataclass(slots=True)
class Header:
    """A header: the columns ``first`` to ``last`` (included) and its segments, top first."""

    first: int
    last: int
    parts: list[Segment] = field(default_factory=list)
    row: int = 0
    row_span: int = 1

    @property
    def text(self) -> str:
        """Its segments joined by single spaces."""
        return " ".join(part.text for part in self.parts)

    @property
    def in_series(self) -> bool:
        """Whether it is one of a series that has a header of its own: a year, a quarter, a level."""
        return self.parts[0].kind == YEAR or bool(_SERIES.match(self.text))


def _spans(
    segments: Sequence[Segment], columns: Sequence[Column], below: Sequence[Header | None]
) -> list[tuple[int, int]]:
    """Columns that each segment of a line covers, first and last; ``below`` are the headers found so far."""
    # A line is a leaf while the columns have no headers yet.
    leaf = all(header is None for header in below)
    count = len(columns)
    centres = [(segment.x0 + segment.x1) / 2 for segment in segments]
    bases: list[tuple[int, int]] = []
    for segment in segments:
        inside = [i for i, c in enumerate(columns) if segment.x0 - 1 <= c.centre <= segment.x1 + 1]
        if (
            len(inside) > 1
            and leaf
            and segment.x1 - segment.x0 < 0.6 * (columns[inside[-1]].x1 - columns[inside[0]].x0)
        ):
            inside = []
        if not inside:
            overlap = [(min(segment.x1, c.x1) - max(segment.x0, c.x0), -i) for i, c in enumerate(columns)]
            inside = [-max(overlap)[1]]
        bases.append((inside[0], inside[-1]))
    # Two segments do not share a column: the one that is nearer keeps it.
    for place in range(1, len(bases)):
        before, own = bases[place - 1], bases[place]
        if own[0] <= before[1]:
            if own[1] > before[1]:
                bases[place] = (before[1] + 1, own[1])
            elif before[0] < own[0]:
                bases[place - 1] = (before[0], own[0] - 1)
            elif before[1] + 1 < count and place == len(bases) - 1:
                nxt = before[1] + 1
                off = abs(columns[own[0]].centre - centres[place])
                if abs(columns[nxt].centre - centres[place]) < 2 * off:
                    bases[place] = (nxt, nxt)
    if leaf:
        return bases
    spans: list[tuple[int, int]] = []
    for place, (segment, (low, high)) in enumerate(zip(segments, bases, strict=True)):
        floor = spans[-1][1] + 1 if place else 0
        ceiling = bases[place + 1][0] - 1 if place + 1 < len(bases) else count - 1
        header = below[low]
        wide = segment.kind == YEAR or is_period(segment.text) or (header is not None and header.in_series)
        limits = min(floor, low), max(ceiling, high)
        spans.append(_widened(segment, (low, high), limits, columns, below, wide))
    return spans


def _widened(
    segment: Segment,
    base: tuple[int, int],
    limits: tuple[int, int],
    columns: Sequence[Column],
    below: Sequence[Header | None],
    wide: bool,
) -> tuple[int, int]:
    """The run of columns around ``base``, within ``limits``, over which the segment is centred.

    Headers that span columns are centred over them, and no wider. Of runs over which it is centred equally
    well the widest is taken if ``wide`` (a period, or a text over one of a series of years, which hardly
    ever heads one column of several), else the narrowest.
    """
    low, high = base
    centre, height = _centre(segment), segment.y1 - segment.y0
    best, choice = (float("inf"), 0), base
    for a in range(low, max(limits[0], low - 12) - 1, -1):
        for b in range(high, min(limits[1], high + 12) + 1):
            error = abs((columns[a].x0 + columns[b].x1) / 2 - centre)
            first, last = below[a], below[b]
            if wide and a < b and first is not None and last is not None:
                # Figures may stand off the middle of their own headers.
                over = (min(p.x0 for p in first.parts) + max(p.x1 for p in last.parts)) / 2
                error = min(error, abs(over - centre))
            # How far the text reaches over columns outside the run.
            before = columns[a - 1].x1 - segment.x0 if a else 0.0
            after = segment.x1 - columns[b + 1].x0 if b + 1 < len(columns) else 0.0
            # In steps of 0.8 of the height: how far figures stand off the middle of their headers.
            cost = round((error + 2 * max(0.0, before, after)) / (0.8 * height))
            width = a - b if wide else b - a
            if (cost, width) < best:
                best, choice = (cost, width), (a, b)
    return choice


def _centre(segment: Segment) -> float:
    return (segment.x0 + segment.x1) / 2


def find_headers(
    lines: Sequence[Line], columns: Sequence[Column], labelled: bool
) -> tuple[list[Header], int]:
    """Headers of the ``lines`` above the body, and how many rows they take.

    Lines of one wrapped header are one header; a text over several headed columns is a level of its own.
    A header without a level above it spans all header rows.
    """
    offset = 1 if labelled else 0
    figures = list(columns[offset:])
    found: list[Header] = []
    if not lines:
        return found, 0
    edge = figures[0].x0 if figures else float("inf")
    below: list[Header | None] = [None] * len(columns)
    stub: list[Segment] = []
    for line in reversed(lines):
        segments = list(line.segments)
        if labelled:
            while segments and _is_stub(segments[0], columns[0], edge, line.height):
                stub.insert(0, segments.pop(0))
        if not segments or not figures:
            continue
        if len(segments) == 1 and len(figures) > 1 and is_units(segments[0].text):
            middle = (figures[0].x0 + figures[-1].x1) / 2
            if abs(_centre(segments[0]) - middle) < 2 * line.height:
                found.append(Header(offset, len(columns) - 1, segments))
                continue
        spans = [(low + offset, high + offset) for low, high in _spans(segments, figures, below[offset:])]
        alone = [_around(span, below) for span in spans]
        for segment, (low, high), only in zip(segments, spans, alone, strict=True):
            if only is not None and not _parts(only, segments, spans, alone):
                only.parts.insert(0, segment)
                continue
            header = Header(low, high, [segment])
            found.append(header)
            for column in range(low, high + 1):
                below[column] = header
    if stub:
        found.append(Header(0, 0, stub))
    depth = [0] * len(columns)
    for header in found:
        header.row = max(depth[header.first : header.last + 1])
        for column in range(header.first, header.last + 1):
            depth[column] = header.row + 1
    rows = max(depth)
    for header in found:
        header.row = rows - 1 - header.row
        # Without anything above it a header reaches up to the first row.
        if header.row and set(depth[header.first : header.last + 1]) == {rows - header.row}:
            header.row_span, header.row = header.row + 1, 0
    return found, rows


def _around(span: tuple[int, int], below: Sequence[Header | None]) -> Header | None:
    """The header below a text over columns ``span`` where there is but one, and it covers them all."""
    under = {id(header): header for header in below[span[0] : span[1] + 1] if header is not None}
    only = next(iter(under.values())) if len(under) == 1 else None
    return only if only is not None and only.first <= span[0] and span[1] <= only.last else None


def _parts(
    only: Header,
    segments: Sequence[Segment],
    spans: Sequence[tuple[int, int]],
    alone: Sequence[Header | None],
) -> bool:
    """Whether dates above a header, or texts above units, head its columns rather than being lines of it."""
    above = [place for place, other in enumerate(alone) if other is only]
    dated = any(segments[place].kind == YEAR or is_period(segments[place].text) for place in above)
    return len({spans[place] for place in above}) > 1 and (dated or is_units(only.text))


def _is_stub(segment: Segment, labels: Column, edge: float, height: float) -> bool:
    """Whether a text stands above the labels rather than above the first column of figures."""
    if segment.x1 < edge:
        return segment.x0 < labels.x0 + 2 * height or _centre(segment) < labels.x1
    return _centre(segment) < edge and segment.x0 < min(edge - 2 * height, labels.x0 + 6 * height)
