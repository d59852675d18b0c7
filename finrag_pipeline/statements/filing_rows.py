"""Every printed row with a number, of any table of a filing: statements, notes, segments, discussion."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from finrag_pipeline.statements.tags import Place, Tag, take_tags
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.tables.fiscal_calendar import months_of
from finrag_pipeline.tables.row_periods import tells_only_time
from finrag_pipeline.tables.scale import without_scale

ROW_COLUMNS = [
    "page", "table", "row", "column", "caption", "text", "header", "row_label", "row_path", "column_path",
    "kind", "printed", "value", "unit", "currency", "period_start", "period_end", "fiscal_year",
    "fiscal_quarter", "x0", "y0", "x1", "y1",
]  # fmt: skip
"""Columns of ``page_tables`` that rows are made of."""

FACT_COLUMNS = ["page", "table", "row", "scope", "statement", "line"]
"""Columns of ``statement_facts`` that tell a row's statement and line."""

FILINGS_KEPT = 32
"""Filings whose rows are kept, those asked about last."""


@dataclass(frozen=True, slots=True)
class RowValue:
    """A number of a row.

    Attributes:
        column: headers above it, outermost first.
        period_end: last day of its period, or its instant; None where the headers name none.
        months: length of its period, rounded; None for an instant.
        value: in full units; 0.12 for 12 %.
        printed: the cell as printed.
        unit: ``currency``, ``percent``, …, see ``page_tables``.
        box: x0, y0, x1, y1 in points; None where the filing came as text.
        index: zero-based column of the table.
        row: its row of the table; None where that is the row's own.
        members: what it is tagged for beside the whole company, such as a segment, as the filer calls it.
    """

    column: tuple[str, ...]
    period_end: dt.date | None
    months: int | None
    fiscal_year: int | None
    fiscal_quarter: int | None
    value: float
    printed: str
    unit: str | None
    currency: str | None
    box: tuple[float, float, float, float] | None
    index: int = 0
    row: int | None = None
    members: tuple[str, ...] = ()

    @property
    def header(self) -> str:
        """The period for people, ``3 months to 2025-06-28``; the headers as printed where there is none."""
        if self.period_end is None:
            return " > ".join(self.column)
        return f"{self.months} months to {self.period_end}" if self.months else str(self.period_end)

    @property
    def unit_name(self) -> str | None:
        """The unit with its currency: ``USD``, ``USD/share``, ``percent``, …; None where none is known."""
        if self.unit and self.currency and self.unit.startswith("currency"):
            return self.unit.replace("currency", self.currency, 1)
        return self.unit


@dataclass(frozen=True, slots=True)
class FilingRow:
    """A printed row of a table.

    Attributes:
        filing, page, table, row: its place, all zero-based.
        caption: what stands above the labels of its table, and the table's caption.
        path: headings above the row, outermost first, and its label.
        columns: distinct headers above its numbers that name no period, such as those of segments.
        statement: kind of the primary statement that the row belongs to; None outside of them.
        concept: name of its line in the lexicon, where the facts know it.
        section: name of the part of the company, such as a segment, that the text around the table is about.
    """

    filing: str
    page: int
    table: int
    row: int
    caption: str
    path: tuple[str, ...]
    columns: tuple[str, ...]
    statement: str | None
    concept: str | None
    values: tuple[RowValue, ...]
    section: str = ""

    @property
    def label(self) -> str:
        """The label as printed; the innermost heading of a row without one, '' without any."""
        return self.path[-1] if self.path else ""

    @property
    def text(self) -> str:
        """The row in words: ``caption | path | columns``, what is empty left out."""
        parts = (self.caption, " > ".join(self.path), ", ".join(self.columns))
        return " | ".join(part for part in parts if part)

    def line_of(self, value: RowValue) -> int:
        """The row of the table that prints a number of this row."""
        return self.row if value.row is None else value.row

    def cell_of(self, value: RowValue) -> str:
        """Where a number stands, as in the identifier of a fact: ``filing:page:table:row:column``."""
        return f"{self.filing}:{self.page}:{self.table}:{self.line_of(value)}:{value.index}"


