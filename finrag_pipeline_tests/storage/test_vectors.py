from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from finrag_pipeline.errors import DamageError, LakeError
from finrag_pipeline.storage.vectors import VectorFilter, VectorIndex, index_rows, index_schema
from finrag_pipeline.storage.warehouse import literal

pytestmark = pytest.mark.slow

DIMENSIONS = 16
FILINGS = ("ACME_2023_10K", "O'Brien & Co", 'the "quoted"', "株式会社", "a;--", "back\\slash", "100%_")

KINDS = ("text", "table_row")
Row = tuple[str, str, int, str, np.ndarray]
"""Unit, filing, page, kind and vector of one window."""


def _unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)


def _fill(index: VectorIndex, seed: int, filings: tuple[str, ...] = FILINGS, pages: int = 6) -> list[Row]:
    """Random units of one to seven windows; returns every row."""
    random = np.random.default_rng(seed)
    rows: list[Row] = []
    for filing in filings:
        units = [
            (
                f"{filing}/p{page}/c{ordinal}",
                filing,
                page,
                KINDS[ordinal],
                ["window"] * int(random.integers(1, 8)),
            )
            for page in range(pages)
            for ordinal in range(2)
        ]
        vectors = _unit(random.normal(size=(sum(len(texts) for *_, texts in units), DIMENSIONS)))
        assert index.replace_filing(filing, index_rows(units, vectors)) == len(vectors)
        flat = [tuple(identity) for *identity, texts in units for _ in texts]
        rows.extend((*identity, vector) for identity, vector in zip(flat, vectors, strict=True))
    return rows


def _scan(rows: list[Row], query: np.ndarray, units: int, where: VectorFilter) -> list[tuple[str, float]]:
    """What `VectorIndex.search` must return: units by the cosine of their best window, ties by name."""
    best: dict[str, float] = {}
    for unit, filing, page, kind, vector in rows:
        if where.kinds is not None and kind not in where.kinds:
            continue
        if where.filings is not None and filing not in where.filings:
            continue
        if where.pages is not None and page not in where.pages:
            continue
        if where.locations is not None and (filing, page) not in where.locations:
            continue
        best[unit] = max(best.get(unit, -2.0), float(vector.astype(np.float64) @ query.astype(np.float64)))
    return sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))[:units]


def _assert_equal(found: list[dict], expected: list[tuple[str, float]]) -> None:
    assert [row["unit_id"] for row in found] == [unit for unit, _ in expected]
    np.testing.assert_allclose([row["score"] for row in found], [score for _, score in expected], atol=1e-6)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[VectorIndex, list[Row]]:
    index = VectorIndex(str(tmp_path_factory.mktemp("lance")), "t")
    return index, _fill(index, seed=1)


