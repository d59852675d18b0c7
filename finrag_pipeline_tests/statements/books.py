"""Made-up statements as rows of ``page_tables``."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from finrag_pipeline.schemas import PAGE_TABLES

FILING = "MADEUP_2021_10K"
YEARS = (2021, 2020)

Line = tuple[Any, ...]
"""Label (or ``heading > label``) and one printed number per column; a heading has none."""


def number(text: str) -> float | None:
    """The number a cell prints, dashes as zero; None for words."""
    bare = text.replace("$", "").replace(",", "").strip()
    if bare in ("—", "-"):
        return 0.0
    negative = bare.startswith("(")
    try:
        value = float(bare.strip("()%"))
    except ValueError:
        return None
    return -value if negative else value


def table(
    page: int,
    lines: Sequence[Line],
    *,
    ordinal: int = 0,
    instant: bool = False,
    scale: float = 1e6,
    caption: str | None = None,
    headers: Sequence[str] | None = None,
    periods: Sequence[tuple[dt.date | None, dt.date | None]] | None = None,
    units: Sequence[str | None] | None = None,
    per_share: Sequence[str] = (),
    continues: bool = False,
) -> list[dict[str, Any]]:
    """Cells of one table.

    Args:
        page: zero-based.
        lines: rows from top to bottom; headings given before '>' become the row's path.
        instant: columns are days and no durations.
        headers: one per column of numbers; years by default.
        periods: first and last day of each column; the years by default.
        units: unit of each column that differs from that of its row.
        per_share: labels of rows that print amounts per share.
    """
    headers = headers or [str(year) for year in YEARS]
    if periods is None:
        periods = [
            (None if instant else dt.date(year, 1, 1), dt.date(year, 12, 31))
            for year in YEARS[: len(headers)]
        ]
    cells = [
        _cell(page, ordinal, caption, continues, 0, place + 1, header, kind="header", header=True)
        for place, header in enumerate(headers)
    ]
    for row, (label, *printed) in enumerate(lines, start=1):
        path = [part.strip() for part in label.split(">")]
        common = {
            "row_label": path[-1] or None,
            "row_path": [part for part in path if part],
            "level": len(path) - 1,
        }
        if path[-1]:
            cells.append(_cell(page, ordinal, caption, continues, row, 0, path[-1], kind="label", **common))
        for place, text in enumerate(printed):
            value = number(text)
            share = path[-1] in per_share
            unit = (units[place] if units else None) or ("currency/share" if share else "currency")
            factor = 0.01 if unit == "percent" else scale if unit == "currency" else 1.0
            start, end = periods[place]
            cells.append(
                _cell(
                    page, ordinal, caption, continues, row, place + 1, text,
                    kind="missing" if text in ("—", "-") else "number" if value is not None else "text",
                    printed=value,
                    value=None if value is None else value * factor,
                    scale=factor,
                    scale_source="in millions",
                    unit=unit,
                    currency="USD",
                    column_path=[headers[place]],
                    period_start=start,
                    period_end=end,
                    period_kind="duration" if start else "instant" if end else None,
                    fiscal_year=end.year if end else None,
                    **common,
                )
            )  # fmt: skip
    return cells


def page_tables(*tables: list[dict[str, Any]]) -> pa.Table:
    """The cells of several tables with the schema of ``page_tables``."""
    return pa.Table.from_pylist([cell for cells in tables for cell in cells], PAGE_TABLES)


def page_text(title: str, lines: Sequence[Line], before: Sequence[str] = ()) -> str:
    """The page as its text comes out: title, then labels and numbers."""
    body = [" ".join([label.split(">")[-1].strip(), *numbers]) for label, *numbers in lines]
    return "\n".join([*before, title, "(In millions, except per share data)", *body])


def _cell(
    page: int,
    ordinal: int,
    caption: str | None,
    continues: bool,
    row: int,
    column: int,
    text: str,
    **more: Any,
) -> dict[str, Any]:
    return {
        "filing": FILING, "page": page, "table": ordinal, "detector": "made-up", "caption": caption,
        "continues": continues, "row": row, "column": column, "row_span": 1, "column_span": 1, "text": text,
        "header": False, "level": 0, "row_path": [], "column_path": [], **more,
    }  # fmt: skip


INCOME: list[Line] = [
    ("Net sales", "$ 1,000", "$ 900"),
    ("Cost of sales", "600", "550"),
    ("Gross profit", "400", "350"),
    ("Selling, general and administrative expenses", "250", "240"),
    ("Operating income", "150", "110"),
    ("Interest expense", "(20)", "(15)"),
    ("Income before income taxes", "130", "95"),
    ("Provision for income taxes", "30", "20"),
    ("Net income", "100", "75"),
    ("Less: net income attributable to noncontrolling interests", "5", "4"),
    ("Net income attributable to Madeup Company", "$ 95", "$ 71"),
    ("Earnings per share",),
    ("Earnings per share > Basic", "$ 0.95", "$ 0.71"),
    ("Earnings per share > Diluted", "$ 0.93", "$ 0.70"),
]
POSITION: list[Line] = [
    ("ASSETS",),
    ("Current assets:",),
    ("Current assets: > Cash and cash equivalents", "$ 210", "$ 150"),
    ("Current assets: > Accounts receivable, net", "120", "110"),
    ("Current assets: > Inventories", "70", "60"),
    ("Total current assets", "400", "320"),
    ("Property, plant and equipment, net", "500", "480"),
    ("Deferred income taxes", "10", "12"),
    ("Total assets", "$ 910", "$ 812"),
    ("Current liabilities:",),
    ("Current liabilities: > Accounts payable", "$ 90", "$ 80"),
    ("Current liabilities: > Current portion of long-term debt", "10", "10"),
    ("Total current liabilities", "100", "90"),
    ("Long-term debt", "300", "320"),
    ("Deferred income taxes", "40", "38"),
    ("Total liabilities", "440", "448"),
    ("Retained earnings", "430", "330"),
    ("Total Madeup Company shareholders' equity", "430", "330"),
    ("Noncontrolling interests", "40", "34"),
    ("Total equity", "470", "364"),
    ("Total liabilities and equity", "$ 910", "$ 812"),
]
FLOWS: list[Line] = [
    ("Cash flows from operating activities",),
    ("Cash flows from operating activities > Net income", "$ 100", "$ 75"),
    ("Cash flows from operating activities > Depreciation and amortization", "50", "45"),
    ("Cash flows from operating activities > Inventories", "(10)", "5"),
    ("Net cash provided by operating activities", "140", "125"),
    ("Cash flows from investing activities",),
    ("Cash flows from investing activities > Purchases of property and equipment", "(70)", "(60)"),
    ("Net cash used in investing activities", "(70)", "(60)"),
    ("Cash flows from financing activities",),
    ("Cash flows from financing activities > Dividends paid", "(10)", "(10)"),
    ("Cash flows from financing activities > Repayments of long-term debt", "(2)", "—"),
    ("Net cash used in financing activities", "(12)", "(10)"),
    ("Effect of exchange rate changes on cash", "2", "(1)"),
    ("Net increase in cash and cash equivalents", "60", "54"),
    ("Cash and cash equivalents at beginning of year", "150", "96"),
    ("Cash and cash equivalents at end of year", "$ 210", "$ 150"),
]
PER_SHARE = ("Basic", "Diluted")

PROSE = (
    "The Company reports its results in three segments, and management reviews these segments each quarter "
    "before the consolidated financial statements are prepared and sent to the members of the audit committee."
)


def annual_report() -> list[str]:
    """Texts of a small annual report; the statements stand on pages 5, 6 and 8."""
    prose = "\n".join([PROSE] * 12)
    return [
        "FORM 10-K\nANNUAL REPORT\nMadeup Company",
        "TABLE OF CONTENTS\nItem 1. Business 3\nItem 7. Management's Discussion and Analysis 20\n"
        "Consolidated Statements of Income 48\nConsolidated Balance Sheets 49\nConsolidated Statements of Cash Flows 50",
        f"Item 7. Management's Discussion and Analysis of Financial Condition\n{prose}\n"
        + page_text("Results of Operations", INCOME[:9]),
        "Item 8. Financial Statements\nIndex to Consolidated Financial Statements\nConsolidated Statements of Income 48\n"
        "Consolidated Balance Sheets 49\nConsolidated Statements of Cash Flows 50",
        f"Report of Independent Registered Public Accounting Firm\nWe have audited the consolidated balance sheets.\n{prose}",
        page_text("Consolidated Statements of Income", INCOME, ["Madeup Company"]),
        page_text("Consolidated Balance Shee ts", POSITION, ["Madeup Company"]),
        page_text(
            "Consolidated Statements of Comprehensive Income",
            [("Net income", "100", "75"), ("Other comprehensive income",), ("Currency translation", "4", "3"),
             ("Pension adjustments", "2", "1"), ("Unrealized gains on securities", "1", "2"),
             ("Total other comprehensive income", "7", "6"), ("Comprehensive income", "107", "81")],
        ),
        page_text("Consolidated Statements of Cash Flows", FLOWS, ["Madeup Company"]),
        f"Notes to Consolidated Financial Statements\nNote 1. Basis of Presentation\n{prose}",
        f"{prose}\nThe consolidated balance sheets and the consolidated statements of cash flows include\n{prose}",
        "Schedule I\nCondensed Financial Information of Registrant\n"
        + page_text("Balance Sheets", POSITION, ["(Parent Company Only)"]),
    ]  # fmt: skip
