"""Tables of text: lines whose texts begin at the same left edges, such as exhibits, officers, properties."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from finrag_pipeline.tables.words.regions import Extent, Region, head_of
from finrag_pipeline.tables.words.rows import Line, Segment

_TOLERANCE = 3.0  # points between left edges of one column
_SIGNED = re.compile(r"/s/|^by:?$|^by: |^\(?signatures?\)?:?$|_{5,}|[☐☒☑þ¨]", re.I)
_COVER = re.compile(
    r"\((?:state|i\.?r\.?s|address|zip|commission|exact|former|registrant|area|employer|jurisdiction)",
    re.I,
)
_PAGE = re.compile(r"(?:[A-Z]-)?\d{1,3}(?:[-–,]\s?\d{1,3})*")
_HEADS = re.compile(
    r"\b(?:exhibit|number|no\.?|description|name|title|position|age|location|date|type|use|segment|percent(?:age)?|of"
    r"|document|jurisdiction|state|country|incorporation|organization|class|symbol|exchange|trading|property|facility"
    r"|square|feet|owned|leased|standard|effect|adoption|method|form|filing|file|reference|subsidiary|entity|item|page"
    r"|caption|product|brand|term|definition|office|since|party|table|reports?|filed|herewith|registered|each|on|which)\b",
    re.I,
)


def text_regions(lines: Sequence[Line], taken: Sequence[tuple[int, int]]) -> list[Region]:
    """Tables of text among the lines outside ``taken`` (ranges that are excluded), top to bottom."""
    free = [True] * len(lines)
    for start, stop in taken:
        free[start:stop] = [False] * (stop - start)
    regions: list[Region] = []
    index = 0
    while index < len(lines):
        region = None
        if free[index] and len(lines[index].segments) > 1 and not lines[index].prose:
            region = _qualified(lines, index, _run(lines, free, index))
        if region is not None:
            floor = regions[-1].stop if regions else 0
            regions.append(_with_head(lines, free, region, floor))
        index = region.stop if region is not None else index + 1
    return regions


def _with_head(lines: Sequence[Line], free: Sequence[bool], region: Region, floor: int) -> Region:
    """The region with the lines above it that head its columns."""
    rows = [line for line in lines[region.body : region.stop] if len(line.segments) > 1]
    others = [s for line in rows for s in line.segments[1:]]
    extent = Extent(
        min(line.x0 for line in rows),
        min(s.x0 for s in others),
        max(s.x1 for s in others),
        max(len(line.segments) for line in rows) - 1,
    )
    floor = next((i for i in range(region.start, floor, -1) if not free[i - 1]), floor)
    start, body = head_of(lines, region.start, extent, floor)
    known = region.start < region.body
    gap = lines[region.start].y0 - lines[region.start - 1].y1 if start < body else 0.0
    if start < body and gap < (0.35 if known else 1.0) * lines[region.start].height:
        return Region(start, region.body if known else body, region.stop)
    return region


def _run(lines: Sequence[Line], free: Sequence[bool], start: int) -> int:
    """One past the last line that keeps to the columns of line ``start``."""
    anchors = [segment.x0 for segment in lines[start].segments[1:]]
    left = lines[start].x0
    stop = start + 1
    while stop < len(lines) and free[stop]:
        line, above = lines[stop], lines[stop - 1]
        if line.y0 - above.y1 > 2.2 * line.height:
            break
        fits = [_fits(segment, anchors, left, line.height) for segment in line.segments]
        if not all(fits):
            # Headers are often centred: the first line that follows them sets the columns.
            if stop > start + 2 or len(line.segments) < 2:
                break
            anchors = [segment.x0 for segment in line.segments[1:]]
            if len(line.segments) < len(lines[start].segments):
                break
        left = min(left, line.x0)
        stop += 1
    return stop


def _fits(segment: Segment, anchors: Sequence[float], left: float, height: float) -> bool:
    """Whether a text keeps within one column: it begins at an anchor, or ends before the next one."""
    for place, anchor in enumerate(anchors):
        upper = anchors[place + 1] if place + 1 < len(anchors) else float("inf")
        if anchor - _TOLERANCE <= segment.x0 <= anchor + 1.5 * height:
            return segment.x1 < upper + _TOLERANCE
    return segment.x1 < anchors[0] - 1 and segment.x0 > left - 3 * height


def _qualified(lines: Sequence[Line], start: int, stop: int) -> Region | None:
    """The run as a region, unless it is a list, a block of signatures, or type set in columns."""
    run = list(lines[start:stop])
    while (
        run
        and len(run[-1].segments) < 2
        and run[-1].x0 < min(s.x0 for line in run for s in line.segments[1:]) - _TOLERANCE
    ):
        run.pop()
    rows = [line for line in run if len(line.segments) > 1]
    if len(rows) < 2:
        return None
    width = max(len(line.segments) for line in rows)
    if width == 2 and len(rows) < 3:
        return None
    if any(_SIGNED.search(s.text) for line in run for s in line.segments):
        return None
    around = [s for line in lines[start : stop + 1] for s in line.segments]
    if any(_COVER.match(s.text) for s in around):
        return None
    first = [line.segments[0] for line in rows]
    if sum(bool(_PAGE.fullmatch(line.segments[-1].text)) for line in rows) > 0.6 * len(rows):
        return None  # a table of contents
    gutter = min(line.segments[1].x0 for line in rows)
    left = min(line.x0 for line in run)
    if width == 2:
        full = sum(s.words > 3 and s.x1 > left + 0.8 * (gutter - left) for s in first)
        if full > 0.5 * len(rows) and gutter - left > 150:
            return None
        if sum(line.listed for line in run) > 0.3 * len(run):
            return None
        edges = [line.segments[1].x0 for line in rows]
        common = max(sum(abs(a - b) < _TOLERANCE for b in edges) for a in edges)
        if common < 0.6 * len(edges):
            return None
    body = start
    if all(s.words < 9 and _HEADS.search(s.text) for s in run[0].segments):
        headed = takewhile(lambda line: all(_HEADS.search(s.text) for s in line.segments), run[1:-1])
        body += 1 + len(list(headed))
    return Region(start, body, start + len(run))
