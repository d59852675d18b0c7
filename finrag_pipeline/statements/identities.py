"""Accounting identities that the facts of a filing must meet, within the rounding of what is printed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.statements.arithmetic import last_digit
from finrag_pipeline.statements.facts import period_of

Facts = dict[str, dict[str, Any]]
"""Facts of one statement and period by line."""


Key = tuple[Any, ...]
"""What tells the periods of a statement apart."""

Side = Sequence[tuple[float, dict[str, Any]]]
"""Signs and facts that make up one side of an identity."""

_EQUITY = ("StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest", "StockholdersEquity")
_TEMPORARY = "TemporaryEquityCarryingAmountIncludingPortionAttributableToNoncontrollingInterests"
_CASH = "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents"
_OPENING = f"{_CASH}BeginningOfPeriod"
_CHANGE = f"{_CASH}PeriodIncreaseDecreaseIncludingExchangeRateEffect"
_EFFECT = f"EffectOfExchangeRateOn{_CASH}"


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
    statements: dict[str, dict[Key, Facts]] = defaultdict(lambda: defaultdict(dict))
    lines: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for fact in facts.filter(pc.equal(facts["scope"], "primary")).to_pylist():
        if fact["line"]:
            statements[fact["statement"]][period_key(fact)][fact["line"]] = fact
        lines[fact["statement"]].append(fact)
    results: list[IdentityResult] = []
    for key, found in sorted(statements["financial_position"].items(), key=lambda item: str(item[0])):
        results += [check(key, found) for check in (_balance, _liabilities_and_equity, _assets)]
    for key, found in sorted(statements["income_statement"].items(), key=lambda item: str(item[0])):
        if "Revenues" in found or "GrossProfit" in found:
            results.append(_gross_profit(key, found, lines["income_statement"]))
    flows = _merge_cash(statements["cash_flows"])
    for key, found in sorted(flows.items(), key=lambda item: str(item[0])):
        results += [
            _cash_flows(key, found, lines["cash_flows"]),
            _cash_rolls_forward(key, found, lines["cash_flows"]),
            _cash_ties(key, found, statements["financial_position"]),
            _net_income_ties(key, found, statements["income_statement"].get(key, {})),
        ]
    return results


def pass_rates(results: Iterable[IdentityResult]) -> dict[str, tuple[int, int, int]]:
    """Per identity how often it passed, failed and could not be applied."""
    counts: dict[str, list[int]] = {}
    for result in results:
        entry = counts.setdefault(result.name, [0, 0, 0])
        entry[2 if result.passed is None else int(not result.passed)] += 1
    return {name: (entry[0], entry[1], entry[2]) for name, entry in counts.items()}


def period_key(fact: dict[str, Any]) -> Key:
    """What tells periods apart: the day on a balance sheet, else the whole period."""
    period = period_of(fact)
    if fact["statement"] == "financial_position" and period[0] == "date":
        return ("instant", period[2])
    return period


def show_period(fact: dict[str, Any]) -> str:
    """Period of a fact for people, such as ``2018-01-01 to 2018-12-31``."""
    return _show_key(period_key(fact))


def _show_key(key: Key) -> str:
    """A period key for people."""
    if key[0] == "instant":
        return str(key[1])
    if key[0] == "date":
        return f"{key[1]} to {key[2]}" if key[1] else str(key[2])
    return " ".join(str(part) for part in key if part is not None)


def _compared(
    name: str,
    key: Key,
    left: Side,
    right: Side,
    note: str = "",
) -> IdentityResult:
    """Compare two sides, each a list of signs and facts."""
    one = sum(sign * fact["value"] for sign, fact in left)
    other = sum(sign * fact["value"] for sign, fact in right)
    used = [fact for _, fact in (*left, *right)]
    errors = [0.5 * last_digit(fact["printed"], fact["scale"]) for fact in used]
    # One number printed in two places is rounded once; a sum of rounded numbers drifts with each of them.
    allowed = (max(errors) if len(left) == len(right) == 1 else sum(errors)) + 1e-9
    return IdentityResult(
        name, _show_key(key), one, other, one - other, allowed, abs(one - other) <= allowed, note,
        tuple(fact["fact_id"] for fact in used),
    )  # fmt: skip


def _not_applicable(name: str, key: Key, *parts: str) -> IdentityResult:
    """The result of an identity that lacks parts."""
    note = f"no {' and no '.join(parts)}"
    return IdentityResult(name, _show_key(key), None, None, None, 0.0, None, note, ())


def _first_of(found: Facts, names: Sequence[str]) -> dict[str, Any] | None:
    """The first of several concepts that is there."""
    return next((found[name] for name in names if name in found), None)


def _lines_between(
    facts: Iterable[dict[str, Any]], above: dict[str, Any], below: dict[str, Any]
) -> list[dict[str, Any]]:
    """Facts of the column of ``below`` that are printed under ``above`` and over ``below``."""
    place = (below["page"], below["table"], below["column"])
    column = [fact for fact in facts if (fact["page"], fact["table"], fact["column"]) == place]
    return [fact for fact in column if above["row"] < fact["row"] < below["row"]]


def _met(name: str, key: Key, *ways: tuple[Side, Side, str]) -> IdentityResult:
    """The first of several ways in which an identity is met; the first of all where none is."""
    results = (_compared(name, key, *way) for way in ways)
    plain = next(results)
    return plain if plain.passed else next((result for result in results if result.passed), plain)


def _balance(key: Key, found: Facts) -> IdentityResult:
    name, assets = "balance", found.get("Assets")
    if assets is None:
        return _not_applicable(name, key, "Assets")
    if total := found.get("LiabilitiesAndStockholdersEquity"):
        return _compared(name, key, [(1, assets)], [(1, total)])
    claims = _claims(found)
    if claims is None:
        return _not_applicable(name, key, "LiabilitiesAndStockholdersEquity")
    return _compared(name, key, [(1, assets)], claims)


def _claims(found: Facts) -> list[tuple[float, dict[str, Any]]] | None:
    """Liabilities, equity and temporary equity; None where one of the first two is missing."""
    liabilities, equity = found.get("Liabilities"), _first_of(found, _EQUITY)
    if liabilities is None or equity is None:
        return None
    temporary = found.get(_TEMPORARY)
    return [(1.0, part) for part in (liabilities, equity, temporary) if part is not None]


def _liabilities_and_equity(key: Key, found: Facts) -> IdentityResult:
    name = "liabilities and equity add up"
    total, claims = found.get("LiabilitiesAndStockholdersEquity"), _claims(found)
    if total is None or claims is None:
        return _not_applicable(name, key, "total, Liabilities or equity")
    plain = _compared(name, key, [(1, total)], claims)
    minority = found.get("MinorityInterest")
    if not plain.passed and claims[1][1]["line"] == "StockholdersEquity" and minority is not None:
        return _compared(name, key, [(1, total)], [*claims, (1, minority)])
    return plain


def _assets(key: Key, found: Facts) -> IdentityResult:
    name = "assets add up"
    total, current, noncurrent = (found.get(part) for part in ("Assets", "AssetsCurrent", "AssetsNoncurrent"))
    if total is None or current is None or noncurrent is None:
        return _not_applicable(name, key, "AssetsCurrent or AssetsNoncurrent")
    return _compared(name, key, [(1, total)], [(1, current), (1, noncurrent)])


def _gross_profit(key: Key, found: Facts, lines: Sequence[dict[str, Any]]) -> IdentityResult:
    name = "gross profit"
    profit, revenue, cost = (found.get(part) for part in ("GrossProfit", "Revenues", "CostOfRevenue"))
    if profit is None or revenue is None or cost is None:
        return _not_applicable(name, key, "GrossProfit, Revenues or CostOfRevenue")
    # Some print costs in brackets.
    sign = 1.0 if cost["value"] < 0 else -1.0
    left, right = [(1.0, profit)], [(1.0, revenue), (sign, cost)]
    rest = [(sign, fact) for fact in _lines_between(lines, cost, profit)]
    return _met(name, key, (left, right, ""), (left, [*right, *rest], "with all costs between them"))


def _merge_cash(flows: dict[Key, Facts]) -> dict[Key, Facts]:
    """Give each period of the cash flows its opening and closing balance, wherever its columns date them."""
    columns: dict[tuple[int, int], Key] = {}
    for key, found in flows.items():
        for concept, fact in found.items():
            if concept.startswith("NetCashProvided"):
                columns[(fact["page"], fact["column"])] = key
                columns.setdefault((-1, fact["column"]), key)
    merged: dict[Key, Facts] = {}
    for key, found in flows.items():
        for concept, fact in found.items():
            place = columns.get((fact["page"], fact["column"])) or columns.get((-1, fact["column"])) or key
            merged.setdefault(place if concept in (_OPENING, _CASH, _CHANGE) else key, {})[concept] = fact
    return {
        key: found for key, found in merged.items() if any(c.startswith("NetCashProvided") for c in found)
    }


def _cash_flows(key: Key, found: Facts, lines: Sequence[dict[str, Any]]) -> IdentityResult:
    """Operating, investing and financing cash flows and exchange rates make up the change in cash."""
    name = "cash flows add up"
    parts = [
        (1.0, found[concept])
        for part in ("Operating", "Investing", "Financing")
        if (concept := f"NetCashProvidedByUsedIn{part}Activities") in found
    ]
    if len(parts) < 3:
        return _not_applicable(name, key, "total of operating, investing or financing activities")
    change, begin, end, effect = (found.get(part) for part in (_CHANGE, _OPENING, _CASH, _EFFECT))
    after = [(1.0, effect)] if effect is not None else []
    ways: list[tuple[Side, Side, str]] = []
    if change is not None:
        left = [(1.0, change)]
        # Lines of their own between the financing activities and the change, such as cash held for sale.
        rest = [(1.0, fact) for fact in _lines_between(lines, parts[2][1], change)]
        if rest:
            ways.append((left, [*parts, *rest], "with all lines before the change"))
    elif begin is not None and end is not None:
        left = [(1.0, end), (-1.0, begin)]
    else:
        return _not_applicable(name, key, _CHANGE)
    # The change may be stated before the effect of exchange rates.
    ways.append((left, parts, "change stated before the effect of exchange rates"))
    return _met(name, key, (left, [*parts, *after], ""), *ways)


def _cash_rolls_forward(key: Key, found: Facts, lines: Sequence[dict[str, Any]]) -> IdentityResult:
    """Opening cash and its change make up closing cash."""
    name = "cash rolls forward"
    begin, change, end, effect = (found.get(part) for part in (_OPENING, _CHANGE, _CASH, _EFFECT))
    if begin is None or change is None or end is None:
        return _not_applicable(name, key, "opening balance, change or closing balance")
    left, right = [(1.0, end)], [(1.0, begin), (1.0, change)]
    # Such as cash classified as held for sale.
    rest = [(1.0, fact) for fact in _lines_between(lines, change, end) if fact["fact_id"] != begin["fact_id"]]
    ways: list[tuple[Side, Side, str]] = [
        (left, right, ""),
        (left, [*right, *rest], "with all lines before the closing balance"),
    ]
    if effect is not None:
        ways.append((left, [*right, (1.0, effect)], "change before exchange rates"))
    return _met(name, key, *ways)


def _cash_ties(key: Key, found: Facts, positions: dict[Key, Facts]) -> IdentityResult:
    """Closing cash is that of the balance sheet."""
    name, end = "cash ties", found.get(_CASH)
    if end is None or key[0] != "date":
        return _not_applicable(name, key, "closing balance with a date")
    position = positions.get(("instant", key[2]), {})
    cash = position.get("CashAndCashEquivalentsAtCarryingValue")
    if cash is None:
        return _not_applicable(name, key, "cash on a balance sheet of that day")
    left: Side = [(1.0, end)]
    others = [
        (left, [(1.0, cash), (1.0, position[concept])], f"with {concept}")
        for concept in ("RestrictedCashCurrent", "InterestBearingDepositsInBanks")
        if concept in position
    ]
    result = _met(name, key, (left, [(1.0, cash)], ""), *others)
    if not result.passed and any("restricted" in text.lower() for text in (end["label"], *end["path"])):
        note = "the statement of cash flows includes restricted cash that the balance sheet holds elsewhere"
        return replace(result, passed=None, note=note)
    return result


def _net_income_ties(key: Key, found: Facts, income: Facts) -> IdentityResult:
    """Cash flows begin with the net income of the income statement."""
    name, names = "net income ties", ("ProfitLoss", "NetIncomeLoss")
    flow, earned = _first_of(found, names), _first_of(income, names)
    if flow is None or earned is None:
        return _not_applicable(name, key, "net income on both statements")
    lines = [
        income[concept] for concept in (*names, "IncomeLossFromContinuingOperations") if concept in income
    ]
    return _met(name, key, *(([(1.0, flow)], [(1.0, line)], "") for line in lines))
