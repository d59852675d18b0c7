"""What the numbers of a column of a table have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from finrag_pipeline.tables.values import ParsedValue


@dataclass(slots=True)
class ColumnFacts:
    """What the numbers of a column have in common.

    Attributes:
        numbers: how many there are; dashes do not count.
        whole, two, other: how many have no decimals, two, or another number of them, per cent and years
            aside.
        percent_first: the first bears a per cent sign, and no later one is money or has groups of digits.
        money: some bear a sign of currency.
        grouped: so many have groups of three digits.
        largest: the greatest size of one.
    """

    numbers: int = 0
    whole: int = 0
    two: int = 0
    other: int = 0
    percent_first: bool = False
    money: bool = False
    grouped: int = 0
    largest: float = 0.0

    @property
    def amounts(self) -> bool:
        """Whether the column is no one of per cent, whatever stands above it."""
        return self.money or 3 * self.grouped > self.numbers


def column_facts(parsed: Mapping[tuple[int, int], ParsedValue]) -> dict[int, ColumnFacts]:
    """Facts of each column of a table's body.

    Args:
        parsed: its cells by (row, column), row by row.
    """
    facts: dict[int, ColumnFacts] = {}
    for (_, column), value in parsed.items():
        found = facts.setdefault(column, ColumnFacts())
        if value.kind != "number" or value.number is None:
            continue
        if not found.numbers:
            found.percent_first = value.percent
        elif value.grouped or value.currency:
            found.percent_first = False
        found.money |= value.currency is not None
        found.grouped += value.grouped
        found.largest = max(found.largest, abs(value.number))
        if not value.percent and not value.looks_like_year:
            found.whole += value.decimals == 0
            found.two += value.decimals == 2
            found.other += value.decimals not in (0, 2)
        found.numbers += 1
    return facts
