"""Verdicts of a judge, and the strict reading of a language model's reply."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Criterion = Literal["relevance", "veracity", "correctness"]
CRITERIA: tuple[Criterion, ...] = ("relevance", "veracity", "correctness")

REFUSAL = 2
"""Label of ``correctness`` for an answer that declines; 1 is correct and 0 incorrect."""

_FENCE = re.compile(r"\A```(?:json)?\s*\n(?P<body>.*)\n```\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says of one answer or one of its sentences.

    Attributes:
        label: 1 good, 0 not, :data:`REFUSAL` for a declined answer under ``correctness``; None if missing.
        reasoning: why.
        attempts: replies that were asked for.
        problem: why there is no label.
        failed: the request failed, so that it is worth asking again.
    """

    label: int | None
    reasoning: str | None = None
    attempts: int = 1
    problem: str | None = None
    failed: bool = False


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Binary(_Strict):
    """One verdict of the reply: reasoning first, so that the label follows from it."""

    number: Annotated[int, Field(ge=1, description="Number of the sentence, from 1; 1 for a whole answer.")]
    reasoning: Annotated[str, Field(min_length=1, description="Step-by-step reasoning.")]
    label: Annotated[int, Field(ge=0, le=1, description="0 or 1 as defined above.")]


class _Ternary(_Strict):
    """One verdict of ``correctness``."""

    number: Annotated[int, Field(ge=1, description="Always 1.")]
    reasoning: Annotated[str, Field(min_length=1, description="Step-by-step reasoning.")]
    label: Annotated[int, Field(ge=0, le=2, description="0, 1 or 2 as defined above.")]


class _BinaryReply(_Strict):
    verdicts: list[_Binary]


class _TernaryReply(_Strict):
    verdicts: list[_Ternary]


def reply_schema(criterion: Criterion) -> str:
    """JSON schema of the reply, as it stands in the prompt."""
    return json.dumps(_model(criterion).model_json_schema(), ensure_ascii=False)


def read_reply(reply: str, criterion: Criterion, count: int) -> list[Verdict] | str:
    """Verdicts of a reply in the order of the sentences, or what is wrong with it.

    Nothing but the JSON may stand in the reply, a code fence around all of it apart. Every number from 1 to
    ``count`` must come once.

    Args:
        reply: what the model wrote.
        criterion: decides which labels there are.
        count: sentences that were asked about, 1 for a whole answer.
    """
    text = reply.strip()
    if fence := _FENCE.match(text):
        text = fence["body"].strip()
    try:
        found = _model(criterion).model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        return f"{place}: {first['msg']}" if place else str(first["msg"])
    given: list[_Binary | _Ternary] = [*found.verdicts]
    numbers = [one.number for one in given]
    if sorted(numbers) != list(range(1, count + 1)):
        return f"verdicts: numbers {numbers} instead of 1 to {count}, each once"
    ordered = sorted(given, key=lambda one: one.number)
    return [Verdict(one.label, one.reasoning) for one in ordered]


def _model(criterion: Criterion) -> type[_BinaryReply] | type[_TernaryReply]:
    return _TernaryReply if criterion == "correctness" else _BinaryReply