class TestSearch:
    @pytest.mark.parametrize("units", [1, 5, 40, 1000])
    @pytest.mark.parametrize(
        "where",
        [
            VectorFilter(),
            VectorFilter((FILINGS[1],)),
            VectorFilter(FILINGS[2:5]),
            VectorFilter(None, (0, 3)),
            VectorFilter((FILINGS[1], FILINGS[6]), (2,)),
            VectorFilter((FILINGS[5],), (0, 1, 2, 3, 4, 5)),
            VectorFilter((FILINGS[0], "no such filing"), (5, 99)),
            VectorFilter(("no such filing",)),
            VectorFilter((), None),
            VectorFilter(None, ()),
            VectorFilter(locations=((FILINGS[1], 2), (FILINGS[1], 0), (FILINGS[4], 5), (FILINGS[6], 99))),
            VectorFilter(FILINGS[:2], (0, 2), KINDS[:1], ((FILINGS[1], 2), (FILINGS[0], 1), (FILINGS[3], 0))),
            VectorFilter(FILINGS[:1], locations=((FILINGS[1], 2),)),
            VectorFilter(locations=()),
        ],
        ids=str,
    )
    def test_equals_an_exact_scan(
        self, filled: tuple[VectorIndex, list[Row]], units: int, where: VectorFilter
    ) -> None:
        index, rows = filled
        random = np.random.default_rng(units)
        for query in _unit(random.normal(size=(4, DIMENSIONS))):
            _assert_equal(index.search(query, units, where), _scan(rows, query, units, where))

    def test_a_unit_with_many_windows_does_not_crowd_out_the_others(self, tmp_path: Path) -> None:
        """All windows of the first unit are nearer than any other: the second must still be found."""
        index = VectorIndex(str(tmp_path), "t")
        random = np.random.default_rng(0)
        query = np.eye(DIMENSIONS, dtype=np.float32)[0]
        crowd = _unit(query + 0.01 * random.normal(size=(500, DIMENSIONS)))
        others = _unit(query + 3.0 * np.abs(random.normal(size=(9, DIMENSIONS))))
        units = [
            ("a/crowd", "a", 0, "text", ["window"] * 500),
            *((f"a/other{n}", "a", 1, "text", ["window"]) for n in range(9)),
        ]
        vectors = np.concatenate([crowd, others])
        index.replace_filing("a", index_rows(units, vectors))
        rows = [("a/crowd", "a", 0, "text", v) for v in crowd] + [
            (f"a/other{n}", "a", 1, "text", v) for n, v in enumerate(others)
        ]
        _assert_equal(index.search(query, 3, VectorFilter()), _scan(rows, query, 3, VectorFilter()))

    def test_the_text_is_that_of_the_best_window(self, tmp_path: Path) -> None:
        index = VectorIndex(str(tmp_path), "t")
        vectors = np.eye(DIMENSIONS, dtype=np.float32)[:3]
        index.replace_filing(
            "a", index_rows([("a/0", "a", 4, "text", ["first", "second", "third"])], vectors)
        )
        (found,) = index.search(vectors[1], 5, VectorFilter())
        assert (found["text"], found["page"], found["filing"]) == ("second", 4, "a")
        assert found["score"] == pytest.approx(1.0)

    @pytest.mark.parametrize("units", [1, 3, 7])
    def test_ties_are_broken_by_name_however_many_there_are(self, tmp_path: Path, units: int) -> None:
        """Boilerplate gives many chunks one vector; which of them are returned must not depend on storage."""
        index = VectorIndex(str(tmp_path), "t")
        names = [f"a/{n:03d}" for n in range(200)]
        shuffled = list(np.random.default_rng(3).permutation(names))
        same = np.tile(np.eye(DIMENSIONS, dtype=np.float32)[0], (len(names), 1))
        index.replace_filing(
            "a", index_rows([(str(name), "a", 0, "text", ["same"]) for name in shuffled], same)
        )
        found = index.search(same[0], units, VectorFilter())
        assert [row["unit_id"] for row in found] == names[:units]


def test_verifying_finds_a_damaged_version(tmp_path: Path) -> None:
    VectorIndex(str(tmp_path), "t").verify()  # none has been made
    _fill(VectorIndex(str(tmp_path), "t"), seed=1)
    VectorIndex(str(tmp_path), "t").verify()
    for manifest in (tmp_path / "t.lance" / "_versions").iterdir():
        manifest.write_bytes(manifest.read_bytes()[:40])
    with pytest.raises(DamageError, match="damaged"):
        VectorIndex(str(tmp_path), "t").verify()


class TestReplace:
    def test_rows_of_one_filing_in_one_version(self, tmp_path: Path) -> None:
        index = VectorIndex(str(tmp_path), "t")
        rows = _fill(index, seed=1)
        before = index.version()
        vectors = _unit(np.random.default_rng(9).normal(size=(3, DIMENSIONS)))
        # One identifier stays, the others are new, and all else of the filing goes.
        name = FILINGS[1]
        units = [(f"{name}/p0/c0", name, 0, "text", ["w", "w"]), (f"{name}/p9/c0", name, 9, "text", ["w"])]
        index.replace_filing(name, index_rows(units, vectors))
        assert index.version() == before + 1, "readers see all of the old rows or all of the new ones"
        kept = [row for row in rows if row[1] != name]
        new = [(units[0][0], name, 0, "text", v) for v in vectors[:2]] + [
            (units[1][0], name, 9, "text", vectors[2])
        ]
        assert index.count(name) == 3
        assert index.count() == len(kept) + 3
        query = vectors[2]
        _assert_equal(index.search(query, 30, VectorFilter()), _scan(kept + new, query, 30, VectorFilter()))

    def test_replacing_by_the_same_rows_changes_nothing(self, tmp_path: Path) -> None:
        index = VectorIndex(str(tmp_path), "t")
        rows = _fill(index, seed=1)
        _fill(index, seed=1)
        assert index.count() == len(rows)
        assert index.filings() == set(FILINGS)

    def test_replacing_by_nothing_removes(self, tmp_path: Path) -> None:
        index = VectorIndex(str(tmp_path), "t")
        _fill(index, seed=1)
        assert index.replace_filing(FILINGS[1], index_schema(DIMENSIONS).empty_table()) == 0
        assert index.filings() == set(FILINGS) - {FILINGS[1]}

    def test_rows_of_another_filing_are_refused(self, tmp_path: Path) -> None:
        index = VectorIndex(str(tmp_path), "t")
        rows = index_rows([("b/0", "b", 0, "text", ["w"])], np.eye(DIMENSIONS, dtype=np.float32)[:1])
        with pytest.raises(LakeError, match="another filing among those of 'a'"):
            index.replace_filing("a", rows)
        assert not index.exists()

    def test_remove(self, tmp_path: Path) -> None:
        index = VectorIndex(str(tmp_path), "t")
        index.remove(["a"])  # no table yet
        rows = _fill(index, seed=1)
        index.remove([])
        assert index.count() == len(rows)
        index.remove([FILINGS[1], FILINGS[5], "no such filing"])
        assert index.filings() == set(FILINGS) - {FILINGS[1], FILINGS[5]}


