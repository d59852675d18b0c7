"""Columns of a table: intervals across the page in which its values and texts stand."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from statistics import median

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
    _cores: list[float] = field(init=False)
    _ends: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self._cores = list(accumulate((c.core for c in self.columns), max))
        self._ends = list(accumulate((c.x1 for c in self.columns), max))

    def of(self, segment: Segment) -> tuple[int, int]:
        """First and last column that a segment of the body stands in."""
        # Columns are disjoint and in order.
        first = bisect_right(self._ends, segment.core)
        stop = bisect_left(self._cores, segment.x1)
        hits = [
            (min(segment.x1, c.x1) - max(segment.core, c.core), i)
            for i, c in enumerate(self.columns[first:stop], first)
        ]
        if not hits:
            near = [i for i in (first - 1, first) if 0 <= i < len(self.columns)]
            nearest = min(near, key=lambda i: max(self._cores[i] - segment.x1, segment.core - self._ends[i]))
            return nearest, nearest
        if segment.is_value or len(hits) == 1:
            best = max(hits)[1]
            return best, best
        wide = [i for overlap, i in hits if overlap > 0.5 * (self.columns[i].x1 - self.columns[i].core)]
        if len(wide) > 1:
            return wide[0], wide[-1]
        best = max(hits)[1]
        return best, best


@dataclass(slots=True)
class _Interval:
    low: float
    high: float
    left: float
    members: list[tuple[int, Segment]]


def _merge(items: list[tuple[int, Segment]], slack: float) -> list[_Interval]:
    """Intervals that overlap by more than ``slack`` points, merged."""
    items = sorted(items, key=lambda item: (item[1].core, item[1].x1))
    found: list[_Interval] = []
    for line, segment in items:
        if found and segment.core < found[-1].high - slack:
            last = found[-1]
            last.high = max(last.high, segment.x1)
            last.left = min(last.left, segment.x0)
            last.members.append((line, segment))
        else:
            found.append(_Interval(segment.core, segment.x1, segment.x0, [(line, segment)]))
    return found


def _interval(members: list[tuple[int, Segment]]) -> _Interval:
    return _Interval(
        min(s.core for _, s in members),
        max(s.x1 for _, s in members),
        min(s.x0 for _, s in members),
        members,
    )


def _unbridged(interval: _Interval) -> list[_Interval]:
    """Part an interval that holds two values of one line, at the widest gaps between right edges."""
    counts: dict[int, int] = defaultdict(int)
    for line, _ in interval.members:
        counts[line] += 1
    wanted = max(counts.values())
    if wanted < 2:
        return [interval]
    edges = sorted({segment.x1 for _, segment in interval.members})
    gaps = sorted(
        ((b - a, (a + b) / 2) for a, b in pairwise(edges)),
        reverse=True,
    )
    cuts = sorted(cut for _, cut in gaps[: wanted - 1])
    parts: list[list[tuple[int, Segment]]] = [[] for _ in range(len(cuts) + 1)]
    for line, segment in interval.members:
        parts[sum(segment.x1 > cut for cut in cuts)].append((line, segment))
    return [_interval(part) for part in parts if part]


def _together(intervals: list[_Interval], height: float) -> list[_Interval]:
    """Join neighbours that no line fills both of and that nearly touch."""
    found: list[_Interval] = []
    for interval in intervals:
        if found and interval.low - found[-1].high < 0.6 * height:
            last = found[-1]
            if not {line for line, _ in last.members} & {line for line, _ in interval.members}:
                found[-1] = _interval(last.members + interval.members)
                continue
        found.append(interval)
    return found


def find_columns(lines: Sequence[Line]) -> Columns:
    """Columns of the lines of a table's body (without its headers)."""
    height = median(line.height for line in lines)
    firsts = [line.segments[0] for line in lines]
    texts = [s for s in firsts if s.kind == TEXT]
    values = [(i, s) for i, line in enumerate(lines) for s in line.segments if s.is_value]
    intervals: list[_Interval] = []
    for interval in _merge(values, 0.5):
        intervals += _unbridged(interval)
    intervals = _together(intervals, height)
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
    taken = intervals
    others: list[tuple[int, Segment]] = []
    for i, line in enumerate(lines):
        for place, segment in enumerate(line.segments):
            if segment.is_value or (labelled and place == 0):
                continue
            if not any(segment.x0 < c.high and c.low < segment.x1 for c in taken):
                others.append((i, segment))
    needed = 2 if len(lines) > 3 else 1
    added = [
        interval for interval in _merge(others, 0.5) if len({line for line, _ in interval.members}) >= needed
    ]
    if labelled and added:
        added = [interval for interval in added if _apart(interval, lines)]
    everything = sorted([*taken, *added], key=lambda interval: interval.low)
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
