"""Answers of a system to the questions of a benchmark, on rankings that were made before."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from finrag_pipeline.answering.answer import answer_question, pages_of
from finrag_pipeline.answering.calculator import Calculator
from finrag_pipeline.answering.derivation import Derivation
from finrag_pipeline.answering.extractive import Embed, answer_from_text
from finrag_pipeline.answering.generation import Asked, generate
from finrag_pipeline.answering.passages import Passage
from finrag_pipeline.answering.rows import answer_row, error_row, extractive_row, generated_row
from finrag_pipeline.answering.systems import AnswerSystem
from finrag_pipeline.answering.tools import FinancialTools
from finrag_pipeline.errors import FinragError, ModelError
from finrag_pipeline.language_models.protocol import LanguageModel
from finrag_pipeline.retrieval.spaces import Space
from finrag_pipeline.schemas import ANSWERS, conform
from finrag_pipeline.settings import Settings

DEPTH = 10
"""Chunks of a ranking that are passed on; a language model is shown as many as its settings say."""


def run_answers(
    system: AnswerSystem,
    runs: pa.Table,
    questions: Iterable[Mapping[str, Any]],
    text: Callable[[str], str],
    calculator: Calculator,
    embed: Embed | None,
    model: LanguageModel | None,
    settings: Settings,
    fold: int | None = None,
) -> pa.Table:
    """Answers in every search space of the rankings.

    The oracle spaces restrict the calculator as they restrict retrieval: to the filing, or the pages, of the
    chunks that were ranked. A question that fails has an error; the others go on.

    ``runs`` are rows of ``retrieval_runs`` of the system's retrieval, ``questions`` rows with ``question_id``
    and ``question``, all of one ``fold``; ``text`` gives the text of a chunk.

    Returns:
        Rows of ``answers``, space by space, in the order of the questions.

    Raises:
        ModelError: the system needs a language model and there is none.
    """
    ranked: dict[tuple[str, str], list[Passage]] = defaultdict(list)
    for row in runs.sort_by("rank").to_pylist():
        if row["rank"] <= DEPTH:
            passage = Passage(row["chunk_id"], row["filing"], row["page"], text(row["chunk_id"]))
            ranked[row["space"], row["question_id"]].append(passage)
    present = {space for space, _ in ranked}
    rows: list[dict[str, Any]] = []
    asked = {row["question_id"]: row["question"] for row in questions}
    for space in (space for space in Space if space.value in present):
        # A question without any chunk is answered too: by an abstention.
        found = [
            _Found(name, question, ranked.get((space.value, name), []), space)
            for name, question in asked.items()
        ]
        key = {"system": system.name, "retrieval": system.retrieval, "space": space.value, "fold": fold}
        if system.needs_model:
            rows += _generated(system, found, calculator, model, settings, key)
        else:
            rows += [_row(system, one, calculator, embed, key) for one in found]
    return conform(pa.Table.from_pylist(rows, ANSWERS), "answers")


@dataclass(frozen=True)
class _Found:
    """A question, and the passages found for it in a search space."""

    question_id: str
    question: str
    passages: list[Passage]
    space: Space

    @property
    def filings(self) -> list[str] | None:
        """Filings that the calculator may use; all when None."""
        of_passages = list(dict.fromkeys(passage.filing for passage in self.passages))
        return None if self.space is Space.CORPUS else of_passages


def _row(
    system: AnswerSystem, found: _Found, calculator: Calculator, embed: Embed | None, key: dict[str, Any]
) -> dict[str, Any]:
    key = {**key, "question_id": found.question_id}
    question, passages = found.question, found.passages
    sources = [passage.source for passage in passages]
    start = time.perf_counter()
    try:
        if system.method == "extractive":
            row = extractive_row(answer_from_text(question, passages, embed), sources, **key)
        else:
            only = found.space is Space.PAGES
            answer = answer_question(question, calculator, passages, embed, found.filings, only)
            row = answer_row(answer, sources, **key)
    except FinragError as error:
        row = error_row(question, error, sources, **key)
    return row | {"seconds": time.perf_counter() - start}


def _generated(
    system: AnswerSystem,
    found: Sequence[_Found],
    calculator: Calculator,
    model: LanguageModel | None,
    settings: Settings,
    key: dict[str, Any],
) -> list[dict[str, Any]]:
    if model is None:
        raise ModelError(f"{system.name} needs a language model.", "Set FINRAG_LANGUAGE_MODEL__KIND.")
    assert system.method in ("prompt", "cot", "grounded")
    asked = [
        Asked(
            one.question,
            tuple(one.passages),
            _derivation(one, calculator) if system.method == "grounded" else None,
            None if one.space is Space.PAGES else partial(FinancialTools, calculator, one.filings),
        )
        for one in found
    ]
    answers = generate(model, system.method, asked, settings.answers, settings.language_model.max_concurrency)
    repeats = settings.answers.repeats
    return [
        generated_row(answer, **key, question_id=found[place // repeats].question_id)
        for place, answer in enumerate(answers)
    ]


def _derivation(found: _Found, calculator: Calculator) -> Derivation | None:
    pages = pages_of(found.passages)
    try:
        return calculator.answer(found.question, pages, found.filings, found.space is Space.PAGES)
    except FinragError:
        return None  # an unusable question; the model is told that there are no facts
