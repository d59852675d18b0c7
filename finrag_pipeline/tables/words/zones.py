"""Pages set in two columns: each column is read by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from finrag_pipeline.tables.model import PageWords
from finrag_pipeline.tables.words.rows import group_lines
from finrag_pipeline.tables.words.tokens import MARK, TEXT, kind_of

_MIDDLE = 0.44, 0.56
_LEAST_GUTTER = 7.0  # points
_LEAST_LINES = 5
_LEAST_HEIGHT = 0.08  # of the page
_MOST_STRETCHES = 3
_MOST_HEADERS = 5
_INDENT = 40.0  # points
_BULLETS = "•●■○▪◦"
_DASHES = "–—-"
_BREAK = 24.0  # points between lines of one column
_TALL = 0.25  # of the page


def zones(page: PageWords, members: np.ndarray) -> list[np.ndarray]:
    """Indices of the words of each zone, in reading order; one zone unless the page has two columns.

    A gutter is a strip in the middle of the page that no word crosses over a twelfth of its height, with
    lines on either side that begin at a common left edge with a word. (In a table, figures stand right of
    such a strip.)

    ``members`` are the indices of the words to divide, shape (n,).
    """
    if len(members) < 40:
        return [members] if len(members) else []
    boxes = page.boxes[members].astype(np.float64)
    found = _gutter(page, members, boxes)
    if found is None:
        return [members]
    x, top, bottom = found
    centres = (boxes[:, 1] + boxes[:, 3]) / 2
    inner = (centres > top - 0.5) & (centres < bottom + 0.5)
    on_left = inner & (boxes[:, 2] <= x)
    return [
        *zones(page, members[~inner & (centres <= top)]),
        members[on_left],
        members[inner & ~on_left],
        *zones(page, members[~inner & (centres > top)]),
    ]


def _gutter(page: PageWords, members: np.ndarray, boxes: np.ndarray) -> tuple[float, float, float] | None:
    """The gutter of a page in two columns: its middle, upper and lower end in points."""
    left, right = float(boxes[:, 0].min()), float(boxes[:, 2].max())
    top, bottom = float(boxes[:, 1].min()), float(boxes[:, 3].max())
    low, high = left + _MIDDLE[0] * (right - left), left + _MIDDLE[1] * (right - left)
    crossing = boxes[(boxes[:, 2] > low - _LEAST_GUTTER) & (boxes[:, 0] < high + _LEAST_GUTTER)]
    crossing = crossing[np.argsort(crossing[:, 1])]
    least = _LEAST_HEIGHT * max(page.height, 1.0)
    stretches: dict[tuple[int, int], tuple[float, float, float]] = {}
    for x in np.arange(low, high, 2.0).tolist():
        near = crossing[(crossing[:, 0] < x + _LEAST_GUTTER / 2) & (crossing[:, 2] > x - _LEAST_GUTTER / 2)]
        lower = np.append(near[:, 1], bottom)
        upper = np.append(top, np.maximum.accumulate(near[:, 3]))
        for place in np.flatnonzero(lower - upper > least).tolist():
            key = round(float(upper[place])), round(float(lower[place]))
            stretches.setdefault(key, (x, float(upper[place]), float(lower[place])))
    ordered = sorted(stretches.values(), key=lambda stretch: stretch[1] - stretch[2])
    for x, upper_end, lower_end in ordered[:_MOST_STRETCHES]:
        found = _columns_beside(page, members, boxes, x, upper_end, lower_end)
        if found is not None:
            return x, found[0], found[1]
    return None


def _columns_beside(
    page: PageWords,
    members: np.ndarray,
    boxes: np.ndarray,
    x: float,
    top: float,
    bottom: float,
) -> tuple[float, float] | None:
    """Upper and lower end of the two columns of type beside ``x``, or None where there are none."""
    centres = (boxes[:, 1] + boxes[:, 3]) / 2
    inner = (centres > top - 0.5) & (centres < bottom + 0.5)
    beyond = np.flatnonzero(inner & (boxes[:, 2] > x))
    if len(beyond) < 2 * _LEAST_LINES:
        return None
    edge = float(np.percentile(boxes[beyond, 0], 5)) + _INDENT
    run = _text_run(page, members, boxes, beyond, edge)
    if run is None:
        return None
    upper, lower = run
    inner &= (centres > upper - 2) & (centres < lower + 2)
    on_left = inner & (boxes[:, 2] <= x)
    if _is_column(page, members[on_left]) and _is_column(page, members[inner & ~on_left]):
        # The left column may go on beside nothing.
        return upper - 2, bottom if lower >= float(boxes[beyond, 3].max()) - 2 else lower + 2
    return None


def _text_run(
    page: PageWords, members: np.ndarray, boxes: np.ndarray, beyond: np.ndarray, edge: float
) -> tuple[float, float] | None:
    """Upper and lower end of the lines right of a gutter that mostly begin with a word left of ``edge``."""
    lines = []
    for line in group_lines(boxes[beyond]):
        places = beyond[line]
        text = _begins_text([page.words[word] for word in members[places[:2]].tolist()])
        x0, y0, _, y1 = boxes[places[0]].tolist()
        lines.append((y0, y1, text, x0))
    # The run with the most lines that begin so, less those that do not.
    best, score, start, chosen = 0, 0, 0, (0, 0)
    for place, (upper, _, text, left) in enumerate(lines):
        if score == 0 or upper - lines[place - 1][1] > _BREAK:
            score, start = 0, place
        score = max(0, score + (1 if text and left < edge else -1))
        if score > best:
            best, chosen = score, (start, place)
    if best < _LEAST_LINES:
        return None
    first, last = chosen
    # Headers of a table at either end begin with a word too, if not near the gutter.
    for _ in range(_MOST_HEADERS):
        if first and lines[first - 1][2] and lines[first][0] - lines[first - 1][1] < _BREAK:
            first -= 1
        if last + 1 < len(lines) and lines[last + 1][2] and lines[last + 1][0] - lines[last][1] < _BREAK:
            last += 1
    return lines[first][0], lines[last][1]


def _begins_text(words: Sequence[str]) -> bool:
    """Whether a line of these words begins with a word, a footnote mark or a bullet."""
    if words[0] in _BULLETS or kind_of(words[0]) in (TEXT, MARK):
        return True
    return words[0] in _DASHES and len(words) > 1 and kind_of(words[1]) == TEXT


def _is_column(page: PageWords, members: np.ndarray) -> bool:
    """Whether words form a column of type: most lines begin with a word at the same left edge."""
    if len(members) < 2 * _LEAST_LINES:
        return False
    boxes = page.boxes[members].astype(np.float64)
    lines = group_lines(boxes)
    if len(lines) < _LEAST_LINES:
        return False
    left, right = float(boxes[:, 0].min()), float(boxes[:, 2].max())
    top, bottom = float(boxes[:, 1].min()), float(boxes[:, 3].max())
    starts = full = textual = 0
    for line in lines:
        words = [page.words[members[place]] for place in line]
        starts += boxes[line[0], 0] < left + 0.25 * (right - left) and _begins_text(words)
        extent = boxes[line[-1], 2] - boxes[line[0], 0]
        if len(line) > 3 and extent > 0.75 * (right - left):
            full += 1
            filled = (boxes[line, 2] - boxes[line, 0]).sum() > 0.72 * extent
            textual += filled and sum(kind_of(word) == TEXT for word in words) > 0.7 * len(words)
    if starts <= 0.7 * len(lines):
        return False
    # A short stretch may be part of a table: it counts only as type set in columns.
    if bottom - top < _TALL * page.height:
        return textual >= max(2, 0.15 * len(lines))
    return full > 0.3 * len(lines)
