from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from finrag_pipeline.errors import DamageError, LakeError
from finrag_pipeline.schemas import FILING_CHUNKS, FOLDS, SYSTEM_METRICS, TABLES, column_docs
from finrag_pipeline.schemas.catalogue import FOLDERS
from finrag_pipeline.storage import warehouse
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import (
    FILE,
    build_warehouse,
    lake_views,
    publish_table,
    query_tables,
)


def _folds(*questions: str) -> pa.Table:
    return pa.Table.from_pylist(
        [{"question_id": q, "filing": "a", "fold": n} for n, q in enumerate(questions)], FOLDS
    )


def _chunks(filing: str, count: int) -> pa.Table:
    rows = [
        {
            "chunk_id": f"{filing}/p{n}/c0",
            "filing": filing,
            "page": n,
            "ordinal": 0,
            "kind": "text",
            "text": f"it's chunk {n} of {filing}",
            "tokens": 4,
        }
        for n in range(count)
    ]
    return pa.Table.from_pylist(rows, FILING_CHUNKS)


def query_warehouse(lake: Lake, sql: str, parameters: list[str] | None = None) -> pa.Table:
    with duckdb.connect(str(lake.local_path(FILE)), read_only=True) as connection:
        return connection.sql(sql, params=parameters or []).to_arrow_table()


def _leftovers(lake: Lake) -> list[str]:
    return [
        path.name for path in Path(lake.root).iterdir() if path.name.startswith(FILE) and path.name != FILE
    ]


def test_an_empty_lake_has_every_table(lake: Lake) -> None:
    assert build_warehouse(lake) == dict.fromkeys([*FOLDERS, "ledger"], 0)
    for name, entry in FOLDERS.items():
        of_fold = ["fold"] if entry.by == "model" else []
        columns = query_warehouse(lake, f'SELECT * FROM "{name}"').column_names
        assert columns == [*TABLES[name].names, *of_fold]
    assert query_warehouse(lake, "SELECT * FROM ledger").column_names == TABLES["ledger"].names
    assert not lake.partitions("folds"), "what declares the columns is no part"


def test_tables_and_views_hold_the_lake(lake: Lake) -> None:
    lake.write("folds", _folds("q1", "q2"), "f")
    lake.write("filing_chunks", _chunks("ACME", 2), "f", {"filing": "ACME"})
    lake.write("filing_chunks", _chunks("株式会社 é's", 3), "f", {"filing": "株式会社 é's"})
    lake.record("folds", "", "materialised", rows=2, fingerprint="f")
    rows = build_warehouse(lake)
    assert (rows["folds"], rows["filing_chunks"], rows["ledger"], rows["filing_pages"]) == (2, 5, 1, 0)
    assert (
        query_warehouse(lake, "SELECT * FROM folds ORDER BY fold").to_pylist()
        == _folds("q1", "q2").to_pylist()
    )
    chunks = query_warehouse(
        lake, "SELECT * FROM filing_chunks WHERE filing = ? ORDER BY page", ["株式会社 é's"]
    )
    assert chunks.to_pylist() == _chunks("株式会社 é's", 3).to_pylist()
    ledger = query_warehouse(lake, 'SELECT asset, outcome, rows FROM ledger WHERE "at" <= now()')
    assert ledger.to_pylist() == [{"asset": "folds", "outcome": "materialised", "rows": 2}]
    assert _leftovers(lake) == []


def test_the_warehouse_follows_the_lake_without_a_rebuild(lake: Lake) -> None:
    lake.write("filing_chunks", _chunks("a", 1), "f", {"filing": "a"})
    publish_table(lake, "filing_chunks")
    lake.write("filing_chunks", _chunks("b", 2), "f", {"filing": "b"})
    lake.write("folds", _folds("q1"), "f1")
    lake.record("folds", "", "failed", error="why")
    lake.write_bytes(lake.path("ledger", "folds", "half.json"), b'{"asset": "fo')
    lake.write_json(lake.path("ledger", "note.json"), {"told": "else"})
    with duckdb.connect(str(lake.local_path(FILE)), read_only=True) as notebook:
        counts = "SELECT (SELECT count(*) FROM filing_chunks), (SELECT count(*) FROM folds)"
        assert notebook.execute(counts).fetchall() == [(3, 1)]
        assert notebook.execute("SELECT outcome, error FROM ledger").fetchall() == [("failed", "why")]
        lake.write("folds", _folds("q1", "q2"), "f2")
        build_warehouse(lake)  # while the notebook holds the file of before
        assert notebook.execute(counts).fetchall() == [(3, 2)]
        lake.remove("folds", {})
        assert notebook.execute(counts).fetchall() == [(3, 0)]


