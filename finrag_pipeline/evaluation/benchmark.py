"""Which benchmark the lake measures, its corpus of filings, and the folds of its questions.

Filings that reach the lake by other ways do not change a benchmark's corpus, so its figures stay
comparable from one night to the next. No filing, or no company, is both trained on and tested on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.filings.names import filing_id
from finrag_pipeline.schemas import FOLDS, conform
from finrag_pipeline.storage.lake import Lake


@dataclass(frozen=True)
class Benchmark:
    """A benchmark kept in the lake: its corpus, the paths of its files there, and a hash of both files."""

    name: str
    filings: tuple[str, ...]
    questions: str
    documents: str | None
    sha256: str


def register_benchmark(
    lake: Lake, name: str, filings: Sequence[str], questions: Path, documents: Path | None
) -> Benchmark:
    """Keep a benchmark's files in the lake and make it the one that is measured.

    Raises:
        BenchmarkError: a file cannot be read.
    """
    name = filing_id(name)
    try:
        question_bytes = questions.read_bytes()
        document_bytes = documents.read_bytes() if documents else None
    except OSError as error:
        raise BenchmarkError(
            f"{error.filename} cannot be read: {error.strerror}.", "Check the source folder."
        ) from error
    folder = lake.path("benchmarks", name)
    lake.write_bytes(f"{folder}/questions.jsonl", question_bytes)
    if document_bytes is not None:
        lake.write_bytes(f"{folder}/documents.jsonl", document_bytes)
    record = {
        "name": name,
        "filings": sorted(filings),
        "documents": document_bytes is not None,
        "sha256": sha256(question_bytes + b"\0" + (document_bytes or b"")).hexdigest(),
    }
    lake.write_json(f"{folder}/benchmark.json", record)
    lake.write_json(lake.path("benchmarks", "active.json"), {"name": name})
    return _read(lake, name)


def active_benchmark(lake: Lake) -> Benchmark | None:
    """The benchmark that is measured, or None when the lake holds none."""
    active = lake.read_json(lake.path("benchmarks", "active.json"))
    name = active.get("name") if isinstance(active, dict) else None
    return _read(lake, name) if isinstance(name, str) else None


def get_benchmark(lake: Lake) -> Benchmark:
    """The benchmark that is measured.

    Raises:
        BenchmarkError: the lake holds none.
    """
    benchmark = active_benchmark(lake)
    if benchmark is None:
        raise BenchmarkError(
            "The lake holds no benchmark.", "Run 'finrag run', with --source for one of your own."
        )
    return benchmark


def benchmark_filings(lake: Lake) -> tuple[str, ...]:
    """Filings of the benchmark's corpus that could be read and chunked.

    Raises:
        BenchmarkError: the lake holds no benchmark, or nothing of its filings.
    """
    chunked = {keys["filing"] for keys in lake.partitions("filing_chunks")}
    names = tuple(filing for filing in get_benchmark(lake).filings if filing in chunked)
    if not names:
        raise BenchmarkError(
            "None of the benchmark's filings could be read.", "See the failures of filing_pages."
        )
    return names


def _read(lake: Lake, name: str) -> Benchmark:
    folder = lake.path("benchmarks", name)
    record = lake.read_json(f"{folder}/benchmark.json")
    if not isinstance(record, dict) or not {"filings", "documents", "sha256"} <= record.keys():
        raise BenchmarkError(
            f"The record of benchmark '{name}' is missing or damaged.", "Run 'finrag run' again."
        )
    return Benchmark(
        name,
        tuple(record["filings"]),
        f"{folder}/questions.jsonl",
        f"{folder}/documents.jsonl" if record["documents"] else None,
        record["sha256"],
    )


FOLDS_VERSION = "1"
"""Changes whenever a question may be in another fold."""


def assign_folds(
    questions: pa.Table, folds: int, seed: int, by: Literal["filing", "company"] = "filing"
) -> pa.Table:
    """Assign every measured question to the fold in which it is tested.

    Documents are shuffled, taken in descending number of questions, and each is given to the fold with the
    fewest questions so far (greedy longest-processing-time balancing: Graham, 1969). The result depends on
    the set of questions, not on the order of their rows. With fewer documents than folds some stay empty.

    Args:
        questions: table as ``schemas.BENCHMARK_QUESTIONS``.
        folds: number of folds.
        seed: of the shuffle.
        by: what stays together. Filings of one company in different years are near-copies: folds by company
            keep them apart too.

    Returns:
        Table as ``schemas.FOLDS``, in the order of ``questions``.
    """
    measured = questions.filter(pc.equal(questions["status"], "measured"))
    groups = measured[by].to_pylist()
    counts = Counter(groups)
    documents = sorted(counts)
    shuffled = [documents[i] for i in np.random.default_rng(seed).permutation(len(documents))]
    load = [0] * folds
    fold_of: dict[str, int] = {}
    for document in sorted(shuffled, key=lambda name: -counts[name]):  # stable: ties stay shuffled
        fold = load.index(min(load))
        fold_of[document] = fold
        load[fold] += counts[document]
    table = pa.table(
        {
            "question_id": measured["question_id"],
            "filing": measured["filing"],
            "fold": pa.array([fold_of[group] for group in groups], pa.int32()),
        },
        schema=FOLDS,
    )
    return conform(table, "folds")
