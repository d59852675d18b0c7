"""What the facts of a filing must meet within the rounding of what is printed: identities and subtotals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.statements.arithmetic import Item, additive_sums, last_digit
from finrag_pipeline.statements.concepts import normal_label
from finrag_pipeline.statements.facts import period_of

Fact = dict[str, Any]
Facts = dict[str, Fact]
"""Facts of one statement and period by line."""

Key = tuple[Any, ...]
"""What tells the periods of a statement apart."""

Side = list[tuple[float, Fact]]
"""Signs and facts that make up one side of an identity."""

Ways = str | list[tuple[Side, Side, str]]
"""Sides that may be equal, with what is special about them, the plain ones first; or what is missing."""

_EQUITY = ("StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest", "StockholdersEquity")
_TEMPORARY = "TemporaryEquityCarryingAmountIncludingPortionAttributableToNoncontrollingInterests"
_CASH = "CashCashEquivalentsRestrictedCashAndRestrictedCashEquivalents"
_OPENING = f"{_CASH}BeginningOfPeriod"
_CHANGE = f"{_CASH}PeriodIncreaseDecreaseIncludingExchangeRateEffect"
_EFFECT = f"EffectOfExchangeRateOn{_CASH}"
_FLOWS = [f"NetCashProvidedByUsedIn{part}Activities" for part in ("Operating", "Investing", "Financing")]
_NET_INCOME = ("ProfitLoss", "NetIncomeLoss")


@dataclass(frozen=True, slots=True)
class IdentityResult:
    """One identity for one statement and period.

    Attributes:
        period: as printed in reports, such as ``2018-12-31`` or ``2018-01-01 to 2018-12-31``.
        left, right: its two sides in full units; None where the identity cannot be applied.
        tolerance: largest difference that rounding of the printed parts allows.
        passed: whether the sides agree; None where a part is missing.
        note: which part is missing, or how the identity was met.
    """

    name: str
    period: str
    left: float | None
    right: float | None
    tolerance: float
    passed: bool | None
    note: str
    facts: tuple[str, ...]

    @property
    def difference(self) -> float | None:
        """Left less right."""
        return None if self.left is None or self.right is None else self.left - self.right


def check_identities(facts: pa.Table) -> list[IdentityResult]:
    """Check the primary statements of one filing, rows of ``statement_facts``.

    Returns:
        Results by identity and period: *balance* (assets = liabilities and equity), *liabilities and equity
        add up*, *assets add up* (current and non-current), *gross profit*, *cash flows add up*, *cash rolls
        forward*, *cash ties* (balance sheet and cash flows), *net income ties* (income statement and cash
        flows). One that lacks a part has ``passed`` None.
    """
    statements: dict[str, dict[Key, Facts]] = defaultdict(lambda: defaultdict(dict))
    lines: dict[str, list[Fact]] = defaultdict(list)
    for fact in _primary(facts):
        if fact["line"]:
            statements[fact["statement"]][_period_key(fact)][fact["line"]] = fact
        lines[fact["statement"]].append(fact)
    positions, income = statements["financial_position"], statements["income_statement"]
    results: list[IdentityResult] = []
    for key in sorted(positions, key=str):
        found = positions[key]
        results += [
            _result("balance", key, _balance(found)),
            _result("liabilities and equity add up", key, _liabilities_and_equity(found)),
            _result("assets add up", key, _assets(found)),
        ]
    for key in sorted(income, key=str):
        found = income[key]
        if "Revenues" in found or "GrossProfit" in found:
            results.append(_result("gross profit", key, _gross_profit(found, lines["income_statement"])))
    flows = _merge_cash(statements["cash_flows"])
    for key in sorted(flows, key=str):
        found = flows[key]
        results += [
            _result("cash flows add up", key, _cash_flows(found, lines["cash_flows"])),
            _result("cash rolls forward", key, _cash_rolls_forward(found, lines["cash_flows"])),
            _cash_ties(key, found, positions),
            _result("net income ties", key, _net_income_ties(found, income.get(key, {}))),
        ]
    return results


def show_period(fact: Fact) -> str:
    """Period of a fact for people, such as ``2018-01-01 to 2018-12-31``."""
    return _show_key(_period_key(fact))


def check_subtotals(facts: pa.Table) -> list[IdentityResult]:
    """Check every row of the primary statements whose label begins with 'total', column by column.

    Returns:
        One result per total and column that has at least two numbers above it in its table. ``passed`` is
        None where the parts are printed without the signs that a sum needs ('less', 'total net').
    """
    columns: dict[tuple[int, int, int], list[Fact]] = defaultdict(list)
    for fact in _primary(facts):
        if fact["statement"] in ("income_statement", "financial_position", "cash_flows"):
            columns[(fact["page"], fact["table"], fact["column"])].append(fact)
    results = []
    for _, column in sorted(columns.items()):
        column.sort(key=lambda fact: fact["row"])
        labels = [normal_label(fact["label"]) for fact in column]
        items = [Item(fact["value"], fact["unit"], _rounding(fact)) for fact in column]
        totals = [
            not fact["label"] or label.startswith("total") for fact, label in zip(column, labels, strict=True)
        ]
        sums = additive_sums(items, totals)
        for place, fact in enumerate(column):
            if not totals[place] or not fact["label"] or place < 2:
                continue
            if place in sums:
                parts = [(1.0, column[part]) for part in sums[place]]
                result = _compared("subtotals add up", _period_key(fact), [(1.0, fact)], parts, fact["label"])
                results.append(replace(result, passed=True))
                continue
            headings = fact["path"][:-1]
            group = [part for part in column[:place] if headings and part["path"][:-1] == headings]
            signed = any(label.startswith("less") for label in labels[:place])
            unclear = len(group) < 2 or signed or labels[place].startswith("total net")
            note = f"no run of rows above '{fact['label']}' adds up to it"
            results.append(
                IdentityResult(
                    "subtotals add up", show_period(fact), fact["value"], None, 0.0,
                    None if unclear else False, note, (fact["fact_id"],),
                )
            )  # fmt: skip
    return results


def _primary(facts: pa.Table) -> list[Fact]:
    return list(facts.filter(pc.equal(facts["scope"], "primary")).to_pylist())


def _period_key(fact: Fact) -> Key:
    """What tells periods apart: the day on a balance sheet, else the whole period."""
    period = period_of(fact)
    if fact["statement"] == "financial_position" and period[0] == "date":
        return ("instant", period[2])
    return period


def _show_key(key: Key) -> str:
    if key[0] == "instant":
        return str(key[1])
    if key[0] == "date":
        return f"{key[1]} to {key[2]}" if key[1] else str(key[2])
    return " ".join(str(part) for part in key if part is not None)


def _rounding(fact: Fact) -> float:
    return 0.5 * last_digit(fact["printed"], fact["scale"])


def _compared(name: str, key: Key, left: Side, right: Side, note: str) -> IdentityResult:
    one, other = (sum(sign * fact["value"] for sign, fact in side) for side in (left, right))
    used = [fact for _, fact in (*left, *right)]
    errors = [_rounding(fact) for fact in used]
    # One number printed in two places is rounded once; a sum of rounded numbers drifts with each of them.
    allowed = (max(errors) if len(left) == len(right) == 1 else sum(errors)) + 1e-9
    passed, facts = abs(one - other) <= allowed, tuple(fact["fact_id"] for fact in used)
    return IdentityResult(name, _show_key(key), one, other, allowed, passed, note, facts)


def _result(name: str, key: Key, ways: Ways) -> IdentityResult:
    """The first way in which an identity is met, else the plain one."""
    if isinstance(ways, str):
        return IdentityResult(name, _show_key(key), None, None, 0.0, None, f"no {ways}", ())
    results = [_compared(name, key, *way) for way in ways]
    return next((result for result in results if result.passed), results[0])


def _plus(*facts: Fact) -> Side:
    return [(1.0, fact) for fact in facts]


def _lines_between(facts: Iterable[Fact], above: Fact, below: Fact) -> list[Fact]:
    """Facts of the column of ``below`` that are printed under ``above`` and over ``below``."""
    place = (below["page"], below["table"], below["column"])
    column = [fact for fact in facts if (fact["page"], fact["table"], fact["column"]) == place]
    return [fact for fact in column if above["row"] < fact["row"] < below["row"]]


def _claims(found: Facts) -> list[Fact] | None:
    """Liabilities, equity and temporary equity; None where one of the first two is missing."""
    equity = next((found[name] for name in _EQUITY if name in found), None)
    if "Liabilities" not in found or equity is None:
        return None
    return [found["Liabilities"], equity, *([found[_TEMPORARY]] if _TEMPORARY in found else [])]


def _balance(found: Facts) -> Ways:
    if "Assets" not in found:
        return "Assets"
    assets, total = _plus(found["Assets"]), found.get("LiabilitiesAndStockholdersEquity")
    claims = [total] if total else _claims(found)
    return [(assets, _plus(*claims), "")] if claims else "LiabilitiesAndStockholdersEquity"


def _liabilities_and_equity(found: Facts) -> Ways:
    total, claims = found.get("LiabilitiesAndStockholdersEquity"), _claims(found)
    if total is None or claims is None:
        return "total, Liabilities or equity"
    ways = [(_plus(total), _plus(*claims), "")]
    if claims[1]["line"] == "StockholdersEquity" and "MinorityInterest" in found:
        ways.insert(0, (_plus(total), _plus(*claims, found["MinorityInterest"]), ""))
    return ways


def _assets(found: Facts) -> Ways:
    names = ("Assets", "AssetsCurrent", "AssetsNoncurrent")
    if not found.keys() >= set(names):
        return "AssetsCurrent or AssetsNoncurrent"
    total, *parts = (found[name] for name in names)
    return [(_plus(total), _plus(*parts), "")]


def _gross_profit(found: Facts, lines: Sequence[Fact]) -> Ways:
    names = ("GrossProfit", "Revenues", "CostOfRevenue")
    if not found.keys() >= set(names):
        return "GrossProfit, Revenues or CostOfRevenue"
    profit, revenue, cost = (found[name] for name in names)
    # Some print costs in brackets.
    sign = 1.0 if cost["value"] < 0 else -1.0
    right = [(1.0, revenue), (sign, cost)]
    rest = [(sign, fact) for fact in _lines_between(lines, cost, profit)]
    return [(_plus(profit), right, ""), (_plus(profit), [*right, *rest], "with all costs between them")]


def _merge_cash(flows: dict[Key, Facts]) -> dict[Key, Facts]:
    """Give each period of the cash flows its opening and closing balance, wherever its columns date them."""
    columns: dict[tuple[int, int], Key] = {}
    for key, found in flows.items():
        for concept, fact in found.items():
            if concept.startswith("NetCashProvided"):
                columns[(fact["page"], fact["column"])] = key
                columns.setdefault((-1, fact["column"]), key)
    merged: dict[Key, Facts] = defaultdict(dict)
    for key, found in flows.items():
        for concept, fact in found.items():
            place = columns.get((fact["page"], fact["column"])) or columns.get((-1, fact["column"])) or key
            merged[place if concept in (_OPENING, _CASH, _CHANGE) else key][concept] = fact
    return {
        key: found for key, found in merged.items() if any(c.startswith("NetCashProvided") for c in found)
    }


def _cash_flows(found: Facts, lines: Sequence[Fact]) -> Ways:
    """Operating, investing and financing cash flows and exchange rates make up the change in cash."""
    if not found.keys() >= set(_FLOWS):
        return "total of operating, investing or financing activities"
    parts = _plus(*(found[name] for name in _FLOWS))
    after = _plus(found[_EFFECT]) if _EFFECT in found else []
    rest: list[Fact] = []
    if _CHANGE in found:
        left = _plus(found[_CHANGE])
        # Lines of their own between the financing activities and the change, such as cash held for sale.
        rest = _lines_between(lines, found[_FLOWS[2]], found[_CHANGE])
    elif _OPENING in found and _CASH in found:
        left = [(1.0, found[_CASH]), (-1.0, found[_OPENING])]
    else:
        return _CHANGE
    return [
        (left, [*parts, *after], ""),
        *([(left, [*parts, *_plus(*rest)], "with all lines before the change")] if rest else []),
        (left, parts, "change stated before the effect of exchange rates"),
    ]


def _cash_rolls_forward(found: Facts, lines: Sequence[Fact]) -> Ways:
    """Opening cash and its change make up closing cash."""
    names = (_OPENING, _CHANGE, _CASH)
    if not found.keys() >= set(names):
        return "opening balance, change or closing balance"
    begin, change, end = (found[name] for name in names)
    left, right = _plus(end), _plus(begin, change)
    # Such as cash classified as held for sale.
    rest = [fact for fact in _lines_between(lines, change, end) if fact["fact_id"] != begin["fact_id"]]
    ways = [(left, right, ""), (left, [*right, *_plus(*rest)], "with all lines before the closing balance")]
    if _EFFECT in found:
        ways.append((left, [*right, *_plus(found[_EFFECT])], "change before exchange rates"))
    return ways


def _cash_ties(key: Key, found: Facts, positions: dict[Key, Facts]) -> IdentityResult:
    """Closing cash is that of the balance sheet."""
    name, end = "cash ties", found.get(_CASH)
    if end is None or key[0] != "date":
        return _result(name, key, "closing balance with a date")
    position = positions.get(("instant", key[2]), {})
    cash = position.get("CashAndCashEquivalentsAtCarryingValue")
    if cash is None:
        return _result(name, key, "cash on a balance sheet of that day")
    ways = [(_plus(end), _plus(cash), "")]
    ways += [
        (_plus(end), _plus(cash, position[concept]), f"with {concept}")
        for concept in ("RestrictedCashCurrent", "InterestBearingDepositsInBanks")
        if concept in position
    ]
    result = _result(name, key, ways)
    if not result.passed and any("restricted" in text.lower() for text in (end["label"], *end["path"])):
        note = "the statement of cash flows includes restricted cash that the balance sheet holds elsewhere"
        return replace(result, passed=None, note=note)
    return result


def _net_income_ties(found: Facts, income: Facts) -> Ways:
    """Cash flows begin with the net income of the income statement."""
    flow = next((found[name] for name in _NET_INCOME if name in found), None)
    if flow is None or not any(name in income for name in _NET_INCOME):
        return "net income on both statements"
    names = (*_NET_INCOME, "IncomeLossFromContinuingOperations")
    return [(_plus(flow), _plus(income[name]), "") for name in names if name in income]
