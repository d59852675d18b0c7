"""What stands above and below a table (caption, units line, footnotes), and tables that go on over a page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from finrag_pipeline.tables.model import Table, column_extents
from finrag_pipeline.tables.words.rows import Line
from finrag_pipeline.tables.words.tokens import is_units

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


_CONTINUED = re.compile(r"\bcont(?:inued|['’]d|\.)", re.I)
_PAGE_HEADING = re.compile(
    r"\bnotes to\b|table of contents|\bform 10-|^\W*(?:index|part [iv]+|item \d+\w?)\b|^\W*\d*\W*$", re.I
)
_MOST_BELOW = 4
_CLOSING = re.compile(r"\bnotes\b|\bcontinued\b|\bform 10-", re.I)


def mark_continuation(
    previous: Sequence[Table], tables: list[Table], height_before: float, height: float
) -> list[Table]:
    """Set ``continues`` on the first table of a page if it goes on from the last one of the page before.

    The heights are those of the two pages.
    """
    if previous and tables and _goes_on(previous[-1], tables[0], height_before, height):
        return [replace(tables[0], continues=True), *tables[1:]]
    return tables


def _goes_on(last: Table, first: Table, height_before: float, height: float) -> bool:
    if _text_follows(last):
        return False
    near = [text for text in first.above[-3:] if not _PAGE_HEADING.search(text)]
    if last.columns == first.columns and any(_CONTINUED.search(text) for text in near):
        return True
    if first.header_rows:
        # Headers are printed again, and nothing stands above them.
        return not near and _headers(first) == _headers(last)
    if any(_is_sentence(text) for text in near):
        return False
    if first.box.y0 > 0.3 * height or last.box.y1 < 0.6 * height_before:
        return False
    # Columns that stand under one of the page before.
    known = [(left, right) for left, right in column_extents(last) if right]
    matched = sum(
        any(left < high and low < right for low, high in known) for left, right in column_extents(first)
    )
    return matched >= max(2, first.columns - 1, last.columns - 1) or matched == first.columns == last.columns


def _text_follows(table: Table) -> bool:
    """Whether running text comes after a table on its page."""
    return any(_is_sentence(text) and not _CLOSING.search(text) for text in table.below[:_MOST_BELOW])


def _is_sentence(text: str) -> bool:
    return len(text.split()) > (5 if text.endswith((".", ":")) else 12)


def _headers(table: Table) -> list[str]:
    return [cell.text for cell in table.cells if cell.header]
