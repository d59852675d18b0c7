"""What a language model is to the pipeline: messages in, one completion out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call; ``parameters`` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """As OpenAI-compatible endpoints take it."""
        told = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": told}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model asks for; ``arguments`` is what it wrote, JSON if all is well."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    Attributes:
        role: who speaks; a ``tool`` is the result of a call.
        content: what is said.
        tool_calls: what an assistant calls.
        tool_call_id: the call that a result belongs to.
    """

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    def as_json(self) -> dict[str, Any]:
        """As OpenAI-compatible endpoints take it."""
        said: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            said["tool_calls"] = [
                {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
                for one in self.tool_calls
            ]
        if self.tool_call_id is not None:
            said["tool_call_id"] = self.tool_call_id
        return said


def sayable(text: str) -> str:
    """The text with a question mark for what UTF-8 cannot say (halves of characters, in damaged filings)."""
    return text.encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered.

    Attributes:
        text: the answer.
        model: name of the model, as it states it itself.
        prompt_tokens: tokens read; None where the model does not say.
        completion_tokens: tokens written; None where the model does not say.
        seconds: time the answer took when it was made, waiting and new tries included.
        cached: whether it came from the lake.
        finish_reason: ``stop`` for a whole answer, ``length`` for one that was cut; others as the server
            names them.
        retries: new tries it took.
        timeouts: tries among them that timed out.
        tool_calls: functions that it wants called before it answers.
    """

    text: str
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float
    cached: bool
    finish_reason: str
    retries: int = 0
    timeouts: int = 0
    tool_calls: tuple[ToolCall, ...] = ()


class LanguageModel(Protocol):
    """A chat model.

    Attributes:
        name: for people.
        fingerprint: of everything that decides an answer besides the request.
    """

    @property
    def name(self) -> str:
        """Name for people."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of everything that decides an answer besides the request."""
        ...

    def complete(
        self,
        messages: Sequence[Message],
        *,
        temperature: float,
        max_tokens: int,
        seed: int | None,
        tools: Sequence[Tool] = (),
    ) -> Completion:
        """The answer to ``messages``; may be called from several threads.

        Args:
            messages: the conversation so far, oldest first.
            temperature: 0 takes the likeliest token each time.
            max_tokens: longest answer.
            seed: of the sampling; None leaves it to chance.
            tools: functions that it may call; a model that knows no calls answers without.

        Raises:
            ModelError: there is no usable answer.
        """
        ...


@dataclass(frozen=True, slots=True)
class Usage:
    """What a number of completions took.

    Attributes:
        calls: completions made anew.
        cached: completions from the lake.
        prompt_tokens: tokens read by the new ones, where stated.
        completion_tokens: tokens written by the new ones, where stated.
        seconds: time of the new ones, added up.
        retries: new tries.
        timeouts: tries that timed out.
    """

    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    retries: int
    timeouts: int


def usage(completions: Iterable[Completion]) -> Usage:
    """Sum of what ``completions`` took; those from the lake cost nothing again."""
    completions = list(completions)
    new = [one for one in completions if not one.cached]
    return Usage(
        calls=len(new),
        cached=len(completions) - len(new),
        prompt_tokens=sum(one.prompt_tokens or 0 for one in new),
        completion_tokens=sum(one.completion_tokens or 0 for one in new),
        seconds=sum(one.seconds for one in new),
        retries=sum(one.retries for one in new),
        timeouts=sum(one.timeouts for one in new),
    )