class TestOtherProcesses:
    def test_what_another_process_wrote_is_seen(self, tmp_path: Path) -> None:
        index = VectorIndex(str(tmp_path), "t")
        assert (index.exists(), index.count(), index.filings()) == (False, 0, set())
        with pytest.raises(LakeError, match="There is no vector index 't'"):
            index.search(np.ones(DIMENSIONS, np.float32), 3, VectorFilter())
        _write_elsewhere(tmp_path, "mine")
        assert index.filings() == {"mine"}
        version = index.version()
        _write_elsewhere(tmp_path, "yours")
        assert index.version() > version
        assert index.count_by_filing() == {"mine": 2, "yours": 2}
        found = index.search(np.eye(DIMENSIONS, dtype=np.float32)[0], 5, VectorFilter(("yours",)))
        assert [row["unit_id"] for row in found] == ["yours/0", "yours/1"]


_WRITER = """
import sys
import numpy as np
from finrag_pipeline.storage.vectors import VectorIndex, index_rows
folder, filing = sys.argv[1:]
rows = index_rows(
    [(f"{filing}/{n}", filing, n, "text", ["window"]) for n in range(2)], np.eye(16, dtype=np.float32)[:2]
)
VectorIndex(folder, "t").replace_filing(filing, rows)
"""


def _write_elsewhere(folder: Path, filing: str) -> None:
    subprocess.run([sys.executable, "-c", _WRITER, str(folder), filing], check=True, timeout=60)


class TestOptimize:
    def test_compaction_changes_no_result(self, tmp_path: Path) -> None:
        index = VectorIndex(str(tmp_path), "t")
        index.optimize()  # no table yet
        rows = _fill(index, seed=1)
        rows = [row for row in rows if row[1] != FILINGS[0]] + _fill(index, seed=2, filings=FILINGS[:1])
        index.optimize()
        for query in _unit(np.random.default_rng(5).normal(size=(5, DIMENSIONS))):
            where = VectorFilter(FILINGS[:2], (0, 1))
            _assert_equal(index.search(query, 10, where), _scan(rows, query, 10, where))
            _assert_equal(index.search(query, 10, VectorFilter()), _scan(rows, query, 10, VectorFilter()))

    def test_above_the_stated_size_an_index_finds_nearly_all_and_scores_stay_exact(
        self, tmp_path: Path
    ) -> None:
        index = VectorIndex(str(tmp_path), "t", exact_below=2000)
        random = np.random.default_rng(0)
        centres = _unit(random.normal(size=(40, 64)))
        vectors = _unit(centres[random.integers(0, 40, 4000)] + 0.08 * random.normal(size=(4000, 64)))
        names = [f"a/{n}" for n in range(4000)]
        units = [(name, "a", n % 100, "text", ["w"]) for n, name in enumerate(names)]
        index.replace_filing("a", index_rows(units, vectors))
        rows = [
            (name, "a", n % 100, "text", v) for n, (name, v) in enumerate(zip(names, vectors, strict=True))
        ]
        index.optimize()
        index.optimize()  # with its index in place
        assert any("vector" in found.columns for found in index._open().list_indices())
        hits = 0
        for query in _unit(centres[:20] + 0.05 * random.normal(size=(20, 64))):
            expected = dict(_scan(rows, query, 4000, VectorFilter()))
            found = index.search(query, 10, VectorFilter())
            assert len(found) == 10
            for row in found:
                assert row["score"] == pytest.approx(expected[row["unit_id"]], abs=1e-5)
            hits += len({row["unit_id"] for row in found} & set(list(expected)[:10]))
            # Few rows pass this filter: the search is exact although there is an index.
            where = VectorFilter(("a",), (3, 7))
            _assert_equal(index.search(query, 10, where), _scan(rows, query, 10, where))
        assert hits >= 0.95 * 200

    @pytest.mark.parametrize("rows", [1, 10])
    def test_an_index_may_be_asked_for_from_the_first_row_on(self, tmp_path: Path, rows: int) -> None:
        index = VectorIndex(str(tmp_path), "t", exact_below=0)
        vectors = _unit(np.random.default_rng(0).normal(size=(rows, DIMENSIONS)))
        index.replace_filing(
            "a", index_rows([(f"a/{n}", "a", 0, "text", ["w"]) for n in range(rows)], vectors)
        )
        index.optimize()
        assert [row["unit_id"] for row in index.search(vectors[0], 1, VectorFilter())] == ["a/0"]


