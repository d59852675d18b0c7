"""``finrag serve`` as a process on loopback: it says where it is, answers, and ends when told."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx
import pytest
import uvicorn

from finrag_pipeline.errors import UsageError
from finrag_pipeline.serving import server
from finrag_pipeline.serving.server import is_loopback, listen
from finrag_pipeline_tests.console import called, finish, start
from finrag_pipeline_tests.indexed_lake import IndexedLake


@pytest.fixture
def served(request: pytest.FixtureRequest, stopped_by: signal.Signals) -> IndexedLake:
    """A lake that is loaded at once, or one that takes long to load where that is to be interrupted."""
    lake: IndexedLake = request.getfixturevalue("static_lake" if stopped_by == signal.SIGTERM else "indexed")
    return lake


@pytest.fixture
def process(served: IndexedLake) -> Iterator[subprocess.Popen[str]]:
    started = start(Path(served.settings.lake), "serve", "--port", "0", **served.variables())
    yield started
    if started.poll() is None:
        started.kill()
        started.communicate()


def address_of(process: subprocess.Popen[str]) -> str:
    """What the process says first."""
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", line), (line, process.poll())
    return line


def status_of_longest_link(address: str) -> int:
    """Status of a question of the greatest length in a link; httpx refuses to send links that long."""
    host = urlsplit(address).netloc
    with closing(HTTPConnection(host, timeout=60)) as connection:
        connection.request(
            "GET", "/search?" + urlencode({"question": "\N{MONEY BAG}" * 20_000, "system": "bm25"})
        )
        return connection.getresponse().status


@pytest.mark.slow
@pytest.mark.parametrize("stopped_by", [signal.SIGTERM, signal.SIGINT])
def test_from_start_to_stop(
    process: subprocess.Popen[str], served: IndexedLake, stopped_by: signal.Signals
) -> None:
    address = address_of(process)
    with httpx.Client(base_url=address, trust_env=False, timeout=60) as client:
        assert client.get("/health").json()["status"] == "up"
        if stopped_by == signal.SIGTERM:
            while client.get("/ready").status_code == 503:
                assert process.poll() is None
                time.sleep(0.1)
            answer = client.post("/search", json={"question": "net revenue", "k": 2})
            assert len(answer.json()["results"]) == 2
            assert status_of_longest_link(address) == 200
            # Without waiting for the answer of somebody who refuses it: far more than any buffer holds.
            assert client.post("/search", content=b" " * 30_000_000).status_code == 413
            assert client.get("/health", headers={"Host": "rebound.example.com"}).status_code == 400
        # Else it is stopped while the models are being loaded.
        process.send_signal(stopped_by)
        done = finish(process, 60)
    assert done.code == 0
    assert done.err == ""
    if stopped_by == signal.SIGTERM:
        ready = f"Ready: {len(served.filings)} filings, searched with finrag."
        assert done.out.startswith(ready)


def test_headers_that_do_not_arrive_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEADER_SECONDS", 0.3)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.6)  # an answer may take longer than headers
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    async def asked() -> tuple[bytes, bytes, bytes]:
        config = uvicorn.Config(app, http=server._Protocol, lifespan="off", log_level="error")
        running = uvicorn.Server(config)
        with closing(listen("127.0.0.1", 0)) as listener:
            serving = asyncio.create_task(running.serve(sockets=[listener]))
            address = listener.getsockname()
            slow, slow_end = await asyncio.open_connection(*address)
            slow_end.write(b"GET / HTTP/1.1\r\nHost: x\r\nX-Sl")
            whole, whole_end = await asyncio.open_connection(*address)
            whole_end.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            first = await whole.readuntil(b"\r\n\r\n")
            whole_end.write(b"GET / HT")  # the next request of a connection that is kept
            found = await slow.read(), first, await whole.read()
            running.should_exit = True
            await serving
        return found

    given_up, answered, second = asyncio.run(asyncio.wait_for(asked(), 30))
    assert given_up.startswith(b"HTTP/1.1 408 ")
    assert answered.startswith(b"HTTP/1.1 200 ")
    assert second.startswith(b"HTTP/1.1 408 ")


@pytest.mark.slow
def test_a_taken_port_is_an_error_with_a_remedy(indexed: IndexedLake) -> None:
    with closing(listen("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = called(indexed.settings.lake, "serve", "--port", port, **indexed.variables())
    assert done.code == 2
    assert done.err.startswith(f"error: 127.0.0.1:{port} cannot be listened on: Address already in use.")


class TestListen:
    def test_any_free_port(self) -> None:
        with closing(listen("localhost", 0)) as one, closing(listen("127.0.0.1", 0)) as other:
            assert one.getsockname()[1] != other.getsockname()[1] != 0

    @pytest.mark.parametrize("host", ["192.0.2.1", "not a host", "a..b", "x" * 300])
    def test_no_address_of_this_machine(self, host: str) -> None:
        with pytest.raises(UsageError) as caught:
            listen(host, 0)
        assert "--host" in caught.value.remedy

    def test_a_taken_port(self) -> None:
        with (
            closing(listen("127.0.0.1", 0)) as taken,
            pytest.raises(UsageError, match="cannot be listened on"),
        ):
            listen("127.0.0.1", taken.getsockname()[1])

    @pytest.mark.parametrize(
        ("host", "own"),
        [
            ("127.0.0.1", True),
            ("127.9.9.9", True),
            ("::1", True),
            ("localhost", True),
            ("0.0.0.0", False),
            ("::", False),
            ("192.0.2.1", False),
            ("localhost.example.com", False),
        ],
    )
    def test_what_only_this_machine_reaches(self, host: str, own: bool) -> None:
        assert is_loopback(host) is own

    def test_ipv6(self) -> None:
        if not socket.has_ipv6:
            pytest.skip("no IPv6 here")
        try:
            listener = listen("::1", 0)
        except UsageError:
            pytest.skip("no IPv6 here")
        with closing(listener):
            assert listener.family == socket.AF_INET6
