"""Tables of the notes that every company has: debt, property, inventories, leases and taxes."""

from __future__ import annotations

from collections.abc import Sequence

from finrag_pipeline.sample.company import Company
from finrag_pipeline.sample.content import Figures, Line, Ruled
from finrag_pipeline.sample.ledger import allocate, round_half_up
from finrag_pipeline.sample.words import cell, day, percent


def _two_years(company: Company, year: int) -> tuple[str, str]:
    return day(company.year_ends[year]), day(company.year_ends[year - 1])


def debt_table(company: Company, year: int, other: Sequence[tuple[str, int, int]] = ()) -> Figures:
    """Borrowings at two year-ends, down to the long-term part of the balance sheet.

    Args:
        company: whose debt.
        year: the later year.
        other: further lines (label, this year, last year), for example a revolving credit facility.
    """
    now, before = company.outstanding(year), company.outstanding(year - 1)
    names = sorted({i.name: i.due for i in (*now, *before)}.items(), key=lambda pair: pair[1])
    rows = [
        (
            name,
            sum(i.principal for i in now if i.name == name),
            sum(i.principal for i in before if i.name == name),
        )
        for name, _ in names
    ]
    rows += other
    totals = (sum(row[1] for row in rows), sum(row[2] for row in rows))
    printed = [Line(r[0], (cell(r[1]), cell(r[2])), dollar=i == 0) for i, r in enumerate(rows)]
    years = company.years[year], company.years[year - 1]
    current = [p.closing.get("short_debt", 0) for p in years]
    if any(current):
        printed.append(Line("Total debt", tuple(map(cell, totals)), "subtotal"))
        printed.append(Line("Less: current portion", tuple(cell(-value) for value in current)))
    long_term = [total - value for total, value in zip(totals, current, strict=True)]
    printed.append(Line("Long-term debt", tuple(map(cell, long_term)), "total", dollar=True))
    return Figures(printed, _two_years(company, year), mark="note.debt")


def debt_maturities(company: Company, year: int, other: Sequence[tuple[int, int]] = ()) -> Ruled:
    """Principal due in each of the next five years and after; ``other`` are further (due year, amount)."""
    due = [(i.due, i.principal) for i in company.outstanding(year)] + list(other)
    rows = [
        (str(y), cell(sum(amount for when, amount in due if when == y))) for y in range(year + 1, year + 6)
    ]
    rows.append(("Thereafter", cell(sum(amount for when, amount in due if when > year + 5))))
    rows.append(("Total principal payments", cell(sum(amount for _, amount in due))))
    return Ruled(
        ("Year of maturity", f"Principal ({company.unit})"),
        rows,
        mark="note.maturities",
        widths=(2, 1.2),
        total=True,
    )


def property_table(company: Company, year: int, classes: Sequence[tuple[str, int]]) -> Figures:
    """Property by class (label, weight), gross, less accumulated depreciation, at two year-ends."""
    columns = []
    for y in (year, year - 1):
        period = company.years[y]
        worn = period.memo["accumulated_depreciation"]
        columns.append((allocate(period.closing["ppe"] + worn, [weight for _, weight in classes]), worn))
    printed = [
        Line(label, tuple(cell(parts[i]) for parts, _ in columns), dollar=i == 0)
        for i, (label, _) in enumerate(classes)
    ]
    printed.append(Line("Gross property", tuple(cell(sum(parts)) for parts, _ in columns), "subtotal"))
    printed.append(Line("Less: accumulated depreciation", tuple(cell(-worn) for _, worn in columns)))
    net = tuple(cell(sum(parts) - worn) for parts, worn in columns)
    printed.append(Line("Property, net", net, "total", dollar=True))
    return Figures(printed, _two_years(company, year), mark="note.property")


def split_table(
    company: Company, year: int, account: str, classes: Sequence[tuple[str, int]], total: str, mark: str
) -> Figures:
    """A balance at two year-ends split by class (label, weight)."""
    columns = [
        allocate(company.years[y].closing[account], [weight for _, weight in classes])
        for y in (year, year - 1)
    ]
    printed = [
        Line(label, tuple(cell(parts[i]) for parts in columns), dollar=i == 0)
        for i, (label, _) in enumerate(classes)
    ]
    printed.append(Line(total, tuple(cell(sum(parts)) for parts in columns), "total", dollar=True))
    return Figures(printed, _two_years(company, year), mark=mark)


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
    parts = allocate(payments, weights)
    labels = [*(str(y) for y in range(year + 1, year + 6)), "Thereafter"]
    printed = [
        Line(label, (cell(part),), dollar=i == 0)
        for i, (label, part) in enumerate(zip(labels, parts, strict=True))
    ]
    printed.append(Line("Total undiscounted lease payments", (cell(payments),), "subtotal"))
    printed.append(Line("Less: imputed interest", (cell(liability - payments),)))
    printed.append(Line("Total operating lease liabilities", (cell(liability),), "total", dollar=True))
    return Figures(printed, ("Operating leases",), mark="note.leases")


def tax_reconciliation(company: Company, year: int, parts: Sequence[tuple[str, int]], last: str) -> Figures:
    """From the statutory tax of 21 % to the provision, over three years, with the effective rate.

    Args:
        company: whose taxes.
        year: the latest year.
        parts: (label, tenths of a percent of pretax income) of the items between, signed as the tax.
        last: label of the item that takes the rest.
    """
    columns = []
    for y in range(year, year - 3, -1):
        period = company.years[y]
        tax = -period.total("tax.")
        figures = [round_half_up(period["pretax"] * 21, 100)]
        figures += [round_half_up(period["pretax"] * tenths, 1000) for _, tenths in parts]
        rate = percent(tax, period["pretax"])
        columns.append(([*figures, tax - sum(figures), tax], rate))
    labels = ["Tax at the federal statutory rate of 21%", *(label for label, _ in parts), last]
    printed = [
        Line(label, tuple(cell(figures[i]) for figures, _ in columns), dollar=i == 0)
        for i, label in enumerate(labels)
    ]
    provision = tuple(cell(figures[-1]) for figures, _ in columns)
    printed.append(Line("Provision for income taxes", provision, "total", dollar=True))
    printed.append(Line("Effective income tax rate", tuple(rate for _, rate in columns)))
    years = tuple(str(y) for y in range(year, year - 3, -1))
    return Figures(printed, years, ((company.span, 3),), mark="note.taxes")
