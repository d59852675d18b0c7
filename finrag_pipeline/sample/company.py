"""A fictitious company as its file in ``companies`` describes it: identity, books and printed statements."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from pydantic import TypeAdapter

from finrag_pipeline.sample.content import Figures, Line, Theme
from finrag_pipeline.sample.ledger import Chart, Period, post, share_of, year_columns
from finrag_pipeline.sample.words import NIL, cell, day, percent

COMPANIES = ("torvexley", "pellamoor", "sundrevale")
"""The companies of the sample, in the order of their questions."""


@dataclass(frozen=True)
class Statement:
    """A financial table.

    Args:
        rows: (label, keys, style) each. Two spaces before a label indent it. The keys, separated by spaces,
            are what `Period.total` adds up, or name a figure per share, or are two such sums around a slash
            for a percentage; a row without keys is a heading. The style holds ``subtotal`` or ``total``, and
            ``$`` where dollar signs are printed.
        title: title of a statement; the tables of the notes have none.
        note: its unit line, where it differs from the company's.
    """

    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    note: str | None = None


@dataclass(frozen=True)
class Instrument:
    """A borrowing that is on the books at year-ends from ``issued`` to before ``due``."""

    name: str
    principal: int
    issued: int
    due: int


@dataclass(frozen=True)
class Books:
    """Accounts of a company over its fiscal years.

    Args:
        first_year: year of the first column of ``flows`` and ``memo``.
        plug: equity account that takes the rest of the opening balance sheet.
        opening: balance per account before the first year.
        flows: amounts per item, a column per year, signed by their effect on cash.
        shares: basic and diluted average shares per year, in the unit of the statements.
        memo: figures outside the books, a column per year.
    """

    chart: Chart
    first_year: int
    plug: str
    opening: Mapping[str, int]
    flows: Mapping[str, tuple[int, ...]]
    shares: Mapping[int, tuple[Decimal, Decimal]]
    memo: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Interim:
    """Part of a year: a share of a year's flows with some given in full, or one part less another.

    Args:
        after: the year at whose end it starts.
        of: the year of whose flows it takes ``percent``.
        flows: items given in full.
        less: two other parts, of which this is the difference.
    """

    after: int = 0
    of: int = 0
    percent: int = 0
    flows: Mapping[str, int] | None = None
    shares: tuple[Decimal, Decimal] = (Decimal(0), Decimal(0))
    memo: Mapping[str, int] | None = None
    less: tuple[str, str] | None = None


@dataclass(frozen=True)
class Company:
    """Identity, books and house style of a registrant.

    Args:
        key: first part of the names of its filings.
        registrant: exact name as the cover prints it.
        unit: millions or thousands, the unit of all amounts in the books.
        span: words above the year columns of the statements.
        year_ends: last day of every fiscal year, from the one before the first.
        interim: quarters and halves by name.
        statements: statements and other tables of its books by name.
        equity_rows: (label, items) of the statement of equity.
        equity_labels: heading of each equity account.
        instruments: borrowings; empty where the text names them.
        annual: what an annual report says beyond the books, per fiscal year.
        wording: names and amounts that filings and questions share.
    """

    key: str
    name: str
    registrant: str
    state: str
    ein: str
    file_number: str
    street: str
    city: str
    phone: str
    ticker: str
    exchange: str
    par: str
    sector: str
    unit: str
    note: str
    span: str
    year_ends: Mapping[int, date]
    books: Books
    interim: Mapping[str, Interim]
    statements: Mapping[str, Statement]
    equity_title: str
    equity_rows: tuple[tuple[str, tuple[str, ...]], ...]
    equity_labels: Mapping[str, str]
    instruments: tuple[Instrument, ...]
    officers: tuple[tuple[str, str], ...]
    auditor: str
    theme: Theme
    annual: Mapping[int, Mapping[str, Any]]
    wording: Mapping[str, Any]

    @property
    def chart(self) -> Chart:
        """Accounts and postings."""
        return self.books.chart

    @cached_property
    def years(self) -> Mapping[int, Period]:
        """The fiscal years, each opening where the last one closed."""
        books, years = self.books, dict[int, Period]()
        opening = books.chart.open(books.plug, books.opening)
        memo = year_columns(books.memo, books.first_year)
        for year, flows in year_columns(books.flows, books.first_year).items():
            years[year] = post(books.chart, opening, flows, books.shares[year], memo[year])
            opening = years[year].closing
        return years

    @cached_property
    def parts(self) -> Mapping[str, Period]:
        """The interim periods by name."""
        parts: dict[str, Period] = {}
        for name, part in self.interim.items():
            if part.less:
                parts[name] = parts[part.less[0]].less(parts[part.less[1]])
                continue
            flows = {**share_of(self.years[part.of].flows, part.percent), **(part.flows or {})}
            parts[name] = post(self.chart, self.years[part.after].closing, flows, part.shares, part.memo)
        return parts

    def outstanding(self, year: int) -> list[Instrument]:
        """Borrowings outstanding at the end of ``year``, by maturity."""
        held = [i for i in self.instruments if i.issued <= year < i.due]
        return sorted(held, key=lambda i: (i.due, i.name))


@cache
def load_company(name: str) -> Company:
    """The company of the file ``name``."""
    path = files("finrag_pipeline.sample") / "companies" / f"{name}.toml"
    return TypeAdapter(Company).validate_python(tomllib.loads(path.read_text(encoding="utf-8")))


def _figure(period: Period, keys: str) -> int | Decimal:
    if keys in ("eps", "eps_diluted", "basic", "diluted"):
        return Decimal(getattr(period, keys))
    return period.total(*keys.split())


def _printed(period: Period, keys: str) -> str:
    part, _, whole = keys.partition(" / ")
    return percent(_figure(period, part), _figure(period, whole)) if whole else cell(_figure(period, part))


def figures(
    company: Company,
    name: str,
    periods: Sequence[Period],
    columns: Sequence[str],
    spans: Sequence[tuple[str, int]] = (),
    title: Sequence[str] = (),
    note: str | None = None,
    mark: str | None = None,
) -> Figures:
    """A statement of ``company`` with a column per period; a plain line that is nil in all is left out.

    Args:
        company: whose books.
        name: which of its statements.
        periods: left to right.
        columns: heading of each.
        spans: headings over groups of columns: (text, number of columns).
        title: lines above it; the tables of notes have none.
        note: its unit line; None: the statement's own, or else the company's.
        mark: name under which its place is recorded; None: its own name.
    """
    statement = company.statements[name]
    printed = []
    for indented, *rest in statement.rows:
        label = indented.lstrip()
        indent = (len(indented) - len(label)) // 2
        if not rest:
            printed.append(Line(label, (), "heading", indent=indent))
            continue
        keys, style = rest[0], rest[1].split() if len(rest) > 1 else []
        kind = next((kind for kind in ("subtotal", "total") if kind in style), "line")
        cells = tuple(_printed(period, keys) for period in periods)
        if kind != "line" or set(cells) != {NIL}:
            printed.append(Line(label, cells, kind, "$" in style, indent))
    return Figures(
        printed,
        columns=tuple(columns),
        spans=tuple(spans),
        title=tuple(title),
        note=next(text for text in (note, statement.note, company.note) if text is not None),
        mark=mark or name,
    )


def annual_statement(company: Company, name: str, year: int, count: int) -> Figures:
    """A statement with ``count`` year columns, newest first; a statement of position is headed by dates."""
    years = range(year, year - count, -1)
    title, dated = company.statements[name].title.upper(), name == "position"
    return figures(
        company,
        name,
        [company.years[y] for y in years],
        [day(company.year_ends[y]) if dated else str(y) for y in years],
        () if dated else ((company.span, count),),
        (company.registrant, title) if title else (),
    )


def equity_statement(company: Company, year: int, count: int) -> Figures:
    """Changes in each equity account over ``count`` years, oldest first."""
    accounts = company.chart.equity
    printed: list[Line] = []

    def add(label: str, amounts: Mapping[str, int], kind: str = "line") -> None:
        figures = [amounts[a] for a in accounts]
        if any(figures):
            cells = tuple(cell(value) for value in (*figures, sum(figures)))
            printed.append(Line(label, cells, kind, dollar=kind != "line"))

    first = year - count + 1
    add(f"Balance, {day(company.year_ends[first - 1])}", company.years[first].opening, "opening")
    for y in range(first, year + 1):
        period = company.years[y]
        nothing = dict.fromkeys(period.opening, 0)
        for label, keys in company.equity_rows:
            part = {item: v for item, v in period.flows.items() if item.startswith(keys)}
            add(label, company.chart.close(nothing, part))
        add(f"Balance, {day(company.year_ends[y])}", period.closing, "total" if y == year else "subtotal")
    return Figures(
        printed,
        columns=(*(company.equity_labels[a] for a in accounts), "Total"),
        title=(company.registrant, company.equity_title.upper()),
        note=company.note,
        mark="equity",
        label_share=0.34,
    )
