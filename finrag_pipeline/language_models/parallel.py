"""Many requests to one language model, several at a time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from finrag_pipeline.errors import ModelError
from finrag_pipeline.language_models.protocol import Completion, LanguageModel, Message


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a language model; see `LanguageModel.complete`."""

    messages: tuple[Message, ...]
    temperature: float
    max_tokens: int
    seed: int | None


def complete_all(
    model: LanguageModel, requests: Sequence[Request], workers: int
) -> list[Completion | ModelError]:
    """Answers in the order of ``requests``; where there is none, the error instead of it.

    Args:
        model: asked.
        requests: what to ask.
        workers: requests at a time.
    """

    def ask(request: Request) -> Completion | ModelError:
        try:
            return model.complete(
                request.messages,
                temperature=request.temperature,
                max_tokens=request.max_tokens,
                seed=request.seed,
            )
        except ModelError as error:
            return error

    with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
        return list(pool.map(ask, requests))
