"""Accounting identities of the fictitious companies, over every year and interim period."""

from __future__ import annotations

from decimal import Decimal

import pytest

from finrag_pipeline.sample.company import Company, annual_statement, equity_statement, load_company
from finrag_pipeline.sample.content import Figures
from finrag_pipeline.sample.ledger import CASH, FINANCING, INCOME, INVESTING, OCI, OPERATING, Chart, Period
from finrag_pipeline.sample.templates import debt_table, lease_maturities, property_table, tax_reconciliation

TORVEXLEY, PELLAMOOR, SUNDREVALE = map(load_company, ("torvexley", "pellamoor", "sundrevale"))
COMPANIES = (TORVEXLEY, PELLAMOOR, SUNDREVALE)
YEARS = [(company, year) for company in COMPANIES for year in company.years]
INTERIM = [
    (company, period, company.interim[name].after)
    for company in COMPANIES
    for name, period in company.parts.items()
    if not company.interim[name].less
]
PERIODS = [(c, c.years[y]) for c, y in YEARS] + [(c, p) for c, p, _ in INTERIM]


def figure(text: str) -> Decimal:
    if text == "—":
        return Decimal(0)
    value = Decimal(text.strip("()").replace(",", ""))
    return -value if text.startswith("(") else value


def printed(table: Figures, label: str, column: int = 0) -> Decimal:
    found = [line for line in table.lines if line.label == label and line.cells]
    assert len(found) == 1, label
    return figure(found[0].cells[column])


@pytest.mark.parametrize(("company", "period"), PERIODS)
def test_assets_equal_claims_and_nothing_is_overdrawn(company: Company, period: Period) -> None:
    chart: Chart = company.chart
    assert period.balance(chart.assets) == period.balance(chart.liabilities) + period.balance(chart.equity)
    assert all(period.closing[account] >= 0 for account in chart.assets + chart.liabilities)


@pytest.mark.parametrize(("company", "period"), PERIODS)
def test_cash_flows_explain_the_change_in_cash(company: Company, period: Period) -> None:
    sections = sum(period.total(*keys) for keys in (OPERATING, INVESTING, FINANCING, ("fx.",)))
    assert sections == period.total(*CASH) == period.closing["cash"] - period.opening["cash"]


@pytest.mark.parametrize(("company", "year"), [(c, y) for c, y in YEARS if y - 1 in c.years])
def test_a_year_opens_where_the_last_one_closed(company: Company, year: int) -> None:
    assert company.years[year].opening == company.years[year - 1].closing


@pytest.mark.parametrize(("company", "period", "before"), INTERIM)
def test_interim_periods_open_at_the_year_end(company: Company, period: Period, before: int) -> None:
    assert period.opening == company.years[before].closing


@pytest.mark.parametrize(("company", "year"), YEARS)
def test_retained_earnings_roll_forward(company: Company, year: int) -> None:
    period = company.years[year]
    change = period.closing["retained"] - period.opening["retained"]
    assert change == period.total(*INCOME) + period.total("fin.dividends")
    assert period.closing["aoci"] - period.opening["aoci"] == period.total(*OCI)


def sums_between_subtotals(company: Company, statement: str, year: int) -> list[tuple[str, Decimal, Decimal]]:
    """For each subtotal: its label, its figure and the sum of the plain lines since the last one."""
    table = annual_statement(company, statement, year, 1)
    sums, running = [], Decimal(0)
    for line in table.lines:
        if line.kind == "line":
            running += figure(line.cells[0])
        elif line.kind != "heading":
            sums.append((line.label, figure(line.cells[0]), running))
            running = Decimal(0)
    return sums


@pytest.mark.parametrize(("company", "year"), YEARS)
def test_printed_cash_flow_lines_add_up(company: Company, year: int) -> None:
    sums = sums_between_subtotals(company, "cash_flows", year)
    operating, investing, financing, net, closing = sums
    for _, subtotal, lines in (operating, investing, financing):
        assert subtotal == lines
    # The only line between the financing section and the net change is the effect of exchange rates.
    assert net[1] == operating[1] + investing[1] + financing[1] + net[2]
    assert closing[1] == net[1] + closing[2]
    assert closing[1] == company.years[year].closing["cash"]


