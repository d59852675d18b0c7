"""Disjoint intervals on a line."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class Intervals:
    """Disjoint intervals in order; what overlaps is merged as it is added."""

    def __init__(self) -> None:
        self.lows: list[float] = []
        self.highs: list[float] = []

    def __len__(self) -> int:
        return len(self.lows)

    def add(self, low: float, high: float) -> None:
        """Add an interval, in logarithmic time where it falls within a known one."""
        first, stop = bisect_right(self.highs, low), bisect_left(self.lows, high)
        if first < stop:
            low, high = min(low, self.lows[first]), max(high, self.highs[stop - 1])
        self.lows[first:stop] = [low]
        self.highs[first:stop] = [high]

    def overlaps(self, low: float, high: float) -> bool:
        """Whether the interval overlaps one of these."""
        return bisect_right(self.highs, low) < bisect_left(self.lows, high)
