"""Whether the rows between a heading and its 'Total' row add up to it."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.statements.arithmetic import Item, additive_sums, last_digit
from finrag_pipeline.statements.concepts import normal_label
from finrag_pipeline.statements.identities import IdentityResult, show_period

NAME = "subtotals add up"


def check_subtotals(facts: pa.Table) -> list[IdentityResult]:
    """Check every row of the primary statements whose label begins with 'total', column by column.

    Args:
        facts: rows of ``statement_facts`` of one filing.

    Returns:
        One result per total and column that has at least two numbers above it in its table. ``passed`` is
        None where the parts are printed without the signs that a sum needs ('less', 'total net').
    """
    columns: dict[tuple[int, int, int], list[dict[str, Any]]] = defaultdict(list)
    for fact in facts.filter(pc.equal(facts["scope"], "primary")).to_pylist():
        if fact["statement"] in ("income_statement", "financial_position", "cash_flows"):
            columns[(fact["page"], fact["table"], fact["column"])].append(fact)
    results = []
    for _, column in sorted(columns.items()):
        column.sort(key=lambda fact: fact["row"])
        items = [Item(fact["value"], fact["unit"], _error(fact)) for fact in column]
        totals = [not fact["label"] or normal_label(fact["label"]).startswith("total") for fact in column]
        sums = additive_sums(items, totals)
        for place, fact in enumerate(column):
            if not totals[place] or not fact["label"] or place < 2:
                continue
            results.append(_result(column, place, sums.get(place), fact))
    return results


def _error(fact: dict[str, Any]) -> float:
    return 0.5 * last_digit(fact["printed"], fact["scale"])


def _result(
    column: list[dict[str, Any]], place: int, parts: list[int] | None, fact: dict[str, Any]
) -> IdentityResult:
    name, period = NAME, show_period(fact)
    if parts is None:
        headings = fact["path"][:-1]
        group = [part for part in column[:place] if headings and part["path"][:-1] == headings]
        signed = any(normal_label(part["label"]).startswith("less") for part in column[:place])
        unclear = len(group) < 2 or signed or normal_label(fact["label"]).startswith("total net")
        return IdentityResult(
            name, period, fact["value"], None, None, 0.0, None if unclear else False,
            f"no run of rows above '{fact['label']}' adds up to it", (fact["fact_id"],),
        )  # fmt: skip
    used = [column[part] for part in parts]
    value = sum(part["value"] for part in used)
    allowed = sum(_error(part) for part in (*used, fact))
    return IdentityResult(
        name, period, fact["value"], value, fact["value"] - value, allowed, True, fact["label"],
        (fact["fact_id"], *(part["fact_id"] for part in used)),
    )  # fmt: skip
