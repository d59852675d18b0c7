"""Which part of a company, such as a segment, the section around a table is about.

A table of key figures below the heading 'Harbour Services' does not say whose they are. Parts are what tables
print below or beside each other, where most of them stand as headings in the text too; each holds up to the
next.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from finrag_pipeline.chunking.prose import is_heading
from finrag_pipeline.questions.formula_lexicon import formula_lexicon
from finrag_pipeline.resolver.lexicon import any_case
from finrag_pipeline.statements.filing_rows import FilingRow

_MOST_PAGES = 6
"""Pages up to the next heading of a part; one that is farther away ends no section."""

_LAST_PAGES = 3
"""Pages of the last part at most; else as many as the one before it has."""

_MOST_HEADINGS = 5
"""Pages on which the name of a part is a heading; what heads more is no part."""

_LENGTH = range(4, 71)
_NUMBER = re.compile(r"[\d$€£]")
_FOOTNOTE = re.compile(r"\s*(?:\([\w*]{1,2}\))+\s*$")
_AROUND = any_case(
    r"^(?:the|our|total) |(?: (?:reportable |operating |business )?(?:segments?|divisions?|results))+$|[\W_]+"
)
_NO_PART = frozenset(("", "total", "other", "all other", "change", "consolidated", "corporate and other"))


@dataclass(frozen=True)
class Heading:
    """A line of a page, at a place of its text, that is the name of a part."""

    page: int
    place: int
    name: str
    printed: str


def part_sections(
    rows: Sequence[FilingRow], pages: Sequence[tuple[int, str]], cells: Mapping[int, Collection[str]]
) -> dict[tuple[int, int], str]:
    """The part whose section each table stands in, by page and table; tables in none are left out.

    Args:
        rows: of a filing.
        pages: zero-based numbers of its pages and their texts.
        cells: what the cells of its tables say, by page; such lines are no headings.
    """
    groups = [names for names in _groups(rows) if len(names) > 1]
    names = frozenset().union(*groups)
    headings = headings_of(pages, names, cells)
    pages_of: defaultdict[str, set[int]] = defaultdict(set)
    for one in headings:
        pages_of[one.name].add(one.page)
    found = {name for name, own in pages_of.items() if len(own) <= _MOST_HEADINGS and not is_known_name(name)}
    peers: defaultdict[str, set[str]] = defaultdict(set)
    for group in groups:
        headed = group & found
        apart = len(frozenset().union(*(pages_of[name] for name in headed)))
        if len(headed) >= max(2, len(group) / 2) and apart > 1:
            for name in headed:
                peers[name] |= headed - {name}
    headings = [one for one in headings if peers[one.name]]
    ends = [_end(headings, at, peers) for at in range(len(headings))]
    texts = dict(pages)
    sections: dict[tuple[int, int], str] = {}
    for row in rows:
        if (row.page, row.table) in sections or row.table < 0:
            continue
        label = next((part for part in row.path if len(part) >= _LENGTH.start), "")
        place = texts.get(row.page, "").find(label) if label else 0
        here = (row.page, place)
        around = [one for one, end in zip(headings, ends, strict=True) if (one.page, one.place) <= here < end]
        sections[row.page, row.table] = around[-1].printed if around else ""
    return {table: name for table, name in sections.items() if name}


def _end(headings: Sequence[Heading], at: int, peers: Mapping[str, set[str]]) -> tuple[int, int]:
    """Page and place at which the section of a heading ends."""
    own = headings[at]
    ahead = next((one for one in headings[at + 1 :] if one.name in peers[own.name]), None)
    if ahead is not None and ahead.page - own.page <= _MOST_PAGES:
        return ahead.page, ahead.place
    before = next((one for one in reversed(headings[:at]) if one.name in peers[own.name]), None)
    pages = own.page - before.page if before is not None else 0
    return own.page + (min(pages, _LAST_PAGES) if pages <= _MOST_PAGES else 0) + 1, 0


def _groups(rows: Sequence[FilingRow]) -> Iterator[frozenset[str]]:
    """Names of rows, of their headings and of columns that stand together in a table."""
    groups: defaultdict[tuple[object, ...], set[str]] = defaultdict(set)
    for row in rows:
        table = row.page, row.table
        if row.path and not (row.statement and len(row.path) == 1):
            groups[(*table, "row", row.path[:-1])].add(part_name(row.path[-1]))
        if len(row.path) > 1:
            groups[(*table, "heading", row.path[:-2])].add(part_name(row.path[-2]))
        groups[(*table, "column")].update(map(part_name, row.columns))
    return (frozenset(names - _NO_PART) for names in groups.values())


def headings_of(
    pages: Sequence[tuple[int, str]],
    names: Collection[str],
    cells: Mapping[int, Collection[str]] = MappingProxyType({}),
) -> list[Heading]:
    """Lines of pages that are names of parts, as `part_name` gives them, and no cells."""
    return [one for page, text in pages for one in _headings(page, text, names, cells.get(page, ()))]


def _headings(page: int, text: str, names: Collection[str], cells: Collection[str]) -> Iterator[Heading]:
    place = 0
    for line in text.split("\n"):
        printed = line.strip()
        named = len(printed) in _LENGTH and is_heading(printed) and not _NUMBER.search(printed)
        if named and printed not in cells:
            name = part_name(printed)
            if name in names:
                yield Heading(page, place, name, printed)
        place += len(line) + 1


def is_known_name(name: str) -> bool:
    """Whether a name is that of a line or formula, which tables of figures print below each other too."""
    return name in formula_lexicon().named(name).values()


def part_name(printed: str) -> str:
    """A name without case, marks, footnotes and words for what it is."""
    bare = _FOOTNOTE.sub("", printed).replace("&", "and").lower().strip(" :.-–—")
    return _AROUND.sub(" ", _AROUND.sub(" ", bare)).strip()
