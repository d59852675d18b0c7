"""What filers tagged beside what was read: the tags with their cells, and how far both agree."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.schemas import XBRL_FACTS
from finrag_pipeline.tables.fiscal_calendar import FiscalCalendar, months_of

Place = tuple[int, int, int, int]
"""Page, table, row and column of a cell."""

Tag = dict[str, Any]
"""A row of ``xbrl_facts``."""

AGREEMENT_COLUMNS = [
    "filing", "page", "cell", "row", "value", "period_start", "period_end", "read_value", "read_start",
    "read_end",
]  # fmt: skip
"""Columns of ``xbrl_facts`` that `agreement` needs."""

_PLACE = ("page", "table", "row", "column")
_TAKEN = (
    "value", "scale", "unit", "currency", "period_start", "period_end", "period_kind", "fiscal_year",
    "fiscal_quarter",
)  # fmt: skip
"""Columns of ``page_tables`` that a tag decides."""
_SAME = 1e-9


def xbrl_facts(filing: Mapping[str, Any], tags: Sequence[Tag], page_tables: pa.Table) -> pa.Table:
    """The tags of a filing with the cells that they stand in, and what was read of these.

    Args:
        filing: its row of ``filings``; fiscal years are counted from its period.
        tags: as `filings.xbrl.tag_rows` reads them.
        page_tables: its tables.

    Returns:
        Rows of ``xbrl_facts``, in document order.
    """
    anchors = page_tables["anchor"].to_pylist()
    wanted = {tag["cell"] for tag in tags if tag["cell"]}
    inside = page_tables.take(pa.array([at for at, one in enumerate(anchors) if one in wanted], pa.int64()))
    cells = {cell["anchor"]: cell for cell in inside.to_pylist()}
    calendar = _calendar(filing, tags)
    rows = []
    for tag in tags:
        end = tag["period_end"]
        quarter = months_of(tag["period_start"], end) == 3
        row = {
            **tag,
            "filing": filing["filing"],
            "fiscal_year": calendar.year_of(end) if end else None,
            "fiscal_quarter": calendar.quarter_of(end) if end and quarter else None,
        }
        if cell := cells.get(tag["cell"]):
            row["label"] = cell["row_label"]
            if _holds(cell, tag):
                row |= {name: cell[name] for name in _PLACE[1:]}
                row |= {f"read_{name}": cell[key] for name, key in _READ.items()}
        rows.append(row)
    return pa.Table.from_pylist(rows, XBRL_FACTS)


_READ = {"value": "value", "start": "period_start", "end": "period_end"}


def _holds(cell: Mapping[str, Any], tag: Tag) -> bool:
    """Whether a tagged number is that of its cell, and not one inside of a label."""
    printed = 0.0 if cell["kind"] == "missing" else cell["printed"]
    return (
        printed is not None
        and tag["value"] is not None
        # Brackets say what is deducted; a concept may say so already.
        and math.isclose(abs(printed), abs(tag["value"] / tag["scale"]), rel_tol=_SAME)
    )


def _calendar(filing: Mapping[str, Any], tags: Iterable[Tag]) -> FiscalCalendar:
    """The filing's calendar, with the ends of the fiscal years that whole amounts are tagged for."""
    calendar = FiscalCalendar(
        filing.get("fiscal_year"), filing.get("fiscal_quarter"), filing.get("period_end"), filing.get("form")
    )
    if calendar.anchor is None:
        return calendar
    year, last = calendar.anchor
    ends: dict[int, dt.date] = {}
    for tag in tags:
        end = tag["period_end"]
        if end and not tag["members"] and months_of(tag["period_start"], end) == 12:
            back = round((last - end).days / 365.25)
            if abs((last - end).days - 365.25 * back) < 10:
                ends[year - back] = end
    return replace(calendar, year_ends=tuple(sorted(ends.items())))


