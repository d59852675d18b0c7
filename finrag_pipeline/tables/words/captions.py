"""What stands above and below a table: its caption, the units line, footnotes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from finrag_pipeline.tables.words.lexicon import is_units
from finrag_pipeline.tables.words.rows import Line

ABOVE, BELOW = 6, 10
_FURNITURE = re.compile(
    r"(?:back to\s+)?table of contents|index|\d{1,4}|F-\d+|page \d+.*|.{0,80}\bform 10-[kq]\b.{0,30}",
    re.I,
)


def is_furniture(line: Line, height: float) -> bool:
    """Whether the line is a page header, footer or number, in the outer tenth of the page's ``height``."""
    outer = line.y1 < 0.1 * height or line.y0 > 0.88 * height
    return outer and bool(_FURNITURE.fullmatch(line.text.strip()))


def texts_above(lines: Sequence[Line], start: int, floor: int, height: float) -> tuple[str, ...]:
    """Up to six lines right above line ``start``, none before ``floor``, top first."""
    taken: list[str] = []
    for line, below in zip(reversed(lines[floor:start]), reversed(lines[floor : start + 1]), strict=False):
        if is_furniture(line, height) or below.y0 - line.y1 > 6 * line.height or len(taken) == ABOVE:
            break
        taken.append(line.text)
    return tuple(reversed(taken))


def texts_below(lines: Sequence[Line], stop: int, ceiling: int, height: float) -> tuple[str, ...]:
    """A few lines right below the table whose last line is ``stop - 1``, none from ``ceiling`` on."""
    taken: list[str] = []
    for above, line in pairwise(lines[stop - 1 : ceiling]):
        if is_furniture(line, height) or line.y0 - above.y1 > 3 * line.height or len(taken) == BELOW:
            break
        taken.append(line.text)
    return tuple(taken)


def caption_of(lines: Sequence[Line], start: int, floor: int, height: float) -> str | None:
    """The title above line ``start``: the nearest heading, or else the sentence that leads to the table."""
    sentence: list[str] = []
    below = lines[start]
    for index in range(start - 1, max(floor, start - 1 - ABOVE) - 1, -1):
        line = lines[index]
        text = line.text.strip()
        if is_furniture(line, height) or below.y0 - line.y1 > 5 * line.height:
            break
        if is_units(text) and not sentence:
            below = line
            continue
        if line.prose or text.endswith((".", ":")) or sentence:
            if sentence and below.y0 - line.y1 > 0.6 * line.height:
                break
            sentence.insert(0, text)
            below = line
            if len(sentence) >= 3:
                break
            continue
        return text
    return " ".join(sentence) or None
