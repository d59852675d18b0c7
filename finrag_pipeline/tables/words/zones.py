"""Pages set in two columns: each column is read by itself."""

from __future__ import annotations

import numpy as np

from finrag_pipeline.tables.model import PageWords
from finrag_pipeline.tables.words.rows import group_lines
from finrag_pipeline.tables.words.tokens import MARK, TEXT, kind_of

_MIDDLE = 0.44, 0.56
_LEAST_GUTTER = 7.0  # points
_LEAST_LINES = 5
_LEAST_HEIGHT = 0.08  # of the page
_MOST_STRETCHES = 3
_INDENT = 25.0  # points
_BULLETS = "•●■○▪◦"


def zones(page: PageWords, members: np.ndarray) -> list[np.ndarray]:
    """Indices of the words of each zone, in reading order; one zone unless the page has two columns.

    A gutter is a strip in the middle of the page that no word crosses over a twelfth of its height, with
    lines on either side that begin at a common left edge with a word. (In a table, figures stand right of
    such a strip.)

    Args:
        members: indices of the words to divide, shape (n,).
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
        *(part for part in (members[on_left], members[inner & ~on_left]) if len(part)),
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
        if found is not None and found[1] - found[0] > least:
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
    # The longest run of lines on the right that begin with a word near the gutter.
    best: tuple[int, float, float] = (0, 0.0, 0.0)
    run: list[tuple[float, float]] = []
    missed = 0
    for line in group_lines(boxes[beyond]):
        first = beyond[line[0]]
        if boxes[first, 0] < edge and _begins_text(page.words[members[first]]):
            run.append((float(boxes[first, 1]), float(boxes[first, 3])))
            missed = 0
        else:
            missed += 1
            if missed > 2:
                run = []
        if len(run) > best[0]:
            best = (len(run), run[0][0], run[-1][1])
    if best[0] < _LEAST_LINES:
        return None
    _, upper, lower = best
    inner &= (centres > upper - 2) & (centres < lower + 2)
    on_left = inner & (boxes[:, 2] <= x)
    if _is_column(page, members[on_left]) and _is_column(page, members[inner & ~on_left]):
        return upper - 2, lower + 2
    return None


def _begins_text(word: str) -> bool:
    return word in _BULLETS or kind_of(word) in (TEXT, MARK)


def _is_column(page: PageWords, members: np.ndarray) -> bool:
    """Whether words form a column of type: most lines begin with a word at the same left edge."""
    if len(members) < 2 * _LEAST_LINES:
        return False
    boxes = page.boxes[members].astype(np.float64)
    lines = group_lines(boxes)
    if len(lines) < _LEAST_LINES:
        return False
    left, right = float(boxes[:, 0].min()), float(boxes[:, 2].max())
    starts = sum(
        boxes[line[0], 0] < left + 0.2 * (right - left) and _begins_text(page.words[members[line[0]]])
        for line in lines
    )
    full = sum(
        len(line) > 3 and boxes[line[-1], 2] - boxes[line[0], 0] > 0.75 * (right - left) for line in lines
    )
    return starts > 0.7 * len(lines) and full > 0.3 * len(lines)
