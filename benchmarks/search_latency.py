"""Search: seconds per question over all filings of a lake, as one process answers them one after the other.

The first pass loads pages of filings on first use; the passes after it find them loaded, as a service does.
On a busy machine wall time says little: its load and the processor time of the process stand beside it.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from finrag_pipeline.retrieval.chunk_index import searchable_filings
from finrag_pipeline.services.search import Searcher
from finrag_pipeline.settings import get_settings
from finrag_pipeline.storage.lake import Lake

NAMELESS = ("What drove the change in gross margin?", "What is the quick ratio?", "Which debt is registered?")
"""Questions without a company: every filing is searched."""


def seconds(searcher: Searcher, questions: Sequence[str], system: str | None, k: int) -> np.ndarray:
    """Wall and processor seconds of each search; shape (questions, 2)."""
    taken = []
    for question in questions:
        wall, processor = time.perf_counter(), time.process_time()
        searcher.search(question, system, k)
        taken.append((time.perf_counter() - wall, time.process_time() - processor))
    return np.array(taken)


def summary(taken: np.ndarray) -> str:
    """Median, 95th percentile and largest of wall and processor time, in milliseconds."""
    texts = []
    for name, values in zip(("wall", "processor"), 1000 * taken.T, strict=True):
        p50, p95 = np.quantile(values, [0.5, 0.95])
        texts.append(f"{name} p50 {p50:.0f} ms, p95 {p95:.0f} ms, most {values.max():.0f} ms")
    return f"{'; '.join(texts)} ({len(taken)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--system", help="retrieval system (default: that of finrag search)")
    parser.add_argument("-k", type=int, default=5)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--every", type=int, default=1, help="only every n-th question")
    options = parser.parse_args()
    settings = get_settings()
    lake = Lake(settings.lake)
    table = lake.read("benchmark_questions")
    questions = table.filter(pc.equal(table["status"], "measured"))["question"].to_pylist()[:: options.every]
    print(
        f"{len(searchable_filings(lake))} filings, {len(questions)} questions, load {os.getloadavg()[0]:.1f}"
    )
    start = time.perf_counter()
    searcher = Searcher(settings)
    name = searcher.search(questions[0], options.system, options.k).system
    print(f"{name}: first answer after {time.perf_counter() - start:.1f} s")
    for number in range(options.passes):
        taken = seconds(searcher, questions, options.system, options.k)
        print(f"pass {number + 1}: {summary(taken)}, load {os.getloadavg()[0]:.1f}")
    print(f"without a company, first: {summary(seconds(searcher, NAMELESS, options.system, options.k))}")
    print(f"without a company, again: {summary(seconds(searcher, NAMELESS * 3, options.system, options.k))}")


if __name__ == "__main__":
    main()
