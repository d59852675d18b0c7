"""Rows of ``filings`` of real and invented companies, as the cover pages would give them."""

from __future__ import annotations

import datetime as dt
from typing import Any

Row = dict[str, Any]


def row(
    filing: str,
    company: str | None,
    form: str | None,
    year: int | None,
    end: str | None,
    *,
    ticker: str | None = None,
    quarter: int | None = None,
    **more: Any,
) -> Row:
    return {
        "filing": filing,
        "status": "ok",
        "company": company,
        "form": form,
        "fiscal_year": year,
        "fiscal_quarter": quarter,
        "period_end": dt.date.fromisoformat(end) if end else None,
        "ticker": ticker,
        "declared_company": None,
        "declared_form": None,
        "declared_year": None,
        "declared_quarter": None,
        **more,
    }


ROWS = [
    # Fiscal years named after the year they begin in, as retailers do.
    row("target-21", "TARGET CORPORATION", "10-K", 2021, "2022-01-29", ticker="TGT"),
    row("target-22", "TARGET CORPORATION", "10-K", 2022, "2023-01-28", ticker="TGT"),
    row("target-23q2", "TARGET CORPORATION", "10-Q", 2023, "2023-07-29", ticker="TGT", quarter=2),
    row("gap-22", "THE GAP, INC.", "10-K", 2022, "2023-01-28", ticker="GPS"),
    row("visa-22", "VISA INC.", "10-K", 2022, "2022-09-30", ticker="V"),
    row("apple-22", "Apple Inc.", "10-K", 2022, "2022-09-24", ticker="AAPL"),
    row("apple-23q1", "Apple Inc.", "10-Q", 2023, "2022-12-31", ticker="AAPL", quarter=1),
    row("ford-22", "FORD MOTOR COMPANY", "10-K", 2022, "2022-12-31", ticker="F"),
    row("gm-22", "GENERAL MOTORS COMPANY", "10-K", 2022, "2022-12-31", ticker="GM"),
    row("ge-22", "General Electric Company", "10-K", 2022, "2022-12-31", ticker="GE"),
    row("pg-22", "THE PROCTER & GAMBLE COMPANY", "10-K", 2022, "2022-06-30", ticker="PG"),
    row("att-22", "AT&T INC.", "10-K", 2022, "2022-12-31", ticker="T"),
    row("mcd-22", "McDONALD'S CORPORATION", "10-K", 2022, "2022-12-31", ticker="MCD"),
    row("lowes-22", "LOWE'S COMPANIES, INC.", "10-K", 2022, "2023-02-03", ticker="LOW"),
    row("disney-22", "The Walt Disney Company", "10-K", 2022, "2022-10-01", ticker="DIS"),
    row("homedepot-22", "THE HOME DEPOT, INC.", "10-K", 2022, "2023-01-29", ticker="HD"),
    row("hrblock-23", "H&R BLOCK, INC.", "10-K", 2023, "2023-06-30", ticker="HRB"),
    row("facebook-20", "Facebook, Inc.", "10-K", 2020, "2020-12-31", ticker="FB"),
    row("meta-22", "Meta Platforms, Inc.", "10-K", 2022, "2022-12-31", ticker="META"),
    row("dominion-22", "DOMINION ENERGY, INC.", "10-K", 2022, "2022-12-31", ticker="D"),
    row("dominion-sc-22", "DOMINION ENERGY SOUTH CAROLINA, INC.", "10-K", 2022, "2022-12-31"),
    row("chipotle-22", "CHIPOTLE MEXICAN GRILL, INC.", "10-K", 2022, "2022-12-31", ticker="CMG"),
    row("panam-79", "Pan American World Airways, Inc.", "10-K", 1979, "1979-12-31"),
    row("ussteel-22", "UNITED STATES STEEL CORPORATION", "10-K", 2022, "2022-12-31", ticker="X"),
    # Invented.
    row("zephyrion-20", "ZEPHYRION FOODS INTERNATIONAL, INC.", "10-K", 2020, "2020-12-31", ticker="ZPFI"),
    row("zephyrion-21", "ZEPHYRION FOODS INTERNATIONAL, INC.", "10-K", 2021, "2021-12-31", ticker="ZPFI"),
    row("zephyrion-22", "Zephyrion Foods International, Inc.", "10-K", 2022, "2022-12-31", ticker="ZPFI"),
    row("zephyrion-22q4", "Zephyrion Foods", "EARNINGS", 2022, "2022-12-31", ticker="ZPFI", quarter=4),
    row("zephyrion-23q1", "Zephyrion Foods", "EARNINGS", 2023, "2023-03-31", ticker="ZPFI", quarter=1),
    row(
        "zephyrion-23q2",
        "Zephyrion Foods International, Inc.",
        "10-Q",
        2023,
        "2023-06-30",
        ticker="ZPFI",
        quarter=2,
    ),
    row("zephyrion-agm", "Zephyrion Foods International, Inc.", "8-K", 2023, "2023-05-03", ticker="ZPFI"),
    row("zephyrion-loan", "Zephyrion Foods International, Inc.", "8-K", 2023, "2023-05-26", ticker="ZPFI"),
    row("quillmark-21", "Quillmark.com plc", "20-F", 2021, "2021-12-31"),
    row("quillmark-22", "QUILLMARK.COM PLC", "20-F", 2022, "2022-12-31"),
    # The first 8-K has an earnings release behind its cover.
    row("torvexley-q3", "TORVEXLEY INDUSTRIES, INC.", "8-K", 2023, "2023-09-30", ticker="TVXL", quarter=3),
    row("torvexley-loan", "TORVEXLEY INDUSTRIES, INC.", "8-K", 2023, "2023-10-12", ticker="TVXL"),
    row("broken", "BROKEN CORP", "10-K", 2022, "2022-12-31", status="failed"),
]

COVERS = {
    "facebook-20": "Commission File Number: 001-35551\nFacebook, Inc.\n(Exact name of registrant)",
    "meta-22": "Commission File Number: 001-35551\nMeta Platforms, Inc.\n(Exact name of registrant)",
    "torvexley-q3": "FORM 8-K\nNovember 2, 2023\nItem 2.02 Results of Operations and Financial Condition.",
    "zephyrion-agm": "FORM 8-K\nMay 3, 2023\nItem 5.07 Submission of Matters to a Vote of Security Holders.",
    "zephyrion-loan": (
        "FORM 8-K\nMay 26, 2023\nZephyrion Foods International, Inc.\nItem 1.01 Entry into a Material Definitive"
        " Agreement. On May 26, 2023 ... Item 2.03. May 30, 2023"
    ),
    "quillmark-22": 'QUILLMARK.COM PLC (formerly known as Brindlewick Holdings plc) ("QMK" or the "Company")',
}
