"""Sums among the numbers of a column, within the rounding of what is printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_TINY = 1e-9


class Item(NamedTuple):
    """A printed number: its value in full units, its unit, and by how much rounding may have moved it."""

    value: float
    unit: str | None
    error: float


def last_digit(printed: str, scale: float | None) -> float:
    """Value of one unit in the last printed digit, in full units.

    >>> last_digit("$ 1,577.5", 1e6)
    100000.0
    """
    text = "".join(letter for letter in printed if letter.isdigit() or letter in ".,").rstrip(".,")
    decimals = len(text.rsplit(".", 1)[1]) if "." in text else 0
    return float(abs(scale or 1.0) * 10.0**-decimals)


def additive_sums(items: Sequence[Item | None], total: Sequence[bool]) -> dict[int, list[int]]:
    """Which numbers of a column are the sum of those right above them.

    The column is read downwards. Where a row may be a total, the nearest run of at least two numbers above it
    that adds up to it, within rounding, is its parts; the total stands in their place for what comes below.

    Args:
        items: the column's numbers from top to bottom, None for rows without.
        total: which rows may be totals, same length.

    Returns:
        Place of each sum to the places of its parts, in order.
    """
    sums: dict[int, list[int]] = {}
    stack: list[tuple[int, Item]] = []
    for place, item in enumerate(items):
        if item is None:
            continue
        if total[place] and (parts := _adding_up(stack, item)):
            sums[place] = [stack[part][0] for part in parts]
            del stack[parts[0] :]
        stack.append((place, item))
    return sums


def _adding_up(stack: Sequence[tuple[int, Item]], total: Item) -> list[int]:
    value, error = 0.0, total.error + _TINY
    for start in range(len(stack) - 1, -1, -1):
        item = stack[start][1]
        if (item.unit or "") != (total.unit or ""):
            return []
        value += item.value
        error += item.error
        if len(stack) - start >= 2 and abs(value - total.value) <= error:
            return list(range(start, len(stack)))
    return []
