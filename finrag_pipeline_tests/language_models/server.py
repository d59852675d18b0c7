"""An endpoint on loopback that answers by script, and language models that do so without a network."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from finrag_pipeline.errors import ModelError
from finrag_pipeline.language_models.protocol import Completion, Message, Request
from finrag_pipeline.storage.fingerprints import fingerprint


@dataclass(frozen=True)
class Reply:
    """One answer of the endpoint; ``hang`` gives none until the endpoint closes."""

    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    hang: bool = False
    announced: int | None = None
    """Length that the header states, when it is not that of the body."""
    linger: float = 0.0
    """Seconds before the answer, in which others may come."""


def said(text: str | None, finish_reason: str = "stop", **more: Any) -> Reply:
    """A whole chat completion."""
    answer = {
        "id": "x",
        "object": "chat.completion",
        "model": "served-model",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish_reason}
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
        **more,
    }
    return Reply(body=json.dumps(answer).encode())


@dataclass
class Endpoint:
    """Where it is, and what it was asked."""

    base_url: str
    replies: list[Reply | Callable[[dict[str, Any]], Reply]]
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    most_at_once: int = 0


@contextmanager
def endpoint(*replies: Reply | Callable[[dict[str, Any]], Reply]) -> Iterator[Endpoint]:
    """An endpoint that gives ``replies`` one after the other, and the last one from then on.

    A reply may be a function of the request.
    """
    closing, lock = threading.Event(), threading.Lock()
    running = 0

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            nonlocal running
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with lock:
                running += 1
                served.most_at_once = max(served.most_at_once, running)
                chosen = served.replies[min(len(served.requests), len(served.replies) - 1)]
                served.requests.append(json.loads(body))
                reply = chosen if isinstance(chosen, Reply) else chosen(served.requests[-1])
                served.headers.append({name.lower(): value for name, value in self.headers.items()})
                served.paths.append(self.path)
            try:
                closing.wait(60 if reply.hang else reply.linger)
            finally:
                with lock:  # before the reply: who has it may ask again at once
                    running -= 1
            if not reply.hang:
                self.send_response(reply.status)
                self.send_header("Content-Type", reply.content_type)
                announced = len(reply.body) if reply.announced is None else reply.announced
                self.send_header("Content-Length", str(announced))
                for name, value in reply.headers:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)
                if reply.announced is not None:
                    self.close_connection = True

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served = Endpoint(f"http://127.0.0.1:{server.server_port}/v1", list(replies))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


class ScriptedModel:
    """A language model that answers by a function of the request, and remembers what it was asked."""

    def __init__(
        self, answer: Callable[[Sequence[Message], int | None], str], name: str = "scripted"
    ) -> None:
        self._answer = answer
        self.name = name
        self.asked: list[tuple[tuple[Message, ...], float, int, int | None]] = []

    @property
    def fingerprint(self) -> str:
        return fingerprint("scripted", self.name)

    def complete(self, request: Request) -> Completion:
        self.asked.append((tuple(request.messages), request.temperature, request.max_tokens, request.seed))
        text = self._answer(request.messages, request.seed)
        if text == "error":
            raise ModelError("It is down.", "Start it.")
        return Completion(text, self.name, 10, 5, 0.5, False, "stop")
