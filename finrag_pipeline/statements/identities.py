"""Accounting identities that the facts of a filing must meet, within the rounding of what is printed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.statements.cash_identities import (
    cash_flows_add_up,
    cash_rolls_forward,
    cash_ties,
    merge_cash,
    net_income_ties,
)
from finrag_pipeline.statements.identity_result import (
    Facts,
    IdentityResult,
    compared,
    first_of,
    lines_between,
    not_applicable,
    period_key,
    show_period,
)

__all__ = ["IdentityResult", "check_identities", "pass_rates", "show_period"]

_EQUITY = ("StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest", "StockholdersEquity")


def check_identities(facts: pa.Table) -> list[IdentityResult]:
    """Check the primary statements of one filing.

    Args:
        facts: rows of ``statement_facts`` of the filing.

    Returns:
        Results by identity and period: *balance* (assets = liabilities and equity), *liabilities and equity
        add up*, *assets add up* (current and non-current), *gross profit*, *cash flows add up*, *cash rolls
        forward*, *cash ties* (balance sheet and cash flows), *net income ties* (income statement and cash
        flows). One that lacks a part has ``passed`` None.
    """
    statements: dict[str, dict[tuple[Any, ...], Facts]] = defaultdict(lambda: defaultdict(dict))
    lines: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for fact in facts.filter(pc.equal(facts["scope"], "primary")).to_pylist():
        if fact["concept"]:
            statements[fact["statement"]][period_key(fact)][fact["concept"]] = fact
        lines[fact["statement"]].append(fact)
    results: list[IdentityResult] = []
    for key, found in sorted(statements["financial_position"].items(), key=lambda item: str(item[0])):
        results += [check(key, found) for check in (_balance, _liabilities_and_equity, _assets)]
    for key, found in sorted(statements["income_statement"].items(), key=lambda item: str(item[0])):
        if _is_full_period(found):
            results.append(_gross_profit(key, found, lines["income_statement"]))
    flows = merge_cash(statements["cash_flows"])
    for key, found in sorted(flows.items(), key=lambda item: str(item[0])):
        results += [
            cash_flows_add_up(key, found, lines["cash_flows"]),
            cash_rolls_forward(key, found, lines["cash_flows"]),
        ]
        results.append(cash_ties(key, found, statements["financial_position"]))
        results.append(net_income_ties(key, found, statements["income_statement"].get(key, {})))
    return results


def pass_rates(results: Iterable[IdentityResult]) -> dict[str, tuple[int, int, int]]:
    """Per identity how often it passed, failed and could not be applied."""
    counts: dict[str, list[int]] = {}
    for result in results:
        entry = counts.setdefault(result.name, [0, 0, 0])
        entry[2 if result.passed is None else int(not result.passed)] += 1
    return {name: (entry[0], entry[1], entry[2]) for name, entry in counts.items()}


def _balance(key: tuple[Any, ...], found: Facts) -> IdentityResult:
    name = "balance"
    assets = found.get("Assets")
    if assets is None:
        return not_applicable(name, key, "Assets")
    total = found.get("LiabilitiesAndStockholdersEquity")
    if total is not None:
        return compared(name, key, [(1, assets)], [(1, total)])
    liabilities, equity = found.get("Liabilities"), first_of(found, _EQUITY)
    if liabilities is None or equity is None:
        return not_applicable(name, key, "LiabilitiesAndStockholdersEquity")
    return compared(name, key, [(1, assets)], _with_temporary(found, liabilities, equity))


def _with_temporary(
    found: Facts, liabilities: dict[str, Any], equity: dict[str, Any]
) -> list[tuple[float, dict[str, Any]]]:
    parts = [(1.0, liabilities), (1.0, equity)]
    if temporary := found.get(
        "TemporaryEquityCarryingAmountIncludingPortionAttributableToNoncontrollingInterests"
    ):
        parts.append((1.0, temporary))
    return parts


def _liabilities_and_equity(key: tuple[Any, ...], found: Facts) -> IdentityResult:
    name = "liabilities and equity add up"
    total, liabilities = found.get("LiabilitiesAndStockholdersEquity"), found.get("Liabilities")
    equity = first_of(found, _EQUITY)
    if total is None or liabilities is None or equity is None:
        return not_applicable(name, key, "total, Liabilities or equity")
    right = _with_temporary(found, liabilities, equity)
    plain = compared(name, key, [(1, total)], right)
    minority = found.get("MinorityInterest")
    if not plain.passed and equity["concept"] == "StockholdersEquity" and minority is not None:
        return compared(name, key, [(1, total)], [*right, (1, minority)])
    return plain


def _assets(key: tuple[Any, ...], found: Facts) -> IdentityResult:
    name = "assets add up"
    parts = [found.get(part) for part in ("Assets", "AssetsCurrent", "AssetsNoncurrent")]
    if any(part is None for part in parts):
        return not_applicable(name, key, "AssetsCurrent or AssetsNoncurrent")
    total, current, noncurrent = (part for part in parts if part is not None)
    return compared(name, key, [(1, total)], [(1, current), (1, noncurrent)])


def _is_full_period(found: Facts) -> bool:
    return "Revenues" in found or "GrossProfit" in found


def _gross_profit(key: tuple[Any, ...], found: Facts, lines: Sequence[dict[str, Any]]) -> IdentityResult:
    name = "gross profit"
    profit, revenue, cost = (found.get(part) for part in ("GrossProfit", "Revenues", "CostOfRevenue"))
    if profit is None or revenue is None or cost is None:
        return not_applicable(name, key, "GrossProfit, Revenues or CostOfRevenue")
    # Some print costs in brackets.
    sign = 1.0 if cost["value"] < 0 else -1.0
    plain = compared(name, key, [(1, profit)], [(1, revenue), (sign, cost)])
    rest = [(sign, fact) for fact in lines_between(lines, cost, profit)]
    if not plain.passed and rest:
        note = "with all costs between them"
        whole = compared(name, key, [(1, profit)], [(1, revenue), (sign, cost), *rest], note)
        return whole if whole.passed else plain
    return plain
