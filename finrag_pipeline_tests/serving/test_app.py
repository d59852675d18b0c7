"""The answers of the service: those of the command line, and errors with remedies."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi.testclient import TestClient

from finrag_pipeline import cli
from finrag_pipeline.commands import console
from finrag_pipeline.services.filings import list_filings
from finrag_pipeline.services.search import list_systems
from finrag_pipeline_tests.indexed_lake import FILINGS, IndexedLake

QUESTION = "  net revenue of x1y2z "


def printed(
    indexed: IndexedLake, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> dict[str, Any]:
    """What ``finrag search … --json`` prints."""
    monkeypatch.setattr(console, "get_settings", lambda: indexed.settings)
    monkeypatch.setattr("sys.argv", ["finrag", "search", *arguments, "--json"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def without_time(answer: dict[str, Any]) -> dict[str, Any]:
    assert answer["seconds"] >= 0
    return {**answer, "seconds": None}


class TestSearch:
    @pytest.mark.parametrize("system", [None, "bm25", "hybrid_rrf", "parent_child"])
    def test_the_json_of_the_command_line(
        self,
        client: TestClient,
        indexed: IndexedLake,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        system: str | None,
    ) -> None:
        filings = [indexed.filings[1], indexed.filings[3]]
        options = ["-k", "7", *(part for filing in filings for part in ("--filing", filing))]
        if system:
            options += ["--system", system]
        expected = printed(indexed, capsys, monkeypatch, QUESTION, *options)
        body = {"question": QUESTION, "k": 7, "filings": filings, "system": system}
        posted = client.post("/search", json=body)
        got = client.get("/search", params={name: value for name, value in body.items() if value is not None})
        assert posted.status_code == got.status_code == 200
        assert without_time(posted.json()) == without_time(got.json()) == without_time(expected)
        assert list(posted.json()) == list(expected)
        assert [list(row) for row in posted.json()["results"]] == [list(row) for row in expected["results"]]
        assert len(expected["results"]) == 7

    def test_without_options(self, client: TestClient, indexed: IndexedLake) -> None:
        answer = client.post("/search", json={"question": "goodwill"}).json()
        assert answer["system"] == "finrag"
        assert answer["warnings"] == []
        assert len(answer["results"]) == 5
        everything = client.get("/search?question=goodwill&k=100").json()["results"]
        assert {row["filing"] for row in everything} == set(indexed.filings)

    def test_many_at_once_are_answered_as_one_after_another(self, client: TestClient) -> None:
        bodies = [
            {"question": f"{words} {number}", "system": system, "k": 4}
            for number, words in enumerate(["net revenue", "goodwill", "capital expenditure x3y2z", "tax"])
            for system in ("dense", "bm25", "hybrid_rrf")
        ]
        alone = [client.post("/search", json=body) for body in bodies]
        with ThreadPoolExecutor(8) as threads:
            together = list(threads.map(lambda body: client.post("/search", json=body), bodies * 2))
        assert {answer.status_code for answer in [*alone, *together]} == {200}
        assert [without_time(answer.json()) for answer in together] == [
            without_time(answer.json()) for answer in alone * 2
        ]


class TestRefusals:
    @pytest.mark.parametrize(
        ("body", "status", "told"),
        [
            ({}, 422, "question: Field required"),
            ({"question": ""}, 422, "question: "),
            ({"question": " \n\t "}, 422, "question: "),
            ({"question": "\x1c"}, 400, "The question is empty."),
            ({"question": "x" * 20_001}, 422, "at most 20000 characters"),
            ({"question": None}, 422, "question: "),
            ({"question": "x", "k": 0}, 422, "k: "),
            ({"question": "x", "k": 101}, 422, "k: "),
            ({"question": "x", "k": "5"}, 422, "k: "),
            ({"question": "x", "k": True}, 422, "k: "),
            ({"question": "x", "k": 2.5}, 422, "k: "),
            ({"question": "x", "K": 5}, 422, "K: Extra inputs are not permitted"),
            ({"question": "x", "filings": ["A"] * 101}, 422, "filings: "),
            ({"question": "x", "filings": "ALDER_2021_10K"}, 422, "filings: "),
            ({"question": "x", "filings": [""]}, 422, "filings.0: "),
            ({"question": "x", "filings": ["NOPE"]}, 404, "No filing 'NOPE' is searched here."),
            ({"question": "x", "filings": [FILINGS[0], "../../etc"]}, 404, "No filing '../../etc'"),
            ({"question": "x", "filings": ["a\0b"]}, 404, "No filing"),
            ({"question": "x", "filings": ["ü" * 255]}, 404, "No filing"),
            ({"question": "x", "system": "bm42"}, 404, "There is no retrieval system 'bm42'."),
            ({"question": "x", "system": ""}, 422, "system: "),
            ({"question": "x", "system": "page_scorer"}, 503, "No page scorer was trained"),
            ([], 422, "body: "),
        ],
    )
    def test_what_is_wrong_and_what_to_do(
        self, client: TestClient, body: Any, status: int, told: str
    ) -> None:
        answer = client.post("/search", json=body)
        assert answer.status_code == status, answer.text
        error = answer.json()
        assert set(error) == {"error", "remedy"}
        assert told in error["error"]
        assert error["remedy"]

    @pytest.mark.parametrize(
        ("content", "status"),
        [
            (b"{", 400),
            (b"\xff\xfe", 400),
            (b'{"question": "half a pair \\ud83d"}', 422),
            (b'{"question": "x", "\\ud83d": 1}', 422),
            (b'{"question": "x", "k": NaN}', 422),
            (b'{"question": "x", "k": ' + b"9" * 10_000 + b"}", 400),
            (b"[" * 100_000, 400),
            (b"", 422),
        ],
    )
    def test_bodies_that_are_no_request(self, client: TestClient, content: bytes, status: int) -> None:
        answer = client.post("/search", content=content, headers={"Content-Type": "application/json"})
        assert answer.status_code == status, answer.text
        assert set(answer.json()) == {"error", "remedy"}

    def test_another_type_of_content(self, client: TestClient) -> None:
        # A page in a browser may post such a body to any address without asking.
        headers = {"Content-Type": "text/plain"}
        assert client.post("/search", content=b'{"question": "tax"}', headers=headers).status_code == 415

    @pytest.mark.parametrize(
        ("method", "path", "status"),
        [
            ("GET", "/nothing", 404),
            ("DELETE", "/search", 405),
            ("GET", "/search", 422),
            ("GET", "/search?question=x&k=five", 422),
            ("GET", "/search?question=x&color=red", 422),
            ("GET", "/search?question=x&filings=%00", 404),
            ("GET", "/filings?failed=perhaps", 422),
            ("GET", "/docs/oauth2-redirect", 404),
        ],
    )
    def test_requests_that_lead_nowhere(
        self, client: TestClient, method: str, path: str, status: int
    ) -> None:
        answer = client.request(method, path)
        assert answer.status_code == status
        assert set(answer.json()) == {"error", "remedy"}

    def test_a_wrong_method_is_told_all_that_the_path_takes(self, client: TestClient) -> None:
        assert client.delete("/search").headers["allow"] == "GET, POST"

    def test_a_whole_number_may_have_a_point(self, client: TestClient) -> None:
        assert len(client.post("/search", json={"question": "tax", "k": 2.0}).json()["results"]) == 2

    def test_a_long_name_is_not_sent_back_whole(self, client: TestClient) -> None:
        answer = client.post("/search", json={"question": "x", "y" * 10_000: 1})
        assert answer.status_code == 422
        assert len(answer.text) < 1_000


class TestLists:
    def test_systems_are_those_of_the_command_line(self, client: TestClient, indexed: IndexedLake) -> None:
        assert client.get("/systems").json() == list_systems(indexed.settings)

    @pytest.mark.parametrize("failed", [False, True])
    def test_filings_are_those_of_the_command_line(
        self, client: TestClient, indexed: IndexedLake, failed: bool
    ) -> None:
        indexed.lake.record("filings", "BROKEN_2020", "failed", error="Not a PDF.", remedy="Get another.")
        rows = client.get("/filings", params={"failed": failed}).json()
        assert rows == list_filings(indexed.lake, failed)
        assert "BROKEN_2020" in {row["filing"] for row in rows}


class TestStates:
    def test_the_process_is_up(self, client: TestClient) -> None:
        assert client.get("/health").json() == {"status": "up", "version": "0.1.0"}

    def test_the_lake_is_loaded(self, client: TestClient) -> None:
        answer = client.get("/ready")
        assert answer.status_code == 200
        told = answer.json()
        assert told.pop("loaded_at")
        assert told.pop("warnings") == []
        assert told == {
            "ready": True,
            "filings": len(FILINGS),
            "system": "finrag",
            "problem": None,
        }

    def test_other_sites_get_no_leave_to_read(self, client: TestClient) -> None:
        answer = client.get("/health", headers={"Origin": "https://example.com"})
        assert not [name for name in answer.headers if name.startswith("access-control")]