def test_a_warehouse_of_before_is_built_anew_when_a_table_has_other_columns(lake: Lake) -> None:
    Path(lake.root).mkdir()
    with duckdb.connect(str(lake.local_path(FILE))) as connection:
        connection.execute("CREATE TABLE folds (a INTEGER)")
    lake.write("folds", _folds("q1"), "f1")
    publish_table(lake, "folds")
    assert query_warehouse(lake, "SELECT question_id FROM folds").to_pylist() == [{"question_id": "q1"}]
    built = lake.local_path(FILE).stat().st_mtime_ns
    publish_table(lake, "folds")
    publish_table(lake, "")
    assert lake.local_path(FILE).stat().st_mtime_ns == built, "nothing is new"


def test_the_warehouse_of_a_copied_lake_reads_the_copy(lake: Lake, tmp_path: Path) -> None:
    lake.write("folds", _folds("q1"), "f1")
    publish_table(lake, "folds")
    copy = Lake(shutil.copytree(lake.root, tmp_path / "copy"))
    copy.write("folds", _folds("q1", "q2"), "f2")
    publish_table(copy, "folds")
    assert query_warehouse(copy, "FROM folds").num_rows == 2


def test_what_is_trained_fold_by_fold_names_its_fold(lake: Lake) -> None:
    row = {"feature": "title", "gain": 0.5}
    rows = pa.Table.from_pylist([row], TABLES["page_ranker"])
    for fold in ("fold_0", "production"):
        lake.write("page_ranker", rows, "f", {"fold": fold})
    build_warehouse(lake)
    found = query_warehouse(lake, "SELECT fold, gain FROM page_ranker ORDER BY fold")
    assert found.to_pylist() == [{"fold": "fold_0", "gain": 0.5}, {"fold": "production", "gain": 0.5}]


def test_a_lake_whose_path_looks_like_a_pattern(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "it's [a] *lake* {1}")
    lake.write("filing_chunks", _chunks("a", 2), "f", {"filing": "a"})
    assert build_warehouse(lake)["filing_chunks"] == 2
    assert query_warehouse(lake, "SELECT count(*) AS n FROM filing_chunks").to_pylist() == [{"n": 2}]


def test_columns_are_described(lake: Lake) -> None:
    build_warehouse(lake)
    found = query_warehouse(
        lake, "SELECT column_name AS name, comment FROM duckdb_columns() WHERE table_name = 'system_metrics'"
    )
    assert {row["name"]: row["comment"] for row in found.to_pylist()} == column_docs(SYSTEM_METRICS)


def _no_parquet(data: bytes) -> bytes:
    return b"PAR1 no parquet"


def _odd_footer(data: bytes) -> bytes:
    """DuckDB's error names no file then."""
    size = int.from_bytes(data[-8:-4], "little")
    return data[: -size - 8] + b"\x1d" * 16 + data[-size + 8 :]


damages = pytest.mark.parametrize("damage", [_no_parquet, _odd_footer])


@damages
def test_a_failed_build_leaves_the_published_warehouse_and_no_files(
    lake: Lake, damage: Callable[[bytes], bytes]
) -> None:
    lake.write("folds", _folds("q1"), "f1")
    build_warehouse(lake)
    lake.write("filing_chunks", _chunks("a", 2), "f", {"filing": "a"})
    part = Path(lake.part_path("filing_chunks", {"filing": "a"}))
    part.write_bytes(damage(part.read_bytes()))
    with pytest.raises(DamageError) as caught:
        build_warehouse(lake)
    assert "filing=a" in caught.value.reason, "it names the damaged part"
    assert _leftovers(lake) == []
    assert query_warehouse(lake, "SELECT count(*) AS n FROM folds").to_pylist() == [{"n": 1}]


