"""Identities of the statement of cash flows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from finrag_pipeline.statements.identity_result import (
    Facts,
    IdentityResult,
    compared,
    first_of,
    lines_between,
    not_applicable,
)

_CASH = ("CashAndCashEquivalentsAtCarryingValue",)
_BALANCES = (
    "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalentsBeginningOfPeriod",
    "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents",
    "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalentsPeriodIncreaseDecreaseIncludingExchangeRateEffect",
)


def merge_cash(flows: dict[tuple[Any, ...], Facts]) -> dict[tuple[Any, ...], Facts]:
    """Give each period of the cash flows its opening and closing balance, wherever its columns date them."""
    columns: dict[tuple[int, int], tuple[Any, ...]] = {}
    for key, found in flows.items():
        for concept, fact in found.items():
            if concept.startswith("NetCashProvided"):
                columns[(fact["page"], fact["column"])] = key
                columns.setdefault((-1, fact["column"]), key)
    merged: dict[tuple[Any, ...], Facts] = {}
    for key, found in flows.items():
        for concept, fact in found.items():
            place = columns.get((fact["page"], fact["column"])) or columns.get((-1, fact["column"])) or key
            merged.setdefault(place if concept in _BALANCES else key, {})[concept] = fact
    return {
        key: found for key, found in merged.items() if any(c.startswith("NetCashProvided") for c in found)
    }


def cash_flows_add_up(key: tuple[Any, ...], found: Facts, others: Sequence[dict[str, Any]]) -> IdentityResult:
    """Operating, investing and financing cash flows and exchange rates make up the change in cash."""
    name = "cash flows add up"
    parts = [
        found.get(f"NetCashProvidedByUsedIn{part}Activities")
        for part in ("Operating", "Investing", "Financing")
    ]
    change = found.get(
        "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalentsPeriodIncreaseDecreaseIncludingExchangeRateEffect"
    )
    begin, end = (
        found.get("CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalentsBeginningOfPeriod"),
        found.get("CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents"),
    )
    if any(part is None for part in parts):
        return not_applicable(name, key, "total of operating, investing or financing activities")
    right = [(1.0, part) for part in parts if part is not None]
    if (
        effect := found.get(
            "EffectOfExchangeRateOnCashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents"
        )
    ) is not None:
        right.append((1.0, effect))
    if change is not None:
        left = [(1.0, change)]
    elif begin is not None and end is not None:
        left = [(1.0, end), (-1.0, begin)]
    else:
        return not_applicable(
            name,
            key,
            "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalentsPeriodIncreaseDecreaseIncludingExchangeRateEffect",
        )
    result = compared(name, key, left, right)
    if not result.passed and len(left) == 1:
        # Lines of their own between the financing activities and the change, such as cash held for sale.
        rest = [(1.0, fact) for fact in lines_between(others, right[2][1], left[0][1])]
        whole = compared(name, key, left, [*right[:3], *rest], "with all lines before the change")
        if rest and whole.passed:
            return whole
    if not result.passed and effect is not None:
        # The change may be stated before the effect of exchange rates.
        before = compared(name, key, left, right[:3], "change stated before the effect of exchange rates")
        return before if before.passed else result
    return result


def cash_rolls_forward(key: tuple[Any, ...], found: Facts, lines: Sequence[dict[str, Any]]) -> IdentityResult:
    """Opening cash and its change make up closing cash."""
    name = "cash rolls forward"
    begin, change, end = (
        found.get(part)
        for part in (
            "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalentsBeginningOfPeriod",
            "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalentsPeriodIncreaseDecreaseIncludingExchangeRateEffect",
            "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents",
        )
    )
    if begin is None or change is None or end is None:
        return not_applicable(name, key, "opening balance, change or closing balance")
    result = compared(name, key, [(1, end)], [(1, begin), (1, change)])
    rest = [(1.0, fact) for fact in lines_between(lines, change, end) if fact["fact_id"] != begin["fact_id"]]
    if not result.passed and rest:
        # Such as cash classified as held for sale.
        whole = compared(
            name,
            key,
            [(1, end)],
            [(1, begin), (1, change), *rest],
            "with all lines before the closing balance",
        )
        if whole.passed:
            return whole
    effect = found.get("EffectOfExchangeRateOnCashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents")
    if not result.passed and effect is not None:
        with_effect = compared(
            name, key, [(1, end)], [(1, begin), (1, change), (1, effect)], "change before exchange rates"
        )
        return with_effect if with_effect.passed else result
    return result


def cash_ties(key: tuple[Any, ...], found: Facts, positions: dict[tuple[Any, ...], Facts]) -> IdentityResult:
    """Closing cash is that of the balance sheet."""
    name = "cash ties"
    end = found.get("CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents")
    if end is None or key[0] != "date":
        return not_applicable(name, key, "closing balance with a date")
    position = positions.get(("instant", key[2]), {})
    cash = first_of(position, _CASH)
    if cash is None:
        return not_applicable(name, key, "cash on a balance sheet of that day")
    plain = compared(name, key, [(1, end)], [(1, cash)])
    for concept in ("RestrictedCashCurrent", "InterestBearingDepositsInBanks"):
        other = position.get(concept)
        if not plain.passed and other is not None:
            both = compared(name, key, [(1, end)], [(1, cash), (1, other)], f"with {concept}")
            if both.passed:
                return both
    if not plain.passed and any("restricted" in text.lower() for text in (end["label"], *end["path"])):
        note = "the statement of cash flows includes restricted cash that the balance sheet holds elsewhere"
        return IdentityResult(
            name,
            plain.period,
            plain.left,
            plain.right,
            plain.difference,
            plain.tolerance,
            None,
            note,
            plain.facts,
        )
    return plain


def net_income_ties(key: tuple[Any, ...], found: Facts, income: Facts) -> IdentityResult:
    """Cash flows begin with the net income of the income statement."""
    name = "net income ties"
    names = ("ProfitLoss", "NetIncomeLoss")
    flow, earned = first_of(found, names), first_of(income, names)
    if flow is None or earned is None:
        return not_applicable(name, key, "net income on both statements")
    results = [
        compared(name, key, [(1, flow)], [(1, income[concept])])
        for concept in ("ProfitLoss", "NetIncomeLoss", "IncomeLossFromContinuingOperations")
        if concept in income
    ]
    return next((result for result in results if result.passed), results[0])
