"""The benchmark as systems see it: its corpus, the questions of a fold, and what can be run on them.

Imports no Dagster at its top level besides what the resources need; the assets stay thin.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.evaluation.benchmark_registry import get_benchmark
from finrag_pipeline.orchestration.fingerprints import runs_fingerprint, scores_fingerprint
from finrag_pipeline.orchestration.partitions import fold_number, fold_partitions
from finrag_pipeline.orchestration.resources.settings import get_corpus, make_corpus
from finrag_pipeline.retrieval.component import Inputs, Learned
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.system import RetrievalSystem
from finrag_pipeline.retrieval.systems import ALL_SYSTEMS
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake


def benchmark_filings(store: Lake) -> tuple[str, ...]:
    """Filings of the benchmark's corpus that could be read and chunked."""
    chunked = {keys["filing"] for keys in store.partitions("filing_chunks")}
    names = tuple(filing for filing in get_benchmark(store).filings if filing in chunked)
    if not names:
        raise BenchmarkError(
            "None of the benchmark's filings could be read.", "See the failures of filing_pages."
        )
    return names


def fold_questions(store: Lake, fold: int) -> pa.Table:
    """Measured questions that are tested in ``fold``."""
    table = store.read("folds")
    tested = table.filter(pc.equal(table["fold"], fold))["question_id"]
    questions = store.read("benchmark_questions")
    return questions.filter(pc.is_in(questions["question_id"], tested.combine_chunks()))


class Sweep:
    """What a sweep over systems and folds shares: read from the lake once, not for every part.

    Args:
        values: settings of the run.
        store: the lake.
    """

    def __init__(self, values: Settings, store: Lake) -> None:
        from finrag_pipeline.rankers.page_ranker.library import PageLibrary

        self.values = values
        self.store = store
        self._names = names = benchmark_filings(store)
        questions = store.read("benchmark_questions", columns=["question", "status"])
        measured = questions.filter(pc.equal(questions["status"], "measured"))["question"].to_pylist()
        self._questions = frozenset(measured)
        self._trained: dict[int, Learned] = {}
        self._looked_up: dict[Hashable, Any] = {}  # asking a model hub for weights takes seconds
        self._library = PageLibrary(store)  # profiles and sentences are the same for every fold

        @lru_cache(maxsize=1)  # the last one alone: a loaded corpus is large
        def corpus_of(system: RetrievalSystem) -> Corpus:
            return get_corpus(values, store, names, system)

        self.corpus: Callable[[RetrievalSystem], Corpus] = corpus_of

    def trained(self, fold: int) -> Learned:
        """What was trained without the questions of ``fold``."""
        from finrag_pipeline.rankers.registry import usable_models

        if fold not in self._trained:
            self._trained[fold] = usable_models(self.store, self.values, fold, self._library)
        return self._trained[fold]

    def inputs(self, system: RetrievalSystem, fold: int) -> Inputs:
        """What ``system`` works on for the questions of ``fold``."""
        return Inputs(self.corpus(system), self.trained(fold), self._questions)

    def problem(self, system: RetrievalSystem, fold: int | None = None) -> str | None:
        """Why ``system`` is not run on ``fold``, or on any fold; None when it can be run."""
        folds = range(len(fold_partitions.get_partition_keys())) if fold is None else (fold,)
        asked = [
            number for number in folds if fold is not None or fold_questions(self.store, number).num_rows
        ]
        corpus = make_corpus(self.values, self.store, self._names, system, self._looked_up)
        inputs = [Inputs(corpus, self.trained(number), self._questions) for number in asked]
        return next(filter(None, map(system.problem, inputs or [Inputs(corpus)])), None)

    def runs_fingerprint(self, system: RetrievalSystem, fold: int, questions: pa.Table) -> str:
        """What a part of ``retrieval_runs`` should have been made from."""
        return runs_fingerprint(system, self.inputs(system, fold), questions)


def drop_stale_results(store: Lake, values: Settings) -> list[str]:
    """Remove runs and scores that were made on another corpus, other questions or another configuration.

    Only the systems of a sweep are made anew. What the others left from before must not stand beside them:
    their figures would be those of another corpus. Neither may figures of a system that cannot be run any
    more, whose models nobody can check.

    Returns:
        Systems of which something was removed.
    """
    sweep = Sweep(values, store)
    dropped = set()
    found = [*store.partitions("retrieval_runs"), *store.partitions("retrieval_scores")]
    for keys in sorted(found, key=lambda keys: keys["system"]):
        runs = scores = None
        if keys["system"] in ALL_SYSTEMS and keys["fold"] in fold_partitions.get_partition_keys():
            fold = fold_number(keys["fold"])
            questions = fold_questions(store, fold)
            system = ALL_SYSTEMS[keys["system"]]
            if sweep.problem(system, fold) is None:
                runs = sweep.runs_fingerprint(system, fold, questions)
                scores = scores_fingerprint(runs, questions)
        for asset, wanted in (("retrieval_runs", runs), ("retrieval_scores", scores)):
            info = store.info(asset, keys)
            if info is not None and info.fingerprint != wanted:
                store.remove(asset, keys)
                dropped.add(keys["system"])
    return sorted(dropped)
