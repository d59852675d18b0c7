"""Rows of figures that belong to one table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from finrag_pipeline.tables.words.rows import Line, Segment
from finrag_pipeline.tables.words.tokens import DASH, NUMBER, TEXT, YEAR, is_period, is_title, is_units

_SENTENCE_END = re.compile(r"[.:;]$")
_MOST_BETWEEN = 12
_MOST_HEADING_WORDS = 9
_MOST_FOOT_WORDS = 20
_MOST_HEADERS = 8
_AGE = re.compile(
    r"(?:less|more|greater|fewer|over|under|within|after|before|up to|beyond)\b.{0,12}"
    r"\b(?:years?|months?|days?)\b.{0,12}",
    re.I,
)
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)?|first|second|third|fourth", re.I)


def is_data(line: Line) -> bool:
    """Whether the line is a row of figures: a number or dash behind a label, or two of them."""
    if line.prose:
        return False
    segments = line.segments
    numbers = sum(segment.kind in (NUMBER, DASH) for segment in segments)
    if not numbers or _is_ages(line):
        return False
    if segments[0].kind in (NUMBER, DASH):
        return line.values >= 2
    return True


def _is_ages(line: Line) -> bool:
    """Whether spans of time head columns, such as 'Less than 1 year', '1 - 3 years', 'More than 3 years'."""
    ages = sum(s.kind == TEXT and bool(_AGE.fullmatch(s.text)) for s in line.segments)
    bare = any(s.kind in (NUMBER, DASH) and not s.text[-1].isalpha() for s in line.segments)
    return ages > 0 and len(line.segments) > 2 and not bare


def is_heading(line: Line) -> bool:
    """Whether the line can head columns: years, dates or texts side by side, without figures."""
    if _is_ages(line):
        return True
    if line.prose or any(segment.kind in (NUMBER, DASH) for segment in line.segments):
        return False
    segments = line.segments
    years = sum(segment.kind == YEAR for segment in segments)
    return years > 0 or len(segments) > 1 or is_period(segments[0].text)


class Group:
    """Rows of figures that follow each other, and the intervals of their columns.

    Attributes:
        first, last: indices of the first and the last row.
        lines: its rows of figures.
        columns: intervals of the digits.
        left, right: edges of its rows.
        edge: where the columns of figures begin, currency signs included.
    """

    def __init__(self, index: int, line: Line) -> None:
        self.first = self.last = index
        self.lines: list[Line] = []
        self.columns: list[tuple[float, float]] = []
        self.left, self.right, self.edge = line.x0, line.x1, float("inf")
        self._labels = float("inf")
        self.add(index, line)

    def add(self, index: int, line: Line) -> None:
        """Add the row of line ``index``."""
        self.last = index
        self.left, self.right = min(self.left, line.x0), max(self.right, line.x1)
        self.lines.append(line)
        if line.segments[0].kind == TEXT and line.x0 < self._labels:
            known, self._labels = self._labels, line.x0
            if known == float("inf") or known > line.x0 + line.height:
                # Numbers taken for values so far may turn out to be labels.
                self.columns, self.edge = [], float("inf")
                for other in self.lines[:-1]:
                    self._take(other)
        self._take(line)

    def _take(self, line: Line) -> None:
        for segment in self.values(line):
            joined = [(low, high) for low, high in self.columns if low < segment.x1 and segment.core < high]
            low, high = (
                min([segment.core, *(c[0] for c in joined)]),
                max([segment.x1, *(c[1] for c in joined)]),
            )
            if joined != [(low, high)]:
                self.columns = [*(column for column in self.columns if column not in joined), (low, high)]
            self.edge = min(self.edge, segment.x0)

    def values(self, line: Line) -> list[Segment]:
        """Figures of the line; a number in the place of a label is none."""
        found = [s for s in line.segments if s.kind in (NUMBER, DASH) or (s.kind == YEAR and s.x0 > line.x0)]
        if len(found) > 1 and found[0].x0 == line.x0 < self._labels + 2 * line.height:
            return found[1:]
        return found

    def aligned(self, line: Line) -> float:
        """Share of the line's values that stand under columns of the group."""
        values = self.values(line)
        if not values:
            return 0.0
        return sum(self.under(segment) for segment in values) / len(values)

    def under(self, segment: Segment) -> bool:
        """Whether the segment stands under figures of the group."""
        return any(low < segment.x1 and segment.core < high for low, high in self.columns)


