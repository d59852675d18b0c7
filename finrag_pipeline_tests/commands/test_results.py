from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from finrag_pipeline.errors import LakeError, UsageError
from finrag_pipeline.evaluation.summary import metrics_records
from finrag_pipeline.filings.describe import describe_filing
from finrag_pipeline.filings.intake import accept
from finrag_pipeline.filings.originals import original_path
from finrag_pipeline.retrieval.component import Inputs
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.system import run_system
from finrag_pipeline.retrieval.systems import get_system
from finrag_pipeline.schemas import PER_FILING, SYSTEM_METRICS, TABLES
from finrag_pipeline.services.filings import list_filings
from finrag_pipeline.services.results import metrics_table, write_trec
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import build_warehouse
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.evaluation.builders import question_row, questions_table
from finrag_pipeline_tests.indexed_lake import IndexedLake


def _metric(slice_name: str, value: str, mean: float, low: float | None = 0.1) -> dict:
    return {
        "system": "bm25", "space": "corpus", "slice": slice_name, "slice_value": value, "metric": "page_rec",
        "k": 5, "mean": mean, "low": low, "high": None if low is None else 0.9, "n": 7, "documents": 3,
    }  # fmt: skip


class TestMetrics:
    @pytest.fixture
    def measured(self, lake: Lake) -> Lake:
        rows = [
            _metric("all", "all", 0.5),
            _metric("doc_type", "10-K", 0.6),
            _metric("company", "O'Brien & Söhne", 1.0, None),
        ]
        lake.write("system_metrics", pa.Table.from_pylist(rows, SYSTEM_METRICS), "f")
        build_warehouse(lake)
        return lake

    def test_the_contract(self, measured: Lake) -> None:
        rows = metrics_records(metrics_table(measured, None))
        keys = ["system", "space", "slice", "slice_value", "metric", "k", "mean", "low", "high", "n"]
        assert [list(row) for row in rows] == [keys] * 3
        assert {row["slice"] for row in rows} == {"all", "doc_type", "company"}
        (alone,) = [row for row in rows if row["slice"] == "company"]
        assert (alone["slice_value"], alone["low"], alone["high"]) == ("O'Brien & Söhne", None, None)

    def test_one_slice_and_all(self, measured: Lake) -> None:
        assert set(metrics_table(measured, "doc_type")["slice"].to_pylist()) == {"all", "doc_type"}
        assert set(metrics_table(measured, "all")["slice"].to_pylist()) == {"all"}
        assert metrics_table(measured, "company").num_rows == 2

    @pytest.mark.parametrize("by", ["colour", "", "company'; DROP TABLE system_metrics; --"])
    def test_an_unknown_slice(self, measured: Lake, by: str) -> None:
        with pytest.raises(UsageError, match="There is no slice") as caught:
            metrics_table(measured, by)
        assert "question_type" in caught.value.remedy
        assert "company" in caught.value.remedy

    def test_before_any_run(self, lake: Lake) -> None:
        with pytest.raises(LakeError, match="Nothing was measured yet") as caught:
            metrics_table(lake, None)
        assert "finrag run" in caught.value.remedy

    def test_after_a_run_without_questions(self, lake: Lake) -> None:
        build_warehouse(lake)
        with pytest.raises(LakeError, match="Nothing was measured yet"):
            metrics_table(lake, "company")


@pytest.fixture(scope="module")
def swept(indexed: IndexedLake) -> IndexedLake:
    """The indexed lake with a run of one system."""
    corpus = Corpus(indexed.lake, indexed.filings, indexed.settings, indexed.encoder)
    runs = run_system(get_system("bm25"), Inputs(corpus), indexed.questions)
    indexed.lake.write("retrieval_runs", runs, "f", {"system": "bm25", "fold": "0"})
    rows = [question_row(q["question_id"], q["filing"], q["gold_pages"]) for q in indexed.questions]
    indexed.lake.write("benchmark_questions", questions_table(*rows), "f")
    return indexed


