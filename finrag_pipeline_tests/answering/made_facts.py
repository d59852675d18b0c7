"""A made-up company's filings and facts, small enough to compute by hand (amounts in millions)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from finrag_pipeline.answering.calculator import Calculator
from finrag_pipeline.resolver.resolver import Resolver
from finrag_pipeline.schemas import STATEMENT_FACTS

INCOME, POSITION, FLOWS = "income_statement", "financial_position", "cash_flows"
MILLION = 1e6

Row = tuple[str, str | None, str, Mapping[int, float]]
"""Statement, concept, printed label, and millions by fiscal year."""

ROWS: tuple[Row, ...] = (
    (INCOME, "Revenues", "Net sales", {2019: 1000, 2020: 1200, 2021: 1500}),
    (INCOME, "CostOfRevenue", "Cost of goods sold", {2019: -600, 2020: -700, 2021: -900}),
    (INCOME, "ResearchAndDevelopmentExpense", "Research and development", {2019: 50, 2020: 60, 2021: 75}),
    (INCOME, "OperatingIncomeLoss", "Operating income", {2019: 200, 2020: 240, 2021: 330}),
    (INCOME, "InterestExpense", "Interest expense", {2019: -20, 2020: -24, 2021: -30}),
    (
        INCOME,
        "IncomeLossFromContinuingOperationsBeforeIncomeTaxesExtraordinaryItemsNoncontrollingInterest",
        "Income before income taxes",
        {2019: 180, 2020: 216, 2021: 300},
    ),
    (INCOME, "IncomeTaxExpenseBenefit", "Provision for income taxes", {2019: 45, 2020: 54, 2021: 75}),
    (INCOME, "NetIncomeLoss", "Net income", {2019: 135, 2020: 162, 2021: 225}),
    (FLOWS, "NetIncomeLoss", "Net income", {2019: 135, 2020: 162, 2021: 225}),
    (FLOWS, "DepreciationDepletionAndAmortization", "Depreciation", {2019: 70, 2020: 80, 2021: 90}),
    (FLOWS, "AmortizationOfIntangibleAssets", "Amortization of intangibles", {2019: 5, 2020: 5, 2021: 10}),
    (
        FLOWS,
        "NetCashProvidedByUsedInOperatingActivities",
        "Net cash from operations",
        {2019: 210, 2020: 250, 2021: 310},
    ),
    (
        FLOWS,
        "PaymentsToAcquirePropertyPlantAndEquipment",
        "Capital expenditures",
        {2019: -80, 2020: -90, 2021: -110},
    ),
    (FLOWS, "PaymentsOfDividends", "Dividends paid", {2019: -40, 2020: -45, 2021: -90}),
    (POSITION, "CashAndCashEquivalentsAtCarryingValue", "Cash and cash equivalents", {2020: 100, 2021: 150}),
    (POSITION, "ReceivablesNetCurrent", "Accounts receivable, net", {2020: 110, 2021: 140}),
    (POSITION, "InventoryNet", "Inventories", {2020: 160, 2021: 200}),
    (POSITION, "AssetsCurrent", "Total current assets", {2020: 400, 2021: 520}),
    (POSITION, "PropertyPlantAndEquipmentNet", "Property and equipment, net", {2020: 500, 2021: 700}),
    (POSITION, "Assets", "Total assets", {2020: 1100, 2021: 1400}),
    (POSITION, "AccountsPayableCurrent", "Accounts payable", {2020: 90, 2021: 110}),
    (POSITION, "LiabilitiesCurrent", "Total current liabilities", {2020: 250, 2021: 260}),
    (POSITION, "LongTermDebtNoncurrent", "Long-term debt", {2020: 300, 2021: 340}),
    (POSITION, "StockholdersEquity", "Total shareholders' equity", {2020: 500, 2021: 640}),
    (POSITION, None, "Film library", {2020: 21, 2021: 33}),
)

OLDER: tuple[Row, ...] = (
    (INCOME, "Revenues", "Net sales", {2018: 900, 2019: 1000, 2020: 1190}),
    (INCOME, "NetIncomeLoss", "Net income", {2018: 120, 2019: 135, 2020: 162}),
    (POSITION, "InventoryNet", "Inventories", {2019: 140, 2020: 160}),
)


def fact(
    filing: str,
    statement: str,
    concept: str | None,
    label: str,
    value: float,
    start: dt.date | None,
    end: dt.date,
    *,
    year: int,
    quarter: int | None = None,
    row: int = 0,
    page: int = 3,
    scope: str = "primary",
    unit: str = "currency",
    scale: float = MILLION,
) -> dict[str, Any]:
    printed = value / scale
    return {
        "fact_id": f"{filing}-{page}-{statement}-{row}-{end}-{start}",
        "filing": filing,
        "statement": statement,
        "scope": scope,
        "concept": concept,
        "line": concept,
        "label": label,
        "path": [label],
        "qualifier": None,
        "period_start": start,
        "period_end": end,
        "period_kind": "duration" if start else "instant",
        "fiscal_year": year,
        "fiscal_quarter": quarter,
        "value": value,
        "unit": unit,
        "currency": "USD",
        "printed": f"({-printed:g})" if printed < 0 else f"{printed:g}",
        "source": "table",
        "scale": scale,
        "scale_source": "In millions",
        "page": page,
        "table": 0,
        "row": row,
        "column": 1,
        "x0": 10.0,
        "y0": 20.0 + row,
        "x1": 50.0,
        "y1": 28.0 + row,
    }


def annual(filing: str, rows: Sequence[Row]) -> list[dict[str, Any]]:
    pages = {INCOME: 3, POSITION: 4, FLOWS: 5}
    return [
        fact(
            filing,
            statement,
            concept,
            label,
            millions * MILLION,
            None if statement == POSITION else dt.date(year, 1, 1),
            dt.date(year, 12, 31),
            year=year,
            row=place,
            page=pages[statement],
        )
        for place, (statement, concept, label, years) in enumerate(rows)
        for year, millions in years.items()
    ]


def filing_row(filing: str, company: str, form: str, year: int, end: dt.date, **more: Any) -> dict[str, Any]:
    return {
        "filing": filing,
        "status": "ok",
        "company": company,
        "form": form,
        "fiscal_year": year,
        "fiscal_quarter": None,
        "period_end": end,
        "source": "pdf",
        **more,
    }


def table(facts: Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(facts), schema=STATEMENT_FACTS)


def quarter() -> list[dict[str, Any]]:
    name = "ZOLTEK_2022Q2_10Q"
    day = dt.date
    return [
        fact(
            name,
            INCOME,
            "Revenues",
            "Net sales",
            420e6,
            day(2022, 4, 1),
            day(2022, 6, 30),
            year=2022,
            quarter=2,
        ),
        fact(
            name, INCOME, "Revenues", "Net sales", 800e6, day(2022, 1, 1), day(2022, 6, 30), year=2022, row=1
        ),
        fact(
            name,
            FLOWS,
            "NetCashProvidedByUsedInOperatingActivities",
            "Net cash from operations",
            130e6,
            day(2022, 1, 1),
            day(2022, 6, 30),
            year=2022,
            row=2,
        ),
        fact(name, POSITION, "Assets", "Total assets", 1450e6, None, day(2022, 6, 30), year=2022, row=3),
        fact(name, POSITION, "Assets", "Total assets", 1400e6, None, day(2021, 12, 31), year=2021, row=4),
    ]


FILINGS = (
    filing_row(
        "ZOLTEK_2021_10K", "Zoltek Industries, Inc.", "10-K", 2021, dt.date(2021, 12, 31), ticker="ZTK"
    ),
    filing_row(
        "ZOLTEK_2020_10K", "Zoltek Industries, Inc.", "10-K", 2020, dt.date(2020, 12, 31), ticker="ZTK"
    ),
    filing_row(
        "ZOLTEK_2022Q2_10Q",
        "Zoltek Industries, Inc.",
        "10-Q",
        2022,
        dt.date(2022, 6, 30),
        ticker="ZTK",
        fiscal_quarter=2,
    ),
    filing_row("BREXO_2021_10K", "Brexo Foods Corp", "10-K", 2021, dt.date(2021, 12, 31)),
)


def calculator(
    facts: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    filings: Sequence[Mapping[str, Any]] = FILINGS,
) -> Calculator:
    made = facts or {
        "ZOLTEK_2021_10K": annual("ZOLTEK_2021_10K", ROWS),
        "ZOLTEK_2020_10K": annual("ZOLTEK_2020_10K", OLDER),
        "ZOLTEK_2022Q2_10Q": quarter(),
        "BREXO_2021_10K": annual("BREXO_2021_10K", ROWS[:2]),
    }
    tables = {name: table(rows) for name, rows in made.items()}
    return Calculator(filings, tables, tables.__getitem__, Resolver(filings))
