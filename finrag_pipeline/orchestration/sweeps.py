"""The benchmark as systems see it: its corpus, the questions of a fold, what can be run on them, and answers.

Imports no Dagster at its top level besides what the resources need; the assets stay thin.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.answering.systems import ANSWER_SYSTEMS, AnswerSystem
from finrag_pipeline.evaluation.benchmark import benchmark_filings, get_benchmark
from finrag_pipeline.language_models.load import language_model_problem, load_language_model
from finrag_pipeline.language_models.protocol import LanguageModel
from finrag_pipeline.orchestration.lineage import versions
from finrag_pipeline.orchestration.partitions import FOLD_COUNT, fold_number, fold_partitions
from finrag_pipeline.orchestration.resources import Corpora, get_encoder, make_corpus
from finrag_pipeline.retrieval.component import Inputs, Learned
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.system import RetrievalSystem
from finrag_pipeline.retrieval.systems import ALL_SYSTEMS, get_system
from finrag_pipeline.schemas.catalogue import CATALOGUE, ancestors
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.answering.calculator import Calculator
    from finrag_pipeline.answering.extractive import Embed


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
    return fingerprint("retrieval_scores", *versions("retrieval_scores"), runs, gold)


class Sweep:
    """What a sweep over systems and folds shares: read from the lake once, not for every part."""

    def __init__(self, values: Settings, store: Lake, corpora: Corpora | None = None) -> None:
        from finrag_pipeline.rankers.page_ranker.library import KEPT_IN_A_RUN, PageLibrary
        from finrag_pipeline.rankers.registry import trained_models

        self.values = values
        self.store = store
        self._names = benchmark_filings(store)
        questions = store.read("benchmark_questions", columns=["question", "status"])
        measured = questions.filter(pc.field("status") == "measured")["question"]
        self._questions = frozenset(measured.to_pylist())
        self._looked_up: dict[Hashable, Any] = {}  # asking a model hub for weights takes seconds
        library = PageLibrary(store, KEPT_IN_A_RUN)  # the same for every fold
        self.trained: Callable[[int], Learned] = cache(
            lambda fold: trained_models(store, values, fold, library)
        )
        self.corpus: Callable[[RetrievalSystem], Corpus] = lru_cache(maxsize=1)(
            partial((corpora or Corpora()).corpus, values, store, self._names)
        )

    def inputs(self, system: RetrievalSystem, fold: int) -> Inputs:
        """What ``system`` works on for the questions of ``fold``."""
        return Inputs(self.corpus(system), self._learned(system, fold), self._questions)

    def _learned(self, system: RetrievalSystem, fold: int) -> Learned:
        """What was trained; nothing for a system that asks for no model."""
        return self.trained(fold) if system.models else Learned(fold=fold)

    def problem(self, system: RetrievalSystem, fold: int | None = None) -> str | None:
        """Why ``system`` is not run on ``fold``, or on any fold; None when it can be run."""
        asked = [fold] if fold is not None else sorted(set(self.store.read("folds")["fold"].to_pylist()))
        corpus = make_corpus(self.values, self.store, self._names, system, self._looked_up)
        inputs = [Inputs(corpus, self._learned(system, number), self._questions) for number in asked]
        return next(filter(None, map(system.problem, inputs or [Inputs(corpus)])), None)

    def runs_fingerprint(self, system: RetrievalSystem, fold: int, questions: pa.Table) -> str:
        """What a part of ``retrieval_runs`` should have been made from.

        Raises:
            ModelError: a model that the system needs cannot be had.
        """
        return fingerprint("retrieval_runs", system.fingerprint(self.inputs(system, fold)), asked(questions))


Parts = list[tuple[str, dict[str, str]]]
"""Parts of tables: table, hive keys."""


def stale_results(store: Lake, values: Settings, corpora: Corpora | None = None) -> Parts:
    """Runs and scores that were made on another corpus, other questions or another configuration.

    Only the systems of a sweep are run again. What the others left from before must not stand beside them:
    their figures would be those of another corpus. Neither may figures of a system that cannot be run any
    more, whose models nobody can check.
    """
    sweep = Sweep(values, store, corpora)
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


def measured_systems(store: Lake) -> set[str]:
    """Systems whose figures are published; all that were run before any are."""
    published = store.read_all("system_metrics", ["system"])["system"].to_pylist()
    return set(published) or {keys["system"] for table in _RESULTS for keys in store.partitions(table)}


class AnswerSweep:
    """What answering systems share: read from the lake once, not for every part."""

    def __init__(self, values: Settings, store: Lake, corpora: Corpora) -> None:
        self._values, self._store, self._corpora = values, store, corpora
        self._names = benchmark_filings(store)

    @cached_property
    def _model(self) -> LanguageModel | None:
        return load_language_model(self._values.language_model, self._store)

    @cached_property
    def _calculator(self) -> Calculator:
        from finrag_pipeline.answering.calculator import Calculator

        resolver = self._corpora.resolver(self._values, self._store, self._names)
        return Calculator.of_lake(self._store, resolver, self._names)

    def problem(self, system: AnswerSystem, fold: str) -> str | None:
        """Why ``system`` is not run on ``fold``; None when it can be run."""
        if self._store.info("retrieval_runs", {"system": system.retrieval, "fold": fold}) is None:
            return f"The lake holds no run of {system.retrieval} on {fold}."
        return language_model_problem(self._values.language_model) if system.needs_model else None

    def fingerprint(self, system: AnswerSystem, fold: str, number: int) -> str:
        """What a part of ``answers`` should have been made from."""
        runs = self._store.info("retrieval_runs", {"system": system.retrieval, "fold": fold})
        read = [
            self._store.info(table, {"filing": name})
            for table in ("statement_facts", "page_tables")
            for name in self._names
        ]
        questions = fold_questions(self._store, number)
        asked = [questions[name].to_pylist() for name in ("question_id", "question")]
        how = [system.name, system.method, system.retrieval]
        model = None
        if system.needs_model and self._model is not None and system.method in ("prompt", "cot", "grounded"):
            from finrag_pipeline.answering.generation import generation_fingerprint

            model = generation_fingerprint(self._model, system.method, self._values.answers)
        made_from = [part and part.fingerprint for part in (runs, *read)]
        return fingerprint("answers", versions("answers"), how, made_from, asked, model)

    def answers(self, system: AnswerSystem, fold: str, number: int) -> pa.Table:
        """Rows of ``answers``."""
        from finrag_pipeline.answering.runs import run_answers

        corpus = self._corpora.corpus(self._values, self._store, self._names, get_system(system.retrieval))
        return run_answers(
            system,
            self._store.read("retrieval_runs", {"system": system.retrieval, "fold": fold}),
            fold_questions(self._store, number).to_pylist(),
            corpus.text,
            self._calculator,
            each_text_once(get_encoder(self._values, self._store).embed_short),
            self._model if system.needs_model else None,
            self._values,
            number,
        )


def each_text_once(embed: Embed) -> Embed:
    """``embed``, remembering its vectors: the three spaces of a question share most of their sentences."""
    known: dict[str, np.ndarray] = {}

    def remembered(texts: Sequence[str]) -> np.ndarray:
        if new := [text for text in dict.fromkeys(texts) if text not in known]:
            known.update(zip(new, embed(new), strict=True))
        return np.stack([known[text] for text in texts])

    return remembered


def answers_to_other_questions(store: Lake) -> Parts:
    """Answers, and their scores, to questions that are not in the fold any more.

    Another choice of filings has other questions; the figures of these must not stand beside theirs. Answers
    of language models are not among them, since they may have been paid for.
    """
    found: Parts = []
    for keys in store.partitions("answers"):
        system = ANSWER_SYSTEMS.get(keys["system"])
        if system is None or system.needs_model or keys["fold"] not in fold_partitions.get_partition_keys():
            continue
        asked = set(fold_questions(store, fold_number(keys["fold"]))["question_id"].to_pylist())
        if not asked >= set(store.read("answers", keys, ["question_id"])["question_id"].to_pylist()):
            found += [("answers", keys), ("answer_scores", keys)]
    return found


def problems_of(
    lake: Lake, settings: Settings, systems: Sequence[str], corpora: Corpora | None = None
) -> dict[str, str]:
    """Why some of ``systems`` cannot be measured here, by system; the others can."""
    sweep = Sweep(settings, lake, corpora)
    found = {name: sweep.problem(get_system(name)) for name in systems}
    return {name: problem for name, problem in found.items() if problem is not None}


_NO_RESULT = {
    "lake", "ray", "workers", "page_timeout", "worker_memory", "service_token", "edgar", "alert", "keep_days",
}  # fmt: skip
"""Settings that change no result."""


def state_of_results(lake: Lake, settings: Settings, systems: Sequence[str]) -> str:
    """What the results in the lake are and were made from; equal before and after when nothing changed."""
    from finrag_pipeline.rankers.registry import trained_models

    made = ("system_metrics", "gap_counts", "answer_metrics")
    tables = {CATALOGUE[name].folder for name in ancestors(made).union(made)} - {""}
    parts = {
        table: [
            (keys, info.fingerprint) for keys in lake.partitions(table) if (info := lake.info(table, keys))
        ]
        for table in sorted(tables)
    }
    record = lake.read_json(lake.path("benchmarks", get_benchmark(lake).name, "benchmark.json"))
    published = [lake.fs.exists(lake.path(path)) for path in ("report/index.html", "warehouse.duckdb")]
    prepared = all(lake.info(asset) for asset in ("benchmark_questions", "folds"))
    # A model that can be had now, or was trained again, is work to do.
    not_run = problems_of(lake, settings, systems) if prepared else {}
    trained = [trained_models(lake, settings, fold).fingerprint for fold in range(FOLD_COUNT)]
    shared: dict[Hashable, Any] = {}
    models = [
        get_system(name).fingerprint(Inputs(make_corpus(settings, lake, (), get_system(name), shared)))
        for name in systems
        if prepared and name not in not_run
    ]
    chosen = settings.model_dump(mode="json", exclude=_NO_RESULT)
    code = {name: versions(name) for name in CATALOGUE}
    return fingerprint(parts, record, published, (chosen, list(systems), code, not_run, trained, models))
