"""The detector that reads tables from word boxes alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from finrag_pipeline.tables.model import Box, Cell, PageWords, Table, around
from finrag_pipeline.tables.words.body import body_rows, levels
from finrag_pipeline.tables.words.captions import caption_of, mark_continuation, texts_above, texts_below
from finrag_pipeline.tables.words.columns import find_columns
from finrag_pipeline.tables.words.headers import find_headers
from finrag_pipeline.tables.words.regions import Region, figure_regions
from finrag_pipeline.tables.words.rows import Line, Segment, segment_lines, usable_words
from finrag_pipeline.tables.words.text_regions import text_regions
from finrag_pipeline.tables.words.tokens import NUMBER, TEXT, calls_for_number
from finrag_pipeline.tables.words.zones import zones

NAME = "words"
_SMALL = re.compile(r"\d{1,2},?")


class WordsDetector:
    """Tables of born-digital pages from the boxes of their words, ruled or not.

    Needs no picture, no model and no PDF. Scanned pages and pages that came as text only have no words with
    boxes, hence no tables.
    """

    name = NAME
    version = "5"

    def detect(self, pages: Sequence[PageWords], path: Path) -> Iterator[list[Table]]:
        """Tables of each page, one list per page, in order; the original is not looked at."""
        before: PageWords | None = None
        last: list[Table] = []
        for page in pages:
            tables = detect_page(page)
            if before is not None and before.page == page.page - 1:
                tables = mark_continuation(last, tables, before.height, page.height)
            before, last = page, tables
            yield tables


def detect_page(page: PageWords) -> list[Table]:
    """Tables of one page, top to bottom; ``continues`` is left unset.

    A page whose text is unreadable (``needs_ocr``) has none: its cells would be invented.
    """
    members = usable_words(page)
    if page.needs_ocr or not len(members):
        return []
    tables = [table for zone in zones(page, members) for table in _zone_tables(page, zone)]
    return sorted(tables, key=lambda table: (table.box.y0, table.box.x0))


def _zone_tables(page: PageWords, members: np.ndarray) -> list[Table]:
    lines = segment_lines(page, members)
    _settle_wrapped_numbers(lines)
    regions, contents = figure_regions(lines)
    taken = [*contents, *((region.start, region.stop) for region in regions)]
    regions = _with_texts(lines, regions, text_regions(lines, taken))
    floors = [0, *(region.stop for region in regions)]
    ceilings = [*(region.start for region in regions[1:]), len(lines)]
    tables = map(partial(_table, page, lines), regions, floors, ceilings)
    return [table for table in tables if table is not None]


def _settle_wrapped_numbers(lines: Sequence[Line]) -> None:
    """Mark as text, in place, each small number that completes the text above it."""
    for above, line in pairwise(lines):
        for place, segment in enumerate(line.segments):
            small = segment.kind == NUMBER and _SMALL.fullmatch(segment.text)
            if small and line.y0 - above.y1 < 0.8 * line.height and _completes(segment, above):
                line.segments[place] = segment._replace(kind=TEXT)


def _completes(segment: Segment, above: Line) -> bool:
    return any(
        s.kind == TEXT and s.x0 < segment.x1 and segment.x0 < s.x1 and calls_for_number(s.text)
        for s in above.segments
    )


def _with_texts(lines: Sequence[Line], regions: list[Region], texts: list[Region]) -> list[Region]:
    """All regions in order; texts right above figures without headers are their headers."""
    merged: list[Region] = []
    for region in sorted(regions + texts, key=lambda region: region.start):
        last = merged[-1] if merged else None
        if (
            last is not None
            and last in texts
            and region not in texts
            and last.stop == region.start == region.body
        ):
            gap = lines[region.start].y0 - lines[last.stop - 1].y1
            if gap < lines[region.start].height and last.stop - last.start < 8:
                merged[-1] = Region(last.start, region.body, region.stop)
                continue
        merged.append(region)
    return merged


def _table(page: PageWords, lines: Sequence[Line], region: Region, floor: int, ceiling: int) -> Table | None:
    body = lines[region.body : region.stop]
    columns = find_columns(body)
    count = len(columns.columns)
    if count < 2:
        return None
    headers, header_rows = find_headers(lines[region.start : region.body], columns.columns, columns.labelled)
    rows = body_rows(body, columns)
    if header_rows + len(rows) < 2:
        return None
    if not columns.labelled and len(rows) < 2:
        # A single row without a label is a table if every column has a header of its own.
        headed = {header.first for header in headers if header.first == header.last}
        if not headed >= set(range(count)):
            return None
    cells = [
        Cell(
            header.row,
            header.first,
            _around(header.parts),
            header.text,
            header.row_span,
            header.last - header.first + 1,
            header=True,
        )
        for header in sorted(headers, key=lambda header: (header.row, header.first))
    ]
    for number, row in enumerate(rows, header_rows):
        for column, segments in sorted(row.cells.items()):
            text = " ".join(segment.text for segment in segments)
            cells.append(Cell(number, column, _around(segments), text))
    return Table(
        page=page.page,
        detector=NAME,
        box=around([cell.box for cell in cells]),
        rows=header_rows + len(rows),
        columns=count,
        cells=tuple(cells),
        header_rows=header_rows,
        levels=levels([*[None] * header_rows, *(row.left if columns.labelled else None for row in rows)]),
        caption=caption_of(lines, region.start, floor, page.height),
        above=texts_above(lines, region.start, floor, page.height),
        below=texts_below(lines, region.stop, ceiling, page.height),
    )


def _around(segments: Sequence[Segment]) -> Box:
    return around([(s.x0, s.y0, s.x1, s.y1) for s in segments])
