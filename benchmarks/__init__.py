"""Benchmarks: speed and memory against named peers, run by hand, the ratio printed.

Every comparison runs both sides in turn in one process or one command, so that a machine whose speed
drifts changes both. Run one: ``python -m benchmarks.bm25 --help``; all: ``make bench``.
"""
