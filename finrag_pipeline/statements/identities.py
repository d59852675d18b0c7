"""Accounting identities that the facts of a filing must meet, within the rounding of what is printed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.statements.arithmetic import last_digit
from finrag_pipeline.statements.facts import period_of


@dataclass(frozen=True, slots=True)
class IdentityResult:
    """One identity for one statement and period.

    Attributes:
        name: of the identity.
        period: as printed in reports, such as ``2018-12-31`` or ``2018-01-01 to 2018-12-31``.
        left, right: its two sides in full units; None where the identity cannot be applied.
        difference: left - right.
        tolerance: largest difference that rounding of the printed parts allows.
        passed: whether the sides agree; None where a part is missing.
        note: which part is missing, or how the identity was met.
        facts: identifiers of the facts used.
    """

    name: str
    period: str
    left: float | None
    right: float | None
    difference: float | None
    tolerance: float
    passed: bool | None
    note: str
    facts: tuple[str, ...]


_Facts = dict[str, dict[str, Any]]
_EQUITY = ("StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest", "StockholdersEquity")
_CASH = ("CashAndCashEquivalentsAtCarryingValue",)


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
    statements: dict[str, dict[tuple[Any, ...], _Facts]] = defaultdict(lambda: defaultdict(dict))
    cash_lines = []
    for fact in facts.filter(pc.equal(facts["scope"], "primary")).to_pylist():
        if fact["concept"]:
            statements[fact["statement"]][_period_key(fact)][fact["concept"]] = fact
        if fact["statement"] == "cash_flows":
            cash_lines.append(fact)
    results: list[IdentityResult] = []
    for key, found in sorted(statements["financial_position"].items(), key=lambda item: str(item[0])):
        results += [check(key, found) for check in (_balance, _liabilities_and_equity, _assets)]
    for key, found in sorted(statements["income_statement"].items(), key=lambda item: str(item[0])):
        if _is_full_period(found):
            results.append(_gross_profit(key, found))
    flows = _merge_cash(statements["cash_flows"])
    for key, found in sorted(flows.items(), key=lambda item: str(item[0])):
        results += [_cash_flows(key, found, cash_lines), _roll_forward(key, found)]
        results.append(_cash_ties(key, found, statements["financial_position"]))
        results.append(_net_income_ties(key, found, statements["income_statement"].get(key, {})))
    return results


def pass_rates(results: Iterable[IdentityResult]) -> dict[str, tuple[int, int, int]]:
    """Per identity how often it passed, failed and could not be applied."""
    counts: dict[str, list[int]] = {}
    for result in results:
        entry = counts.setdefault(result.name, [0, 0, 0])
        entry[2 if result.passed is None else int(not result.passed)] += 1
    return {name: (entry[0], entry[1], entry[2]) for name, entry in counts.items()}


def _period_key(fact: dict[str, Any]) -> tuple[Any, ...]:
    period = period_of(fact)
    if fact["statement"] == "financial_position" and period[0] == "date":
        return ("instant", period[2])
    return period


def show_period(fact: dict[str, Any]) -> str:
    """Period of a fact for people, such as ``2018-01-01 to 2018-12-31``."""
    return _show(_period_key(fact))


def _show(key: tuple[Any, ...]) -> str:
    if key[0] == "instant":
        return str(key[1])
    if key[0] == "date":
        return f"{key[1]} to {key[2]}" if key[1] else str(key[2])
    return " ".join(str(part) for part in key if part is not None)


def _result(
    name: str,
    key: tuple[Any, ...],
    left: Sequence[tuple[float, dict[str, Any]]],
    right: Sequence[tuple[float, dict[str, Any]]],
    note: str = "",
) -> IdentityResult:
    one = sum(sign * fact["value"] for sign, fact in left)
    other = sum(sign * fact["value"] for sign, fact in right)
    used = [fact for _, fact in (*left, *right)]
    allowed = sum(0.5 * last_digit(fact["printed"], fact["scale"]) for fact in used) + 1e-9
    return IdentityResult(
        name, _show(key), one, other, one - other, allowed, abs(one - other) <= allowed, note,
        tuple(fact["fact_id"] for fact in used),
    )  # fmt: skip


def _missing(name: str, key: tuple[Any, ...], *parts: str) -> IdentityResult:
    return IdentityResult(name, _show(key), None, None, None, 0.0, None, f"no {' and no '.join(parts)}", ())


def _first(found: _Facts, names: Sequence[str]) -> dict[str, Any] | None:
    return next((found[name] for name in names if name in found), None)


def _balance(key: tuple[Any, ...], found: _Facts) -> IdentityResult:
    name = "balance"
    assets = found.get("Assets")
    if assets is None:
        return _missing(name, key, "Assets")
    total = found.get("LiabilitiesAndStockholdersEquity")
    if total is not None:
        return _result(name, key, [(1, assets)], [(1, total)])
    liabilities, equity = found.get("Liabilities"), _first(found, _EQUITY)
    if liabilities is None or equity is None:
        return _missing(name, key, "LiabilitiesAndStockholdersEquity")
    return _result(name, key, [(1, assets)], _with_temporary(found, liabilities, equity))


def _with_temporary(
    found: _Facts, liabilities: dict[str, Any], equity: dict[str, Any]
) -> list[tuple[float, dict[str, Any]]]:
    parts = [(1.0, liabilities), (1.0, equity)]
    if temporary := found.get("TemporaryEquityCarryingAmountIncludingPortionAttributableToNoncontrollingInterests"):
        parts.append((1.0, temporary))
    return parts


def _liabilities_and_equity(key: tuple[Any, ...], found: _Facts) -> IdentityResult:
    name = "liabilities and equity add up"
    total, liabilities = found.get("LiabilitiesAndStockholdersEquity"), found.get("Liabilities")
    equity = _first(found, _EQUITY)
    if total is None or liabilities is None or equity is None:
        return _missing(name, key, "total, Liabilities or equity")
    right = _with_temporary(found, liabilities, equity)
    plain = _result(name, key, [(1, total)], right)
    minority = found.get("MinorityInterest")
    if not plain.passed and equity["concept"] == "StockholdersEquity" and minority is not None:
        return _result(name, key, [(1, total)], [*right, (1, minority)])
    return plain


def _assets(key: tuple[Any, ...], found: _Facts) -> IdentityResult:
    name = "assets add up"
    parts = [found.get(part) for part in ("Assets", "AssetsCurrent", "AssetsNoncurrent")]
    if any(part is None for part in parts):
        return _missing(name, key, "AssetsCurrent or AssetsNoncurrent")
    total, current, noncurrent = (part for part in parts if part is not None)
    return _result(name, key, [(1, total)], [(1, current), (1, noncurrent)])


def _is_full_period(found: _Facts) -> bool:
    return "Revenues" in found or "GrossProfit" in found


def _gross_profit(key: tuple[Any, ...], found: _Facts) -> IdentityResult:
    name = "gross profit"
    profit, revenue, cost = (found.get(part) for part in ("GrossProfit", "Revenues", "CostOfRevenue"))
    if profit is None or revenue is None or cost is None:
        return _missing(name, key, "GrossProfit, Revenues or CostOfRevenue")
    # Some print costs in brackets.
    sign = 1.0 if cost["value"] < 0 else -1.0
    return _result(name, key, [(1, profit)], [(1, revenue), (sign, cost)])


def _merge_cash(flows: dict[tuple[Any, ...], _Facts]) -> dict[tuple[Any, ...], _Facts]:
    """Give each period of the cash flows its opening and closing balance, wherever its columns date them."""
    columns: dict[tuple[int, int], tuple[Any, ...]] = {}
    for key, found in flows.items():
        for concept, fact in found.items():
            if concept.startswith("NetCashProvided"):
                columns[(fact["page"], fact["column"])] = key
                columns.setdefault((-1, fact["column"]), key)
    merged: dict[tuple[Any, ...], _Facts] = {}
    for key, found in flows.items():
        for concept, fact in found.items():
            place = columns.get((fact["page"], fact["column"])) or columns.get((-1, fact["column"])) or key
            merged.setdefault(place if concept in _BALANCES else key, {})[concept] = fact
    return {
        key: found for key, found in merged.items() if any(c.startswith("NetCashProvided") for c in found)
    }


_BALANCES = ("CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalentsBeginningOfPeriod", "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents", "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalentsPeriodIncreaseDecreaseIncludingExchangeRateEffect")


def _cash_flows(key: tuple[Any, ...], found: _Facts, others: Sequence[dict[str, Any]]) -> IdentityResult:
    name = "cash flows add up"
    parts = [
        found.get(f"NetCashProvidedByUsedIn{part}Activities")
        for part in ("Operating", "Investing", "Financing")
    ]
    change = found.get("CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalentsPeriodIncreaseDecreaseIncludingExchangeRateEffect")
    begin, end = found.get("CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalentsBeginningOfPeriod"), found.get("CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents")
    if any(part is None for part in parts):
        return _missing(name, key, "total of operating, investing or financing activities")
    right = [(1.0, part) for part in parts if part is not None]
    if (effect := found.get("EffectOfExchangeRateOnCashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents")) is not None:
        right.append((1.0, effect))
    if change is not None:
        left = [(1.0, change)]
    elif begin is not None and end is not None:
        left = [(1.0, end), (-1.0, begin)]
    else:
        return _missing(name, key, "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalentsPeriodIncreaseDecreaseIncludingExchangeRateEffect")
    result = _result(name, key, left, right)
    if not result.passed and len(left) == 1:
        # Lines of their own between the financing activities and the change, such as cash held for sale.
        rest = [(1.0, fact) for fact in _between(others, right[2][1], left[0][1])]
        whole = _result(name, key, left, [*right[:3], *rest], "with all lines before the change")
        if rest and whole.passed:
            return whole
    if not result.passed and effect is not None:
        # The change may be stated before the effect of exchange rates.
        before = _result(name, key, left, right[:3], "change stated before the effect of exchange rates")
        return before if before.passed else result
    return result


def _between(
    facts: Iterable[dict[str, Any]], above: dict[str, Any], below: dict[str, Any]
) -> list[dict[str, Any]]:
    """Facts of the column of ``below`` that are printed under ``above`` and over ``below``."""
    place = (below["page"], below["table"], below["column"])
    column = [fact for fact in facts if (fact["page"], fact["table"], fact["column"]) == place]
    return [fact for fact in column if above["row"] < fact["row"] < below["row"]]


def _roll_forward(key: tuple[Any, ...], found: _Facts) -> IdentityResult:
    name = "cash rolls forward"
    begin, change, end = (
        found.get(part) for part in ("CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalentsBeginningOfPeriod", "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalentsPeriodIncreaseDecreaseIncludingExchangeRateEffect", "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents")
    )
    if begin is None or change is None or end is None:
        return _missing(name, key, "opening balance, change or closing balance")
    result = _result(name, key, [(1, end)], [(1, begin), (1, change)])
    effect = found.get("EffectOfExchangeRateOnCashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents")
    if not result.passed and effect is not None:
        with_effect = _result(
            name, key, [(1, end)], [(1, begin), (1, change), (1, effect)], "change before exchange rates"
        )
        return with_effect if with_effect.passed else result
    return result


def _cash_ties(
    key: tuple[Any, ...], found: _Facts, positions: dict[tuple[Any, ...], _Facts]
) -> IdentityResult:
    name = "cash ties"
    end = found.get("CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents")
    if end is None or key[0] != "date":
        return _missing(name, key, "closing balance with a date")
    position = positions.get(("instant", key[2]), {})
    cash = _first(position, _CASH)
    if cash is None:
        return _missing(name, key, "cash on a balance sheet of that day")
    plain = _result(name, key, [(1, end)], [(1, cash)])
    for concept in ("RestrictedCashCurrent", "InterestBearingDepositsInBanks"):
        other = position.get(concept)
        if not plain.passed and other is not None:
            both = _result(name, key, [(1, end)], [(1, cash), (1, other)], f"with {concept}")
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


def _net_income_ties(key: tuple[Any, ...], found: _Facts, income: _Facts) -> IdentityResult:
    name = "net income ties"
    names = ("ProfitLoss", "NetIncomeLoss")
    flow, earned = _first(found, names), _first(income, names)
    if flow is None or earned is None:
        return _missing(name, key, "net income on both statements")
    results = [
        _result(name, key, [(1, flow)], [(1, income[concept])])
        for concept in ("ProfitLoss", "NetIncomeLoss", "IncomeLossFromContinuingOperations")
        if concept in income
    ]
    return next((result for result in results if result.passed), results[0])
