"""Tables that go on over a page break."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from finrag_pipeline.tables.model import PageWords, Table

_CONTINUED = re.compile(r"\bcont(?:inued|['’]d|\.)", re.I)
_PAGE_HEADING = re.compile(
    r"\bnotes to\b|table of contents|\bform 10-|^\W*(?:index|part [iv]+|item \d+\w?)\b|^\W*\d*\W*$", re.I
)
_MOST_BELOW = 4
_CLOSING = re.compile(r"\bnotes\b|\bcontinued\b|\bform 10-", re.I)


def inherited_header(previous: Table, table: Table) -> list[int | None]:
    """For each column of ``table`` the column of ``previous`` whose headers hold for it, by place.

    Returns:
        One entry per column of ``table``: the column of ``previous`` whose cells overlap it most from left
        to right, or None where none does. Each column of ``previous`` is used once.
    """
    old, new = _extents(previous), _extents(table)
    pairs = sorted(
        (
            (min(a[1], b[1]) - max(a[0], b[0]), i, j)
            for i, a in enumerate(new)
            if a is not None
            for j, b in enumerate(old)
            if b is not None
        ),
        reverse=True,
    )
    found: list[int | None] = [None] * table.columns
    used: set[int] = set()
    for overlap, i, j in pairs:
        if overlap > 0 and found[i] is None and j not in used:
            found[i] = j
            used.add(j)
    return found


def _extents(table: Table) -> list[tuple[float, float] | None]:
    """From left to right, the extent in points of each column's cells that span no other column."""
    extents: list[tuple[float, float] | None] = [None] * table.columns
    for cell in table.cells:
        if cell.column_span > 1:
            continue
        known = extents[cell.column]
        low, high = cell.box.x0, cell.box.x1
        extents[cell.column] = (low, high) if known is None else (min(low, known[0]), max(high, known[1]))
    return extents


def mark_continuation(
    previous: Sequence[Table], tables: list[Table], before: PageWords, page: PageWords
) -> list[Table]:
    """Set ``continues`` on the first table of a page if it goes on from the last one of the page before."""
    if not previous or not tables:
        return tables
    last, first = previous[-1], tables[0]
    if _goes_on(last, first, before, page):
        tables = [replace(first, continues=True), *tables[1:]]
    return tables


def _goes_on(last: Table, first: Table, before: PageWords, page: PageWords) -> bool:
    if not before.height or not page.height or _text_follows(last):
        return False
    near = [text for text in first.above[-3:] if not _PAGE_HEADING.search(text)]
    if last.columns == first.columns and any(_CONTINUED.search(text) for text in near):
        return True
    if first.header_rows:
        # Headers are printed again, and nothing stands above them.
        return not near and bool(_headers(first)) and _headers(first) == _headers(last)
    if len(near) > 1 or any(_is_sentence(text) for text in near):
        return False
    if first.box.y0 > 0.3 * page.height or last.box.y1 < 0.6 * before.height:
        return False
    matched = sum(column is not None for column in inherited_header(last, first))
    return matched >= max(2, first.columns - 1, last.columns - 1) or matched == first.columns == last.columns


def _text_follows(table: Table) -> bool:
    """Whether running text comes after a table on its page."""
    return any(_is_sentence(text) and not _CLOSING.search(text) for text in table.below[:_MOST_BELOW])


def _is_sentence(text: str) -> bool:
    return len(text.split()) > (5 if text.endswith((".", ":")) else 12)


def _headers(table: Table) -> list[str]:
    return [cell.text for cell in table.cells if cell.header]
