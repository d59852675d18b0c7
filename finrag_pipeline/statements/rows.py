"""Rows of statement tables with their cells, and sums among them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.statements.arithmetic import Item, additive_sums, last_digit

_COLUMNS = [
    "page", "table", "row", "column", "text", "header", "row_label", "row_path", "column_path", "kind",
    "printed", "value", "scale", "scale_source", "unit", "currency", "period_start", "period_end",
    "period_kind", "fiscal_year", "fiscal_quarter", "x0", "y0", "x1", "y1",
]  # fmt: skip
# 'Average shares outstanding > Basic', unlike 'Earnings per share' or 'Common shares, at par'.
_SHARES = re.compile(
    r"^(?!.*per (?:common |ordinary )?(?:share|unit)).*(?:average|number)[^>]*\b(?:shares|units)\b"
    r"|^(?!.*(?:per |par |stock|issue)).*\b(?:shares|units) (?:outstanding|used in)"
)
_TABLES_PER_PAGE = 10_000


@dataclass(slots=True)
class Row:
    """A row of a statement table.

    Attributes:
        row: its ordinal in the table.
        label: as printed; '' for a row without.
        path: headings above it, outermost first, then the label.
        cells: its numbers from left to right, as ``page_tables`` has them; none for a heading.
        sums_up: heading of the rows that an unlabelled row is the sum of; None otherwise.
    """

    row: int
    label: str
    path: tuple[str, ...]
    cells: list[dict[str, Any]] = field(default_factory=list)
    sums_up: str | None = None

    @property
    def headings(self) -> tuple[str, ...]:
        """Headings above the row, outermost first."""
        return self.path[:-1] if self.path and self.path[-1] == self.label else self.path

    @property
    def unit(self) -> str:
        """Unit of most of its values; shares where label or heading says that they count shares."""
        if _SHARES.search(" > ".join((*self.path[-2:], self.label)).lower()):
            return "shares"
        units = Counter(cell["unit"] or "currency" for cell in self.cells)
        units.pop("percent", None) if len(units) > 1 else None
        return units.most_common(1)[0][0] if units else "currency"

    @property
    def reading(self) -> str:
        """The label as the lexicon is to read it: 'total' and the heading where the row has none."""
        return f"total {self.sums_up}" if self.sums_up and not self.label else self.label


def table_rows(
    page_tables: pa.Table, tables: Collection[tuple[int, int]]
) -> dict[tuple[int, int], list[Row]]:
    """Rows of tables of a filing by page and ordinal, top to bottom, headings included."""
    wanted = pa.array([page * _TABLES_PER_PAGE + table for page, table in tables], pa.int64())
    key = pc.add(pc.multiply(page_tables["page"].cast(pa.int64()), _TABLES_PER_PAGE), page_tables["table"])
    chosen = pc.and_(pc.is_in(key, value_set=wanted), pc.invert(page_tables["header"]))
    cells = page_tables.filter(chosen).select(_COLUMNS)
    found: dict[tuple[int, int], dict[int, Row]] = defaultdict(dict)
    for cell in sorted(cells.to_pylist(), key=lambda c: (c["page"], c["table"], c["row"], c["column"])):
        new = Row(cell["row"], cell["row_label"] or "", tuple(cell["row_path"] or ()))
        row = found[cell["page"], cell["table"]].setdefault(cell["row"], new)
        if cell["kind"] in ("number", "missing") and cell["value"] is not None:
            row.cells.append(cell)
    result = {key: list(rows.values()) for key, rows in found.items()}
    for ordered in result.values():
        _read_unlabelled(ordered)
    return result


def _read_unlabelled(rows: list[Row]) -> None:
    """Say of each row without label which heading it sums up, if arithmetic shows that it does."""
    unlabelled = [not row.label for row in rows]
    by_column = [{cell["column"]: cell for cell in row.cells} for row in rows]
    empty = [cells for cells, without in zip(by_column, unlabelled, strict=True) if without]
    for column in sorted({column for cells in empty for column in cells}):
        items = [_item(cells[column]) if column in cells else None for cells in by_column]
        for place, parts in additive_sums(items, unlabelled).items():
            if not rows[place].sums_up:
                rows[place].sums_up = _common_heading([rows[part] for part in parts], rows[: parts[0]])


def _item(cell: dict[str, Any]) -> Item:
    return Item(cell["value"], cell["unit"], 0.5 * last_digit(cell["text"], cell["scale"]))


def _common_heading(parts: Sequence[Row], before: Sequence[Row]) -> str | None:
    paths = [row.headings for row in parts]
    common = paths[0]
    for path in paths[1:]:
        common = tuple(one for one, other in zip(common, path, strict=False) if one == other)
    if common:
        return common[-1]
    heading = next((row for row in reversed(before) if row.label and not row.cells), None)
    return heading.label if heading else None
