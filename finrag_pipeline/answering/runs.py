"""Answers of a system to the questions of a benchmark, on rankings that were made before."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from finrag_pipeline.answering.answer import answer_question
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

    Args:
        system: what answers.
        runs: rows of ``retrieval_runs`` of the system's retrieval.
        questions: rows with ``question_id`` and ``question``.
        text: text of a chunk.
        calculator: of the corpus.
        embed: vectors of the encoder, for the choice of sentences.
        model: the language model, for systems that need one.
        settings: budgets and requests at a time.
        fold: fold of the questions.

    Returns:
        Rows of ``answers``, space by space, in the order of the questions.

    Raises:
        ModelError: the system needs a language model and there is none.
    """
    asked = {row["question_id"]: row["question"] for row in questions}
    ranked = _ranked(runs, text)
    rows: list[dict[str, Any]] = []
    present = {space for space, _ in ranked}
    for space in (space for space in Space if space.value in present):
        # A question without any chunk is answered too: by an abstention.
        found = [(name, question, ranked.get((space.value, name), [])) for name, question in asked.items()]
        key = {"system": system.name, "retrieval": system.retrieval, "space": space.value, "fold": fold}
        if system.needs_model:
            rows += _generated(system, found, space, calculator, model, settings, key)
        else:
            rows += [_row(system, *one, space, calculator, embed, key) for one in found]
    return conform(pa.Table.from_pylist(rows, ANSWERS), "answers")


_Found = tuple[str, str, list[Passage]]  # question id, question, passages


def _ranked(runs: pa.Table, text: Callable[[str], str]) -> dict[tuple[str, str], list[Passage]]:
    """Passages by space and question, best first."""
    found: dict[tuple[str, str], list[Passage]] = {}
    for row in runs.sort_by([("rank", "ascending")]).to_pylist():
        if row["rank"] <= DEPTH:
            passage = Passage(row["chunk_id"], row["filing"], row["page"], text(row["chunk_id"]))
            found.setdefault((row["space"], row["question_id"]), []).append(passage)
    return found


def _limits(space: Space, passages: Sequence[Passage]) -> tuple[list[str] | None, bool]:
    """Filings that the calculator may use, and whether the pages given are the only ones."""
    if space is Space.CORPUS:
        return None, False
    return list(dict.fromkeys(passage.filing for passage in passages)), space is Space.PAGES


def _row(
    system: AnswerSystem,
    question_id: str,
    question: str,
    passages: list[Passage],
    space: Space,
    calculator: Calculator,
    embed: Embed | None,
    key: dict[str, Any],
) -> dict[str, Any]:
    key = {**key, "question_id": question_id}
    sources = [passage.source for passage in passages]
    filings, only_pages = _limits(space, passages)
    start = time.perf_counter()
    try:
        if system.method == "extractive":
            quoted = answer_from_text(question, passages, embed)
            row = extractive_row(quoted, sources, **key)
        else:
            answer = answer_question(question, calculator, passages, embed, filings, only_pages)
            row = answer_row(answer, sources, **key)
    except FinragError as error:
        row = error_row(question, error, sources, **key)
    return row | {"seconds": time.perf_counter() - start}


def _generated(
    system: AnswerSystem,
    found: Sequence[_Found],
    space: Space,
    calculator: Calculator,
    model: LanguageModel | None,
    settings: Settings,
    key: dict[str, Any],
) -> list[dict[str, Any]]:
    if model is None:
        raise ModelError(f"{system.name} needs a language model.", "Set FINRAG_LANGUAGE_MODEL__KIND.")
    assert system.method in ("prompt", "cot", "grounded")
    grounded = system.method == "grounded"
    asked = [
        Asked(
            question,
            tuple(passages),
            _derivation(question, passages, space, calculator) if grounded else None,
            None
            if space is Space.PAGES
            else partial(FinancialTools, calculator, _limits(space, passages)[0]),
        )
        for _, question, passages in found
    ]
    answers = generate(model, system.method, asked, settings.answers, settings.language_model.max_concurrency)
    repeats = settings.answers.repeats
    return [
        generated_row(answer, **key, question_id=found[place // repeats][0])
        for place, answer in enumerate(answers)
    ]


def _derivation(
    question: str, passages: Sequence[Passage], space: Space, calculator: Calculator
) -> Derivation | None:
    filings, only_pages = _limits(space, passages)
    pages = list(dict.fromkeys((passage.filing, passage.page) for passage in passages))
    try:
        return calculator.answer(question, pages, filings, only_pages)
    except FinragError:
        return None  # an unusable question; the model is told that there are no facts