class FilingRows:
    """Printed rows of those filings of a lake that have tables; of the last ones they are kept."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self.filings = frozenset(keys["filing"] for keys in lake.partitions("page_tables"))
        self._known = {
            name: frozenset(keys["filing"] for keys in lake.partitions(name))
            for name in ("statement_facts", "xbrl_facts")
        }
        self.of = lru_cache(FILINGS_KEPT)(self._read)

    def _read(self, filing: str) -> list[FilingRow]:
        return self._rows_of(filing, self._tables(filing))

    def _tables(self, filing: str) -> pa.Table:
        """The tables of a filing, `ROW_COLUMNS` of them."""
        return self._lake.read("page_tables", {"filing": filing}, ROW_COLUMNS)

    def _rows_of(self, filing: str, page_tables: pa.Table) -> list[FilingRow]:
        only = {"filing": filing}
        facts, tags = (
            self._lake.read(name, only, columns) if filing in self._known[name] else None
            for name, columns in (("statement_facts", FACT_COLUMNS), ("xbrl_facts", None))
        )
        return filing_rows(filing, page_tables, facts, tags)


def filing_rows(
    filing: str, page_tables: pa.Table, facts: pa.Table | None = None, tags: pa.Table | None = None
) -> list[FilingRow]:
    """Rows of all tables of a filing that print a number, in order of pages; headings are in their paths.

    Without ``facts`` no row is known to be one of a primary statement; ``tags``, its rows of ``xbrl_facts``,
    decide values and periods, and tell the members that numbers are of.
    """
    import pyarrow.compute as pc  # a fiftieth of a second, which answers from statements can do without

    tagged: dict[Place, Tag] = {}
    if tags is not None and tags.num_rows:
        page_tables, tagged = take_tags(page_tables, tags)
    numbers = pc.and_(
        pc.is_in(page_tables["kind"], value_set=pa.array(["number", "missing"])),
        pc.and_(pc.invert(page_tables["header"]), pc.is_valid(page_tables["value"])),
    )
    cells = page_tables.select(ROW_COLUMNS).filter(numbers)
    if not cells.num_rows:
        return []
    cells = cells.sort_by([(name, "ascending") for name in ("page", "table", "row", "column")])
    place = np.stack([cells[name].to_numpy() for name in ("page", "table", "row")])
    starts = np.flatnonzero(np.r_[True, (place[:, 1:] != place[:, :-1]).any(axis=0)])
    ends = np.r_[starts[1:], cells.num_rows]
    known = _statements(facts) if facts is not None else {}
    firsts = cells.select(["page", "table", "row", "caption", "row_label", "row_path"]).take(starts)
    stubs = _stubs(page_tables, cells)
    values = _values(cells, tagged)
    rows = []
    for first, start, end in zip(firsts.to_pylist(), starts, ends, strict=True):
        here = tuple(values[start:end])
        path = tuple(part for part in first["row_path"] or () if part)
        if not path and first["row_label"]:
            path = (first["row_label"],)
        headers = dict.fromkeys(part for value in here for part in value.column if _is_words(part))
        key = (first["page"], first["table"], first["row"])
        statement, concept = known.get(key, (None, None))
        caption = " ".join(filter(None, (stubs.get(key[:2]), first["caption"])))
        rows.append(FilingRow(filing, *key, caption, path, tuple(headers), statement, concept, here))
    return rows


def _stubs(page_tables: pa.Table, numbers: pa.Table) -> dict[tuple[int, int], str]:
    """What stands above the labels of each table, by page and table, such as 'Property and equipment, net:'.

    Scales and periods, which values tell, are left out.
    """
    import pyarrow.compute as pc

    first = pc.equal(page_tables["column"], 0)
    heads = page_tables.select(["page", "table", "text"]).filter(pc.and_(first, page_tables["header"]))
    unlabelled = numbers.select(["page", "table"]).filter(pc.equal(numbers["column"], 0)).to_pylist()
    skipped = {(one["page"], one["table"]) for one in unlabelled}
    found: dict[tuple[int, int], list[str]] = {}
    for head in heads.to_pylist():
        words = without_scale(head["text"] or "")
        if any(letter.isalpha() for letter in words) and not tells_only_time(words):
            found.setdefault((head["page"], head["table"]), []).append(words)
    return {place: " ".join(words) for place, words in found.items() if place not in skipped}


def _values(cells: pa.Table, tagged: Mapping[Place, Tag]) -> list[RowValue]:
    names = (
        "column_path", "period_start", "period_end", "fiscal_year", "fiscal_quarter", "value", "text", "unit",
        "currency", "x0", "y0", "x1", "y1", "page", "table", "row", "column",
    )  # fmt: skip
    return [
        RowValue(
            tuple(path or ()), end, months_of(start, end), year, quarter, value, text, unit, currency,
            None if None in (box := place[:4]) else tuple(box), place[7], place[6],
            tuple(tag["members"]) if (tag := tagged.get(tuple(place[4:]))) else (),
        )
        for path, start, end, year, quarter, value, text, unit, currency, *place in zip(
            *(cells[name].to_pylist() for name in names), strict=True
        )
    ]  # fmt: skip


_PERIOD = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)|\b(?:months?|weeks|ended)\b|\bq[1-4]\b", re.IGNORECASE)


def _is_words(header: str) -> bool:
    return any(c.isalpha() for c in header) and not (tells_only_time(header) or _PERIOD.search(header))


def _statements(facts: pa.Table) -> dict[tuple[Any, ...], tuple[str | None, str | None]]:
    """Primary statement and line by place of the row."""
    found: dict[tuple[Any, ...], tuple[str | None, str | None]] = {}
    columns = (facts[name].to_pylist() for name in FACT_COLUMNS)
    for *place, scope, statement, line in zip(*columns, strict=True):
        if scope == "primary" or tuple(place) not in found:
            found[tuple(place)] = (statement if scope == "primary" else None, line)
    return found
