"""Answers, their scores and their means, on rankings that are in the lake."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest

from finrag_pipeline.commands.instance import dagster_home
from finrag_pipeline.evaluation.benchmark_registry import register_benchmark
from finrag_pipeline.orchestration.partitions import FOLD_COUNT
from finrag_pipeline.orchestration.resources.settings import get_corpus
from finrag_pipeline.orchestration.schedules import sweep_range
from finrag_pipeline.retrieval.systems import get_system
from finrag_pipeline.schemas import TABLES
from finrag_pipeline.settings import AnswerSettings, LanguageModelSettings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.indexed_lake import IndexedLake
from finrag_pipeline_tests.language_models.server import endpoint, said
from finrag_pipeline_tests.orchestration.conftest import Pipeline, failure_text, made

pytestmark = pytest.mark.slow

EMPTY = {"string": "", "int32": 0, "int64": 0, "double": 0.0, "float": 0.0, "bool": False}


def rows(table: str, *values: dict) -> pa.Table:
    """Rows of a table, with a value of the right type where one must be."""
    schema = TABLES[table]
    blank = {field.name: None if field.nullable else EMPTY.get(str(field.type), []) for field in schema}
    return pa.Table.from_pylist([blank | one for one in values], schema)


@pytest.fixture
def answering(indexed: IndexedLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pipeline]:
    """A lake with a benchmark whose rankings of `finrag` are made up: every question, the first chunks there are."""
    root = tmp_path / "lake"
    shutil.copytree(indexed.lake.root, root)
    settings = indexed.settings.model_copy(update={"lake": str(root)})
    lake, names = Lake(settings.lake), indexed.filings
    for name in names:
        keys = {"filing": name}
        lake.write(
            "filings",
            rows("filings", {"filing": name, "status": "ok", "company": name.split("_")[0]}),
            "x",
            keys,
        )
        lake.write("statement_facts", rows("statement_facts"), "x", keys)
    (tmp_path / "questions.jsonl").write_text("{}")
    register_benchmark(lake, "small", names, tmp_path / "questions.jsonl", None)
    asked = [
        {**question, "answer": "5", "question_type": "t", "company": "Alder", "status": "measured"}
        for question in indexed.questions
    ]
    lake.write("benchmark_questions", rows("benchmark_questions", *asked), "q")
    folds = [{**question, "fold": n % FOLD_COUNT} for n, question in enumerate(asked)]
    lake.write(
        "folds", rows("folds", *({k: f[k] for k in ("question_id", "filing", "fold")} for f in folds)), "f"
    )
    chunks = (
        get_corpus(settings, lake, tuple(sorted(names)), get_system("finrag")).chunks.slice(0, 4).to_pylist()
    )
    for fold in range(FOLD_COUNT):
        ranked = [
            {"system": "finrag", "space": space, "question_id": question["question_id"], "rank": rank,
             **{k: chunk[k] for k in ("chunk_id", "filing", "page")}}
            for space in ("corpus", "filing", "pages")
            for question in folds if question["fold"] == fold
            for rank, chunk in enumerate(chunks, start=1)
        ]  # fmt: skip
        lake.write(
            "retrieval_runs",
            rows("retrieval_runs", *ranked),
            "r",
            {"system": "finrag", "fold": f"fold_{fold}"},
        )
    monkeypatch.setenv("FINRAG_LAKE", str(root))
    monkeypatch.setenv("DAGSTER_HOME", str(root / "dagster_home"))
    with dg.DagsterInstance.from_config(str(dagster_home(settings))) as instance:
        yield Pipeline(settings, instance)


def test_systems_without_a_model_answer_score_and_are_summarised(answering: Pipeline, tmp_path: Path) -> None:
    lake = answering.lake
    for system in ("calculator", "extractive"):
        result = answering.run("answer", tags=sweep_range(system))
        assert result.success, failure_text(result)
        assert set(made(result)) == {"answers", "answer_scores"}
        assert made(result)["answers"].metadata["cache"] == "miss"
    found = lake.read_all("answers").to_pylist()
    assert len(found) == 2 * 3 * 5 and {row["fold"] for row in found} == set(range(FOLD_COUNT))
    assert {row["metric"] for row in lake.read_all("answer_scores").to_pylist()} >= {
        "numeric_match",
        "abstained",
    }
    again = answering.run("answer", tags=sweep_range("calculator"))
    assert {one.metadata["cache"] for one in made(again).values()} == {"hit"}

    recorded = tmp_path / "recorded"
    recorded.mkdir()
    line = json.dumps({"financebench_id": "q0", "model_answer": "It was 5.", "label": "Correct Answer"})
    (recorded / "gpt-4_oracle.jsonl").write_text(line)
    nothing = answering.run("publish_answers")
    assert nothing.success and made(nothing)["recorded_answers"].metadata["rows"] == 0
    with_recorded = answering.configured(answers=AnswerSettings(recorded=(str(recorded),)))
    result = with_recorded.run("publish_answers")
    assert result.success and set(made(result)) == {"recorded_answers", "answer_metrics"}
    means = {
        (row["system"], row["space"], row["metric"]): row["mean"]
        for row in lake.read("answer_metrics").to_pylist()
        if row["slice"] == "all"
    }
    assert means["recorded gpt-4_oracle", "pages", "strict_match"] == 1.0
    assert ("calculator on finrag", "corpus", "abstained") in means
    # Without the folder they are gone again.
    assert answering.run("publish_answers").success
    assert not any(row["system"].startswith("recorded") for row in lake.read_all("answers").to_pylist())


def test_a_language_model_is_asked_once_and_a_missing_one_is_no_failure(answering: Pipeline) -> None:
    result = answering.run("answer", tags=sweep_range("prompt"))
    assert result.success and made(result) == {}
    entry = answering.lake.ledger_entry("answers", "fold_0_prompt")
    assert entry and entry["outcome"] == "skipped" and "No language model" in entry["error"]
    entry = answering.run("answer", tags=sweep_range("prompt_bm25"))
    assert entry.success and made(entry) == {}

    with endpoint(said("It was 5 [1].")) as served:
        model = LanguageModelSettings(
            kind="endpoint", name="m", base_url=served.base_url, retries=0, timeout=5
        )
        pipeline = answering.configured(language_model=model)
        assert made(pipeline.run("answer", tags=sweep_range("prompt")))["answers"].metadata["cache"] == "miss"
        asked = len(served.requests)
        assert 0 < asked <= 15
        assert made(pipeline.run("answer", tags=sweep_range("prompt")))["answers"].metadata["cache"] == "hit"
        other = pipeline.configured(answers=AnswerSettings(passages=2))
        assert made(other.run("answer", tags=sweep_range("prompt")))["answers"].metadata["cache"] == "miss"
    found = answering.lake.read_all("answers", only={"system": ["prompt"]}).to_pylist()
    assert {row["model"] for row in found} == {"served-model"} and all(
        row["prompt_tokens"] == 11 for row in found
    )
