"""Answers and replies for the tests of judging."""

from __future__ import annotations

import json
from collections.abc import Sequence

from finrag_pipeline.judging.items import Answer, CitingSentence

SOURCES = {
    "s1": "Revenue of Torvexley was $1,577 million in fiscal year 2022, up from $1,402 million in 2021.",
    "s2": "The company employs 1,200 people in Lyon and Graz.",
}


def answer(
    answer_id: str,
    *sentences: tuple[str, tuple[str, ...]],
    question: str = "What was Torvexley's revenue in FY2022?",
    **changes: object,
) -> Answer:
    found = tuple(CitingSentence(text, cited) for text, cited in sentences)
    fields: dict[str, object] = {
        "answer_id": answer_id,
        "question_id": answer_id.split("/")[0],
        "question": question,
        "text": " ".join(text for text, _ in sentences),
        "sentences": found,
        "sources": SOURCES,
    }
    return Answer(**{**fields, **changes})  # type: ignore[arg-type]


def reply(*labels: int, numbers: Sequence[int] | None = None) -> str:
    """A valid reply of a judge."""
    verdicts = [
        {"number": number, "reasoning": "because", "label": label}
        for number, label in zip(numbers or range(1, len(labels) + 1), labels, strict=True)
    ]
    return json.dumps({"verdicts": verdicts})
