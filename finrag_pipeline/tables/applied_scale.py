"""Which of several printed scales holds for a cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from finrag_pipeline.tables.scale import ScaleRule
from finrag_pipeline.tables.units import Unit, scales_with_table
from finrag_pipeline.tables.values import ParsedValue

NONE_STATED = "no scale stated"
# With 'dollars in millions' a share count below this is in millions too; no registrant has so few shares.
_FEW_SHARES = 100_000
_MOST_SHARES = 5e10
# More than the gross product of the world.
_MOST_MONEY = 2e14
WIDE = ("page head", "filing")
"""Places whose scale says nothing of whether a table is about money."""
_ALL_SHARES = re.compile(r"\b(?:average|basic|diluted|outstanding)\b", re.IGNORECASE)
_CENTS = re.compile(r"\bcents\b|¢", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """Rules printed in one place, such as 'units line' or 'caption'."""

    place: str
    rules: Sequence[ScaleRule]


def applied_scale(
    value: ParsedValue,
    unit: Unit | None,
    told_by: str,
    near: Sequence[Source],
    far: Sequence[Source],
    money: bool = True,
) -> tuple[float, str]:
    """Full units per printed unit of a cell, and the words that set it.

    Prices and amounts per share, ratios and per cent never take the table's scale; things such as stores
    only that of their own label or column; shares their own scale where one is printed, else the table's
    unless it exempts them.

    Args:
        value: the cell, read.
        unit: its unit.
        told_by: the words that told the unit.
        near: scales of the row's label, the headings above it and the column's headers, nearest first.
        far: scales of the table and beyond, nearest first.
        money: the table is about money, so that a number without a unit is an amount.
    """
    if value.factor is not None:
        return value.factor, f"cell: {value.word}"
    if unit == "percent":
        return 0.01, f"per cent: {told_by}"
    if unit == "currency/share":
        return 0.01 if _CENTS.search(told_by) else 1.0, f"per share: {told_by}"
    if unit == "ratio":
        return 1.0, f"ratio: {told_by}"
    if unit == "count":
        if value.word is not None:
            return 1.0, f"cell: {value.word}"
        of_table = ("count", "all") if scales_with_table(told_by) else ("count",)
        return _first(near, ("count", "all")) or _first(far, of_table) or (1.0, f"count: {told_by}")
    if unit == "shares":
        sources = [*near, *far]
        found = _of_shares(sources) or _small_count(value, told_by, sources)
        most, too = _MOST_SHARES, "too many shares"
    else:
        if unit is None and not money:
            far = [source for source in far if source.place not in WIDE]
        found = _first([*near, *far], ("currency", "all"))
        most, too = _MOST_MONEY, "too large"
    if found and abs(value.number or 0) * found[0] > most:
        return 1.0, f"{too} for {found[1]}"
    return found or (1.0, NONE_STATED)


def _first(sources: Iterable[Source], applies: tuple[str, ...]) -> tuple[float, str] | None:
    for source in sources:
        for wanted in applies:
            for rule in source.rules:
                if rule.applies == wanted:
                    return rule.scale, f"{source.place}: {rule.words}"
    return None


def _of_shares(sources: Iterable[Source]) -> tuple[float, str] | None:
    for source in sources:
        if found := _first([source], ("shares",)):
            return found
        for rule in source.rules:
            exempt = "shares" in rule.exempt
            if exempt or rule.applies == "all":
                return 1.0 if exempt else rule.scale, f"{source.place}: {rule.words}"
    return None


def _small_count(value: ParsedValue, told_by: str, sources: Iterable[Source]) -> tuple[float, str] | None:
    """The scale of money for share counts that cannot be single shares."""
    few = value.number is not None and 0 < abs(value.number) < _FEW_SHARES and _ALL_SHARES.search(told_by)
    if not (value.decimals or few):
        return None
    found = _first(sources, ("currency",))
    return (found[0], f"{found[1]} (too few for single shares)") if found else None
