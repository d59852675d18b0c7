"""The retrieval gap of a small lake: where questions are lost, counted, and made again only when needed."""

from __future__ import annotations

from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from finrag_pipeline.orchestration.partitions import sweep_range
from finrag_pipeline_tests.orchestration.conftest import Pipeline, failure_text, made

pytestmark = pytest.mark.slow

ASSETS = ("retrieval_gap", "gap_counts")


def measure(pipeline: Pipeline) -> dict[str, Any]:
    job = pipeline.definitions.resolve_implicit_global_asset_job_def()
    keys = [dg.AssetKey(name) for name in ASSETS]
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    result = job.execute_in_process(
        instance=pipeline.instance, asset_selection=keys, run_config=quiet, raise_on_error=False
    )
    assert result.success, failure_text(result)
    return made(result)


def test_rankings_and_answers_are_measured_and_counted(answering: Pipeline) -> None:
    lake = answering.lake
    first = measure(answering)
    assert set(first) == set(ASSETS)
    gap = lake.read("retrieval_gap").to_pylist()
    questions = lake.read("benchmark_questions")
    assert {row["question_id"] for row in gap} == set(questions["question_id"].to_pylist())
    assert {(row["retrieval"], row["answering"], row["space"]) for row in gap} == {("finrag", None, "corpus")}
    counts = {
        (row["kind"], row["value"]): row["count"]
        for row in lake.read("gap_counts").to_pylist()
        if row["kind"] == "level"
    }
    assert sum(counts.values()) == questions.num_rows
    assert "Filing not found" in first["gap_counts"].metadata["table"]
    assert first["gap_counts"].metadata["levels"].startswith("![")
    assert {one.metadata["cache"] for one in measure(answering).values()} == {"hit"}

    result = answering.run("answer", tags=sweep_range("calculator"))
    assert result.success, failure_text(result)
    again = measure(answering)
    assert again["retrieval_gap"].metadata["cache"] == "miss"
    assert again["retrieval_gap"].metadata["rows"] == 2 * questions.num_rows
    answers = [row for row in lake.read("retrieval_gap").to_pylist() if row["answering"] == "calculator"]
    # It knows no facts, so it abstains.
    assert answers and all("abstains" in row["why"] and row["level"] != "none" for row in answers)


def test_other_rankings_make_it_stale(answering: Pipeline) -> None:
    lake = answering.lake
    before = measure(answering)
    keys = {"system": "finrag", "fold": "fold_0"}
    runs = lake.read("retrieval_runs", keys)
    lake.write("retrieval_runs", pa.Table.from_pylist(runs.to_pylist()[:1], runs.schema), "other", keys)
    after = measure(answering)
    assert after["retrieval_gap"].version != before["retrieval_gap"].version
    assert after["retrieval_gap"].metadata["cache"] == "miss"
