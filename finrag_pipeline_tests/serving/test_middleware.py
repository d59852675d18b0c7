"""Limits on requests, before anything parses them."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr

from finrag_pipeline.serving.app import create_app
from finrag_pipeline.serving.middleware import RequestLimits, host_name
from finrag_pipeline.serving.server import own_names, service_token
from finrag_pipeline.serving.service import Limits, SearchService
from finrag_pipeline.settings import Settings
from finrag_pipeline_tests.indexed_lake import IndexedLake


class TestBody:
    def test_announced_too_long(self, client: TestClient) -> None:
        answer = client.post("/search", content=b" " * (512 * 1024 + 1))
        assert answer.status_code == 413
        assert answer.json()["error"] == "The body of the request is longer than 524,288 bytes."
        assert answer.headers["Connection"] == "close"

    def test_too_long_without_saying_so(self, client: TestClient) -> None:
        answer = client.post("/search", content=(b" " * 65_536 for _ in range(9)))
        assert answer.status_code == 413

    def test_the_longest_question_passes_however_it_is_written(self, client: TestClient) -> None:
        # Twelve bytes of JSON for each of these characters.
        answer = client.post("/search", json={"question": "\N{MONEY BAG}" * 20_000, "system": "bm25"})
        assert answer.status_code == 200

    def test_in_pieces(self, client: TestClient) -> None:
        pieces = iter([b'{"question": "ta', b"x", b'"}'])
        answer = client.post("/search", content=pieces, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["question"]) == (200, "tax")

    def test_one_that_does_not_arrive(self) -> None:
        async def app(*_: Any) -> None:
            raise AssertionError("nothing behind the gate is asked")

        async def receive() -> dict[str, Any]:
            await asyncio.sleep(3600)
            return {}

        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        gate = RequestLimits(app, body_bytes=10, body_seconds=0.01, hosts=None)
        scope = {"type": "http", "method": "POST", "path": "/search", "headers": []}
        asyncio.run(gate(scope, receive, send))
        assert sent[0]["status"] == 408
        assert b"remedy" in sent[1]["body"]


class TestHost:
    @pytest.mark.parametrize(
        ("host", "status"),
        [
            ("localhost:8600", 200),
            ("LOCALHOST", 200),
            ("127.0.0.1:8600", 200),
            ("[::1]:8600", 200),
            ("rebound.example.com", 400),
            ("localhost.example.com:8600", 400),
            ("", 400),
        ],
    )
    def test_on_loopback_only_own_names(self, service: SearchService, host: str, status: int) -> None:
        client = TestClient(create_app(service, own_names("127.0.0.1")))
        answer = client.get("/health", headers={"Host": host})
        assert answer.status_code == status

    def test_elsewhere_any_name(self) -> None:
        assert own_names("0.0.0.0") is None
        assert own_names("search.example.com") is None
        assert "127.0.0.2" in (own_names("127.0.0.2") or ())

    @pytest.mark.parametrize(
        ("header", "name"),
        [("a:1", "a"), ("A", "a"), ("[::1]:80", "[::1]"), ("[::1]", "[::1]"), ("", ""), ("[::1", "[::1]")],
    )
    def test_name_without_port(self, header: str, name: str) -> None:
        assert host_name(header) == name


class TestKindOfBody:
    @pytest.mark.parametrize(
        ("kind", "status"),
        [
            ("application/json", 200),
            ("application/problem+json; charset=utf-8", 200),
            ("text/plain", 415),
            ("application/x-www-form-urlencoded", 415),
        ],
    )
    def test_json_alone_is_read(self, client: TestClient, kind: str, status: int) -> None:
        body = b'{"question": "tax", "system": "bm25"}'
        answer = client.post("/search", content=body, headers={"Content-Type": kind})
        assert answer.status_code == status
        if status == 415:
            assert "Content-Type: application/json" in answer.json()["remedy"]


class TestToken:
    @pytest.fixture
    def asked(self, service: SearchService) -> TestClient:
        return TestClient(create_app(service, token="abc"))

    @pytest.mark.parametrize(
        "given", [None, "Bearer abd", "Bearer", "Basic !", "Basic dTphYmQ=", "Basic dTphYmM"]
    )
    def test_without_it_nothing_is_answered(self, asked: TestClient, given: str | None) -> None:
        headers = {"Authorization": given} if given else {}
        for path in ("/filings", "/metrics", "/docs", "/nothing"):
            answer = asked.get(path, headers=headers)
            assert (answer.status_code, answer.headers["WWW-Authenticate"][:5]) == (401, "Basic")
        assert asked.post("/search", json={"question": "tax"}, headers=headers).status_code == 401
        assert asked.get("/health").status_code == 200

    @pytest.mark.parametrize("given", ["Bearer abc", "bearer abc", "Basic dTphYmM="])
    def test_with_it_all_is(self, asked: TestClient, given: str) -> None:
        assert asked.get("/filings", headers={"Authorization": given}).status_code == 200

    def test_it_is_the_one_that_was_set_or_a_new_one(self) -> None:
        chosen = Settings(service_token=SecretStr("mine"))
        assert service_token(chosen) == "mine" and "mine" not in repr(chosen)
        assert service_token(Settings()) != service_token(Settings())


def test_metrics_count_what_was_answered(indexed: IndexedLake) -> None:
    service = SearchService(indexed.settings, Limits(seconds=300))
    assert service.refresh()
    with TestClient(create_app(service)) as client:
        assert client.post("/search", json={"question": "tax", "system": "bm25"}).status_code == 200
        assert client.get("/search").status_code == 422
        assert client.get("/no/such%0Apage").status_code == 404
        answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    lines = answer.text.splitlines()
    assert 'finrag_requests_total{route="/search",status="200"} 1' in lines
    assert 'finrag_requests_total{route="/search",status="422"} 1' in lines
    assert 'finrag_requests_total{route="other",status="404"} 1' in lines
    assert f"finrag_filings {len(indexed.filings)}" in lines and "finrag_ready 1" in lines
    assert all(
        re.fullmatch(r"# TYPE \w+ (counter|gauge)|finrag_\w+(\{[^{}]*\})? [\d.e-]+", line) for line in lines
    )
