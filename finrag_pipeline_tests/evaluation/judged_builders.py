"""Answers and replies for the tests of judging."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from finrag_pipeline.evaluation.judged_answers import Answer, CitingSentence
from finrag_pipeline.filings.sentences import sentences

_MARKER = re.compile(r"\[\^([^\s^\]]+)\^\]")
_BEHIND_THE_STOP = re.compile(r"([.!?…])((?:\s*\[\^[^\s^\]]+\^\])+)")

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
    return Answer(**{**fields, **changes})


def reply(*labels: int, numbers: Sequence[int] | None = None) -> str:
    """A valid reply of a judge."""
    verdicts = [
        {"number": number, "reasoning": "because", "label": label}
        for number, label in zip(numbers or range(1, len(labels) + 1), labels, strict=True)
    ]
    return json.dumps({"verdicts": verdicts})


def read_marked(text: str) -> tuple[str, tuple[CitingSentence, ...]]:
    """An answer of the published ones (Martinon et al., Figure 1) without ``[^id^]`` markers, and its sentences with the identifiers they cite."""
    found = []
    for sentence in sentences(_BEHIND_THE_STOP.sub(r"\2\1", text)):
        plain = _tidy(_MARKER.sub("", sentence))
        if re.search(r"\w", plain):
            found.append(CitingSentence(plain, tuple(dict.fromkeys(_MARKER.findall(sentence)))))
    return _tidy(_MARKER.sub("", text)), tuple(found)


def split_sources(text: str) -> dict[str, str]:
    """Sources of a retrieved context that heads each with ``##### [^id^] #####``, by identifier."""
    parts = re.split(r"^#+\s*\[\^([^\s^\]]+)\^\]\s*#*\s*$", text, flags=re.MULTILINE)
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def _tidy(text: str) -> str:
    return re.sub(r"\s+([.,;!?])", r"\1", re.sub(r"[ \t]{2,}", " ", text)).strip()
