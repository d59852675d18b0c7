"""Tables that go on over a page break."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from finrag_pipeline.tables.model import PageWords, Table, column_extents

_CONTINUED = re.compile(r"\bcont(?:inued|['’]d|\.)", re.I)
_PAGE_HEADING = re.compile(
    r"\bnotes to\b|table of contents|\bform 10-|^\W*(?:index|part [iv]+|item \d+\w?)\b|^\W*\d*\W*$", re.I
)
_MOST_BELOW = 4
_CLOSING = re.compile(r"\bnotes\b|\bcontinued\b|\bform 10-", re.I)


def mark_continuation(
    previous: Sequence[Table], tables: list[Table], before: PageWords, page: PageWords
) -> list[Table]:
    """Set ``continues`` on the first table of a page if it goes on from the last one of the page before."""
    if previous and tables and _goes_on(previous[-1], tables[0], before, page):
        return [replace(tables[0], continues=True), *tables[1:]]
    return tables


def _goes_on(last: Table, first: Table, before: PageWords, page: PageWords) -> bool:
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
    if first.box.y0 > 0.3 * page.height or last.box.y1 < 0.6 * before.height:
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
