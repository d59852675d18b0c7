"""The report below ``/report/``: its files and no others, always the newest, and what to do without one."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from finrag_pipeline.reporting.report import write_report
from finrag_pipeline.serving.app import create_app
from finrag_pipeline.serving.service import SearchService
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.reporting.builders import empty_data


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    (folder / "secret.txt").write_text("not for readers")
    return folder


@pytest.fixture
def client(lake: Path) -> Iterator[TestClient]:
    # Without a lifespan nothing is loaded: the report needs no models.
    yield TestClient(create_app(SearchService(Settings(lake=str(lake)))), raise_server_exceptions=False)


def write(lake: Path, benchmark: str = "Example") -> Path:
    return write_report(replace(empty_data(), benchmark=benchmark), lake / "report").parent


@pytest.mark.parametrize("path", ["/report/", "/report/index.html", "/report/method.html"])
def test_without_a_report_it_says_how_to_make_one(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"] == "There is no report yet."
    assert "finrag report" in answer.json()["remedy"]


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/report/", "text/html"),
        ("/report/index.html", "text/html"),
        ("/report/filings.html", "text/html"),
        ("/report/assets/report.css", "text/css"),
        ("/report/assets/report.js", "text/javascript"),
        ("/report/metrics.json", "application/json"),
    ],
)
def test_files_of_the_report(client: TestClient, lake: Path, path: str, content: str) -> None:
    folder = write(lake)
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(content)
    name = path.removeprefix("/report/") or "index.html"
    assert answer.content == (folder / name).read_bytes()


def test_the_root_leads_to_it(client: TestClient, lake: Path) -> None:
    write(lake)
    assert '<a href="/report/">' in client.get("/").text
    answer = client.get("/report")
    assert answer.status_code == 200 and answer.url.path == "/report/"


@pytest.mark.parametrize(
    "path",
    [
        "/report/../secret.txt",
        "/report/%2e%2e/secret.txt",
        "/report/..%2fsecret.txt",
        "/report/%2e%2e%2fsecret.txt",
        "/report/assets/../../secret.txt",
        "/report/assets/..%2f..%2fsecret.txt",
        "/report/..%5csecret.txt",
        "/report//etc/passwd",
        "/report/%2fetc%2fpasswd",
        "/report/link.txt",
        "/report/.finrag-report",
        "/report/%00",
        "/report/nothing.html",
        "/report/assets/",
        "/report/" + "x" * 5000,
    ],
)
def test_no_way_leads_out_of_the_report(client: TestClient, lake: Path, path: str) -> None:
    (write(lake) / "link.txt").symlink_to(lake / "secret.txt")
    answer = client.get(path)
    assert answer.status_code == 404, answer.text
    assert "not for readers" not in answer.text
    assert set(answer.json()) == {"error", "remedy"}


def test_browsers_keep_files_but_ask_for_newer_ones(client: TestClient, lake: Path) -> None:
    write(lake, "First")
    first = client.get("/report/")
    assert first.headers["cache-control"] == "no-cache"
    known = {"If-None-Match": first.headers["etag"]}
    again = client.get("/report/", headers=known)
    assert again.status_code == 304 and not again.content
    assert again.headers["cache-control"] == "no-cache"
    write(lake, "Another name of it")
    newer = client.get("/report/", headers=known)
    assert newer.status_code == 200 and "Another name of it" in newer.text


def test_pages_may_load_nothing_from_elsewhere(client: TestClient, lake: Path) -> None:
    write(lake)
    page = client.get("/report/")
    policy = dict(part.split(" ", 1) for part in page.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'" and policy["script-src"] == "'self'"
    assert page.headers["x-content-type-options"] == "nosniff"


def test_only_reading_is_allowed(client: TestClient, lake: Path) -> None:
    write(lake)
    assert client.post("/report/").status_code == 405
    assert client.delete("/report/index.html").status_code == 405
    assert client.head("/report/").status_code == 200


def test_the_report_of_a_remote_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    lake = Lake(f"memory://{uuid.uuid4().hex}/lake")
    client = TestClient(create_app(SearchService(Settings(lake=lake.uri()))))
    answer = client.get("/report/")
    assert answer.status_code == 404 and "finrag report" in answer.json()["remedy"]
    for name in ("Example", "Another"):
        write(lake.local_path(), name)
        lake.publish("report")
        assert name in client.get("/report/").text
    assert client.get("/report/assets/report.css").headers["content-type"].startswith("text/css")
    assert client.get("/report/assets").status_code == client.get("/report/x.html").status_code == 404
    assert client.get("/report/%2e%2e/secret.txt").status_code == 404
