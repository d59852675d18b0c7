"""Lines of a page, and each line in segments: runs of words that a table would hold in one cell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from finrag_pipeline.tables.model import PageWords, around
from finrag_pipeline.tables.words.tokens import (
    DASH,
    LEADER,
    MARK,
    NUMBER,
    PREFIX,
    SUFFIX,
    TEXT,
    UNITS,
    YEAR,
    is_mark,
    kind_of,
)

VALUES = frozenset((NUMBER, DASH, YEAR))
"""Kinds of segments that stand as values in columns."""


class Segment(NamedTuple):
    """Words of one line that belong together.

    Attributes:
        x0, y0, x1, y1: in points.
        core: left edge of the digits, without a currency sign that stands apart.
        kind: NUMBER, DASH or YEAR for a value, MARK for a footnote mark, else TEXT.
        words: how many.
        text: joined by single spaces.
    """

    x0: float
    y0: float
    x1: float
    y1: float
    core: float
    kind: int
    words: int
    text: str

    @property
    def is_value(self) -> bool:
        """Whether it is a number, a dash or a year."""
        return self.kind in VALUES


@dataclass(slots=True)
class Line:
    """A line of type from left to right.

    Attributes:
        segments: without leaders.
        x0, y0, x1, y1: of all its words.
        height: of its type, in points.
        words: how many.
        prose: part of running text.
        listed: begins with a bullet or a number of a list that was joined to its text.
    """

    segments: list[Segment]
    x0: float
    y0: float
    x1: float
    y1: float
    height: float
    words: int
    prose: bool = False
    listed: bool = False

    @property
    def text(self) -> str:
        """The segments joined by single spaces."""
        return " ".join(segment.text for segment in self.segments)

    @property
    def centre(self) -> float:
        """Vertical centre in points."""
        return (self.y0 + self.y1) / 2

    @property
    def values(self) -> int:
        """Number of value segments."""
        return sum(segment.kind in VALUES for segment in self.segments)


def _gap_limits() -> np.ndarray:
    """Widest gap, in heights of type, over which two words of given kinds are one segment."""
    limits = np.full((8, 8), 0.6)
    limits[TEXT, [NUMBER, DASH, PREFIX]] = 0.42, 0.35, 0.42
    limits[TEXT, YEAR] = 0.5
    for number in (NUMBER, DASH, SUFFIX):
        limits[number, [TEXT, NUMBER, DASH, YEAR]] = 0.42, 0.26, 0.3, 0.3
        limits[number, PREFIX] = -1
        limits[number, [SUFFIX, MARK]] = 1.8, 0.9
    limits[YEAR, [NUMBER, DASH, YEAR, SUFFIX, MARK]] = 0.26, 0.3, 0.26, 1.8, 0.9
    limits[YEAR, PREFIX] = -1
    limits[PREFIX, [NUMBER, DASH, PREFIX, YEAR]] = 40
    limits[MARK, [NUMBER, DASH, YEAR]] = 0.26
    limits[MARK, PREFIX] = -1
    limits[LEADER, :] = limits[:, LEADER] = -1
    limits[LEADER, LEADER] = 60
    return limits


_LIMITS = _gap_limits()
_BEGINS_YEAR = frozenset(("fiscal", "year", "fy"))
_HEDGES = frozenset(("approximately", "about", "approx."))
_BULLET = re.compile(
    r"[•●▪■◦○·➢➤❖♦◆–—*-]|\(?[ivxIVX]{1,4}[.)]|\(?[a-zA-Z][.)]|\(?\d{1,2}[.)]|[*†‡¹²³⁴-⁹]{1,3}|\d"
)


def usable_words(page: PageWords) -> np.ndarray:
    """Indices of the words with an extent, without type that runs up or down the margin."""
    boxes = page.boxes
    widths, heights = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    sound = np.isfinite(boxes).all(axis=1) & (widths > 0) & (heights > 0)
    if not sound.any():
        return np.zeros(0, np.int64)
    usual = np.median(heights[sound])
    upright = (heights < 4 * usual) | (widths > heights)
    filled = np.fromiter((bool(word.strip()) for word in page.words), bool, len(page.words))
    return np.flatnonzero(sound & upright & filled)


def group_lines(boxes: np.ndarray) -> list[list[int]]:
    """Indices of the words of each line, lines from top to bottom; within a line by left edge.

    A word belongs to the line whose centre is less than 0.42 of the line's height from its own, so that
    raised footnote marks stay on their line and tightly set lines stay apart.

    Args:
        boxes: shape (words, 4).
    """
    centres = (boxes[:, 1] + boxes[:, 3]) / 2
    order = np.argsort(centres, kind="stable").tolist()
    heights = (boxes[:, 3] - boxes[:, 1]).tolist()
    centre_of, left = centres.tolist(), boxes[:, 0].tolist()
    lines: list[list[int]] = []
    line: list[int] = []
    reference = height = 0.0
    for word in order:
        own = heights[word]
        near = 0.42 * (own if own > height else height)
        if line and centre_of[word] - reference < near:
            line.append(word)
            if own > height * 1.05:
                reference, height = centre_of[word], own
        else:
            line = [word]
            lines.append(line)
            reference, height = centre_of[word], own
    for line in lines:
        line.sort(key=left.__getitem__)
    return lines


def _segment_kind(kinds: Sequence[int], texts: Sequence[str]) -> int:
    if len(kinds) == 1:
        kind = kinds[0]
        return kind if kind in VALUES or kind in (MARK, LEADER) else TEXT
    seen = TEXT
    kinds, texts = _without_hedge(kinds, texts)
    if len(kinds) > 2 and kinds[0] in (NUMBER, YEAR) and (kinds[1] == DASH or texts[1] in ("to", "/")):
        # A range, such as '3 - 5' or '15 to 40 years'.
        kinds, texts = kinds[2:], texts[2:]
    for place, kind in enumerate(kinds):
        if kind in VALUES:
            if seen and not (seen == DASH or kind == DASH):
                return TEXT
            seen = seen if seen in (NUMBER, YEAR) else kind
        elif kind == TEXT:
            if not (seen and place == len(kinds) - 1 and UNITS.fullmatch(texts[place])):
                return TEXT
        elif kind == LEADER:
            return LEADER
    return seen


def _without_hedge(kinds: Sequence[int], texts: Sequence[str]) -> tuple[Sequence[int], Sequence[str]]:
    """The last number of 'approximately 24.6%' or of '$10.95 billion to $11.05 billion', with its unit."""
    if texts[0].lower() in _HEDGES and len(texts) > 1:
        kinds, texts = kinds[1:], texts[1:]
    spelt = len(texts) > 3 and kinds[0] == NUMBER and UNITS.fullmatch(texts[1])
    if spelt and texts[2].lower() in ("to", "-", "–"):
        kinds, texts = kinds[3:], texts[3:]
    return kinds, texts


def segment_lines(page: PageWords, members: np.ndarray) -> list[Line]:
    """Lines of those words of a page whose indices are ``members``, shape (n,), top to bottom."""
    boxes = page.boxes[members].astype(np.float64)
    groups = group_lines(boxes)
    if not groups:
        return []
    flat = np.fromiter((word for group in groups for word in group), np.int64, len(members))
    boxes = boxes[flat]
    texts = [page.words[word] for word in members[flat].tolist()]
    heights = boxes[:, 3] - boxes[:, 1]
    sizes = np.array([len(group) for group in groups])
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    tallest = np.repeat(np.maximum.reduceat(heights, starts), sizes)
    kinds = np.array([kind_of(text) for text in texts])
    small = np.flatnonzero((heights < 0.82 * tallest) & (kinds != TEXT))
    for word in small.tolist():
        if is_mark(texts[word]):
            kinds[word] = MARK
    gaps = boxes[1:, 0] - boxes[:-1, 2]
    limits = _LIMITS[kinds[:-1], kinds[1:]] * np.maximum(heights[1:], heights[:-1])
    # In lines of text whose words are set wide apart throughout, wider gaps part them.
    textual = np.add.reduceat(kinds == TEXT, starts)
    for number in np.flatnonzero((sizes >= 8) & (textual >= 0.6 * sizes)).tolist():
        start = int(starts[number])
        within = slice(start, start + int(sizes[number]) - 1)
        usual = float(np.sort(gaps[within])[(int(sizes[number]) - 1) // 4])  # between words, not columns
        if usual <= 0.8 * heights[start]:  # else columns, not words, are apart
            inner_limits = limits[within]
            np.maximum(inner_limits, 1.5 * usual, out=inner_limits, where=inner_limits > 0)
    for word in np.flatnonzero(kinds == YEAR).tolist():
        if word > 1 and texts[word - 1].lower() in _BEGINS_YEAR:  # after a wider space, of another column
            space = max(2 * float(gaps[word - 1]), 0.3 * float(heights[word]))
            limits[word - 2] = min(limits[word - 2], space)
        if texts[word + 1 : word + 2] == ["%"] and TEXT in kinds[word + 2 : word + 3]:
            limits[word] = min(limits[word], 0.6 * float(heights[word]))  # '% change' beside a year
    joined = gaps <= limits
    joined[starts[1:] - 1] = False
    cuts = np.concatenate(([0], np.flatnonzero(~joined) + 1))
    ends = np.concatenate((cuts[1:], [len(texts)])).tolist()
    low, high = np.minimum.reduceat(boxes, cuts).tolist(), np.maximum.reduceat(boxes, cuts).tolist()
    heights_of_lines = dict(zip(starts.tolist(), np.maximum.reduceat(heights, starts).tolist(), strict=True))
    kind_list = kinds.tolist()
    lines: list[Line] = []
    for cut, end, (x0, y0, *_), (*_, x1, y1) in zip(cuts.tolist(), ends, low, high, strict=True):
        if cut in heights_of_lines:
            lines.append(Line([], x0, y0, x1, y1, heights_of_lines[cut], 0))
        line = lines[-1]
        line.x1, line.y0, line.y1 = max(line.x1, x1), min(line.y0, y0), max(line.y1, y1)
        inner = kind_list[cut:end]
        kind = _segment_kind(inner, texts[cut:end])
        if kind == LEADER:
            continue
        first = next((i for i, k in enumerate(inner) if k != PREFIX), 0) if kind != TEXT else 0
        line.words += end - cut
        core = float(boxes[cut + first, 0]) if first else x0
        line.segments.append(Segment(x0, y0, x1, y1, core, kind, end - cut, " ".join(texts[cut:end])))
    lines = [line for line in lines if line.segments]
    for line in lines:
        _finish(line)
    return lines


def _finish(line: Line) -> None:
    """Join a mark to what it marks and a bullet to its text; tell running text."""
    segments = line.segments
    for place in range(len(segments) - 1, 0, -1):
        one, two = segments[place - 1 : place + 1]
        units = two.kind == TEXT and two.text[0] in "$€£" and two.x0 - one.x1 < 0.4 * line.height
        if one.kind == YEAR and units:
            segments[place - 1 : place + 1] = [_join(one, two)._replace(kind=YEAR)]  # '2022 $ million'
    if len(segments) > 1 and any(segment.kind == MARK for segment in segments[1:]):
        kept = segments[:1]
        for segment in segments[1:]:
            last = kept[-1]
            if segment.kind == MARK and segment.x0 - last.x1 < 2.2 * line.height:
                kept[-1] = _join(last, segment)._replace(kind=last.kind, core=last.core)
            else:
                kept.append(segment)
        line.segments = segments = kept
    if len(segments) > 1 and segments[0].words == 1:
        first = segments[0]
        bullet = _BULLET.fullmatch(first.text) or (len(first.text) == 1 and not first.text.isalnum())
        if bullet and segments[1].kind == TEXT and segments[1].x0 - first.x1 < 60:
            segments[:2] = [_join(first, segments[1])]
            line.listed = True
    if line.words >= 7:
        filled = sum(segment.x1 - segment.x0 for segment in segments)
        textual = sum(segment.words for segment in segments if segment.kind == TEXT)
        widest = max((b.x0 - a.x1 for a, b in pairwise(segments)), default=0.0)
        line.prose = (
            filled > 0.9 * (line.x1 - line.x0)
            and textual > 0.6 * line.words
            and widest < (1.3 if line.words > 11 else 0.8) * line.height
            and not _ends_in_columns(line)
        )


def _ends_in_columns(line: Line) -> bool:
    """Whether a long label fills the space up to figures that stand in columns, wide apart."""
    if len(line.segments) < 3:
        return False
    one, two = line.segments[-2:]
    return {one.kind, two.kind} <= {NUMBER, DASH} and two.core - one.x1 > line.height


def _join(a: Segment, b: Segment) -> Segment:
    box = around([a[:4], b[:4]])
    return Segment(*box, a.core, TEXT, a.words + b.words, f"{a.text} {b.text}")
