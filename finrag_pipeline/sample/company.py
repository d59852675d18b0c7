"""A fictitious company: its identity, its books, and which lines its statements print."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from finrag_pipeline.sample.content import Figures, Line, Theme
from finrag_pipeline.sample.ledger import Chart, Period
from finrag_pipeline.sample.words import cell, day

Value = Callable[[Period], int | Decimal]


@dataclass(frozen=True)
class Row:
    """A line of a statement: its label as printed and where its figure comes from (None: a heading)."""

    label: str
    value: Value | None = None
    kind: str = "line"
    dollar: bool = False
    indent: int = 0


@dataclass(frozen=True)
class Statement:
    """Title and rows of a statement."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Instrument:
    """A borrowing that is on the books at year-ends from ``issued`` to before ``due``."""

    name: str
    principal: int
    issued: int
    due: int


@dataclass(frozen=True)
class Company:
    """Identity, books and house style of a registrant.

    Args:
        key: first part of the names of its filings.
        name: name as the questions write it.
        registrant: exact name as the cover prints it.
        state: state of incorporation.
        ein: employer identification number.
        file_number: commission file number.
        street, city: address of the principal executive offices.
        phone: telephone number.
        ticker: trading symbol.
        exchange: where its shares are listed.
        par: par value clause of its common stock.
        sector: GICS sector.
        unit: millions or thousands, the unit of all amounts in the books.
        note: unit line of the statements.
        span: words above the year columns of the statements.
        chart: accounts and postings.
        years: the fiscal years.
        year_ends: last day of every fiscal year, from the one before the first.
        income, comprehensive, position, cash_flows: the statements.
        equity_rows: (label, items) of the statement of equity.
        equity_labels: heading of each equity account.
        instruments: borrowings; empty where the text names them.
        officers: (name, title) in the order in which they sign.
        auditor: the audit firm.
        theme: house style.
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
    chart: Chart
    years: Mapping[int, Period]
    year_ends: Mapping[int, date]
    income: Statement
    comprehensive: Statement
    position: Statement
    cash_flows: Statement
    equity_title: str
    equity_rows: tuple[tuple[str, tuple[str, ...]], ...]
    equity_labels: Mapping[str, str]
    instruments: tuple[Instrument, ...]
    officers: tuple[tuple[str, str], ...]
    auditor: str
    theme: Theme

    def outstanding(self, year: int) -> list[Instrument]:
        """Borrowings outstanding at the end of ``year``, by maturity."""
        held = [i for i in self.instruments if i.issued <= year < i.due]
        return sorted(held, key=lambda i: (i.due, i.name))


def flow(*keys: str, sign: int = 1) -> Value:
    """Read ``sign`` times the sum over ``keys`` (see :meth:`Period.total`)."""
    return lambda period: sign * period.total(*keys)


def held(*accounts: str) -> Value:
    """Read the closing balance of ``accounts``."""
    return lambda period: period.balance(accounts)


def lines(rows: Sequence[Row], periods: Sequence[Period]) -> list[Line]:
    """Printed lines of ``rows`` with one figure per period; one that is nil in every period is left out."""
    printed = []
    for row in rows:
        if row.value is None:
            printed.append(Line(row.label, (), "heading", indent=row.indent))
            continue
        figures = [row.value(period) for period in periods]
        if any(figures) or row.kind != "line":
            cells = tuple(cell(figure) for figure in figures)
            printed.append(Line(row.label, cells, row.kind, row.dollar, row.indent))
    return printed


def annual_statement(company: Company, statement: Statement, year: int, count: int, mark: str) -> Figures:
    """A statement with ``count`` year columns, newest first; a statement of position is headed by dates."""
    years = range(year, year - count, -1)
    dated = statement is company.position
    return Figures(
        lines(statement.rows, [company.years[y] for y in years]),
        columns=tuple(day(company.year_ends[y]) if dated else str(y) for y in years),
        spans=() if dated else ((company.span, count),),
        title=(company.registrant, statement.title.upper()),
        note=company.note,
        mark=mark,
    )


def equity_statement(company: Company, year: int, count: int, mark: str) -> Figures:
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
        mark=mark,
        label_share=0.34,
    )
