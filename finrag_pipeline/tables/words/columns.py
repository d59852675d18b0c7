"""Columns of a table: intervals across the page in which its values and texts stand."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

import numpy as np

from finrag_pipeline.tables.words.rows import Line, Segment
from finrag_pipeline.tables.words.tokens import TEXT


@dataclass(slots=True)
class Column:
    """A column: its interval in points and the left edge of its digits."""

    x0: float
    x1: float
    core: float

    @property
    def centre(self) -> float:
        """Centre in points."""
        return (self.x0 + self.x1) / 2


@dataclass(slots=True)
class Columns:
    """Columns from left to right; the first holds the labels where ``labelled``."""

    columns: list[Column]
    labelled: bool

    def of(self, segment: Segment) -> int:
        """The column that a segment of the body stands in."""
        lows, highs = np.array([(column.core, column.x1) for column in self.columns]).T
        shared = np.minimum(segment.x1, highs) - np.maximum(segment.core, lows)
        return int(np.flatnonzero(shared == shared.max())[-1])


class _Interval:
    """Segments, each with the number of its line, that stand one below the other: edges in points."""

    def __init__(self, members: list[tuple[int, Segment]]) -> None:
        self.members = members
        self.lines = {line for line, _ in members}
        self.low = min(segment.core for _, segment in members)
        self.left = min(segment.x0 for _, segment in members)
        self.high = max(segment.x1 for _, segment in members)


def _merge(items: list[tuple[int, Segment]]) -> list[_Interval]:
    """Intervals of segments that overlap by more than half a point."""
    found: list[list[tuple[int, Segment]]] = []
    high = float("-inf")
    for line, segment in sorted(items, key=lambda item: (item[1].core, item[1].x1)):
        if segment.core < high - 0.5:
            found[-1].append((line, segment))
            high = max(high, segment.x1)
        else:
            found.append([(line, segment)])
            high = segment.x1
    return [_Interval(members) for members in found]


def _unbridged(interval: _Interval) -> list[_Interval]:
    """Part an interval that holds two values of one line, at the widest gaps between right edges."""
    wanted = max(Counter(line for line, _ in interval.members).values())
    edges = sorted({segment.x1 for _, segment in interval.members})
    gaps = sorted(((b - a, (a + b) / 2) for a, b in pairwise(edges)), reverse=True)
    cuts = sorted(cut for _, cut in gaps[: wanted - 1])
    parts: dict[int, list[tuple[int, Segment]]] = defaultdict(list)
    for line, segment in interval.members:
        parts[bisect_left(cuts, segment.x1)].append((line, segment))
    return [_Interval(parts[part]) for part in sorted(parts)]


def _together(intervals: list[_Interval], height: float) -> list[_Interval]:
    """Join neighbours that no line fills both of and that nearly touch."""
    found: list[_Interval] = []
    for interval in intervals:
        near = found and interval.low - found[-1].high < 0.6 * height
        if near and not found[-1].lines & interval.lines:
            found[-1] = _Interval(found[-1].members + interval.members)
        else:
            found.append(interval)
    return found


def find_columns(lines: Sequence[Line]) -> Columns:
    """Columns of the lines of a table's body (without its headers)."""
    height = median(line.height for line in lines)
    firsts = [line.segments[0] for line in lines]
    texts = [s for s in firsts if s.kind == TEXT]
    values = [(i, s) for i, line in enumerate(lines) for s in line.segments if s.is_value]
    intervals = _together([part for interval in _merge(values) for part in _unbridged(interval)], height)
    left = min(line.x0 for line in lines)
    labelled = bool(texts) and (
        not intervals or min(s.x0 for s in texts) < intervals[0].low + height or len(texts) * 2 >= len(lines)
    )
    label_end = left
    if labelled:
        # Labels that are numbers themselves (years, ages) stand at the left edge, first in their lines.
        edge = min(s.x0 for s in texts)
        while (
            intervals
            and intervals[0].low < edge + 4 * height
            and all(s is lines[i].segments[0] for i, s in intervals[0].members)
            and any(s.x0 < intervals[0].high and intervals[0].low < s.x1 for s in texts)
        ):
            label_end = max(label_end, intervals.pop(0).high)
    others = [
        (i, segment)
        for i, line in enumerate(lines)
        for segment in line.segments[int(labelled) :]
        if not segment.is_value
        and not any(segment.x0 < column.high and column.low < segment.x1 for column in intervals)
    ]
    needed = 2 if len(lines) > 3 else 1
    added = [interval for interval in _merge(others) if len(interval.lines) >= needed]
    if labelled:
        added = [interval for interval in added if _apart(interval, lines)]
    everything = sorted([*intervals, *added], key=lambda interval: interval.low)
    columns = [Column(interval.left, interval.high, interval.low) for interval in everything]
    for one, two in pairwise(columns):
        two.x0 = max(two.x0, min(one.x1, two.core))
    if labelled:
        bound = columns[0].x0 if columns else max(s.x1 for s in texts)
        ends = [s.x1 for s in texts if s.x1 < bound]
        x1 = max([*ends, label_end, min(s.x0 for s in texts) + 1])
        columns.insert(0, Column(left, x1, left))
    return Columns(columns, labelled)


def _apart(interval: _Interval, lines: Sequence[Line]) -> bool:
    """Whether most texts of an interval begin behind the label of their own line."""
    clear = sum(segment.x0 > lines[i].segments[0].x1 for i, segment in interval.members)
    return clear * 2 > len(interval.members)
