"""A lake in an object store (moto's S3 server on loopback): the same as in a folder, whatever happens meanwhile."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from finrag_pipeline.errors import DamageError, LakeError
from finrag_pipeline.filings.intake import accept
from finrag_pipeline.orchestration.runs import index, ingest
from finrag_pipeline.schemas import FOLDS
from finrag_pipeline.services.search import Searcher
from finrag_pipeline.services.sql import run_sql
from finrag_pipeline.settings import EncoderSettings, Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.vectors import VectorFilter, VectorIndex, index_rows
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.console import start
from finrag_pipeline_tests.tiny_encoder import write_tiny_static

moto = pytest.importorskip("moto.server", reason="needs moto[server]")
s3fs = pytest.importorskip("s3fs", reason="needs the extra s3")


class Store:
    """The server, which keeps what it holds while it is stopped."""

    def __init__(self) -> None:
        self._port = 0
        self.start()

    def start(self) -> None:
        self._server = moto.ThreadedMotoServer("127.0.0.1", self._port, verbose=False)
        self._server.start()
        self._port = self._server.get_host_and_port()[1]

    def stop(self) -> None:
        self._server.stop()

    @property
    def variables(self) -> dict[str, str]:
        keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
        return {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._port}", **keys}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    store = Store()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in store.variables.items():
            patch.setenv(name, value)
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        s3fs.S3FileSystem().mkdir("bucket")
        yield store
    store.stop()


@pytest.fixture
def bucket(store: Store, request: pytest.FixtureRequest) -> str:
    """URL of an empty lake."""
    return f"s3://bucket/{request.node.name}"


def folds(*questions: str) -> pa.Table:
    rows = [{"question_id": question, "filing": "a", "fold": 0} for question in questions]
    return pa.Table.from_pylist(rows, schema=FOLDS)


def parts(lake: Lake) -> dict[str, bytes]:
    """Everything below ``parquet/`` and ``filings/``, by its path in the lake."""
    found = (path for folder in ("parquet", "filings") for path in lake.fs.find(lake.path(folder)))
    paths = [path for path in found if "/embeddings/" not in path]  # shards have names of their own
    return {path.removeprefix(f"{lake.root}/"): lake.read_bytes(path) or b"" for path in paths}


def vectors(lake: Lake) -> dict[str, list[dict[str, Any]]]:
    """Rows of every vector index, by its name."""
    names = {Path(path).stem for path in lake.fs.glob(lake.path("lance", "*.lance"))}
    tables = {name: VectorIndex(lake.uri("lance"), name)._open().to_arrow() for name in names}
    return {name: table.sort_by("vector_id").to_pylist() for name, table in tables.items()}


def variables(settings: Settings) -> dict[str, str]:
    chunks = settings.chunks
    return {
        "FINRAG_LAKE": settings.lake,
        "FINRAG_ENCODER__NAME": settings.encoder.name,
        "FINRAG_ENCODER__BACKEND": settings.encoder.backend,
        "FINRAG_CHUNKS__TOKENS": str(chunks.tokens),
        "FINRAG_CHUNKS__OVERLAP": str(chunks.overlap),
    }


@pytest.mark.slow
def test_two_writers_one_of_them_killed(
    store: Store, bucket: str, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    files = [
        small_filings.annual_report(tmp_path / f"{name}_2021_10K.pdf", f"{name} Corp", 2021)
        for name in ("ALDER", "BIRCH")
    ]
    # A static encoder: the process that is killed need not load PyTorch.
    encoder = EncoderSettings(name=str(write_tiny_static(tmp_path / "encoder")))
    settings = settings.model_copy(update={"encoder": encoder})
    there = settings.model_copy(update={"lake": bucket})
    lake = Lake(bucket)
    given = {**variables(there), **store.variables, "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"]}
    writer = start(tmp_path, "ingest", files[0], **given)

    def kill_between_parts() -> None:
        while writer.poll() is None and not lake.info("filing_pages", {"filing": files[0].stem}):
            time.sleep(0.02)
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate()

    killer = threading.Thread(target=kill_between_parts)
    killer.start()
    assert ingest(there, files[1:], lambda *_: None).failures == {}
    killer.join()
    assert writer.returncode == -signal.SIGKILL
    assert not lake.info("page_sentences", {"filing": files[0].stem}), "killed in the middle"

    for one in (there, settings):
        assert ingest(one, files, lambda *_: None).failures == {}
        assert index(one, ["dense"], lambda *_: None).failures == {}
    in_folder = Lake(settings.lake)
    assert parts(lake) == parts(in_folder)
    assert vectors(lake) == vectors(in_folder) != {}
    found = [Searcher(one).search("revenue of division 2 of Birch", "dense", 5) for one in (there, settings)]
    assert found[0].results == found[1].results != []
    sql = "SELECT filing, count(*) FROM filing_chunks GROUP BY 1 ORDER BY 1"
    assert run_sql(lake, sql) == run_sql(in_folder, sql)
    assert lake.fs.exists(lake.path("warehouse.duckdb"))


def test_a_connection_that_is_lost_for_a_while(store: Store, bucket: str) -> None:
    lake, index = Lake(bucket), VectorIndex(f"{bucket}/lance", "chunks")
    rows = index_rows([("u", "a", 0, "text", ["one", "two"])], np.eye(2, dtype=np.float32))
    index.replace_filing("a", rows)
    lake.write("folds", folds("q1"), "f1")
    store.stop()
    threading.Timer(0.3, store.start).start()
    lake.write("folds", folds("q2"), "f2", {"fold": "1"})
    assert lake.read("folds")["question_id"].to_pylist() == ["q1"]
    store.stop()
    threading.Timer(0.3, store.start).start()
    assert index.count("a") == 2


def test_what_cannot_be_reached_is_not_taken_for_missing_or_damaged(
    store: Store, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Lake(bucket)
    lake.write("folds", folds("q1"), "f1")
    monkeypatch.setattr(lake.fs, "retries", 1)
    store.stop()
    try:
        for use in (lake.info, lake.read, lake.partitions, lambda name: lake.write(name, folds("q2"), "f2")):
            with pytest.raises(LakeError, match="object store cannot be used") as caught:
                use("folds")
            assert not isinstance(caught.value, DamageError) and "AWS_ENDPOINT_URL" in caught.value.remedy
    finally:
        store.start()
    assert lake.read("folds")["question_id"].to_pylist() == ["q1"]


def test_damage(bucket: str) -> None:
    lake, index = Lake(bucket), VectorIndex(f"{bucket}/lance", "chunks")
    lake.write("folds", folds(*map(str, range(1000))), "f1")
    path = lake.part_path("folds")
    data = bytearray(lake.read_bytes(path) or b"")
    data[200] ^= 1
    lake.write_bytes(path, bytes(data))
    with pytest.raises(DamageError, match="folds is damaged"):
        lake.read("folds")
    lake.set_aside("parquet/folds/data.parquet")
    assert lake.info("folds") is None

    index.replace_filing("a", index_rows([("u", "a", 0, "text", ["one"])], np.ones((1, 1), np.float32)))
    for fragment in lake.fs.find(lake.path("lance", "chunks.lance", "data")):
        lake.fs.rm(fragment)
    with pytest.raises(DamageError, match="vector index chunks is damaged"):
        VectorIndex(f"{bucket}/lance", "chunks").search(np.ones(1, np.float32), 1, VectorFilter())


def test_an_original_is_kept(bucket: str, tmp_path: Path) -> None:
    lake = Lake(bucket)
    source = accept(lake, small_filings.annual_report(tmp_path / "it's é.pdf", "Alder Corp", 2021))
    assert accept(lake, tmp_path / "it's é.pdf") == source


def test_no_bucket(store: Store) -> None:
    with pytest.raises(LakeError, match="bucket does not exist"):
        Lake("s3://nowhere/lake").write("folds", folds("q1"), "f1")
