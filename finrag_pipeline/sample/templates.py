"""Filings and questions as Jinja templates, which the books of a company fill with figures.

Tables of the notes (debt, property, inventories, leases, taxes) agree with the statements: down to their
figure, or with one line that takes the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Any

import jinja2

from finrag_pipeline.sample import words
from finrag_pipeline.sample.company import Company, annual_statement, equity_statement, figures
from finrag_pipeline.sample.content import Figures, Line
from finrag_pipeline.sample.ledger import allocate, round_half_up
from finrag_pipeline.sample.words import cell, day, percent


def _lines(rows: Sequence[tuple[str, Sequence[int], str]]) -> list[Line]:
    """Lines of (label, figures, kind); dollar signs stand at the first and at totals."""
    return [
        Line(label, tuple(map(cell, values)), kind, dollar=i == 0 or kind == "total")
        for i, (label, values, kind) in enumerate(rows)
    ]


def _two_years(
    company: Company, year: int, rows: Sequence[tuple[str, Sequence[int], str]], mark: str
) -> Figures:
    return Figures(_lines(rows), tuple(day(company.year_ends[y]) for y in (year, year - 1)), mark=mark)


def debt_table(company: Company, year: int, other: Sequence[tuple[str, int, int]] = ()) -> Figures:
    """Borrowings at two year-ends, down to the long-term part of the balance sheet.

    ``other`` are further lines (label, this year, last year), for example a revolving credit facility.
    """
    held = [company.outstanding(y) for y in (year, year - 1)]
    names = sorted({i.name: i.due for part in held for i in part}.items(), key=lambda pair: pair[1])
    rows = [(name, [sum(i.principal for i in part if i.name == name) for part in held]) for name, _ in names]
    rows += [(label, [now, before]) for label, now, before in other]
    totals = [sum(values) for values in zip(*(values for _, values in rows), strict=True)]
    current = [company.years[y].closing.get("short_debt", 0) for y in (year, year - 1)]
    printed: list[tuple[str, Sequence[int], str]] = [(label, values, "line") for label, values in rows]
    if any(current):
        printed.append(("Total debt", totals, "subtotal"))
        printed.append(("Less: current portion", [-value for value in current], "line"))
    rest = [total - value for total, value in zip(totals, current, strict=True)]
    return _two_years(company, year, [*printed, ("Long-term debt", rest, "total")], "note.debt")


def debt_maturities(company: Company, year: int, other: Sequence[tuple[int, int]] = ()) -> str:
    """Principal due in each of the next five years and after; ``other`` are further (due year, amount)."""
    due = [(i.due, i.principal) for i in company.outstanding(year)] + list(other)
    amounts = {str(y): [amount for when, amount in due if when == y] for y in range(year + 1, year + 6)}
    amounts["Thereafter"] = [amount for when, amount in due if when > year + 5]
    amounts["Total principal payments"] = [amount for _, amount in due]
    rows = [f"| {label} | {cell(sum(part))} |" for label, part in amounts.items()]
    head = ["[note.maturities widths=2,1.2 total]", f"| Year of maturity | Principal ({company.unit}) |"]
    return "\n".join([*head, *rows])


def property_table(company: Company, year: int, classes: Sequence[tuple[str, int]]) -> Figures:
    """Property by class (label, weight), gross, less accumulated depreciation, at two year-ends."""
    periods = [company.years[y] for y in (year, year - 1)]
    worn = [period.memo["accumulated_depreciation"] for period in periods]
    net = [period.closing["ppe"] for period in periods]
    gross = [one + part for one, part in zip(net, worn, strict=True)]
    ends: list[tuple[str, Sequence[int], str]] = [
        ("Gross property", gross, "subtotal"),
        ("Less: accumulated depreciation", [-part for part in worn], "line"),
        ("Property, net", net, "total"),
    ]
    return _two_years(company, year, [*_split(gross, classes), *ends], "note.property")


def split_table(
    company: Company, year: int, account: str, classes: Sequence[tuple[str, int]], total: str, mark: str
) -> Figures:
    """A balance at two year-ends split by class (label, weight)."""
    totals = [company.years[y].closing[account] for y in (year, year - 1)]
    return _two_years(company, year, [*_split(totals, classes), (total, totals, "total")], mark)


def _split(totals: Sequence[int], classes: Sequence[tuple[str, int]]) -> list[tuple[str, Sequence[int], str]]:
    columns = [allocate(total, [weight for _, weight in classes]) for total in totals]
    return [
        (label, parts, "line") for (label, _), parts in zip(classes, zip(*columns, strict=True), strict=True)
    ]


def lease_maturities(
    company: Company,
    year: int,
    accounts: Sequence[str],
    discount: int = 14,
    weights: Sequence[int] = (25, 19, 15, 12, 9, 20),
) -> Figures:
    """Lease payments by year, less imputed interest, down to the balance sheet.

    Args:
        company: whose leases.
        year: the year-end.
        accounts: lease liabilities on the balance sheet.
        discount: imputed interest in percent of the liabilities.
        weights: relative payments of the next five years and after.
    """
    liability = company.years[year].balance(accounts)
    payments = round_half_up(liability * (100 + discount), 100)
    labels = [*(str(y) for y in range(year + 1, year + 6)), "Thereafter"]
    rows = _lines(
        [
            *_split([payments], list(zip(labels, weights, strict=True))),
            ("Total undiscounted lease payments", [payments], "subtotal"),
            ("Less: imputed interest", [liability - payments], "line"),
            ("Total operating lease liabilities", [liability], "total"),
        ]
    )
    return Figures(rows, ("Operating leases",), mark="note.leases")


def tax_reconciliation(company: Company, year: int, parts: Sequence[tuple[str, int]], last: str) -> Figures:
    """From the statutory tax of 21 % to the provision, over three years, with the effective rate.

    Args:
        company: whose taxes.
        year: the latest year.
        parts: (label, tenths of a percent of pretax income) of the items between, signed as the tax.
        last: label of the item that takes the rest.
    """
    years = range(year, year - 3, -1)
    income = [company.years[y]["pretax"] for y in years]
    taxes = [company.years[y]["-tax."] for y in years]
    shares = [("Tax at the federal statutory rate of 21%", 210), *parts]
    rows = [
        (label, [round_half_up(one * tenths, 1000) for one in income], "line") for label, tenths in shares
    ]
    rest = [tax - sum(part) for tax, *part in zip(taxes, *(values for _, values, _ in rows), strict=True)]
    printed = _lines([*rows, (last, rest, "line"), ("Provision for income taxes", taxes, "total")])
    rates = tuple(percent(tax, one) for tax, one in zip(taxes, income, strict=True))
    printed.append(Line("Effective income tax rate", rates))
    return Figures(printed, tuple(map(str, years)), ((company.span, 3),), mark="note.taxes")


_OF_COMPANY = (figures, annual_statement, equity_statement, debt_table, debt_maturities, property_table)
_OF_COMPANY += (split_table, lease_maturities, tax_reconciliation)


def fill(template: str, company: Company, year: int | None = None) -> tuple[str, list[Figures]]:
    """The text of a template on ``company`` and its ``year``, and the tables that ``%0%`` … stand for."""
    tables: list[Figures] = []
    values: dict[str, Any] = {**vars(words), "allocate": allocate}
    values |= {function.__name__: partial(function, company) for function in _OF_COMPANY}
    text = (
        _environment()
        .get_template(template)
        .render(
            values,
            c=company,
            money=partial(words.money, unit=company.unit),
            usd_millions=partial(words.usd_millions, unit=company.unit),
            tables=tables,
            year=year,
            now=company.years.get(year) if year else None,
        )
    )
    return text, tables


@cache
def _environment() -> jinja2.Environment:
    # A name that is misspelt in a template is an error, not an empty string.
    return jinja2.Environment(
        loader=jinja2.PackageLoader("finrag_pipeline.sample"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_place,
    )


@jinja2.pass_context
def _place(context: jinja2.runtime.Context, value: object) -> object:
    """Set a table of figures apart as a block that stands for it."""
    if not isinstance(value, Figures):
        return value
    context["tables"].append(value)
    return f"\n\n%{len(context['tables']) - 1}%\n\n"
