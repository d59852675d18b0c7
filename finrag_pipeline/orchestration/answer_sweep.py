"""Answers to the benchmark's questions: what can be run, what they are made from, and the answers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from finrag_pipeline.answering.systems import ANSWER_SYSTEMS, RUNS_VERSION, AnswerSystem
from finrag_pipeline.language_models.load import language_model_problem, load_language_model
from finrag_pipeline.language_models.protocol import LanguageModel
from finrag_pipeline.orchestration.corpora import Parts, benchmark_filings, fold_questions
from finrag_pipeline.orchestration.partitions import fold_number, fold_partitions
from finrag_pipeline.orchestration.resources.settings import get_corpus, get_encoder, get_resolver
from finrag_pipeline.retrieval.systems import get_system
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    # Loaded with the first answer: the definitions are loaded far more often.
    from finrag_pipeline.answering.calculator import Calculator
    from finrag_pipeline.answering.extractive import Embed


class AnswerSweep:
    """What answering systems share: read from the lake once, not for every part.

    Args:
        values: settings of the run.
        store: the lake.
    """

    def __init__(self, values: Settings, store: Lake) -> None:
        self._values, self._store = values, store
        self._names = benchmark_filings(store)

    @cached_property
    def _model(self) -> LanguageModel | None:
        return load_language_model(self._values.language_model, self._store)

    @cached_property
    def _calculator(self) -> Calculator:
        from finrag_pipeline.answering.calculator import Calculator

        return Calculator(self._store, get_resolver(self._values, self._store, self._names), self._names)

    def problem(self, system: AnswerSystem, fold: str) -> str | None:
        """Why ``system`` is not run on ``fold``; None when it can be run."""
        if self._store.info("retrieval_runs", {"system": system.retrieval, "fold": fold}) is None:
            return f"The lake holds no run of {system.retrieval} on {fold}."
        return language_model_problem(self._values.language_model) if system.needs_model else None

    def fingerprint(self, system: AnswerSystem, fold: str, number: int) -> str:
        """What a part of ``answers`` should have been made from."""
        runs = self._store.info("retrieval_runs", {"system": system.retrieval, "fold": fold})
        facts = [self._store.info("statement_facts", {"filing": name}) for name in self._names]
        questions = fold_questions(self._store, number)
        asked = [questions[name].to_pylist() for name in ("question_id", "question")]
        how = [system.name, system.method, system.retrieval]
        model = None
        if system.needs_model and self._model is not None and system.method in ("prompt", "cot", "grounded"):
            from finrag_pipeline.answering.generation import generation_fingerprint

            model = generation_fingerprint(self._model, system.method, self._values.answers)
        made_from = [
            runs.fingerprint if runs else None,
            [fact.fingerprint if fact else None for fact in facts],
        ]
        from finrag_pipeline.answering.calculator import CALCULATOR_VERSION

        versions = (RUNS_VERSION, CALCULATOR_VERSION)
        return fingerprint("answers", versions, how, made_from, asked, model)

    def answers(self, system: AnswerSystem, fold: str, number: int) -> pa.Table:
        """Rows of ``answers``."""
        from finrag_pipeline.answering.runs import run_answers

        corpus = get_corpus(self._values, self._store, self._names, get_system(system.retrieval))
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
