"""Many requests to one language model, several at a time; functions that it calls are run in between."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol

from finrag_pipeline.errors import ModelError
from finrag_pipeline.language_models.protocol import Completion, LanguageModel, Message, Tool

MOST_ROUNDS = 6
"""Times that a model may call functions before it has to answer."""

MOST_CALLS = 8
"""Calls of one round that are run."""

_LAST = "No more functions can be called. Answer now from what was found."


class Toolbox(Protocol):
    """Functions that a model may call in one conversation."""

    @property
    def tools(self) -> Sequence[Tool]:
        """What they are called and take."""
        ...

    def call(self, name: str, arguments: str) -> str:
        """The result of a call, or what is wrong with it; never an exception."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a language model; see `LanguageModel.complete`."""

    messages: tuple[Message, ...]
    temperature: float
    max_tokens: int
    seed: int | None
    toolbox: Toolbox | None = None


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
            return converse(model, request)
        except ModelError as error:
            return error

    with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
        return list(pool.map(ask, requests))


def converse(model: LanguageModel, request: Request) -> Completion:
    """The answer to a request; the functions that the model calls are run, and it goes on with their results.

    Raises:
        ModelError: there is no usable answer, or it does nothing but call.
    """
    box = request.toolbox
    messages = list(request.messages)
    done: list[Completion] = []
    for turn in range(MOST_ROUNDS + 1):
        if turn == MOST_ROUNDS:
            messages.append(Message("user", _LAST))
        reply = model.complete(
            messages,
            temperature=request.temperature,
            max_tokens=request.max_tokens,
            seed=request.seed,
            tools=box.tools if box is not None and turn < MOST_ROUNDS else (),
        )
        done.append(reply)
        if box is None or not reply.tool_calls:
            return _together(done)
        calls = reply.tool_calls[:MOST_CALLS]
        messages.append(Message("assistant", reply.text, calls))
        messages += [Message("tool", box.call(one.name, one.arguments), tool_call_id=one.id) for one in calls]
    raise ModelError(f"{model.name} calls functions and does not answer.", "Choose another model.")


def _together(done: Sequence[Completion]) -> Completion:
    """The last completion with what all of them took."""
    prompt = [one.prompt_tokens for one in done if one.prompt_tokens is not None]
    written = [one.completion_tokens for one in done if one.completion_tokens is not None]
    return replace(
        done[-1],
        prompt_tokens=sum(prompt) if prompt else None,
        completion_tokens=sum(written) if written else None,
        seconds=sum(one.seconds for one in done),
        cached=all(one.cached for one in done),
        retries=sum(one.retries for one in done),
        timeouts=sum(one.timeouts for one in done),
    )
