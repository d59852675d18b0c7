"""Refusing models that have seen what they are measured on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from finrag_pipeline.errors import BenchmarkError


def check_no_leak(
    trained_on: Sequence[str],
    filings: Sequence[str],
    tested: Sequence[Mapping[str, Any]],
    what: str,
    remedy: str = "Materialise folds, then page_ranker, again.",
) -> None:
    """Refuse a model that has seen what it is to be measured on.

    Args:
        trained_on: identifiers of the questions it was trained on.
        filings: filings it has seen, as gold filings or otherwise.
        tested: questions that it will rank, with ``question_id`` and ``filing``.
        what: the model, for people.
        remedy: what people can do.

    Raises:
        BenchmarkError: a question, or a gold filing, is on both sides.
    """
    seen, known = set(trained_on), set(filings)
    questions = sorted({str(question["question_id"]) for question in tested} & seen)
    documents = sorted({str(question["filing"]) for question in tested} & known)
    if questions or documents:
        raise BenchmarkError(
            f"{what} was trained on what it is measured on: {[*questions[:3], *documents[:3]]}.", remedy
        )
