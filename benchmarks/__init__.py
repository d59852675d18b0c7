"""Benchmarks: speed and memory against named peers, run by hand, the ratio printed.

Every comparison runs both sides in turn in one process or one command, so that a machine whose speed
drifts changes both. Run one: ``python -m benchmarks.bm25 --help``; all: ``make bench``.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

FINRAG = (sys.executable, "-m", "finrag_pipeline.cli")
"""The command line as a program of its own."""


def arguments(description: str | None) -> argparse.ArgumentParser:
    """A parser of arguments whose help is a module's own text, as it is laid out there."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


@contextmanager
def served(env: dict[str, str]) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Address and process of a service, its models loaded."""
    command = [*FINRAG, "serve", "--port", "0"]
    with subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE) as process:
        assert process.stdout
        url = process.stdout.readline().strip()
        process.stdout.readline()  # ready
        try:
            yield url, process
        finally:
            process.terminate()


def paired(name: str, ours: Callable[[], float], peer: Callable[[], float], rounds: int, unit: str) -> None:
    """Print the median of ours / peer over ``rounds``; both return a rate. The first round is a warm-up."""
    mine, theirs = list[float](), list[float]()
    for _ in range(rounds + 1):
        for rates, side in ((theirs, peer), (mine, ours)):
            gc.collect()
            rates.append(side())
    ratios = [one / other for one, other in zip(mine[1:], theirs[1:], strict=True)]
    print(
        f"{name}: ratio {median(ratios):.2f} (from {min(ratios):.2f} to {max(ratios):.2f}), "
        f"ours {median(mine[1:]):.1f}, peer {median(theirs[1:]):.1f} {unit}"
    )


def rate(work: Callable[[], int], clock: Callable[[], float] = time.perf_counter) -> Callable[[], float]:
    """Turn work that returns how much it did into a rate per second."""

    def measured() -> float:
        start = clock()
        done = work()
        return done / (clock() - start)

    return measured
