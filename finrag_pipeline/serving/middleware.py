"""What every request passes first: whose name it was sent to, who sends it, what its body is and how long.

A browser can be led to send requests to a loopback address under a name of somebody else's (DNS rebinding);
so a service on loopback answers to its own names only, and one that other machines reach asks for a token.
Bodies are read here, within limits, before anything parses them.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from finrag_pipeline.serving.problems import problem


class RequestLimits:
    """ASGI middleware; see the module. ``hosts`` are the names that are answered to; any when None.

    A ``token`` is asked for of everybody but who asks for /health, as a bearer's or as the password that
    browsers ask people for. ``answered`` is told route, status and seconds of every answer.
    """

    def __init__(
        self,
        app: ASGIApp,
        body_bytes: int,
        body_seconds: float,
        hosts: Collection[str] | None,
        token: str | None = None,
        answered: Callable[[str, int, float], object] = lambda *_: None,
    ) -> None:
        self._token, self._answered = token, answered
        self._app = app
        self._body_bytes = body_bytes
        self._body_seconds = body_seconds
        self._hosts = None if hosts is None else {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with an error, or pass the request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        messages: list[Message] = []
        start, status = time.monotonic(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            if refusal := await self._read(scope, receive, messages):
                await refusal(scope, receive, noted)
                return
            kept = iter(messages)

            async def replay() -> Message:
                return next(kept, None) or await receive()

            await self._app(scope, replay, noted)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self._answered(route, status, time.monotonic() - start)

    async def _read(self, scope: Scope, receive: Receive, messages: list[Message]) -> JSONResponse | None:
        """Read the body into ``messages``; an error for what is refused, which is no reason to read it."""
        headers = Headers(scope=scope)
        if self._hosts is not None and host_name(headers.get("host", "")) not in self._hosts:
            return _refusal(400, "The Host header names another service.", "Send requests to localhost.")
        too_long = _refusal(
            413,
            f"The body of the request is longer than {self._body_bytes:,} bytes.",
            "Send a shorter question, or fewer filings.",
        )
        if self._token is not None and scope["path"] != "/health" and not self._knows(headers):
            return _refusal(
                401,
                "The token of this service is missing or wrong.",
                "Send 'Authorization: Bearer TOKEN'; finrag serve prints it.",
                {"WWW-Authenticate": 'Basic realm="finrag"'},
            )
        announced = headers.get("content-length", "0")
        size = int(announced[:20]) if announced.isdecimal() else 0
        if size > self._body_bytes and "expect" in headers:
            return too_long  # it waits for leave to send
        more, size = True, 0
        try:
            async with asyncio.timeout(self._body_seconds):
                while more:
                    message = await receive()
                    size += len(message.get("body", b""))
                    more = message.get("more_body", False)
                    # One that is too long is read to its end all the same: who still sends hears no answer.
                    if size <= self._body_bytes:
                        messages.append(message)
        except TimeoutError:
            if size > self._body_bytes:
                return too_long
            return _refusal(
                408, f"The body did not arrive within {self._body_seconds:g} seconds.", "Send it again."
            )
        if size > self._body_bytes:
            return too_long
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if size and not (kind == "application/json" or kind.endswith("+json")):
            told = f"The body is {kind or 'of no kind that is named'}."
            return _refusal(415, told, "Send JSON, with 'Content-Type: application/json'.")
        return None

    def _knows(self, headers: Headers) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "basic":
            with suppress(ValueError):
                given = base64.b64decode(given).decode().partition(":")[2]
        return secrets.compare_digest(given.strip().encode(), str(self._token).encode())


def host_name(header: str) -> str:
    """The name in a Host header, without the port, in small letters; IPv6 addresses keep their brackets."""
    header = header.strip().lower()
    if header.startswith("["):
        return header.partition("]")[0] + "]"
    return header.partition(":")[0]


def _refusal(status: int, error: str, remedy: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    # What is left of the body is not read: the connection cannot be used again.
    return JSONResponse(problem(error, remedy), status, {"Connection": "close", **(headers or {})})
