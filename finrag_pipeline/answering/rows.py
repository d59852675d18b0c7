"""Answers as rows of ``schemas.ANSWERS``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from finrag_pipeline.answering.answer import Answer
from finrag_pipeline.answering.citations import CitedSentence, as_json
from finrag_pipeline.answering.derivation import Derivation
from finrag_pipeline.answering.extractive import ExtractiveAnswer
from finrag_pipeline.answering.generation import Generated
from finrag_pipeline.answering.passages import page_source
from finrag_pipeline.errors import FinragError
from finrag_pipeline.schemas import ANSWERS


def generated_row(generated: Generated, **key: Any) -> dict[str, Any]:
    """The row of a language model's answer.

    Args:
        generated: the answer.
        key: ``question_id``, ``retrieval``, ``space``, ``fold`` of the row.
    """
    completion, quantity = generated.completion, generated.final.quantity
    row = _row(generated.question, generated.mode, generated.answer, generated.sentences, generated.abstained)
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
    """The row of a calculation.

    Args:
        derivation: the calculator's.
        retrieved: identifiers of the pages it was given, best first; those it cites are retrieved by their
            facts.
        key: ``question_id``, ``retrieval``, ``space``, ``fold`` of the row.
    """
    pages = dict.fromkeys(page_source(one.fact.filing, one.fact.page) for one in derivation.inputs)
    cited = CitedSentence(derivation.answer, tuple(pages), (), bool(pages) or derivation.abstained)
    row = _row(derivation.question, "calculator", derivation.answer, (cited,), derivation.abstained)
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
    """The row of a quoted answer.

    Args:
        answer: verdict and quotes.
        retrieved: identifiers of the passages it was given, best first.
        key: ``question_id``, ``retrieval``, ``space``, ``fold``, ``seconds`` of the row.
    """
    row = _row(answer.question, "extractive", answer.answer, answer.sentences, answer.abstained)
    cited = [source for sentence in answer.sentences for source in sentence.sources]
    row |= {"retrieved": list(dict.fromkeys([*retrieved, *cited])), "why": answer.why}
    return row | key


def answer_row(answer: Answer, retrieved: Sequence[str], **key: Any) -> dict[str, Any]:
    """The row of an answer without a language model: the calculator's, with what was quoted beside it.

    Args:
        answer: calculated, quoted or both.
        retrieved: identifiers of the passages it was given, best first.
        key: ``question_id``, ``system``, ``retrieval``, ``space``, ``fold`` of the row.
    """
    row = derivation_row(answer.derivation, retrieved)
    if answer.text is not None:
        quoted = extractive_row(answer.text, row["retrieved"])
        row |= {name: quoted[name] for name in ("answer", "citations", "retrieved", "abstained", "why")}
    return row | key


def error_row(question: str, error: FinragError, retrieved: Sequence[str], **key: Any) -> dict[str, Any]:
    """The row of a question that could not be answered at all."""
    return _row(question, "", "", (), False) | {"retrieved": list(retrieved), "error": str(error)} | key


def _row(
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
