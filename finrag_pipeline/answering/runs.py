"""Answers of a system to a benchmark, on rankings that were made before, as rows of ``schemas.ANSWERS``."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from finrag_pipeline.answering.answer import Answer, explain, pages_of
from finrag_pipeline.answering.calculator import Calculator
from finrag_pipeline.answering.citations import CitedSentence, as_json
from finrag_pipeline.answering.derivation import Derivation
from finrag_pipeline.answering.extractive import Embed, ExtractiveAnswer, answer_from_text
from finrag_pipeline.answering.generation import Asked, Generated, generate
from finrag_pipeline.answering.passages import Passage, page_source
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
            derivation = calculator.answer(question, pages_of(passages), found.filings, only)
            row = answer_row(explain(derivation, passages, embed), sources, **key)
    except FinragError as error:
        row = _empty_row(question, "", "", (), False) | {"retrieved": sources, "error": str(error)} | key
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


def generated_row(generated: Generated, **key: Any) -> dict[str, Any]:
    """The row of a language model's answer; ``key`` tells the question, the retrieval and the like."""
    completion, quantity = generated.completion, generated.final.quantity
    row = _empty_row(
        generated.question, generated.mode, generated.answer, generated.sentences, generated.abstained
    )
    row |= {
        "repeat": generated.repeat,
        "final_answer": generated.final.text or None,
        "retrieved": list(generated.retrieved),
        "why": generated.why,
        "fallback": generated.fallback,
        "warnings": list(generated.warnings),
        "error": generated.error,
    }
    if quantity is not None and not generated.abstained:
        row |= {"value": quantity.value, "unit": quantity.unit}
    if completion is not None:
        row |= {
            "model": completion.model,
            "prompt_tokens": completion.prompt_tokens,
            "completion_tokens": completion.completion_tokens,
            "seconds": completion.seconds,
        }
    return row | key


def derivation_row(derivation: Derivation, retrieved: Sequence[str], **key: Any) -> dict[str, Any]:
    """The row of a calculation that was given pages; those that it cites are retrieved by their facts."""
    pages = dict.fromkeys(page_source(one.fact.filing, one.fact.page) for one in derivation.inputs)
    cited = CitedSentence(derivation.answer, tuple(pages), (), bool(pages) or derivation.abstained)
    row = _empty_row(derivation.question, "calculator", derivation.answer, (cited,), derivation.abstained)
    row |= {
        "value": derivation.exact,
        "unit": derivation.unit,
        "formula": derivation.formula,
        "derivation": json.dumps(derivation.as_json(), ensure_ascii=False, default=str),
        "retrieved": list(dict.fromkeys([*retrieved, *pages])),
        "why": derivation.why,
        "seconds": derivation.seconds,
    }
    return row | key


def extractive_row(answer: ExtractiveAnswer, retrieved: Sequence[str], **key: Any) -> dict[str, Any]:
    """The row of verdict and quotes out of the passages ``retrieved``, best first."""
    row = _empty_row(answer.question, "extractive", answer.answer, answer.sentences, answer.abstained)
    cited = [source for sentence in answer.sentences for source in sentence.sources]
    row |= {"retrieved": list(dict.fromkeys([*retrieved, *cited])), "why": answer.why}
    return row | key


def answer_row(answer: Answer, retrieved: Sequence[str], **key: Any) -> dict[str, Any]:
    """The row of an answer without a language model: the calculator's, with what was quoted beside it."""
    row = derivation_row(answer.derivation, retrieved)
    if answer.text is not None:
        quoted = extractive_row(answer.text, row["retrieved"])
        row |= {name: quoted[name] for name in ("answer", "citations", "retrieved", "abstained", "why")}
    return row | key


def _empty_row(
    question: str, system: str, answer: str, cited: Sequence[CitedSentence], abstained: bool
) -> dict[str, Any]:
    empty: dict[str, Any] = dict.fromkeys(ANSWERS.names)
    return empty | {
        "question": question,
        "system": system,
        "repeat": 0,
        "answer": answer,
        "citations": as_json(cited) if cited else None,
        "retrieved": [],
        "abstained": abstained,
        "warnings": [],
    }
