"""What the arithmetic of a table tells: rows that are sums of others, and rows that should be but are not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from finrag_pipeline.tables.page_text.lines import Number


def values_of(rows: Sequence[Sequence[Number]]) -> tuple[np.ndarray, float]:
    """Values of rows of numbers, 0 for marks, shape (rows, columns); how far rounding may take a sum off."""
    values = np.array([[one.value or 0.0 for one in row] for row in rows])
    decimals = max((one.decimals for row in rows for one in row), default=0)
    return values, 1.5 * 10.0 ** -max(decimals, 0)


def agreement(values: np.ndarray, tolerance: float) -> float:
    """How well rows go together: sums that hold in every column, and two equal totals."""
    total, _ = sums_above(values, tolerance, partly=False)
    return float(total.sum()) + 2.0 * (equal_rows(values)[0] is not None)


def sums_above(values: np.ndarray, tolerance: float, partly: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Rows that are sums, and rows of sums that hold in some columns only; both of shape (rows,).

    A sum is the sum of rows right above it, or the first of them less the others, in all columns. Rows that a
    sum has taken in are replaced by it, so that totals of subtotals are found too. Where a sum holds in some
    columns only, some number stands in a wrong column.

    Args:
        values: shape (rows, columns).
        tolerance: how far rounding may take a sum off.
        partly: also look for sums that hold in some columns only.
    """
    total, broken = np.zeros(len(values), bool), np.zeros(len(values), bool)
    open_rows: list[int] = []
    for place in range(len(values)):
        if len(open_rows) > 1 and np.abs(values[place]).max() > 0:
            above = values[open_rows][::-1]
            tails = np.cumsum(above, axis=0)
            close = np.abs(tails - values[place]) <= tolerance
            close |= np.abs(2 * above - tails - values[place]) <= tolerance
            hits = np.flatnonzero(close[1:].all(1)) + 1
            if len(hits):
                total[place] = True
                del open_rows[len(open_rows) - int(hits[0]) - 1 :]
            elif partly and (reach := _partly(close, above, values[place], tolerance)):
                broken[[*open_rows[len(open_rows) - reach - 1 :], place]] = True
        open_rows.append(place)
    return total, broken


def _partly(close: np.ndarray, above: np.ndarray, value: np.ndarray, tolerance: float) -> int:
    """How far above the last row a sum begins that holds in some columns only; 0 if there is none.

    Sums of a few small numbers hold by chance: at least two numbers have to be large.
    """
    large = np.abs(value) > 100 * tolerance
    terms = np.cumsum(np.abs(above) > 20 * tolerance, axis=0) >= 2
    some = (close & large & terms).any(1)
    some[0] = False
    hits = np.flatnonzero(some)
    return int(hits[0]) if len(hits) else 0


def equal_rows(values: np.ndarray) -> tuple[int | None, int | None]:
    """The first and last of the rows with the largest number that are the same, as a balance sheet has."""
    largest = np.abs(values).max(initial=0.0)
    places = np.flatnonzero((values.max(1) == largest) & (largest > 0))
    for first in places[:1]:
        same = places[(values[places] == values[first]).all(1)]
        if len(same) > 1:
            return int(same[0]), int(same[-1])
    return None, None
