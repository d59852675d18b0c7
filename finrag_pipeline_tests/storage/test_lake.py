from __future__ import annotations

import datetime as dt
import multiprocessing
import os
import shutil
import subprocess
import sys
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from finrag_pipeline.errors import DamageError, LakeError
from finrag_pipeline.schemas import FILING_CHUNKS, FOLDS, TABLES
from finrag_pipeline.storage.lake import Lake, PartInfo
from finrag_pipeline.storage.processes import process_name


def _folds(*questions: str, fold: int = 0) -> pa.Table:
    rows = [{"question_id": question, "filing": "a", "fold": fold} for question in questions]
    return pa.Table.from_pylist(rows, schema=FOLDS)


def _files(lake: Lake) -> list[str]:
    return sorted(str(path.relative_to(lake.root)) for path in Path(lake.root).rglob("*") if path.is_file())


@pytest.fixture(params=["folder", "memory"])
def any_lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    """A lake in a folder, and one in an object store (fsspec's, in memory)."""
    return Lake(tmp_path / "lake" if request.param == "folder" else f"memory://{uuid.uuid4().hex}/lake")


class TestParts:
    def test_round_trip(self, any_lake: Lake) -> None:
        partition = {"system": "bm25", "fold": "0"}
        written = any_lake.write("folds", _folds("q1", "q2"), "f1", partition)
        assert written == PartInfo("f1", 2)
        assert any_lake.info("folds", partition) == written
        assert any_lake.read("folds", partition).to_pylist() == _folds("q1", "q2").to_pylist()
        assert any_lake.read("folds", partition, ["fold"]).column_names == ["fold"]
        assert any_lake.partitions("folds") == [partition]

    def test_a_part_replaces_the_earlier_one(self, any_lake: Lake) -> None:
        any_lake.write("folds", _folds("q1", "q2"), "f1")
        any_lake.write("folds", _folds("q3"), "f2")
        assert any_lake.info("folds") == PartInfo("f2", 1)
        assert any_lake.read("folds")["question_id"].to_pylist() == ["q3"]

    @pytest.mark.parametrize(
        "key", ["ACME_2023_10K", "株式会社_2023", "naïve é", "a=b", "it's", 'quo"te', "100%", "~"]
    )
    def test_keys_of_any_script(self, any_lake: Lake, key: str) -> None:
        any_lake.write("folds", _folds("q1"), "f", {"filing": key})
        assert any_lake.partitions("folds") == [{"filing": key}]
        assert any_lake.read_all("folds", only={"filing": [key]}).num_rows == 1
        any_lake.remove("folds", {"filing": key})
        assert any_lake.partitions("folds") == []
        any_lake.remove("folds", {"filing": key})  # removing what is not there is no error

    def test_all_parts_in_the_order_of_their_keys(self, any_lake: Lake) -> None:
        for key in ("b", "a", "c"):
            any_lake.write("folds", _folds(f"q{key}"), "f", {"filing": key})
        assert any_lake.read_all("folds")["question_id"].to_pylist() == ["qa", "qb", "qc"]
        some = any_lake.read_all("folds", only={"filing": ["c", "a", "z"]})
        assert some["question_id"].to_pylist() == ["qa", "qc"]
        assert any_lake.read_all("folds", ["fold"]).column_names == ["fold"]

    def test_a_part_that_goes_while_parts_are_listed(
        self, lake: Lake, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for key in ("a", "b", "c"):
            lake.write("folds", _folds("q"), "f", {"filing": key})
        listed = os.scandir

        def scandir(path: Any) -> Any:
            if str(path).endswith("filing=b"):
                shutil.rmtree(path)  # between its name being read and its files
            return listed(path)

        monkeypatch.setattr(os, "scandir", scandir)
        assert lake.partitions("folds") == [{"filing": "a"}, {"filing": "c"}]

    def test_nothing_yet(self, any_lake: Lake) -> None:
        assert any_lake.info("folds") is None
        assert any_lake.partitions("folds") == []
        assert any_lake.read_all("folds").schema == FOLDS
        assert any_lake.read_all("folds", ["fold", "filing"]).column_names == ["fold", "filing"]
        with pytest.raises(LakeError, match=r"There is no folds \{'filing': 'x'\} in the lake"):
            any_lake.read("folds", {"filing": "x"})

    def test_a_table_that_does_not_fit_its_schema_leaves_the_lake_alone(self, lake: Lake) -> None:
        lake.write("folds", _folds("q1"), "f1")
        with pytest.raises(LakeError, match="does not fit its schema"):
            lake.write("folds", pa.table({"question_id": ["q2"]}), "f2")
        assert lake.info("folds") == PartInfo("f1", 1)
        assert _files(lake) == ["parquet/folds/data.parquet"]

    def test_a_table_may_have_the_columns_of_another(self, lake: Lake) -> None:
        assert lake.read_all("parent_child_chunks").schema == FILING_CHUNKS

    def test_a_foreign_parquet_file_has_no_fingerprint(self, lake: Lake) -> None:
        path = Path(lake.part_path("folds"))
        path.parent.mkdir(parents=True)
        pq.write_table(_folds("q1"), path)
        assert lake.info("folds") is None, "it is made again rather than trusted"

    def test_an_optional_column_that_a_part_was_written_before_is_null(self, lake: Lake) -> None:
        row = {field.name: None for field in TABLES["filings"]} | {
            "filing": "new",
            "filed": dt.date(2024, 2, 1),
        }
        table = pa.Table.from_pylist(
            [row], schema=pa.schema([f.with_nullable(True) for f in TABLES["filings"]])
        )
        for name, part in (("new", table), ("old", table.drop_columns(["filed"]))):
            path = Path(lake.part_path("filings", {"filing": name}))
            path.parent.mkdir(parents=True)
            pq.write_table(part, path)
        assert lake.read_all("filings")["filed"].to_pylist() == [dt.date(2024, 2, 1), None]
        assert lake.read("filings", {"filing": "old"}, ["filed"])["filed"].to_pylist() == [None]
        assert lake.read_all("filings").column_names == TABLES["filings"].names
        some = lake.read_all("filings", ["pages", "filed", "filing"])
        assert some.column_names == ["pages", "filed", "filing"], "in the order asked for, in old parts too"

    def test_parts_of_several_schemas_are_reported(self, lake: Lake) -> None:
        lake.write("folds", _folds("q1"), "f", {"filing": "a"})
        path = Path(lake.part_path("folds", {"filing": "b"}))
        path.parent.mkdir()
        pq.write_table(pa.table({"question_id": ["q2"]}), path)
        with pytest.raises(LakeError, match="differ in their columns"):
            lake.read_all("folds")


class TestPaths:
    @pytest.mark.parametrize("part", ["..", "../x", "a/../../x", "a\\..\\x", "/etc", "\\x", "", "a\0b"])
    def test_no_way_out_of_the_lake(self, lake: Lake, part: str) -> None:
        with pytest.raises(LakeError, match="not a path inside the lake"):
            lake.path("filings", part)

    @pytest.mark.parametrize("value", ["../../x", "a/b", "/etc", "a\\b"])
    def test_no_way_out_of_a_partition(self, lake: Lake, value: str) -> None:
        for use in (lake.part_path, lake.info, lake.read, lake.remove):
            with pytest.raises(LakeError, match="is not a partition"):
                use("folds", {"filing": value})
        with pytest.raises(LakeError):
            lake.write("folds", _folds("q1"), "f", {"filing": value})
        assert _files(lake) == []

    def test_dots_inside_a_name_are_fine(self, lake: Lake) -> None:
        assert lake.path("filings", "a..b", "x.y") == f"{lake.root}/filings/a..b/x.y"

    def test_uri_and_local_path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        local, remote = Lake(tmp_path), Lake("memory://bucket/lake")
        assert local.uri("lance") == f"{tmp_path}/lance"
        assert local.local_path("lance") == tmp_path / "lance"
        assert remote.uri("lance") == "memory:///bucket/lake/lance"
        assert (local.is_local, remote.is_local) == (True, False)
        beside = remote.local_path("warehouse.duckdb")
        assert beside.parent.parent == tmp_path / "cache" / "finrag" / "lakes"
        assert beside != Lake("memory://other/lake").local_path("warehouse.duckdb")

    def test_what_is_published_takes_the_place_of_what_was(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        lake = Lake(f"memory://{uuid.uuid4().hex}/lake")
        lake.write_bytes(lake.path("report", "old.html"), b"old")
        for name in ("index.html", "assets/report.css"):
            lake.here.write_bytes(lake.here.path("report", name), name.encode())
        lake.publish("report")
        there = {
            path.removeprefix(f"{lake.root}/"): lake.read_bytes(path) for path in lake.fs.find(lake.root)
        }
        assert there == {"report/index.html": b"index.html", "report/assets/report.css": b"assets/report.css"}

    def test_a_lake_given_as_a_file_url(self, tmp_path: Path) -> None:
        lake = Lake(f"file://{tmp_path}/lake")
        assert lake.is_local
        assert lake.local_path("x") == tmp_path / "lake" / "x"

    def test_a_local_copy(self, any_lake: Lake) -> None:
        path = any_lake.path("filings", "a", "original.pdf")
        any_lake.write_bytes(path, b"%PDF")
        with any_lake.local_copy(path) as local:
            assert local.name == "original.pdf"
            assert local.read_bytes() == b"%PDF"
        assert any_lake.read_bytes(path) == b"%PDF"


class TestFiles:
    def test_bytes_and_json(self, any_lake: Lake) -> None:
        path = any_lake.path("notes", "ü.json")
        assert any_lake.read_bytes(path) is None
        assert any_lake.read_json(path) is None
        any_lake.write_json(path, {"größe": [1, None]})
        assert any_lake.read_json(path) == {"größe": [1, None]}
        any_lake.write_bytes(path, b'{"half": ')
        assert any_lake.read_json(path) is None

    def test_a_file_where_a_folder_is_expected_holds_nothing(self, lake: Lake) -> None:
        lake.write_bytes(lake.path("filings", "README"), b"")
        assert lake.read_json(lake.path("filings", "README", "source.json")) is None

    def test_what_the_file_system_refuses_is_told(self, lake: Lake) -> None:
        name = "x" * 300
        lake.write_bytes(lake.path("a"), b"")
        with pytest.raises(LakeError, match="cannot be read: File name too long"):
            lake.read_bytes(lake.path(name))
        with pytest.raises(LakeError, match="cannot be written") as caught:
            lake.write_bytes(lake.path("a", "b"), b"")
        assert "free space" in caught.value.remedy


class TestCrashes:
    def test_a_crash_before_the_rename_leaves_the_old_part(
        self, lake: Lake, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lake.write("folds", _folds("q1"), "f1")

        def crash(*_: object, **__: object) -> None:
            (new,) = Path(lake.root).rglob("*.tmp")
            assert pq.read_table(new).num_rows == 2, "the new part is written in full before it is renamed"
            assert lake.info("folds") == PartInfo("f1", 1)
            raise KeyboardInterrupt

        monkeypatch.setattr(lake.fs, "mv", crash)
        with pytest.raises(KeyboardInterrupt):
            lake.write("folds", _folds("q2", "q3"), "f2")
        monkeypatch.undo()
        assert lake.read("folds")["question_id"].to_pylist() == ["q1"]
        assert _files(lake) == ["parquet/folds/data.parquet"], "the temporary file is gone"

    def test_a_killed_writer_leaves_a_temporary_file_that_is_found_later(self, lake: Lake) -> None:
        code = (
            "import os, sys\n"
            "from finrag_pipeline.storage.lake import Lake\n"
            "lake = Lake(sys.argv[1])\n"
            "lake.fs.mv = lambda *_: os.kill(os.getpid(), 9)\n"
            "lake.write_bytes(lake.path('notes', 'a.json'), b'{}')\n"
        )
        ended = subprocess.run([sys.executable, "-c", code, lake.root], check=False, timeout=60)
        assert ended.returncode == -9
        assert lake.read_bytes(lake.path("notes", "a.json")) is None
        (left,) = lake.leftovers(older_than=0.0)
        assert left.startswith(f"{lake.root}/notes/a.json.")
        assert lake.leftovers(older_than=3600.0) == [], "it may still be being written"
        long_ago = (datetime.now(UTC) - timedelta(hours=2)).timestamp()
        os.utime(left, (long_ago, long_ago))
        assert lake.leftovers(older_than=3600.0) == [left]

    def test_leftovers_are_the_lake_s_own(self, any_lake: Lake) -> None:
        stamp = uuid.uuid4().hex
        left = {
            f"models/encoders/f.{stamp}.tmp": ["model.xml", "model.bin"],
            f"warehouse.duckdb.{stamp}.tmp": None,
            f"warehouse.duckdb.{stamp}.tmp.wal": None,
            f".report.{stamp}.old.tmp": ["index.html"],
        }
        for name, files in left.items():
            for path in [f"{name}/{file}" for file in files] if files else [name]:
                any_lake.fs.makedirs(f"{any_lake.root}/{path}".rsplit("/", 1)[0], exist_ok=True)
                any_lake.fs.pipe_file(f"{any_lake.root}/{path}", b"x")
        any_lake.write_bytes(any_lake.path("filings", "report.tmp", "a.tmp"), b"a filing may be called so")
        assert sorted(any_lake.leftovers(0.0)) == sorted(f"{any_lake.root}/{name}" for name in left)
        for path in any_lake.leftovers(0.0):
            any_lake.fs.rm(path, recursive=True)
        assert any_lake.leftovers(0.0) == []
        assert any_lake.read_bytes(any_lake.path("filings", "report.tmp", "a.tmp")) is not None

    def test_an_empty_lake_has_no_leftovers(self, any_lake: Lake) -> None:
        assert any_lake.leftovers(0.0) == []

    @pytest.mark.parametrize("kept", [0, 3, 10, 100])
    def test_a_truncated_part_is_absent_for_the_pipeline_and_an_error_for_readers(
        self, lake: Lake, kept: int
    ) -> None:
        lake.write("folds", _folds("q1"), "f", {"filing": "a"})
        path = Path(lake.part_path("folds", {"filing": "a"}))
        path.write_bytes(path.read_bytes()[:kept])
        assert lake.info("folds", {"filing": "a"}) is None
        with pytest.raises(LakeError, match=r"folds \{'filing': 'a'\} is damaged") as caught:
            lake.read("folds", {"filing": "a"})
        assert "finrag doctor --heal" in caught.value.remedy
        with pytest.raises(LakeError, match="is damaged"):
            lake.read_all("folds")
        lake.write("folds", _folds("q1"), "f", {"filing": "a"})
        assert lake.read("folds", {"filing": "a"}).num_rows == 1

    def test_flipped_bits_never_give_other_rows(self, lake: Lake) -> None:
        rows = _folds(*(f"question {n}" for n in range(500)))
        lake.write("folds", rows, "f")
        path = Path(lake.part_path("folds"))
        whole = path.read_bytes()
        noticed = 0
        footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")  # has no checksum of its own
        places = range(4, footer, 11)
        for place in places:
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
            try:
                assert lake.read("folds").to_pylist() == rows.to_pylist(), place
            except LakeError as error:
                assert "is damaged" in error.reason
                noticed += 1
        assert noticed > len(places) / 2

    def test_no_flipped_bit_is_as_it_was_written(self, lake: Lake) -> None:
        """Readers overlook headers and footer; not so who verifies."""
        lake.write("folds", _folds(*(f"question {n}" for n in range(500))), "f")
        lake.verify("folds")
        path = Path(lake.part_path("folds"))
        whole = path.read_bytes()
        key = whole.rindex(b"finrag.sha256")
        for place in range(0, len(whole), 53):
            if not key <= place < key + 15:
                path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1 :])
                with pytest.raises(DamageError):
                    lake.verify("folds")


class TestFirstRows:
    @pytest.fixture(autouse=True)
    def cache(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        return tmp_path / "cache"

    def first(self, lake: Lake) -> list[str]:
        return lake.first_rows("folds", ["question_id"])["question_id"].to_pylist()

    def test_one_row_of_each_part_in_the_order_of_the_keys(self, any_lake: Lake) -> None:
        assert self.first(any_lake) == []
        for key, questions in (("b", ("q3", "q4")), ("a", ("q1", "q2")), ("c", ())):
            any_lake.write("folds", _folds(*questions), "f", {"filing": key})
        assert self.first(any_lake) == self.first(any_lake) == ["q1", "q3"]

    def test_only_parts_that_changed_are_opened_again(
        self, lake: Lake, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for key in "abc":
            lake.write("folds", _folds(f"q{key}"), "f", {"filing": key})
        self.first(lake)
        lake.write("folds", _folds("new"), "f", {"filing": "b"})
        lake.remove("folds", {"filing": "c"})
        opened: list[str] = []
        read = Lake.read
        monkeypatch.setattr(
            Lake,
            "read",
            lambda self, asset, part, *more, **how: (
                opened.append(part["filing"]),
                read(self, asset, part, *more, **how),
            )[1],
        )
        assert (self.first(lake), opened) == (["qa", "new"], ["b"])
        assert (self.first(lake), opened) == (["qa", "new"], ["b"])

    @pytest.mark.parametrize("spoilt", [b"", b"PAR1 nonsense"])
    def test_a_spoilt_or_forbidden_cache_is_no_obstacle(self, lake: Lake, cache: Path, spoilt: bytes) -> None:
        lake.write("folds", _folds("q1"), "f", {"filing": "a"})
        self.first(lake)
        for kept in cache.rglob("*.parquet"):
            kept.write_bytes(spoilt)
        assert self.first(lake) == ["q1"]
        shutil.rmtree(cache)
        cache.write_text("no folder")
        assert self.first(lake) == ["q1"]

    def test_damage_is_told(self, lake: Lake) -> None:
        lake.write("folds", _folds("q1"), "f", {"filing": "a"})
        self.first(lake)
        Path(lake.part_path("folds", {"filing": "a"})).write_bytes(b"PAR1")
        with pytest.raises(DamageError):
            self.first(lake)


def _write_many(root: str, name: str, count: int) -> None:
    lake = Lake(root)
    for n in range(count):
        lake.write("folds", _folds(*[f"{name}{n}"] * 200), name, {"filing": "a"})
        lake.record("folds", "a", "materialised", fingerprint=name)


def test_two_processes_that_write_one_part_at_once(lake: Lake) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(lake.root, name, 60)) for name in ("x", "y")]
    lake.write("folds", _folds(*["x0"] * 200), "x", {"filing": "a"})
    for writer in writers:
        writer.start()
    reads = 0
    while any(writer.is_alive() for writer in writers):
        table = lake.read("folds", {"filing": "a"})
        assert table.num_rows == 200
        assert len(set(table["question_id"].to_pylist())) == 1, "all rows are of one write"
        assert lake.info("folds", {"filing": "a"}) is not None
        entry = lake.ledger_entry("folds", "a")
        assert entry is None or entry["fingerprint"] in ("x", "y")
        reads += 1
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert reads > 10
    assert _files(lake) == ["ledger/folds/a.json", "parquet/folds/filing=a/data.parquet"]


class TestLedger:
    def test_round_trip(self, any_lake: Lake) -> None:
        before = datetime.now(UTC)
        any_lake.record(
            "filing_pages", "Ünïcode", "failed", error="It is empty.", remedy="Get it.", run_id="r1"
        )
        any_lake.record("folds", "", "materialised", fingerprint="f", rows=3, seconds=0.5)
        any_lake.record("filing_pages", "Ünïcode", "cache_hit", fingerprint="g", rows=7, seconds=0.0)
        rows = {(row["asset"], row["partition"]): row for row in any_lake.ledger().to_pylist()}
        assert set(rows) == {("filing_pages", "Ünïcode"), ("folds", "")}
        latest = rows["filing_pages", "Ünïcode"]
        assert (latest["outcome"], latest["rows"], latest["error"]) == ("cache_hit", 7, None)
        assert before <= latest["at"] <= datetime.now(UTC)
        entry = any_lake.ledger_entry("folds", "")
        assert entry is not None
        assert (entry["rows"], entry["seconds"], entry["fingerprint"]) == (3, 0.5, "f")
        assert any_lake.ledger_entry("folds", "x") is None

    def test_an_empty_ledger(self, any_lake: Lake) -> None:
        assert any_lake.ledger().num_rows == 0

    def test_what_is_no_entry_is_passed_over(self, lake: Lake) -> None:
        """A note of the command line lies beside the entries, and a file may be damaged."""
        lake.record("folds", "a", "materialised")
        lake.write_json(lake.path("ledger", "run.json"), {"state": "abc"})
        lake.write_bytes(lake.path("ledger", "folds", "b.json"), b'{"asset": "fo')
        lake.write_json(lake.path("ledger", "folds", "c.json"), [1])
        assert lake.ledger()["partition"].to_pylist() == ["a"]
        assert lake.ledger_entry("folds", "b") is None

    def test_what_a_killed_process_had_begun_has_failed(self, lake: Lake) -> None:
        lake.record("folds", "a", "materialised", fingerprint="x", rows=3)
        lake.begin("folds", "a", "run")
        lake.begin("folds", "", "run")
        assert [entry["outcome"] for entry in lake.ledger_entries()] == ["materialised"], "it is being made"
        for path in lake.fs.glob(lake.path("ledger", "folds", "*.begun")):
            dead = process_name(2**22 + 1)
            lake.write_json(path, lake.read_json(path) | {"process": dead})
        entries = lake.ledger_entries()
        assert [(entry["partition"], entry["outcome"]) for entry in entries] == [
            ("a", "failed"),
            ("", "failed"),
        ]
        assert all("died" in entry["error"] and "again" in entry["remedy"] for entry in entries)
        assert (lake.ledger_entry("folds", "a") or {})["outcome"] == "failed"
        lake.record("folds", "a", "cache_hit", fingerprint="x", rows=3)
        assert (lake.ledger_entry("folds", "a") or {})["outcome"] == "cache_hit"
        assert lake.record_dead("another", None) == []
        assert lake.record_dead("run", "Out of memory.") == ["folds"]
        assert "Out of memory." in (lake.ledger_entry("folds", "") or {})["error"]

    def test_a_partition_cannot_leave_the_ledger(self, lake: Lake) -> None:
        with pytest.raises(LakeError, match="not a path inside the lake"):
            lake.record("folds", "../../a", "failed")
