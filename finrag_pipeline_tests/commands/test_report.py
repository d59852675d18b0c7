"""``finrag report``: the report from what is in the lake, and nothing else is run."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from finrag_pipeline.commands.results import rewrite_report
from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.benchmark import register_benchmark
from finrag_pipeline.schemas import BENCHMARK_QUESTIONS, FILINGS, FOLDS
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.reporting.builders import (
    filing_row,
    question_row,
    random_metrics,
    statistics_table,
)


@pytest.fixture
def measured(settings: Settings, tmp_path: Path) -> Lake:
    """A lake in which one filing was measured on one question."""
    store = Lake(settings.lake)
    questions = tmp_path / "questions.jsonl"
    questions.write_text("")
    register_benchmark(store, "bench", ["ONLY"], questions, None)
    row = question_row("q1", "ONLY", evidence=[], gold_pages=[0])
    store.write("benchmark_questions", pa.Table.from_pylist([row], BENCHMARK_QUESTIONS), "a")
    store.write("filings", pa.Table.from_pylist([filing_row("ONLY")], FILINGS), "a", {"filing": "ONLY"})
    fold = {"question_id": "q1", "filing": "ONLY", "fold": 0}
    store.write("folds", pa.Table.from_pylist([fold], FOLDS), "a")
    store.write("system_metrics", random_metrics(("dense",), companies=1), "a")
    store.write("corpus_statistics", statistics_table(), "a")
    return store


def test_without_a_benchmark_there_is_nothing_to_report(settings: Settings) -> None:
    with pytest.raises(LakeError) as caught:
        rewrite_report(settings)
    assert "finrag run" in caught.value.remedy
    assert not Path(settings.lake).exists(), "nothing was made"


@pytest.mark.slow
def test_it_writes_the_report_and_runs_nothing_else(
    measured: Lake, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", "")
    index = Path(rewrite_report(settings))
    assert index == Path(settings.lake) / "report" / "index.html"
    for name in ("index.html", "questions.html", "filings.html", "filings/ONLY.html", "method.html"):
        assert (index.parent / name).is_file(), name
    outcomes = {row["asset"]: row["outcome"] for row in measured.ledger().to_pylist()}
    assert outcomes == {"report": "materialised", "warehouse": "materialised"}

    rewrite_report(settings)
    outcomes = {row["asset"]: row["outcome"] for row in measured.ledger().to_pylist()}
    assert outcomes["report"] == "cache_hit"

    measured.write("answer_metrics", random_metrics(("calculator on finrag",), companies=1), "new")
    rewrite_report(settings)
    outcomes = {row["asset"]: row["outcome"] for row in measured.ledger().to_pylist()}
    assert outcomes["report"] == "materialised", "a table that is shown has changed"
    with duckdb.connect(str(index.parent.parent / "warehouse.duckdb"), read_only=True) as connection:
        assert connection.sql("SELECT count(*) FROM answer_metrics").fetchall() != [(0,)], "and copied"
