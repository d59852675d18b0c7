"""Paired timing: A and B in turn, the median of the ratios."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable


def paired(
    name: str,
    ours: Callable[[], float],
    peer: Callable[[], float],
    rounds: int = 5,
    unit: str = "per second",
) -> float:
    """Median of ours / peer over ``rounds``; both return a rate. The first round is a warm-up."""
    ratios, mine, theirs = [], [], []
    for number in range(rounds + 1):
        gc.collect()
        b = peer()
        gc.collect()
        a = ours()
        if number:
            ratios.append(a / b)
            mine.append(a)
            theirs.append(b)
    ratio = statistics.median(ratios)
    print(
        f"{name}: ratio {ratio:.2f} (from {min(ratios):.2f} to {max(ratios):.2f}), "
        f"ours {statistics.median(mine):.1f}, peer {statistics.median(theirs):.1f} {unit}"
    )
    return ratio


def rate(work: Callable[[], int], clock: Callable[[], float] = time.perf_counter) -> Callable[[], float]:
    """Turn work that returns how much it did into a rate per second."""

    def measured() -> float:
        start = clock()
        done = work()
        return done / (clock() - start)

    return measured
