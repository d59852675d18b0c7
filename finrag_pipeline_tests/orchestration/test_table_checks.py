"""What the checks of a filing's facts say to people."""

from __future__ import annotations

import pyarrow as pa

from finrag_pipeline.orchestration.assets.filings import _checks
from finrag_pipeline.schemas import STATEMENT_FACTS


def _fact(row: int, label: str, value: float) -> dict[str, object]:
    return {
        "fact_id": f"ACME:5:0:{row}:1", "filing": "ACME", "statement": "financial_position", "scope": "primary",
        "concept": None, "line": None, "label": label, "path": ["Current assets", label], "qualifier": None, "period_start": None,
        "period_end": None, "period_kind": "instant", "fiscal_year": 2022, "fiscal_quarter": None,
        "value": value, "unit": "currency", "currency": "USD", "printed": f"{value / 1e6:,.0f}", "scale": 1e6,
        "scale_source": "units line: (in millions)", "page": 5, "table": 0, "row": row, "column": 1,
        "x0": 1.0, "y0": 1.0, "x1": 2.0, "y1": 2.0,
    }  # fmt: skip


def test_a_total_that_nothing_adds_up_to_is_named() -> None:
    rows = [_fact(1, "Cash", 10e6), _fact(2, "Inventories", 20e6), _fact(3, "Total current assets", 99e6)]
    facts = pa.Table.from_pylist(rows, schema=STATEMENT_FACTS)
    checks, metadata = _checks(facts, {"form": "10-K"})
    (subtotals,) = [check for check in checks if check.check_name == "subtotals_add_up"]
    assert not subtotals.passed and "Total current assets" in (subtotals.description or "")
    (found,) = [check for check in checks if check.check_name == "primary_statements_found"]
    assert not found.passed and "cash_flows" in (found.description or "")
    assert metadata["facts"] == 3


def test_a_total_that_adds_up_passes() -> None:
    rows = [_fact(1, "Cash", 10e6), _fact(2, "Inventories", 20e6), _fact(3, "Total current assets", 30e6)]
    checks, _ = _checks(pa.Table.from_pylist(rows, schema=STATEMENT_FACTS), {"form": "8-K"})
    assert all(check.passed for check in checks)
