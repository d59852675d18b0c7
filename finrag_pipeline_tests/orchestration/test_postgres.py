"""Dagster's storage in PostgreSQL, configured as docs/deployment.md says: one slot is never given to two."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from finrag_pipeline.orchestration.instance import dagster_home, open_instance
from finrag_pipeline.orchestration.runs import ingest
from finrag_pipeline.schemas.catalogue import VECTORS
from finrag_pipeline.settings import Settings
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.console import REPOSITORY

pytest.importorskip("dagster_postgres", reason="needs the extra postgres")
_PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin")) or [
    Path(found).parent for found in [shutil.which("initdb")] if found
]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not _PROGRAMS, reason="PostgreSQL is not installed (apt-get install postgresql)"),
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A server on loopback, on a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="finrag-postgres-"))
    programs, as_user = _PROGRAMS[-1], []
    if os.geteuid() == 0:  # it refuses to run as root
        shutil.chown(folder, "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    make = [programs / "initdb", "-D", folder / "data", "-A", "trust", "-U", "dagster", "--no-sync"]
    subprocess.run([*as_user, *make], check=True, capture_output=True, cwd="/")
    server = subprocess.Popen(
        [
            *as_user,
            programs / "postgres",
            "-D",
            folder / "data",
            "-k",
            folder,
            "-h",
            "127.0.0.1",
            "-p",
            str(port),
        ],
        stderr=subprocess.DEVNULL,
        cwd="/",
    )
    deadline = time.monotonic() + 60
    ready = [programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
    while subprocess.run(ready, check=False).returncode:
        assert server.poll() is None and time.monotonic() < deadline
        time.sleep(0.1)
    yield f"postgresql+psycopg2://dagster@127.0.0.1:{port}/postgres"
    server.terminate()
    server.wait()
    shutil.rmtree(folder)


def test_an_instance_in_postgres(
    url: str, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DAGSTER_POSTGRES_URL", url)
    guide = (REPOSITORY / "docs" / "deployment.md").read_text(encoding="utf-8")
    (storage,) = re.findall(r"```yaml\n(storage:\n.*?)```", guide, re.DOTALL)
    with (dagster_home(settings) / "dagster.yaml").open("a") as file:
        file.write(storage)
    filing = small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021)
    done = ingest(settings, [filing], lambda *_: None)
    assert (done.failures, done.indexed) == ({}, ["ALDER_2021_10K"])
    with open_instance(settings) as instance:
        log = instance.event_log_storage
        assert type(log).__name__ == "EventLog"
        assert instance.get_dynamic_partitions("filings") == ["ALDER_2021_10K"]
        assert log.get_concurrency_info(VECTORS).slot_count == 1, "the repository's limit holds"
        for turn in range(20):  # Dagster's own gives it to several in one of four
            runs = [f"run{turn}-{n}" for n in range(8)]
            with ThreadPoolExecutor(8) as threads:
                claims = threads.map(lambda run: log.claim_concurrency_slot(VECTORS, run, "step"), runs)
                assert sum(claim.is_claimed for claim in claims) == 1
            for run in runs:
                log.free_concurrency_slots_for_run(run)
    assert not list((tmp_path / "home").rglob("*.db"))