def hangs(line: Line, row: Line) -> bool:
    """Whether every text of the line is set left, right or centred as one behind the label of ``row``."""
    known = [s for s in row.segments[1:] if s.kind == TEXT]
    return bool(known) and all(
        s.kind == TEXT and any(_as(s, other) for other in known) for s in line.segments
    )


def _as(one: Segment, two: Segment) -> bool:
    return min(abs(one.x0 - two.x0), abs(one.x1 - two.x1), abs(one.x0 + one.x1 - two.x0 - two.x1) / 2) < 3


def is_year_row(line: Line, group: Group) -> bool:
    """Whether the line is a row of years right below the last row of the group, such as years of maturity."""
    first = line.segments[0]
    if first.kind != TEXT or len(line.segments) < 2 or is_units(first.text) or is_period(first.text):
        return False
    if line.y0 - group.lines[-1].y1 > line.height or line.x0 > group.left + 4 * line.height:
        return False
    return all(s.kind == YEAR for s in line.segments[1:]) and group.aligned(line) == 1


def is_label(line: Line, edge: float) -> bool:
    """Whether the line is one text, left of the columns that begin at ``edge``."""
    return len(line.segments) == 1 and line.segments[0].kind == TEXT and line.x1 < edge + line.height


def bridges(lines: Sequence[Line], group: Group, nxt: int) -> bool:
    """Whether the row of figures ``nxt`` belongs to the table of ``group``."""
    last, line = group.last, lines[nxt]
    height = line.height
    between = lines[last + 1 : nxt]
    gaps = [b.y0 - a.y1 for a, b in pairwise(lines[last : nxt + 1])]
    widest = max(gaps)
    aligned = group.aligned(line)
    if not between:
        return widest < 1.0 * height or (widest < 4.5 * height and aligned >= 0.5)
    if widest > 4.5 * height or len(between) > _MOST_BETWEEN:
        return False
    while len(between) > 1 and gaps[0] < 0.6 * height and hangs(between[0], group.lines[-1]):
        # Cells of the last row that are set in several lines.
        between, gaps = between[1:], gaps[1:]
    own = min((s.x0 for s in group.values(line)), default=group.edge)
    edge = min(group.edge, own)
    headed = any(map(is_heading, between))
    # Figures in the same columns without headers of their own.
    fits = aligned == 1 and len(group.values(line)) > 1 and len(between) < 3 and not headed
    if any(_interrupts(place, between, gaps, group, edge, fits) for place in range(len(between))):
        return False
    if _new_headers(between, gaps, group.left, edge, height) or _repeats_headers(lines, group, nxt, edge):
        return False
    return aligned >= 0.5 or (widest < 0.9 * height and not headed)


def _interrupts(
    place: int,
    between: Sequence[Line],
    gaps: Sequence[float],
    group: Group,
    edge: float,
    fits: bool,
) -> bool:
    """Whether a line between two rows of figures ends the table of the first.

    ``fits``: the second row has figures in several columns of the first, and no headers above it.
    """
    line = between[place]
    height, above, below = line.height, gaps[place], gaps[place + 1]
    if above < 0.6 * height and hangs(line, group.lines[-1]):
        return False
    if line.listed and line.words > 4 and above > 0.7 * height:
        return True
    label = is_label(line, edge)
    if len(line.segments) == 1 and is_units(line.text):
        # 'Percent of net sales:' and '(in billions)' may head a part of the table.
        return not (label and fits)
    if label:
        return False
    if len(line.segments) > 1:
        return line.prose
    if line.segments[0].is_value:
        return False
    tight = above < 0.6 * height and below < 0.6 * height
    left = line.x0 < group.left + 4 * height
    if tight and left and line.x1 < group.edge + 0.6 * (group.right - group.edge):
        # A heading or a long label that reaches over the columns.
        return line.text.endswith(".")
    short = line.words <= _MOST_FOOT_WORDS and not line.text.endswith(".")
    if fits and short and left:
        # The foot of a statement, under the headers of the whole.
        return False
    if line.words > _MOST_HEADING_WORDS or _SENTENCE_END.search(line.text):
        return True
    return is_title(line.text) and above > 1.2 * height


