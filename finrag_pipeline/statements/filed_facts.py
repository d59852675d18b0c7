"""Facts of filings as calculations take them, and what matters of the filings they come from."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import pyarrow as pa

from finrag_pipeline.errors import LakeError
from finrag_pipeline.filings.forms import ANNUAL, EARNINGS, form_family
from finrag_pipeline.tables.fiscal_calendar import months_of

SCOPES = ("primary", "condensed", "summary", "mdna", "note")
"""Where facts are taken from, best first; those of the parent alone or of other entities never are."""

DISAGREE = 0.0005
"""Relative difference from which two facts contradict each other; less is rounding."""

WEEK = 8
"""Days by which two days of a calendar of weeks may differ and still be one."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A row of ``statement_facts``; see its schema."""

    fact_id: str
    filing: str
    statement: str
    scope: str
    concept: str | None
    line: str | None
    label: str
    path: tuple[str, ...]
    qualifier: str | None
    period_start: dt.date | None
    period_end: dt.date | None
    period_kind: str | None
    fiscal_year: int | None
    fiscal_quarter: int | None
    value: float
    unit: str
    currency: str | None
    printed: str
    scale: float
    page: int
    row: int
    column: int
    box: tuple[float, float, float, float] | None

    @property
    def months(self) -> int | None:
        """Length in months, quarters of weeks counted as three; None for an instant."""
        return months_of(self.period_start, self.period_end)

    def cited(self) -> dict[str, Any]:
        """Where it stands, for programs: ``page`` is zero-based, ``page_label`` counts from one."""
        place = {"filing": self.filing, "page": self.page, "page_label": str(self.page + 1)}
        return {**place, "fact_id": self.fact_id}


_BOX = ("x0", "y0", "x1", "y1")
FACT_COLUMNS = [*(one.name for one in fields(Fact) if one.name != "box"), *_BOX]


@dataclass(frozen=True, slots=True)
class FilingInfo:
    """What matters of a filing; see the schema ``filings``."""

    filing: str
    form: str | None
    fiscal_year: int | None
    fiscal_quarter: int | None
    period_end: dt.date | None
    source: str = "pdf"
    filed: dt.date | None = None

    @property
    def annual(self) -> bool:
        """Whether it shows a whole year."""
        family = form_family(self.form, self.fiscal_quarter)
        return family == ANNUAL or (family == EARNINGS and self.fiscal_quarter == 4)

    @property
    def own_place(self) -> int | None:
        """Quarters from the year 0 to the end of its period; None of what reports on none."""
        quarter = 4 if self.annual else self.fiscal_quarter
        return 4 * self.fiscal_year + quarter if self.fiscal_year and quarter else None

    @property
    def newness(self) -> tuple[int, bool]:
        """Of two filings the one of the later period has the greater; an amendment follows what it amends."""
        end = self.period_end.toordinal() if self.period_end else 0
        return end, bool(self.form and self.form.endswith("/A"))


def newest_last(infos: Collection[FilingInfo]) -> dict[str, tuple[int, int, bool]]:
    """What puts filings of a company, by their names, in the order in which they were filed.

    Where not all of them tell the day, that is the order of their periods.
    """
    days = [info.filed.toordinal() if info.filed else 0 for info in infos]
    return {info.filing: (day * all(days), *info.newness) for info, day in zip(infos, days, strict=True)}


def checked_facts(table: pa.Table) -> pa.Table:
    """The same rows of ``statement_facts``.

    Raises:
        LakeError: they were made by another version, which had other columns.
    """
    if missing := sorted(set(FACT_COLUMNS) - set(table.column_names)):
        raise LakeError(
            f"The facts of the lake were made by another version: no column {', '.join(missing)}.",
            "Run 'finrag run', which makes them anew.",
        )
    return table


def read_facts(table: pa.Table) -> list[Fact]:
    """Rows of ``statement_facts`` as facts, without those of the parent alone and of other entities.

    Raises:
        LakeError: as `checked_facts`.
    """
    facts = []
    for row in checked_facts(table).select(FACT_COLUMNS).to_pylist():
        if row["scope"] not in SCOPES or row["period_end"] is None:
            continue
        edges = tuple(row.pop(edge) for edge in _BOX)
        box = None if None in edges else edges
        facts.append(Fact(**(row | {"path": tuple(row["path"] or ()), "box": box})))
    return facts


def read_info(row: Mapping[str, Any]) -> FilingInfo:
    """What matters of a row of ``filings``; what its cover does not say is taken as declared."""
    end = row.get("period_end")
    year, quarter = (
        row.get(f"declared_{name}") if row.get(f"fiscal_{name}") is None else row[f"fiscal_{name}"]
        for name in ("year", "quarter")
    )
    return FilingInfo(
        str(row["filing"]),
        row.get("form") or row.get("declared_form"),
        year,
        quarter,
        end.date() if isinstance(end, dt.datetime) else end,
        str(row.get("source") or "pdf"),
        row.get("filed"),
    )


def align_balances(info: FilingInfo, facts: Sequence[Fact]) -> Sequence[Fact]:
    """Facts with the columns of a balance sheet at the filing's own year-end.

    Above columns '2022' and '2021' a statement may print 'at January 1, 2023 and January 2, 2022'; read
    column by column, that gives days a year too early. The latest column is the end of the year reported.
    """
    if form_family(info.form) != ANNUAL or info.period_end is None:
        return facts
    sheet = {
        id(fact) for fact in facts if fact.statement == "financial_position" and fact.period_kind == "instant"
    }
    ends = [fact.period_end for fact in facts if id(fact) in sheet and fact.scope == "primary"]
    latest = max(filter(None, ends), default=None)
    if latest is None or abs((info.period_end - latest).days - 365) > WEEK:
        return facts
    behind = info.period_end - latest
    return [
        replace(fact, period_end=fact.period_end + behind, fiscal_year=fact.fiscal_year + 1)
        if id(fact) in sheet and fact.period_end and fact.fiscal_year is not None
        else fact
        for fact in facts
    ]


def disagree(one: float, other: float) -> bool:
    """Whether two figures of one thing contradict each other; its sign is printed either way."""
    return abs(abs(one) - abs(other)) > DISAGREE * max(abs(one), 1e-9)


Row = Mapping[str, Any]


def shown_otherwise(facts: Iterable[Row], filing: str) -> list[tuple[Row, Row]]:
    """Figures of the primary statements of a filing that another one shows differently, each with that one's.

    Args:
        facts: rows of ``statement_facts`` of filings of one company.
        filing: the one of them whose figures are compared.
    """
    figures: dict[tuple[Any, ...], dict[str, Row]] = defaultdict(dict)
    for fact in facts:
        name = fact["line"] or fact["concept"]
        if name and fact["scope"] == "primary" and fact["qualifier"] is None and fact["period_end"]:
            key = (name, *(fact[part] for part in ("statement", "unit", "period_start", "period_end")))
            figures[key].setdefault(fact["filing"], fact)
    return [
        (shown[filing], other)
        for shown in figures.values()
        for other in shown.values()
        if filing in shown and disagree(shown[filing]["value"], other["value"])
    ]
