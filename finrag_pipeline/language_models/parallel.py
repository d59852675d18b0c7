"""Many requests to one language model, several at a time; functions that it calls are run in between."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from finrag_pipeline.errors import ModelError
from finrag_pipeline.language_models.protocol import Completion, LanguageModel, Message, Request

MOST_ROUNDS = 6
"""Times that a model may call functions before it has to answer."""

MOST_CALLS = 8
"""Calls of one round that are run."""

_LAST = "No more functions can be called. Answer now from what was found."


def complete_all(
    model: LanguageModel, requests: Sequence[Request], workers: int
) -> list[Completion | ModelError]:
    """Answers in the order of ``requests``, ``workers`` at a time; where there is none, the error."""

    def ask(request: Request) -> Completion | ModelError:
        try:
            return _converse(model, request)
        except ModelError as error:
            return error

    with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
        return list(pool.map(ask, requests))


def _converse(model: LanguageModel, request: Request) -> Completion:
    """The answer to a request, with the functions that the model calls run in between."""
    box = request.toolbox
    messages = list(request.messages)
    done: list[Completion] = []
    for turn in range(MOST_ROUNDS + 1):
        if turn == MOST_ROUNDS:
            messages.append(Message("user", _LAST))
        reply = model.complete(
            replace(request, messages=tuple(messages), toolbox=box if turn < MOST_ROUNDS else None)
        )
        done.append(reply)
        if box is None or not reply.tool_calls:
            break
        calls = reply.tool_calls[:MOST_CALLS]
        messages.append(Message("assistant", reply.text, calls))
        messages += [Message("tool", box.call(one.name, one.arguments), tool_call_id=one.id) for one in calls]
    else:
        raise ModelError(f"{model.name} calls functions and does not answer.", "Choose another model.")
    prompt = [one.prompt_tokens for one in done if one.prompt_tokens is not None]
    written = [one.completion_tokens for one in done if one.completion_tokens is not None]
    return replace(
        reply,
        prompt_tokens=sum(prompt) if prompt else None,
        completion_tokens=sum(written) if written else None,
        seconds=sum(one.seconds for one in done),
        cached=all(one.cached for one in done),
    )
