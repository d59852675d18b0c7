"""What every request passes first: whose name it was sent to, and how long its body is.

A browser can be led to send requests to a loopback address under a name of somebody else's (DNS rebinding);
so a service on loopback answers to its own names only. Bodies are read here, within limits, before anything
parses them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from finrag_pipeline.serving.problems import problem


class RequestLimits:
    """ASGI middleware; see the module. ``hosts`` are the names that are answered to; any when None."""

    def __init__(
        self, app: ASGIApp, body_bytes: int, body_seconds: float, hosts: Collection[str] | None
    ) -> None:
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
        if refusal := await self._read(Headers(scope=scope), receive, messages):
            await refusal(scope, receive, send)
            return
        kept = iter(messages)

        async def replay() -> Message:
            return next(kept, None) or await receive()

        await self._app(scope, replay, send)

    async def _read(self, headers: Headers, receive: Receive, messages: list[Message]) -> JSONResponse | None:
        """Read the body into ``messages``; an error for another host, or a body too long or too slow."""
        if self._hosts is not None and host_name(headers.get("host", "")) not in self._hosts:
            return _refusal(400, "The Host header names another service.", "Send requests to localhost.")
        too_long = _refusal(
            413,
            f"The body of the request is longer than {self._body_bytes:,} bytes.",
            "Send a shorter question, or fewer filings.",
        )
        announced = headers.get("content-length", "0")
        if announced.isdecimal() and int(announced[:20]) > self._body_bytes:
            return too_long
        size, more = 0, True
        try:
            async with asyncio.timeout(self._body_seconds):
                while more:
                    message = await receive()
                    messages.append(message)
                    size += len(message.get("body", b""))
                    more = message.get("more_body", False)
                    if size > self._body_bytes:
                        return too_long
        except TimeoutError:
            return _refusal(
                408, f"The body did not arrive within {self._body_seconds:g} seconds.", "Send it again."
            )
        return None


def host_name(header: str) -> str:
    """The name in a Host header, without the port, in small letters; IPv6 addresses keep their brackets."""
    header = header.strip().lower()
    if header.startswith("["):
        return header.partition("]")[0] + "]"
    return header.partition(":")[0]


def _refusal(status: int, error: str, remedy: str) -> JSONResponse:
    # What is left of the body is not read: the connection cannot be used again.
    return JSONResponse(problem(error, remedy), status, {"Connection": "close"})