def take_tags(page_tables: pa.Table, tags: pa.Table) -> tuple[pa.Table, dict[Place, Tag]]:
    """``page_tables`` with values, scales, units and periods as tagged, and the tag of each such cell.

    The sign stays that of the print, as everywhere in statements. Of several tags of one number that with the
    fewest members is taken, so that of the whole company.
    """
    found: dict[Place, Tag] = {}
    for tag in tags.filter(pc.is_valid(tags["row"])).to_pylist():
        place = tag["page"], tag["table"], tag["row"], tag["column"]
        if place not in found or len(tag["members"]) < len(found[place]["members"]):
            found[place] = tag
    columns = zip(*(page_tables[name].to_pylist() for name in _PLACE), strict=True)
    places = {at: found[place] for at, place in enumerate(columns) if place in found}
    printed = page_tables["printed"].to_pylist()
    for name in (name for name in _TAKEN if name in page_tables.column_names):
        values = page_tables[name].to_pylist()
        for at, tag in places.items():
            values[at] = math.copysign(tag[name], printed[at] or 1.0) if name == "value" else tag[name]
        index = page_tables.schema.get_field_index(name)
        field = page_tables.schema.field(index)
        page_tables = page_tables.set_column(index, field, pa.array(values, field.type))
    return page_tables, found


class Agreement(NamedTuple):
    """What was read of a filing beside what is tagged.

    Attributes:
        tagged: numbers that are tagged inside of tables.
        found: those that are the number of a cell.
        values, periods: of these, those of which value in full units, and first and last day, were read so.
    """

    tagged: int
    found: int
    values: int
    periods: int

    def __str__(self) -> str:
        if not self.found:
            return f"none of {self.tagged:,} tagged numbers found in tables"
        value, period = (f"{part / self.found:.3f}" for part in (self.values, self.periods))
        found = f"{self.found:,} of {self.tagged:,} tagged numbers found in tables"
        return f"{found}, value of {value} and period of {period} read as tagged"


def agreement(tags: pa.Table) -> dict[str, Agreement]:
    """How far what was read agrees with what is tagged, by filing; from `AGREEMENT_COLUMNS`."""
    value, period = _agrees(tags)
    found = pc.is_valid(tags["row"])
    inside = pc.and_(pc.is_valid(tags["cell"]), pc.is_valid(tags["page"]))
    counts = {
        "tagged": pc.and_(inside, pc.is_valid(tags["value"])),
        "found": found,
        "values": pc.and_(found, value),
        "periods": pc.and_(found, period),
    }
    by_filing = pa.table({"filing": tags["filing"], **{k: v.cast(pa.int64()) for k, v in counts.items()}})
    summed = by_filing.group_by("filing").aggregate([(name, "sum") for name in counts])
    return {
        row.pop("filing"): Agreement(*(row[f"{name}_sum"] for name in counts)) for row in summed.to_pylist()
    }


def differences(tags: pa.Table, most: int = 10) -> list[str]:
    """The first cells that were read otherwise than they are tagged, in words."""
    wrong = pc.and_(pc.is_valid(tags["row"]), pc.invert(pc.and_(*_agrees(tags))))
    return [
        f"page {tag['page'] + 1}, '{tag['label'] or ''}': "
        f"{_shown(tag['read_value'], tag['read_start'], tag['read_end'])}, tagged "
        f"{_shown(tag['value'], tag['period_start'], tag['period_end'])}"
        for tag in tags.filter(wrong).slice(0, most).to_pylist()
    ]


def _agrees(tags: pa.Table) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Whether value and period of each tag were read so."""
    size, read = pc.abs(tags["value"]), pc.abs(tags["read_value"])
    near = pc.less_equal(pc.abs(pc.subtract(size, read)), pc.multiply(size, _SAME))
    ends = [
        pc.or_(
            pc.fill_null(pc.equal(tags[f"period_{name}"], tags[f"read_{name}"]), False),
            pc.and_(pc.is_null(tags[f"period_{name}"]), pc.is_null(tags[f"read_{name}"])),
        )
        for name in ("start", "end")
    ]
    return pc.fill_null(near, False), pc.and_(*ends)


def _shown(value: float | None, start: dt.date | None, end: dt.date | None) -> str:
    amount = "nothing" if value is None else f"{value:,.10g}"
    return f"{amount} ({f'{start} to {end}' if start else end})"