@pytest.mark.parametrize(("company", "year"), YEARS)
def test_printed_balance_sheet_adds_up(company: Company, year: int) -> None:
    sums = {
        label: (total, lines) for label, total, lines in sums_between_subtotals(company, "position", year)
    }
    current_assets, rest_assets = sums["Total current assets"], sums["Total assets"]
    assert current_assets[0] == current_assets[1]
    assert rest_assets[0] == current_assets[0] + rest_assets[1]
    current, liabilities = sums["Total current liabilities"], sums["Total liabilities"]
    assert current[0] == current[1]
    assert liabilities[0] == current[0] + liabilities[1]
    equity, everything = list(sums.values())[-2:]
    assert equity[0] == equity[1]
    assert everything[0] == liabilities[0] + equity[0] == rest_assets[0]


@pytest.mark.parametrize("year", TORVEXLEY.years)
def test_printed_income_statement_of_torvexley(year: int) -> None:
    table = annual_statement(TORVEXLEY, "income", year, 1)
    gross = printed(table, "Net sales") - printed(table, "Cost of sales")
    assert printed(table, "Gross profit") == gross
    labels = {line.label for line in table.lines}
    costs = [
        "Selling, general and administrative expenses",
        "Research and development expenses",
        "Amortization of intangible assets",
        *({"Restructuring charges"} & labels),
    ]
    operating = gross - sum(printed(table, label) for label in costs)
    assert printed(table, "Operating income") == operating
    pretax = operating - printed(table, "Interest expense") - printed(table, "Other (income) expense, net")
    assert printed(table, "Income before income taxes") == pretax
    assert printed(table, "Net income") == pretax - printed(table, "Provision for income taxes")


def test_figures_of_torvexley_2022_worked_by_hand() -> None:
    table = annual_statement(TORVEXLEY, "income", 2022, 3)
    assert printed(table, "Net sales") == 1689 + 1207 + 633
    assert printed(table, "Gross profit") == 3529 - 2318
    assert printed(table, "Operating income") == 1211 - 648 - 107 - 61 - 18
    assert printed(table, "Net income") == 377 - 47 + 4 - 70
    # The label stands twice: per share, then the number of shares.
    assert [line.cells[0] for line in table.lines if line.label == "Diluted"] == ["2.92", "90.3"]


@pytest.mark.parametrize("company", COMPANIES)
def test_equity_statement_foots_across_and_down(company: Company) -> None:
    year = max(company.years)
    table = equity_statement(company, year, 3)
    running: list[Decimal] | None = None
    balances = 0
    for line in table.lines:
        figures = [figure(text) for text in line.cells]
        assert figures[-1] == sum(figures[:-1])
        if line.label.startswith("Balance,"):
            assert running is None or running == figures
            running, balances = figures, balances + 1
        else:
            assert running is not None
            running = [a + b for a, b in zip(running, figures, strict=True)]
    assert balances == 4
    assert running is not None
    assert running[-1] == company.years[year].balance(company.chart.equity)


@pytest.mark.parametrize("year", TORVEXLEY.years)
def test_notes_outstanding_equal_the_debt_on_the_balance_sheet(year: int) -> None:
    debt = TORVEXLEY.years[year].balance(("short_debt", "long_debt"))
    assert sum(i.principal for i in TORVEXLEY.outstanding(year)) == debt
    due_next_year = sum(i.principal for i in TORVEXLEY.outstanding(year) if i.due == year + 1)
    assert due_next_year == TORVEXLEY.years[year].closing["short_debt"]


def test_note_tables_agree_with_the_balance_sheet() -> None:
    period = TORVEXLEY.years[2022]
    assert printed(debt_table(TORVEXLEY, 2022), "Long-term debt") == period.closing["long_debt"]
    assert (
        printed(property_table(TORVEXLEY, 2022, [("A", 1), ("B", 2)]), "Property, net")
        == period.closing["ppe"]
    )
    leases = lease_maturities(TORVEXLEY, 2022, ("lease",))
    assert printed(leases, "Total operating lease liabilities") == period.closing["lease"]
    taxes = tax_reconciliation(TORVEXLEY, 2022, [("State", 19)], "Other")
    for column, year in enumerate((2022, 2021, 2020)):
        parts = [figure(line.cells[column]) for line in taxes.lines[:3]]
        assert printed(taxes, "Provision for income taxes", column) == sum(parts)
        assert -TORVEXLEY.years[year].total("tax.") == sum(parts)


def test_stores_roll_forward() -> None:
    for year in (2021, 2022, 2023):
        now, before = PELLAMOOR.years[year].memo, PELLAMOOR.years[year - 1].memo
        assert now["stores"] == before["stores"] + now["stores_opened"] - now["stores_closed"]


def test_fiscal_years_of_pellamoor_end_on_the_last_saturday_of_june() -> None:
    for end in PELLAMOOR.year_ends.values():
        assert (end.month, end.weekday()) == (6, 5)
        assert end.day > 23