def test_what_a_killed_build_left_is_cleared_away(lake: Lake) -> None:
    lake.write("folds", _folds("q1"), "f1")
    old, young = (Path(lake.root, f"warehouse.duckdb.{letter * 32}.tmp") for letter in "ab")
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (1e9, 1e9))
    build_warehouse(lake)
    assert young.exists() and not old.exists(), "another process may be building"


def test_an_interrupted_build_leaves_no_files(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(warehouse, "_make_view", interrupt)
    with pytest.raises(KeyboardInterrupt):
        build_warehouse(lake)
    assert _leftovers(lake) == [] and not lake.local_path(FILE).exists()


class TestLakeViews:
    def test_parameters_are_values_not_sql(self, lake: Lake) -> None:
        nasty = "x'; DROP TABLE folds; --"
        lake.write("folds", _folds("q1", nasty), "f")
        sql = "SELECT fold FROM folds WHERE question_id = ?"
        with lake_views(lake) as query:
            assert query(sql, [nasty]).to_pylist() == [{"fold": 1}]
            assert query(sql, ["x"]).num_rows == 0
            lists = "SELECT question_id FROM folds WHERE question_id IN (SELECT unnest($names)) ORDER BY fold"
            assert query(lists, {"names": ["q1", nasty]}).num_rows == 2

    def test_tables_without_a_part_have_their_columns_and_nothing_is_written(self, lake: Lake) -> None:
        with lake_views(lake) as query:
            for name, entry in FOLDERS.items():
                of_fold = ["fold"] if entry.by == "model" else []
                assert query(f"FROM {name}").column_names == [*TABLES[name].names, *of_fold]
            assert query("FROM ledger").num_rows == 0
        assert not Path(lake.root).exists()

    @pytest.mark.parametrize("root", ["memory://bucket/lake", ""])
    def test_a_lake_may_be_anywhere(self, lake: Lake, root: str) -> None:
        there = Lake(root) if root else lake
        there.write("folds", _folds("q1"), "f")
        there.record("folds", "", "materialised", rows=1)
        with lake_views(there) as query:
            sql = "SELECT question_id, outcome FROM folds, ledger"
            assert query(sql).to_pylist() == [{"question_id": "q1", "outcome": "materialised"}]
        if root:
            publish_table(there, "folds")  # of which there is none, and no error

    @damages
    def test_a_damaged_part_is_named(self, lake: Lake, damage: Callable[[bytes], bytes]) -> None:
        lake.write("filing_chunks", _chunks("a", 2), "f", {"filing": "a"})
        part = Path(lake.part_path("filing_chunks", {"filing": "a"}))
        part.write_bytes(damage(part.read_bytes()))
        with lake_views(lake) as query, pytest.raises(LakeError, match="filing=a") as caught:
            query("FROM filing_chunks")
        assert "finrag doctor --heal" in caught.value.remedy

    def test_parts_of_another_version_are_told(self, lake: Lake) -> None:
        path = Path(lake.part_path("folds"))
        path.parent.mkdir(parents=True)
        pq.write_table(_folds("q1").drop_columns("fold"), path)
        with lake_views(lake) as query, pytest.raises(LakeError, match="folds have other columns") as caught:
            query("FROM folds")
        assert "finrag run" in caught.value.remedy and "\n" not in caught.value.reason

    def test_a_wrong_query_is_not_taken_for_a_damaged_part(self, lake: Lake) -> None:
        with lake_views(lake) as query:
            with pytest.raises(duckdb.BinderException):
                query("SELECT no_such_column FROM folds")
            with pytest.raises(duckdb.ParserException):
                query("SELEC 1")


def test_tables_in_memory_keep_their_order_and_nothing_of_others() -> None:
    sql = "SELECT question_id, row_number() OVER () AS row FROM folds WHERE fold >= $least"
    rows = [{"question_id": "b", "row": 1}, {"question_id": "a", "row": 2}]
    assert query_tables(sql, {"least": 1}, folds=_folds("c", "b", "a")).to_pylist() == rows
    with pytest.raises(duckdb.CatalogException):
        query_tables("SELECT * FROM folds")