def _repeats_headers(lines: Sequence[Line], group: Group, nxt: int, edge: float) -> bool:
    """Whether the headers above the first row are set again above row ``nxt``, for other dates."""
    above = [line for line in lines[max(0, group.first - _MOST_HEADERS) : group.first] if is_heading(line)]
    below = [line for line in lines[group.last + 1 : nxt] if is_heading(line)]
    known = {_headings(line, edge) for line in above} - {()}
    if any(_headings(line, edge) in known for line in below):
        return True
    if len(group.columns) > 1:
        return False
    dates = {_numberless(line.segments[-1]) for line in above if _lone_date(line, edge)}
    return any(_lone_date(line, edge) and _numberless(line.segments[-1]) in dates for line in below)


def _lone_date(line: Line, edge: float) -> bool:
    """Whether one date or period heads a column, at most beside a text over the labels."""
    last = line.segments[-1]
    right = [s for s in line.segments if s.x1 > edge - 0.5 * line.height]
    return right == [last] and (last.kind == YEAR or is_period(last.text))


def _numberless(segment: Segment) -> str:
    return _ORDINAL.sub("0", segment.text.lower())


def _headings(line: Line, edge: float) -> tuple[str, ...]:
    """Texts of a line of headers, numbers left open; none unless two stand right of the labels."""
    first = line.segments[0]
    dated = any(s.kind == YEAR for s in line.segments) or is_units(first.text) or is_period(first.text)
    if not dated and first.x0 < edge - 3 * line.height:
        return ()  # texts behind a label
    texts = [_numberless(s) for s in line.segments if s.x1 > edge - 0.5 * line.height]
    return tuple(texts) if len(texts) > 1 else ()


def _new_headers(
    between: Sequence[Line], gaps: Sequence[float], left: float, edge: float, height: float
) -> bool:
    """Whether the lines between two rows of figures hold the headers of another table."""
    heads = [i for i, line in enumerate(between) if is_heading(line) and not _is_year_label(line, left, edge)]
    if not heads:
        return False
    alone = [i for i, line in enumerate(between) if len(line.segments) == 1 and not line.values]
    captions = [i for i in alone if not between[i].text.endswith(":")]
    strict = [
        i
        for i in heads
        if between[i].values
        or (len(between[i].segments) > 1 and between[i].x0 > edge - 2 * height)
        or (
            not is_label(between[i], edge)
            and (is_units(between[i].segments[0].text) or is_period(between[i].segments[-1].text))
        )
    ]
    dated = [
        i
        for i in heads
        if any(
            (s.kind == YEAR or is_period(s.text)) and s.x0 > left + 4 * height for s in between[i].segments
        )
    ]
    if len(dated) > 1 and any(len(between[i].segments) > 1 for i in dated):
        return True  # a period over years, or over dates
    if any(between[i].values > 1 and is_units(between[i].segments[0].text) for i in dated):
        return True  # the units beside years
    if strict:
        first = strict[0]
        return (
            gaps[first] > 1.2 * height
            or any(gaps[i] > 1.0 * height for i in alone if i < first)
            or any(gaps[i] > 0.7 * height for i in captions if i < first)
        )
    return any(gaps[i] > 1.2 * height for i in captions if i < heads[0])


def _is_year_label(line: Line, left: float, edge: float) -> bool:
    """Whether the line is a year in the place of a label: a heading among rows, not above columns."""
    first = line.segments[0]
    inside = first.x0 < left + 2 * line.height and first.x1 < edge - 4 * line.height
    return len(line.segments) == 1 and first.kind == YEAR and inside
