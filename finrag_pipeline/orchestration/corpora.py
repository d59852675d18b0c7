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
from finrag_pipeline.evaluation.benchmark import get_benchmark
from finrag_pipeline.evaluation.retrieval_metrics import METRICS_VERSION
from finrag_pipeline.evaluation.summary import SLICED
from finrag_pipeline.orchestration.partitions import fold_number, fold_partitions
from finrag_pipeline.orchestration.resources.settings import get_corpus, make_corpus
from finrag_pipeline.retrieval.component import Inputs, Learned
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.system import RetrievalSystem
from finrag_pipeline.retrieval.systems import ALL_SYSTEMS
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
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


def asked(questions: pa.Table) -> list[list[Any]]:
    """Of rows of ``benchmark_questions``, what a ranking is made from."""
    return [questions[column].to_pylist() for column in ("question_id", "question", "filing", "gold_pages")]


def scores_fingerprint(runs: str, questions: pa.Table) -> str:
    """What a part of ``retrieval_scores`` is made from, of runs with the fingerprint ``runs``."""
    gold = [questions[column].to_pylist() for column in ("question_id", "evidence", "gold_pages", "filing")]
    return fingerprint("retrieval_scores", METRICS_VERSION, runs, gold)


def sliced_by(store: Lake) -> tuple[pa.Table, dict[str, str], list[Any]]:
    """Questions, source of each filing, and what of both the slices of metrics are made of.

    That does not enter the scores.
    """
    rows = store.read_all("filings", ["filing", "source"]).to_pylist()
    sources = {row["filing"]: row["source"] for row in rows}
    questions = store.read("benchmark_questions")
    of_questions = [questions[name].to_pylist() for name in SLICED]
    return questions, sources, [*of_questions, [sources.get(one) for one in questions["filing"].to_pylist()]]


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
        """What a part of ``retrieval_runs`` should have been made from.

        Raises:
            ModelError: a model that the system needs cannot be had.
        """
        return fingerprint("retrieval_runs", system.fingerprint(self.inputs(system, fold)), asked(questions))


Parts = list[tuple[str, dict[str, str]]]
"""Parts of tables: table, hive keys."""


def stale_results(store: Lake, values: Settings) -> Parts:
    """Runs and scores that were made on another corpus, other questions or another configuration.

    Only the systems of a sweep are made anew. What the others left from before must not stand beside them:
    their figures would be those of another corpus. Neither may figures of a system that cannot be run any
    more, whose models nobody can check.
    """
    sweep = Sweep(values, store)
    stale = []
    found = {tuple(keys.items()) for table in _RESULTS for keys in store.partitions(table)}
    for keys in map(dict, sorted(found)):
        runs = scores = None
        if keys["system"] in ALL_SYSTEMS and keys["fold"] in fold_partitions.get_partition_keys():
            fold = fold_number(keys["fold"])
            questions = fold_questions(store, fold)
            system = ALL_SYSTEMS[keys["system"]]
            if sweep.problem(system, fold) is None:
                runs = sweep.runs_fingerprint(system, fold, questions)
                scores = scores_fingerprint(runs, questions)
        for table, wanted in zip(_RESULTS, (runs, scores), strict=True):
            info = store.info(table, keys)
            if info is not None and info.fingerprint != wanted:
                stale.append((table, keys))
    return stale


_RESULTS = ("retrieval_runs", "retrieval_scores")


def drop(store: Lake, parts: Parts) -> list[str]:
    """Remove parts of results; the systems that they are of."""
    for table, keys in parts:
        store.remove(table, keys)
    return sorted({keys["system"] for _, keys in parts})


def drop_stale_results(store: Lake, values: Settings) -> list[str]:
    """Remove `stale_results`; the systems that they were of."""
    return drop(store, stale_results(store, values))


def measured_systems(store: Lake) -> set[str]:
    """Systems whose figures are published; all that were run before any are."""
    published = store.read_all("system_metrics", ["system"])["system"].to_pylist()
    return set(published) or {keys["system"] for table in _RESULTS for keys in store.partitions(table)}


def others(store: Lake, table: str, left_out: Parts) -> list[dict[str, str]]:
    """Hive keys of the parts of a table that are not left out."""
    return [keys for keys in store.partitions(table) if (table, keys) not in left_out]
