"""``finrag serve``: the application in a process of its own, until Ctrl-C or SIGTERM."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable
from importlib.util import find_spec

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from finrag_pipeline.errors import ModelError, UsageError
from finrag_pipeline.serving.app import create_app
from finrag_pipeline.serving.problems import NO_MCP
from finrag_pipeline.serving.service import SearchService
from finrag_pipeline.settings import Settings

_HEADER_BYTES = 512 * 1024
"""Longest request line and headers: a question of the greatest length fits into a link."""
HEADER_SECONDS = 10.0
"""In which the headers of a request must arrive."""
_GRACE_SECONDS = 5


def serve(settings: Settings, host: str, port: int, tell: Callable[[str], object]) -> None:
    """Answer requests until the process is stopped, at any free port when ``port`` is 0.

    ``tell`` is called with the address once requests are answered, then when the lake is loaded or renewed.

    Raises:
        UsageError: the address is not of this machine, or the port is taken.
    """
    listener = listen(host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
    service = SearchService(settings, tell=tell)
    token = None if is_loopback(host) else service_token(settings)
    config = uvicorn.Config(
        create_app(service, own_names(host), token),
        http=_Protocol,
        h11_max_incomplete_event_size=_HEADER_BYTES,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        told = address if token is None else f"{address}\nAuthorization: Bearer {token}"
        _Server(config, lambda: tell(told)).run(sockets=[listener])
    except KeyboardInterrupt:
        pass  # uvicorn has stopped in good order and passes the signal on
    finally:
        signal.signal(signal.SIGTERM, before)
        listener.close()
    _leave(service)


def serve_assistant(settings: Settings, tell: Callable[[str], object]) -> None:
    """Answer one assistant over standard input and output, until it closes them.

    ``tell`` is called when the lake is loaded or renewed; it must not print to standard output.

    Raises:
        ModelError: the MCP SDK is not installed.
    """
    if find_spec("mcp") is None:
        raise ModelError(*NO_MCP)
    from finrag_pipeline.serving.mcp_server import create_mcp

    service = SearchService(settings, tell=tell)
    service.start()
    try:
        create_mcp(service).run("stdio")
    except KeyboardInterrupt:
        pass
    finally:
        service.stop()
    _leave(service)


def _leave(service: SearchService) -> None:
    if not service.at_rest or "triton" in sys.modules:
        # A search that still runs cannot be stopped, and the interpreter would wait for its thread. What is
        # written to the lake is written under another name first: nothing is left half done. And where
        # PyTorch was just loaded, its Triton would tell people of all that is not cleared away.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def service_token(settings: Settings) -> str:
    """The token that a service asks for which other machines reach: that of the settings, or a new one."""
    chosen = settings.service_token
    return chosen.get_secret_value() if chosen else secrets.token_urlsafe()


class _Protocol(H11Protocol):  # h11 has a limit on the length of headers
    """Gives up a connection on which the headers of a request do not arrive in time."""

    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unwatch()

    def _watch(self) -> None:
        # Between two requests uvicorn closes it by itself.
        if self.conn.their_state is not h11.IDLE:
            self._unwatch()
        elif self._limit is None:
            self._limit = self.loop.call_later(HEADER_SECONDS, self._too_slow)

    def _unwatch(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _too_slow(self) -> None:
        self.transport.write(
            b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        )
        self.transport.close()


class _Server(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], object]) -> None:
        super().__init__(config)
        self._tell_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._tell_started()


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on ``host`` and ``port``.

    Raises:
        UsageError: the address is not of this machine, or the port is taken.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"'{host}' is no address: {error}.", "Choose another with --host.") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()
    except OSError as error:
        listener.close()
        raise UsageError(
            f"{host}:{port} cannot be listened on: {error.strerror or error}.",
            "Choose another address with --host and --port.",
        ) from error
    return listener


def own_names(host: str) -> set[str] | None:
    """Host headers that a service on ``host`` answers to; None, any, when it is open to other machines."""
    own = f"[{host}]" if ":" in host else host
    return {"localhost", "127.0.0.1", "[::1]", own} if is_loopback(host) else None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host``."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
