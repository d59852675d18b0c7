"""A language model behind an OpenAI-compatible endpoint: vLLM, Ollama, llama.cpp, a vendor.

Only ``POST {base_url}/chat/completions`` is used. Busy, slow and failing servers are asked again, with
growing pauses and as their Retry-After says; an answer that is not a whole completion is an error.
"""

from __future__ import annotations

import json
import math
import random
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr, ValidationError

from finrag_pipeline.errors import ModelError
from finrag_pipeline.language_models.protocol import Completion, Request, ToolCall
from finrag_pipeline.settings import LanguageModelSettings
from finrag_pipeline.storage.fingerprints import fingerprint

if TYPE_CHECKING:
    import httpx

_BUSY = {408, 409, 425, 429, 500, 502, 503, 504}
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0
_CONNECT_SECONDS = 10.0
_PREFIX = "FINRAG_LANGUAGE_MODEL__"


class _Function(BaseModel):
    name: str
    arguments: str = "{}"


class _Call(BaseModel):
    id: str = ""
    function: _Function


class _Text(BaseModel):
    content: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    message: _Text
    finish_reason: str | None = None


class _Tokens(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Answer(BaseModel):
    """The part of a chat completion that is used; servers add much else."""

    choices: list[_Choice]
    model: str | None = None
    usage: _Tokens | None = None


class _RefusedError(ModelError):
    """The request is not understood as it is."""


class _BusyError(ModelError):
    """The same request may succeed later."""

    def __init__(self, reason: str, remedy: str, wait: float | None = None) -> None:
        super().__init__(reason, remedy)
        self.wait = wait


class EndpointModel:
    """A chat model at an OpenAI-compatible endpoint; ``sleep`` waits that many seconds between tries.

    Raises:
        ModelError: the address is missing or cannot be one.
    """

    def __init__(self, settings: LanguageModelSettings, sleep: Callable[[float], None] = time.sleep) -> None:
        self._settings = settings
        self.name = settings.name
        self._url = f"{_checked(settings.base_url)}/chat/completions"
        self._key = _checked_key(settings.key)
        # The same name elsewhere may be another model.
        self.fingerprint = fingerprint("endpoint", self._url, settings.name)
        self._sleep = sleep
        self._takes_tools = True
        self._free = threading.BoundedSemaphore(settings.max_concurrency)

    def complete(self, request: Request) -> Completion:
        """The answer to a request.

        Raises:
            ModelError: the endpoint is down, refuses the key or the request, or gives no whole answer.
        """
        body = {"model": self.name, **request.as_json(), "stream": False}
        if body["seed"] is None:
            del body["seed"]
        if not self._takes_tools:
            body.pop("tools", None)
        with self._free:
            try:
                return self._asked(body)
            except _RefusedError:
                # Servers without functions refuse them; what was called before stays in the conversation.
                if body.pop("tools", None) is None:
                    raise
                answer = self._asked(body)
                self._takes_tools = False
                return answer

    def _asked(self, body: dict[str, Any]) -> Completion:
        start = time.perf_counter()
        tried = 0
        while True:
            try:
                answer = self._once(body)
                break
            except _BusyError as busy:
                if tried == self._settings.retries:
                    raise
                # The random part keeps requests that failed together from coming back together.
                growing = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**tried) + random.uniform(0, _FIRST_PAUSE)
                self._sleep(growing if busy.wait is None else busy.wait)
                tried += 1
        choice = answer.choices[0]
        return Completion(
            text=choice.message.content or "",
            model=answer.model or self.name,
            prompt_tokens=answer.usage.prompt_tokens if answer.usage else None,
            completion_tokens=answer.usage.completion_tokens if answer.usage else None,
            seconds=time.perf_counter() - start,
            cached=False,
            finish_reason=choice.finish_reason or "stop",
            tool_calls=tuple(
                ToolCall(one.id or f"call_{place}", one.function.name, one.function.arguments)
                for place, one in enumerate(choice.message.tool_calls or ())
            ),
        )

    @cached_property
    def _client(self) -> httpx.Client:
        import httpx

        seconds = self._settings.timeout
        return httpx.Client(timeout=httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS)))

    def _once(self, body: dict[str, Any]) -> _Answer:
        """One try."""
        import httpx

        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        # The names and arguments of calls may hold what UTF-8 cannot say.
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        try:
            response = self._client.post(self._url, content=content, headers=headers)
        except httpx.TimeoutException as error:
            raise _BusyError(
                f"{self._url} did not answer in {self._settings.timeout:g} seconds.",
                f"Check the server, or raise {_PREFIX}TIMEOUT.",
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise _BusyError(
                f"{self._url} cannot be reached: {self._said(str(error) or type(error).__name__)}.",
                f"Start the server, or correct {_PREFIX}BASE_URL.",
            ) from error
        if response.status_code != 200:
            raise self._refused(response)
        try:
            answer = _Answer.model_validate_json(response.content)
        except ValidationError as error:
            kind = response.headers.get("content-type", "").partition(";")[0] or "no content type"
            whole = all(one["type"] != "json_invalid" for one in error.errors())
            what = "JSON that is no chat completion" if whole else f"no whole JSON ({kind})"
            raise ModelError(
                f"{self._url} answered with {what}: {self._said(response.text)}.",
                f"Check that {_PREFIX}BASE_URL is an OpenAI-compatible endpoint.",
            ) from error
        if not answer.choices:
            raise ModelError(f"{self._url} answered without a choice.", "Check the server's log.")
        choice = answer.choices[0]
        if not ((choice.message.content or "").strip() or choice.message.tool_calls):
            ended = choice.finish_reason or "no reason given"
            raise ModelError(
                f"{self._url} answered with no text ({ended}).", "Allow more tokens, or choose another model."
            )
        return answer

    def _refused(self, response: httpx.Response) -> ModelError:
        status = response.status_code
        said = self._said(response.text)
        needs_more = status == 500 and "tool" in said  # llama.cpp without the template that calls need
        if (status in _BUSY or status >= 500) and not needs_more:
            wait = _seconds(response.headers.get("retry-after"))
            if wait is not None and wait > _LONGEST_PAUSE:
                return ModelError(
                    f"{self._url} wants to be left alone for {wait:.0f} seconds ({status}).",
                    "Try again then.",
                )
            return _BusyError(
                f"{self._url} answered with {status}: {said}.",
                f"Try again later, or ask less at a time: {_PREFIX}MAX_CONCURRENCY.",
                wait,
            )
        if status in (401, 403):
            return ModelError(
                f"{self._url} refuses the key ({status})." if self._key else f"{self._url} wants a key.",
                f"Set {_PREFIX}KEY.",
            )
        if status == 404:
            return _RefusedError(
                f"{self._url} or model '{self.name}' does not exist there (404): {said}.",
                f"Correct {_PREFIX}BASE_URL (it ends with the version, as in /v1) or {_PREFIX}NAME.",
            )
        if 300 <= status < 400:
            return ModelError(
                f"{self._url} leads elsewhere ({status}).", f"Set {_PREFIX}BASE_URL to the address itself."
            )
        return _RefusedError(
            f"{self._url} refuses the request ({status}): {said}.", "Change the request or the model."
        )

    def _said(self, text: str) -> str:
        """What a server said, short enough to be shown and without the key, which some repeat."""
        if self._key:
            text = text.replace(self._key, "…")
        return " ".join(text[:2000].split())[:200] or "nothing"


def _checked(base_url: str | None) -> str:
    """The address without a slash at its end."""
    if not base_url:
        raise ModelError("The endpoint of the language model has no address.", f"Set {_PREFIX}BASE_URL.")
    try:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise ValueError
    except ValueError:
        raise ModelError(
            "The address of the language model's endpoint is no http or https address.",
            f"Set {_PREFIX}BASE_URL, for example http://localhost:8000/v1.",
        ) from None
    if parts.username is not None or parts.query or parts.fragment:
        # Addresses are shown in messages; a key in one would be shown too.
        raise ModelError(
            "The address of the language model's endpoint holds more than host and path.",
            f"Put the key into {_PREFIX}KEY.",
        )
    return base_url.rstrip("/")


def _checked_key(key: SecretStr | None) -> str | None:
    text = key.get_secret_value().strip() if key else ""
    if not text:
        return None
    if not (text.isascii() and text.isprintable()):
        # The client would say so too, and show the key.
        raise ModelError("The key of the endpoint holds unprintable characters.", f"Correct {_PREFIX}KEY.")
    return text


def _seconds(retry_after: str | None) -> float | None:
    """Seconds that a Retry-After header asks for: a number or a date (RFC 9110, 10.2.3)."""
    if not retry_after:
        return None
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            at = parsedate_to_datetime(retry_after)
        except ValueError:
            return None
        seconds = ((at if at.tzinfo else at.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None
