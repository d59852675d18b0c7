"""Benchmarks: speed and memory against named peers, run by hand, the ratio printed.

Every comparison runs both sides in turn in one process or one command, so that a machine whose speed
drifts changes both. Run one: ``python -m benchmarks.bm25 --help``; all: ``make bench``.
"""

from __future__ import annotations

import argparse
import sys

FINRAG = (sys.executable, "-m", "finrag_pipeline.cli")
"""The command line as a program of its own."""


def arguments(description: str | None) -> argparse.ArgumentParser:
    """A parser of arguments whose help is a module's own text, as it is laid out there."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
