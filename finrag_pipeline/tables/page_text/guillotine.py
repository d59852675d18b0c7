"""Columns of numbers from a text in which neighbouring blocks were joined step by step.

Such a text is cut like a guillotine cuts paper: a band of rows is written column by column, then the next
band. Within a band, some neighbouring columns may have been joined before the others, in bands of their
own. The cheapest such cutting is found by dynamic programming, vectorised over where a band begins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

BAND = 0.6
"""Cost of another band."""
_MOST_ROWS, _MOST_NESTED = 70, 4
"""Rows and columns up to which bands within bands are tried: their number grows with the square of both."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Costs of reading the numbers of a text in some order.

    Attributes:
        unlike: how unlike two numbers of one row are; shape (n, n).
        change: of changing the column before each number; shape (n,).
        stay: of going on down a column before each number; shape (n,).
        last: of each number standing in the last column; shape (n,).
    """

    unlike: np.ndarray
    change: np.ndarray
    stay: np.ndarray
    last: np.ndarray


class Cutter:
    """Cheapest cutting of a text's numbers into ``columns`` full columns."""

    def __init__(self, steps: Steps, columns: int, band: float = BAND) -> None:
        """Prepare sums for numbers read at these costs, where another band costs ``band``."""
        self._band, self._unlike, self._last = band, steps.unlike, steps.last
        total = len(steps.change)
        self._columns, self._rows = columns, total // columns
        self._change, self._total = steps.change, total
        self._stays = np.concatenate([[0.0], np.cumsum(steps.stay)])
        self._stay = steps.stay
        self._lasts = np.concatenate([[0.0], np.cumsum(steps.last)])
        # Sums down the diagonals: [lag, n] is what numbers 0 to n-1 cost beside those lag places later.
        self._lagged = np.zeros((total + 1, total + 1))
        for lag in range(1, total):
            self._lagged[lag, 1 : total - lag + 1] = np.cumsum(np.diagonal(steps.unlike, lag))

    def wrapped(self) -> tuple[list[np.ndarray], float]:
        """As `cut`, in one band, where the first column is broken off and ends after all others."""
        rows, columns = self._rows, self._columns
        best, chosen = np.inf, np.zeros((rows, columns), int)
        rest = np.arange(rows * (columns - 1)).reshape(columns - 1, rows).T
        for upper in range(1, rows):
            first = np.concatenate([np.arange(upper), np.arange(self._total - rows + upper, self._total)])
            index = np.concatenate([first[:, None], upper + rest], axis=1)
            turns = [upper + rows * column for column in range(columns)]
            cost = self._stays[-1] - self._stays[1] + float((self._change[turns] - self._stay[turns]).sum())
            cost += float(self._unlike[index[:, :-1], index[:, 1:]].sum()) + self._band
            cost += float(self._last[index[:, -1]].sum())
            if cost < best:
                best, chosen = cost, index
        return [chosen], float(best)

    def cut(self, nested: bool) -> tuple[list[np.ndarray], float]:
        """Bands from top to bottom, which number stands where in each, shape (rows, columns); the cost.

        Args:
            nested: also try bands within bands.
        """
        rows, columns = self._rows, self._columns
        heights = np.arange(1, rows + 1)[:, None]
        starts = np.arange(rows)[None, :] * columns
        fits = starts + columns * heights <= self._total
        bands = np.where(fits, self._plain(np.where(fits, starts, 0), heights * fits, columns), np.inf)
        kinds = np.zeros(bands.shape, int)
        ways = _ways(columns) if nested and rows <= _MOST_ROWS else []
        for number, way in enumerate(ways, 1):
            for height in range(2, rows + 1):
                tops = np.arange(rows - height + 1) * columns
                cost = self._nested(way, tops, height)[0]
                better = cost < bands[height - 1, : len(tops)] - 1e-9
                bands[height - 1, : len(tops)][better] = cost[better]
                kinds[height - 1, : len(tops)][better] = number
        best, chosen = np.zeros(rows + 1), np.zeros(rows + 1, int)
        for row in range(1, rows + 1):
            options = best[row - 1 :: -1] + bands[np.arange(row), np.arange(row - 1, -1, -1)]
            options[: row - 1] += self._band + self._change[np.arange(row - 1, 0, -1) * columns]
            chosen[row] = int(options.argmin()) + 1
            best[row] = options[chosen[row] - 1]
        pieces, row, more = [], rows, 0
        while row:
            height = int(chosen[row])
            row -= height
            kind = int(kinds[height - 1, row])
            if kind:
                index, inner = self._nested_index(ways[kind - 1], row * columns, height)
                pieces.append(index)
                more += inner
            else:
                pieces.append(_down(row * columns, columns, height))
        # At the price of bands that all arrangements are compared at.
        extra = (self._band - BAND) * (len(pieces) - 1 + more)
        return pieces[::-1], float(best[rows]) - extra

    def _plain(self, start: np.ndarray, height: np.ndarray, columns: int, last: bool = True) -> np.ndarray:
        """Cost of bands written column by column, by first number and height; shapes broadcast."""
        end = start + columns * height
        first = np.minimum(start + 1, self._total)
        cost = self._stays[end] - self._stays[np.minimum(first, end)]
        for column in range(1, columns):
            turn = np.minimum(start + column * height, self._total - 1)
            cost = cost + self._change[turn] - self._stay[turn]
        beside = end - height
        cost = cost + self._lagged[height, beside] - self._lagged[height, start]
        if last:
            cost = cost + self._lasts[end] - self._lasts[beside]
        return cost

    def _nested(
        self, way: tuple[int, int, int], tops: np.ndarray, height: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Cost of bands in which the middle columns have bands of their own.

        Args:
            way: columns to the left, in the middle, to the right.
            tops: first number of each band; shape (t,).
            height: rows of the band.

        Returns:
            Cost of each band, shape (t,); height of the last inner band down to each row, (t, height + 1).
        """
        left, middle, right = way
        top = tops[:, None, None]
        row = np.arange(height)[:, None]
        tall = np.arange(1, height + 1)[None, :]
        fits = row + tall <= height
        row, tall = row * fits, np.where(fits, tall, 1)
        inner = top + left * height + middle * row
        cost = self._plain(inner, np.broadcast_to(tall, inner.shape[-2:])[None], middle, last=not right)
        cost = cost + np.where(row > 0, self._change[inner] + self._band, 0.0)
        if left:
            beside = top + (left - 1) * height + row
            lag = inner - beside
            cost = cost + self._lagged[lag, beside + tall] - self._lagged[lag, beside]
        if right:
            beside = inner + (middle - 1) * tall
            lag = top + (left + middle) * height + row - beside
            cost = cost + self._lagged[lag, beside + tall] - self._lagged[lag, beside]
        cost = np.where(fits, cost, np.inf)
        best = np.zeros((len(tops), height + 1))
        chosen = np.zeros((len(tops), height + 1), int)
        for done in range(1, height + 1):
            back = np.arange(1, done + 1)
            options = best[:, done - back] + cost[:, done - back, back - 1]
            chosen[:, done] = options.argmin(1) + 1
            best[:, done] = options.min(1)
        total = best[:, height] + self._band
        flat = np.asarray(height)
        if left:
            total = total + self._plain(tops, flat, left, last=False) + self._change[tops + left * height]
        if right:
            start = tops + (left + middle) * height
            total = total + self._plain(start, flat, right) + self._change[start]
        return total, chosen

    def _nested_index(self, way: tuple[int, int, int], top: int, height: int) -> tuple[np.ndarray, int]:
        """Which number stands where in a band with inner bands, and how many these are."""
        left, middle, right = way
        chosen = self._nested(way, np.array([top]), height)[1][0]
        pieces, row = [], height
        while row:
            tall = int(chosen[row])
            row -= tall
            pieces.append(_down(top + left * height + middle * row, middle, tall))
        parts = [np.concatenate(pieces[::-1])]
        if left:
            parts.insert(0, _down(top, left, height))
        if right:
            parts.append(_down(top + (left + middle) * height, right, height))
        return np.concatenate(parts, axis=1), len(pieces)


def _ways(columns: int) -> list[tuple[int, int, int]]:
    """How many columns stand to the left of those with bands of their own, among them, to the right."""
    if columns > _MOST_NESTED:
        return []
    return [
        (left, middle, columns - left - middle)
        for middle in range(2, columns)
        for left in range(columns - middle + 1)
    ]


def _down(start: int, columns: int, height: int) -> np.ndarray:
    return start + np.arange(columns * height).reshape(columns, height).T
