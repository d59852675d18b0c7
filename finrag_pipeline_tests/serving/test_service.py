"""The life of the service: not ready, loaded, renewed; and how much it takes on."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.errors import LakeError, ModelError
from finrag_pipeline.serving.app import create_app
from finrag_pipeline.serving.service import Limits, SearchService, lake_state
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.indexed_lake import IndexedLake, write_filing
from finrag_pipeline_tests.profiled_lake import add_profile
from finrag_pipeline_tests.serving.stand_ins import Held, ScriptedSearcher

AT_ONCE = Limits(seconds=300, look_every=0.02, retry_every=0.0)


def add_filing(settings: Settings, name: str, seed: int, folder: Path) -> str:
    lake = Lake(settings.lake)
    encoder = Encoder(settings.encoder, lake)
    filing = write_filing(settings, lake, encoder, name, seed, folder)
    add_profile(lake, encoder, filing, seed - 1)
    return filing


def wait_for(condition: Callable[[], bool]) -> None:
    """For the end of something that another thread does."""
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


class TestLake:
    def test_an_empty_lake_becomes_ready_when_a_filing_is_indexed(
        self, settings: Settings, tmp_path: Path
    ) -> None:
        told: list[str] = []
        Path(settings.lake).mkdir()
        with TestClient(create_app(SearchService(settings, AT_ONCE, tell=told.append))) as client:
            wait_for(lambda: "nothing to search" in client.get("/ready").text)
            for answer in (client.get("/ready"), client.post("/search", json={"question": "revenue"})):
                assert answer.status_code == 503
                assert answer.headers["Retry-After"]
                assert answer.json() == {
                    "error": "The lake holds nothing to search.",
                    "remedy": "Run 'finrag run', or 'finrag ingest FILE'.",
                }
            assert client.get("/health").status_code == 200
            assert client.get("/filings").json() == []
            assert client.get("/systems").status_code == 200

            filing = add_filing(settings, "ALDER_2021_10K", 1, tmp_path)
            wait_for(lambda: client.get("/ready").status_code == 200)
            results = client.post("/search", json={"question": "revenue"}).json()["results"]
            assert {row["filing"] for row in results} == {filing}
        assert told[0].startswith("Not ready: The lake holds nothing to search.")
        assert told[-1].startswith("Ready: 1 filings, searched with finrag.")

    def test_a_new_filing_is_found_without_a_restart(self, settings: Settings, tmp_path: Path) -> None:
        first = add_filing(settings, "ALDER_2021_10K", 1, tmp_path)
        with TestClient(create_app(SearchService(settings, AT_ONCE))) as client:
            wait_for(lambda: client.get("/ready").status_code == 200)
            refused = client.post("/search", json={"question": "x", "filings": ["CEDAR_2023_10K"]})
            assert refused.status_code == 404
            second = add_filing(settings, "CEDAR_2023_10K", 3, tmp_path)
            # Its sentences come last: until then a warning names it.
            wait_for(lambda: (state := client.get("/ready").json())["filings"] == 2 and not state["warnings"])
            answer = client.post("/search", json={"question": "revenue", "k": 100})
            assert {row["filing"] for row in answer.json()["results"]} == {first, second}

    def test_an_unchanged_lake_is_loaded_once(self, indexed: IndexedLake) -> None:
        searcher = ScriptedSearcher(lambda question: None)
        service = SearchService(indexed.settings, load=lambda settings: searcher)
        assert service.refresh()
        assert not service.refresh()
        assert len(searcher.asked) == 1, "the models are loaded by one search"

    def test_what_cannot_be_loaded_leaves_the_state_before(self, settings: Settings, tmp_path: Path) -> None:
        add_filing(settings, "ALDER_2021_10K", 1, tmp_path)
        wrong: list[Exception] = []

        def load(_: Settings) -> ScriptedSearcher:
            if wrong:
                raise wrong[0]
            return ScriptedSearcher(lambda question: None)

        told: list[str] = []
        service = SearchService(settings, AT_ONCE, load, told.append)
        assert service.refresh()
        client = TestClient(create_app(service))
        lake = Lake(settings.lake)
        for error, reason in [
            (LakeError("One filing is not in the index.", "Wait."), "One filing is not in the index. Wait."),
            (ValueError("half a part"), "The models or the index could not be loaded. See"),
        ]:
            wrong[:] = [error]
            lake.write_bytes(lake.path("parquet", "page_ranker", "fold=production", "data.parquet"), b"new")
            assert not service.refresh()
            ready = client.get("/ready")
            assert ready.status_code == 200
            assert reason in ready.json()["problem"]
            assert client.post("/search", json={"question": "revenue"}).status_code == 200
            assert "The state before is searched still" in told[-1]
        wrong.clear()
        assert service.refresh()
        assert client.get("/ready").json()["problem"] is None

    def test_a_model_that_cannot_be_had_is_told(self, indexed: IndexedLake) -> None:
        encoder = indexed.settings.encoder.model_copy(update={"name": "/no/such/model"})
        service = SearchService(indexed.settings.model_copy(update={"encoder": encoder}))
        assert not service.refresh()
        answer = TestClient(create_app(service)).get("/ready")
        assert answer.status_code == 503
        assert "/no/such/model" in answer.json()["error"]


class TestLakeState:
    def test_what_changes_it(self, settings: Settings, tmp_path: Path) -> None:
        lake = Lake(settings.lake)
        states = [lake_state(lake)]

        def changed() -> bool:
            states.append(lake_state(lake))
            return states[-1] not in states[:-1]

        filing = add_filing(settings, "ALDER_2021_10K", 1, tmp_path)
        assert changed()
        lake.write_bytes(lake.path("parquet", "page_ranker", "fold=production", "data.parquet"), b"model")
        assert changed(), "a model was trained"
        lake.record("filing_chunks", filing, "fresh")
        lake.write_bytes(lake.path("parquet", "retrieval_scores", "system=x", "data.parquet"), b"scores")
        assert not changed(), "no search reads these"
        lake.remove("filing_chunks", {"filing": filing})
        assert changed()

    def test_a_new_version_of_the_vectors_changes_it(self, settings: Settings, tmp_path: Path) -> None:
        from finrag_pipeline.retrieval.chunk_index import open_chunk_index

        filing = add_filing(settings, "ALDER_2021_10K", 1, tmp_path)
        lake = Lake(settings.lake)
        before = lake_state(lake)
        open_chunk_index(lake, Encoder(settings.encoder, lake), settings).remove([filing])
        assert lake_state(lake) != before


class TestLimits:
    def scripted(
        self, indexed: IndexedLake, does: Callable[[str], object], limits: Limits | None = None
    ) -> SearchService:
        searcher = ScriptedSearcher(does)
        service = SearchService(indexed.settings, limits, lambda settings: searcher)
        assert service.refresh()
        return service

    def test_health_answers_while_a_search_runs(self, indexed: IndexedLake) -> None:
        held = Held()
        with (
            TestClient(create_app(self.scripted(indexed, held))) as client,
            ThreadPoolExecutor(1) as thread,
        ):
            slow = thread.submit(client.post, "/search", json={"question": "slow"})
            try:
                assert held.begun.wait(60)
                assert client.get("/health").status_code == 200
                assert client.get("/ready").status_code == 200
                assert client.get("/filings").status_code == 200
                assert not slow.done()
            finally:
                held.release.set()
            assert slow.result().status_code == 200

    def test_no_more_wait_than_may(self, indexed: IndexedLake) -> None:
        held = Held()
        service = self.scripted(indexed, held, Limits(waiting=2))
        with TestClient(create_app(service)) as client, ThreadPoolExecutor(2) as threads:
            first = threads.submit(client.post, "/search", json={"question": "slow"})
            try:
                assert held.begun.wait(60)
                second = threads.submit(client.post, "/search", json={"question": "next"})
                wait_for(lambda: len(service._running) == 2)
                third = client.post("/search", json={"question": "too many"})
                assert third.status_code == 503
                assert third.json()["error"] == "2 requests are waiting already."
            finally:
                held.release.set()
            assert first.result().status_code == second.result().status_code == 200
            assert client.post("/search", json={"question": "after"}).status_code == 200

    def test_a_search_that_takes_too_long(self, indexed: IndexedLake) -> None:
        held = Held()
        service = self.scripted(indexed, held, Limits(seconds=0.05, waiting=2))
        with TestClient(create_app(service)) as client:
            try:
                late = client.post("/search", json={"question": "slow"})
                assert late.status_code == 503
                assert late.json()["error"] == "No answer within 0.05 seconds."
                behind = client.post("/search", json={"question": "behind it"})
                assert behind.status_code == 503
            finally:
                held.release.set()
            wait_for(lambda: not service._running)
            assert client.post("/search", json={"question": "after"}).status_code == 200

    def test_a_defect_shows_no_stack_trace(
        self, indexed: IndexedLake, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fails(question: str) -> None:
            if question == "bad":
                raise KeyError("secret detail")

        client = TestClient(create_app(self.scripted(indexed, fails)), raise_server_exceptions=False)
        answer = client.post("/search", json={"question": "bad"})
        assert answer.status_code == 500
        assert set(answer.json()) == {"error", "remedy"}
        assert "secret" not in answer.text and "Traceback" not in answer.text
        assert "secret detail" in caplog.text
        assert client.post("/search", json={"question": "good"}).status_code == 200

    def test_a_failure_while_the_lake_changes_is_not_a_defect(
        self, settings: Settings, tmp_path: Path
    ) -> None:
        add_filing(settings, "ALDER_2021_10K", 1, tmp_path)
        lake = Lake(settings.lake)

        def fails(question: str) -> None:
            if question == "bad":
                lake.write_bytes(lake.path("parquet", "page_ranker", "fold=production", "data.parquet"), b"x")
                raise KeyError("chunk")

        service = SearchService(settings, load=lambda _: ScriptedSearcher(fails))
        assert service.refresh()
        answer = TestClient(create_app(service)).post("/search", json={"question": "bad"})
        assert answer.status_code == 503
        assert answer.json()["error"] == "The lake is being changed."

    def test_what_a_system_lacks_is_told(self, indexed: IndexedLake) -> None:
        def fails(question: str) -> None:
            if question == "bad":
                raise ModelError("The weights are missing.", "Download them.")

        answer = TestClient(create_app(self.scripted(indexed, fails))).post(
            "/search", json={"question": "bad"}
        )
        assert answer.status_code == 503
        assert answer.json() == {"error": "The weights are missing.", "remedy": "Download them."}

    def test_stopping_withdraws_what_waits_and_does_not_wait_for_ever(self, indexed: IndexedLake) -> None:
        held = Held()
        service = self.scripted(indexed, held)
        with TestClient(create_app(service)) as client, ThreadPoolExecutor(2) as threads:
            slow = threads.submit(client.post, "/search", json={"question": "slow"})
            try:
                assert held.begun.wait(60)
                waits = threads.submit(client.post, "/search", json={"question": "next"})
                wait_for(lambda: len(service._running) == 2)
                service.stop(grace=0.01)
                assert not service.at_rest
                for refused in (waits.result(), client.post("/search", json={"question": "late"})):
                    assert refused.status_code == 503
                    assert refused.json()["error"] == "The service is being stopped."
            finally:
                held.release.set()
            assert slow.result().status_code == 200
            service.stop()
            assert service.at_rest