def test_index_rows_are_in_the_order_of_their_windows() -> None:
    vectors = np.arange(12, dtype=np.float64).reshape(3, 4)
    table = index_rows([("u", "f", 1, "text", ["a", "b"]), ("v", "f", 2, "text", ["c"])], vectors)
    assert table.schema == index_schema(4)
    assert table["vector_id"].to_pylist() == ["u/w0", "u/w1", "v/w0"]
    assert table["text"].to_pylist() == ["a", "b", "c"]
    assert table["vector"].to_pylist() == vectors.tolist()
    assert table["page"].type == pa.int32()


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (VectorFilter(), None),
        (VectorFilter(("a", "O'B"), (1,)), "filing IN ('a', 'O''B') AND page IN (1)"),
        (VectorFilter((), (1,)), "false AND page IN (1)"),
        (VectorFilter(kinds=("text", "table")), "kind IN ('text', 'table')"),
        (VectorFilter(("a",), kinds=()), "filing IN ('a') AND false"),
        (
            VectorFilter(locations=(("b", 3), ("O'B", 1), ("b", 2), ("b", 3))),
            "((filing = 'O''B' AND page IN (1)) OR (filing = 'b' AND page IN (2, 3)))",
        ),
        (VectorFilter(("a",), locations=(("a", 1),)), "filing IN ('a') AND ((filing = 'a' AND page IN (1)))"),
        (VectorFilter(locations=()), "false"),
    ],
)
def test_filters_as_conditions(where: VectorFilter, expected: str | None) -> None:
    assert where.sql() == expected


def test_literals() -> None:
    assert literal("it's ''") == "'it''s '''''"


_TABLES, _WRITERS = 6, 4


def _write_together(uri: str, number: int, together: Any, failures: Any) -> None:
    """One of several writers of the same tables: a filing of its own and one that all share, twice."""
    for table in range(_TABLES):
        index = VectorIndex(uri, f"table{table}")
        together.wait()
        try:
            for _ in range(2):
                _fill(index, 0, (f"OWN_{number}", "SHARED"), pages=2)
            index.optimize()
        except Exception as error:
            failures.put(f"table {table}, writer {number}: {error!r}")


def test_writers_that_make_a_table_together_lose_no_row(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    together, failures = context.Barrier(_WRITERS), context.SimpleQueue()
    arguments = [(str(tmp_path), number, together, failures) for number in range(_WRITERS)]
    writers = [context.Process(target=_write_together, args=given, daemon=True) for given in arguments]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
        assert writer.exitcode == 0
    assert failures.empty(), failures.get()
    rows = _fill(VectorIndex(str(tmp_path / "alone"), "table"), 0, ("OWN_0", "SHARED"), pages=2)
    expected = Counter(filing for _, filing, *_ in rows)
    for table in range(_TABLES):
        counts = VectorIndex(str(tmp_path), f"table{table}").count_by_filing()
        own = {f"OWN_{number}": expected["OWN_0"] for number in range(_WRITERS)}
        assert counts == {**own, "SHARED": expected["SHARED"]}
