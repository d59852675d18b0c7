"""Headings above each row and headers above each column of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from finrag_pipeline.tables.model import Cell, Table, column_extents
from finrag_pipeline.tables.scale import find_scale, only_scale
from finrag_pipeline.tables.values import parse_value

_PERIOD_CELL = re.compile(
    r"(?:(?:fiscal(?: year)?|fy|as of|at|year ended|q[1-4])?\s*(?:(?:19|20)\d\d"
    r"|[a-z]{3,9}\.?\s+\d{1,2},?(?:\s+(?:19|20)\d\d)?)"
    r"|(?:first|second|third|fourth)(?: quarter)?|(?:(?:three|six|nine|twelve|\d\d?) (?:months|weeks)"
    r"|(?:fiscal )?years?|quarters?) ended.*"
    r"|(?:\$|%)? ?change|total|[%$])\s*(?:\(\d\))?",
    re.IGNORECASE,
)
_CHANGE = re.compile(r"%|\b(?:percent(?:age)?|change|increase|variance)\b", re.IGNORECASE)
_YEAR_CELL = re.compile(r"(?:19|20)\d\d|ended", re.IGNORECASE)
_MOST_HEADER_ROWS = 5
_NEAR_POINTS = 20.0
_TOTAL = re.compile(r"^(?:sub)?total\b|^net cash\b", re.IGNORECASE)
_UNFINISHED = re.compile(
    r"(?:[,(&]|\b(?:and|or|of|to|in|for|the|from|on|by|with|per|net|at))$", re.IGNORECASE
)
_LOWER_CASE = re.compile(r"^[a-z]")


@dataclass(frozen=True, slots=True)
class Headers:
    """Column headers of a table, for those that continue it.

    Attributes:
        paths: of each column, outermost first.
        extents: left and right edge of each column in points; (0, 0) where it has no cells of its own.
        stub: label above the row labels and headers that stand over the whole table.
    """

    paths: tuple[tuple[str, ...], ...]
    extents: tuple[tuple[float, float], ...]
    stub: tuple[str, ...]


@dataclass(slots=True)
class TablePaths:
    """What stands above each row and column.

    Attributes:
        labelled: column 0 holds labels.
        labels: of each row, or None.
        rows: headings above each row, outermost first, then its label.
        headers: of the first rows.
        sections: rows of the body that are column headers for the rows below them.
        header_rows: rows whose cells are headers, those of ``sections`` included.
        headings: rows that carry a label only.
    """

    labelled: bool
    labels: list[str | None]
    rows: list[tuple[str, ...]]
    headers: Headers
    sections: dict[int, tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    header_rows: set[int] = field(default_factory=set)
    headings: set[int] = field(default_factory=set)

    def column_paths(self) -> list[tuple[tuple[str, ...], ...]]:
        """Column paths that hold in each row, shape (rows, columns)."""
        current, found = self.headers.paths, []
        for row in range(len(self.rows)):
            current = self.sections.get(row, current)
            found.append(current)
        return found


def read_paths(table: Table, before: Headers | None = None) -> TablePaths:
    """Row and column paths of a table.

    A row that carries a label only is a heading: of the deeper rows below it, and of rows at its own depth
    up to the next heading there or a total. A row of periods inside the body is a header for what follows.

    Args:
        table: its grid.
        before: headers of the table it continues.
    """
    by_row: list[list[Cell]] = [[] for _ in range(table.rows)]
    for cell in table.cells:
        by_row[cell.row].append(cell)
    first = min(table.header_rows, table.rows)
    labelled = _labelled(by_row[first:])
    first = _header_end(by_row, first, labelled)
    headers = _headers(table, by_row[:first], labelled)
    if before is not None and not any(headers.paths):
        headers = _inherited(table, headers, before, labelled)
    paths = TablePaths(
        labelled, [None] * table.rows, [()] * table.rows, headers, header_rows=set(range(first))
    )
    _body(table, by_row, first, paths)
    return paths


def _labelled(body: Sequence[Sequence[Cell]]) -> bool:
    """Whether column 0 holds words rather than numbers."""
    values = [parse_value(cell.text) for row in body for cell in row if cell.column == 0]
    # Years and '5 years' are labels.
    plain = [
        value for value in values if not (value.looks_like_year or (value.word and value.factor is None))
    ]
    return 2 * sum(value.kind == "number" for value in plain) <= len(values)


def _header_end(by_row: Sequence[Sequence[Cell]], first: int, labelled: bool) -> int:
    """First row below the headers, counting rows that only look like rows of the body.

    These are rows without label and number, and all rows without numbers down to one whose label sets a
    scale, such as '(in millions)' below a header of several lines.
    """
    end = first
    for row in range(first, len(by_row)):
        values = [cell for cell in by_row[row] if not (labelled and cell.column == 0)]
        if any(_holds_number(cell.text) for cell in values):
            break
        label = next((cell.text for cell in by_row[row] if labelled and cell.column == 0), None)
        if label is None:
            end = row + 1 if values and end == row else end
        elif row < first + _MOST_HEADER_ROWS and (find_scale([label]) if values else only_scale(label)):
            end = row + 1
    return end


def _holds_number(text: str) -> bool:
    value = parse_value(text)
    return value.kind == "missing" or (value.kind == "number" and not value.looks_like_year)


def _headers(table: Table, rows: Sequence[Sequence[Cell]], labelled: bool) -> Headers:
    first = int(labelled)
    paths: list[list[str]] = [[] for _ in range(table.columns)]
    extents = column_extents(table)[first:]
    stub: list[str] = []
    divided = False
    for place, cells in enumerate(rows):
        inner = [cell for cell in cells if not (labelled and cell.column == 0 and cell.column_span == 1)]
        stub += [cell.text for cell in cells if labelled and cell.column == 0]
        if len(inner) == 1 and only_scale(inner[0].text):
            stub.append(inner[0].text)
            continue
        over: Sequence[Iterable[int]] = [
            range(max(cell.column, first), min(cell.column + cell.column_span, table.columns))
            for cell in inner
        ]
        divided |= len(inner) > 1 or any(cell.anchor and cell.column_span > 1 for cell in inner)
        if place + 1 < len(rows) and len(inner) > 1:
            over = _halves(inner, rows[place + 1], labelled) or over
        elif place + 1 < len(rows) and inner and not divided and not _is_aside(inner[0], extents):
            # Alone in its row, above all others, a header stands over all columns, however wide in print.
            over = [range(first, table.columns)]
        for cell, columns in zip(inner, over, strict=True):
            for column in columns:
                paths[column].append(cell.text)
    return Headers(tuple(map(tuple, paths)), column_extents(table), tuple(stub))


def _is_aside(cell: Cell, extents: Sequence[tuple[float, float]]) -> bool:
    """Whether a header is none of the columns beside it: at their right end, or a change or percentage."""
    if _CHANGE.search(cell.text):
        return True
    middles = [(left + right) / 2 for left, right in extents if right > left]
    if len(middles) < 2 or cell.box.x0 < middles[0] + _NEAR_POINTS:
        return False
    centre = (cell.box.x0 + cell.box.x1) / 2
    return centre > middles[0] + 0.65 * (middles[-1] - middles[0])


def _halves(inner: Sequence[Cell], below: Sequence[Cell], labelled: bool) -> list[tuple[int, ...]] | None:
    """Columns under each of several periods, where the headers below repeat themselves once for each.

    'Cost, Value, Cost, Value' below '2018, 2017' tell the halves better than where the years are printed.
    """
    lower = sorted((cell for cell in below if cell.column >= int(labelled)), key=lambda cell: cell.column)
    count, width = len(inner), len(lower) // max(len(inner), 1)
    if width < 2 or len(lower) != count * width:
        return None
    texts = [cell.text.casefold() for cell in lower]
    dated = all(_PERIOD_CELL.fullmatch(cell.text) and _YEAR_CELL.search(cell.text) for cell in inner)
    if not dated or texts != texts[:width] * count or any(cell.column_span != 1 for cell in lower):
        return None
    return [
        tuple(cell.column for cell in lower[place * width : (place + 1) * width]) for place in range(count)
    ]


def _inherited(table: Table, own: Headers, before: Headers, labelled: bool) -> Headers:
    """Headers of the table before, by column number or, where the numbers differ, by position."""
    stub = [*own.stub, *before.stub]
    if len(before.paths) == table.columns and not (labelled and before.paths[0]):
        return Headers(before.paths, own.extents, tuple(stub))
    paths: list[tuple[str, ...]] = []
    for column, extent in enumerate(own.extents):
        near = _nearest_column(extent, before.extents)
        path = before.paths[near] if near is not None else ()
        if labelled and column == 0:
            stub += path
            path = ()
        paths.append(path)
    return Headers(tuple(paths), own.extents, tuple(stub))


def _nearest_column(extent: tuple[float, float], columns: Sequence[tuple[float, float]]) -> int | None:
    """The column that overlaps ``extent`` most, or whose middle is within 20 points of its own."""
    best, most = None, -_NEAR_POINTS
    for place, (left, right) in enumerate(columns):
        if right <= left or extent[1] <= extent[0]:
            continue
        overlap = min(extent[1], right) - max(extent[0], left)
        if overlap <= 0:
            overlap = -abs(left + right - extent[0] - extent[1]) / 2
        if overlap > most:
            best, most = place, overlap
    return best


_LABELS_TWICE = 3
"""Least rows with a label in column 1 that make it a column of labels."""


@dataclass(slots=True)
class _Heading:
    level: int
    text: str
    indented: bool = False
    """Deeper rows have followed, so a row at its own depth is out of it."""


def _body(table: Table, by_row: Sequence[Sequence[Cell]], first: int, paths: TablePaths) -> None:
    levels = [*table.levels, *[0] * (table.rows - len(table.levels))]
    second = paths.labelled and _labels_twice(by_row[first:])
    stack: list[_Heading] = []
    pending: str | None = None
    above: tuple[str, ...] = ()  # path of the last label of column 0 that had one in column 1 beside it
    for row in range(first, table.rows):
        level, cells = levels[row], by_row[row]
        label = next((cell.text for cell in cells if paths.labelled and cell.column == 0), None)
        inner = next((cell.text for cell in cells if second and cell.column == 1), None)
        values = [cell for cell in cells if not (paths.labelled and cell.column == 0)]
        section = bool(values) and _is_section(values, label)
        if section:
            paths.sections[row] = _section(table, values, paths.headers)
            paths.header_rows.add(row)
        if label is None and inner is not None and above:
            paths.labels[row], paths.rows[row] = inner, (*above, inner)
            continue
        above = ()
        if label is None:
            paths.rows[row] = tuple(heading.text for heading in stack if heading.level < level)
            continue
        if pending is not None and (_LOWER_CASE.match(label) or _UNFINISHED.search(pending)):
            # The first line of a label that goes on here is no heading.
            if stack and stack[-1].text == pending:
                stack.pop()
            label = f"{pending} {label}"
        pending = None
        paths.labels[row] = label
        heads = section or not values
        units = not values and only_scale(label)
        while (
            stack
            and not units
            and (stack[-1].level > level or (stack[-1].level == level and (heads or stack[-1].indented)))
        ):
            stack.pop()
        if stack and stack[-1].level < level:
            stack[-1].indented = True
        paths.rows[row] = (*(heading.text for heading in stack), label)
        if inner is not None:
            above = paths.rows[row]
            paths.labels[row], paths.rows[row] = inner, (*above, inner)
        if heads and level == 0 and _PERIOD_CELL.fullmatch(label):
            # 'June 30, 2016' stands above 'Assets' though neither is indented.
            stack.clear()
            paths.rows[row], level = (label,), -1
        if units and stack:
            # '($000):' below 'Net sales' ends no heading and is none.
            paths.headings.add(row)
            continue
        if heads:
            if not values:
                paths.headings.add(row)
                pending = None if label.endswith(":") or level < 0 else label
            stack.append(_Heading(level, label))
        elif stack and stack[-1].level == level and _TOTAL.match(label):
            stack.pop()


def _labels_twice(body: Sequence[Sequence[Cell]]) -> bool:
    """Whether column 1 holds labels too: words alone, and some without a label of their own in column 0."""
    inner = [(row, cell) for row in body for cell in row if cell.column == 1]
    bare = [row for row, _ in inner if not any(cell.column == 0 for cell in row)]
    return (
        len(inner) >= _LABELS_TWICE
        and 0 < len(bare) < len(inner)
        and all(parse_value(cell.text).kind == "text" for _, cell in inner)
        and not any(_YEAR_CELL.search(cell.text) for _, cell in inner)
    )


def header_block(table: Table) -> Headers:
    """A table without numbers, read as the column headers of the one below it."""
    by_row: list[list[Cell]] = [[] for _ in range(table.rows)]
    for cell in table.cells:
        by_row[cell.row].append(cell)
    return _headers(table, by_row, False)


def _is_section(values: Sequence[Cell], label: str | None) -> bool:
    """Whether a row of the body holds nothing but periods, so that it heads the rows below."""
    if not all(_PERIOD_CELL.fullmatch(cell.text) for cell in values):
        return False
    dated = [cell for cell in values if _YEAR_CELL.search(cell.text)]
    return bool(dated) and (len(values) > 1 or label is None)


def _section(table: Table, values: Sequence[Cell], headers: Headers) -> tuple[tuple[str, ...], ...]:
    """Column paths under a row of periods: its own where it has any, without the periods above."""
    paths = [
        tuple(text for text in path if not (_PERIOD_CELL.fullmatch(text) and _YEAR_CELL.search(text)))
        for path in headers.paths
    ]
    for cell in values:
        for column in range(cell.column, min(cell.column + cell.column_span, table.columns)):
            paths[column] = (*paths[column], cell.text)
    return tuple(paths)