class TestTrec:
    def test_run_and_qrels(self, swept: IndexedLake, tmp_path: Path) -> None:
        run, qrels = write_trec(swept.lake, "bm25", "filing", "page", 3, tmp_path / "new" / "folder")
        assert (run.name, qrels.name) == ("bm25.filing.page.run", "page.qrels")
        lines = [line.split() for line in run.read_text(encoding="utf-8").splitlines()]
        assert {len(line) for line in lines} == {6}
        assert {line[0] for line in lines} == {q["question_id"] for q in swept.questions}
        judged = [line.split() for line in qrels.read_text(encoding="utf-8").splitlines()]
        assert len(judged) == sum(len(q["gold_pages"]) for q in swept.questions)
        assert {line[3] for line in judged} == {"1"}

    def test_unknown_names(self, swept: IndexedLake, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="no retrieval system 'bm42'"):
            write_trec(swept.lake, "bm42", "corpus", "chunk", None, tmp_path)
        with pytest.raises(UsageError, match="no space 'galaxy'") as caught:
            write_trec(swept.lake, "bm25", "galaxy", "chunk", None, tmp_path)
        assert "corpus, filing, pages" in caught.value.remedy

    def test_a_system_without_a_run(self, swept: IndexedLake, lake: Lake, tmp_path: Path) -> None:
        for place in (swept.lake, lake):
            with pytest.raises(LakeError, match="no run of hybrid_rrf in corpus") as caught:
                write_trec(place, "hybrid_rrf", "corpus", "chunk", None, tmp_path)
            assert "finrag run --systems hybrid_rrf" in caught.value.remedy

    def test_a_folder_that_cannot_be_written_to(self, swept: IndexedLake, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(UsageError, match="cannot be written to"):
            write_trec(swept.lake, "bm25", "corpus", "chunk", None, tmp_path / "file")


class TestFilings:
    def _describe(self, lake: Lake, path: Path) -> None:
        source = accept(lake, path)
        row = describe_filing(Path(original_path(lake, source)), source)
        lake.write("filings", row, "f", {"filing": source.filing})

    def test_an_empty_lake(self, lake: Lake) -> None:
        assert list_filings(lake, False) == []
        assert list_filings(lake, True) == []

    def test_sound_unreadable_failed_later_and_refused_filings(self, lake: Lake, tmp_path: Path) -> None:
        self._describe(lake, small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021))
        self._describe(lake, small_filings.zero_bytes(tmp_path / "EMPTY_2020_10K.pdf"))
        self._describe(lake, small_filings.scanned(tmp_path / "SCAN_2020_10K.pdf"))
        lake.record("filings", "ALDER_2021_10K", "materialised")
        lake.record("chunk_index", "ALDER_2021_10K", "cache_hit")
        lake.record("filing_pages", "SCAN_2020_10K", "failed", error="It is a scan.", remedy="Read it.")
        lake.record("filing_chunks", "SCAN_2020_10K", "failed", error="It has no pages.", remedy="Wait.")
        lake.record("filings", "HUGE", "failed", error="HUGE.pdf has 9 bytes.", remedy="Split it.")
        lake.record("bm25_index", "", "failed", error="Not a filing.", remedy="")
        incomplete = list_filings(lake, True)[0]
        assert (incomplete["filing"], incomplete["status"]) == ("ALDER_2021_10K", "incomplete")
        assert "filing_pages is not made yet" in incomplete["reason"] and "again" in incomplete["remedy"]
        for table in PER_FILING[1:]:
            lake.write(table, TABLES[table].empty_table(), "f", {"filing": "ALDER_2021_10K"})
        rows = {row["filing"]: row for row in list_filings(lake, False)}
        states = {name: (row["status"], row["reason"], row["remedy"]) for name, row in rows.items()}
        assert states["ALDER_2021_10K"] == ("ok", None, None)
        assert states["EMPTY_2020_10K"][:2] == ("failed", "EMPTY_2020_10K.pdf is empty (0 bytes).")
        assert states["SCAN_2020_10K"] == ("failed", "It is a scan.", "Read it."), (
            "the first step that failed"
        )
        assert states["HUGE"] == ("failed", "HUGE.pdf has 9 bytes.", "Split it."), (
            "kept visible without a row"
        )
        assert len(rows) == 4
        assert {tuple(row) for row in rows.values()} == {tuple(rows["HUGE"])}, "all have the same keys"
        assert rows["ALDER_2021_10K"]["period_end"] == "2021-12-31"
        assert {row["filing"] for row in list_filings(lake, True)} == {
            "EMPTY_2020_10K",
            "SCAN_2020_10K",
            "HUGE",
        }
