"""What a language model is to the pipeline: messages in, one completion out."""

from __future__ import annotations

from collections.abc import Sequence
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
    """One message of a conversation; a ``tool`` tells the result of the call of ``tool_call_id``."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    def as_json(self) -> dict[str, Any]:
        """As OpenAI-compatible endpoints take it."""
        said: dict[str, Any] = {"role": self.role, "content": sayable(self.content)}
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
    """What a language model is asked.

    Attributes:
        messages: the conversation so far, oldest first.
        temperature: 0 takes the likeliest token each time.
        seed: of the sampling; None leaves it to chance.
        toolbox: functions that it may call; a model that knows no calls answers without.
    """

    messages: Sequence[Message]
    temperature: float
    max_tokens: int
    seed: int | None
    toolbox: Toolbox | None = None

    def as_json(self) -> dict[str, Any]:
        """As OpenAI-compatible endpoints take it."""
        asked: dict[str, Any] = {
            "messages": [message.as_json() for message in self.messages],
            "temperature": float(self.temperature),
            "max_tokens": self.max_tokens,
            "seed": self.seed,
        }
        if self.toolbox is not None:
            asked["tools"] = [tool.as_json() for tool in self.toolbox.tools]
        return asked


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered.

    Attributes:
        model: name of the model, as it states it itself.
        prompt_tokens, completion_tokens: tokens read and written; None where the model does not say.
        seconds: time the answer took when it was made, waiting and new tries included.
        finish_reason: ``stop`` for a whole answer, ``length`` for one that was cut; others as the server
            names them.
        tool_calls: functions that it wants called before it answers.
    """

    text: str
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float
    cached: bool
    finish_reason: str
    tool_calls: tuple[ToolCall, ...] = ()


class LanguageModel(Protocol):
    """A chat model."""

    @property
    def name(self) -> str:
        """Name for people."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of everything that decides an answer besides the request."""
        ...

    def complete(self, request: Request) -> Completion:
        """The answer to a request; may be called from several threads.

        Raises:
            ModelError: there is no usable answer.
        """
        ...
