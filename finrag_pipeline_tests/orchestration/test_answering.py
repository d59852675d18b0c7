"""Answers, their scores and their means, on rankings that are in the lake."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from finrag_pipeline.orchestration.partitions import FOLD_COUNT, sweep_range
from finrag_pipeline.orchestration.sweeps import answers_to_other_questions, drop, each_text_once
from finrag_pipeline.settings import AnswerSettings, LanguageModelSettings
from finrag_pipeline_tests.language_models.server import endpoint, said
from finrag_pipeline_tests.orchestration.conftest import Pipeline, failure_text, made, rows

pytestmark = pytest.mark.slow


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
    # Rows of any table are read, not facts alone.
    lake.write("page_tables", rows("page_tables"), "other tables", lake.partitions("filing_chunks")[0])
    again = answering.run("answer", tags=sweep_range("calculator"))
    assert made(again)["answers"].metadata["cache"] == "miss"

    recorded = tmp_path / "recorded"
    recorded.mkdir()
    line = json.dumps({"financebench_id": "q0", "model_answer": "It was 5.", "label": "Correct Answer"})
    (recorded / "gpt-4_oracle.jsonl").write_text(line)
    nothing = answering.run("publish_answers")
    assert nothing.success and made(nothing)["recorded_answers"].metadata["rows"] == 0
    with_recorded = answering.configured(answers=AnswerSettings(recorded=(str(recorded),)))
    result = with_recorded.run("publish_answers")
    assert result.success and set(made(result)) == {
        "recorded_answers",
        "answer_metrics",
        "false_answers",
    }
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


def test_every_text_is_embedded_once() -> None:
    asked: list[str] = []

    def embed(texts: Sequence[str]) -> np.ndarray:
        asked.extend(texts)
        return np.array([[len(text), 1.0] for text in texts])

    remembered = each_text_once(embed)
    assert remembered(["a", "bb", "a"]).tolist() == [[1, 1], [2, 1], [1, 1]]
    assert remembered(["bb", "ccc"]).tolist() == [[2, 1], [3, 1]]
    assert remembered(["ccc"]).tolist() == [[3, 1]] and asked == ["a", "bb", "ccc"]


def test_answers_to_questions_that_are_no_longer_asked_are_dropped(answering: Pipeline) -> None:
    """Figures of another choice of filings must not stand beside those of this one."""
    lake = answering.lake
    assert answering.run("answer", tags=sweep_range("calculator")).success
    gone, *kept = lake.read("folds").to_pylist()
    lake.write("folds", rows("folds", *kept), "one question less")
    assert answering.run("publish_answers").success
    assert lake.info("answers", {"system": "calculator", "fold": f"fold_{gone['fold']}"}), "left to upkeep"
    assert drop(lake, answers_to_other_questions(lake)) == ["calculator"]
    for table in ("answers", "answer_scores"):
        assert lake.info(table, {"system": "calculator", "fold": f"fold_{gone['fold']}"}) is None
        left = {row["question_id"] for row in lake.read_all(table).to_pylist()}
        assert left == {row["question_id"] for row in kept}

    lake.write("folds", rows("folds"), "no question at all")
    assert answering.run("publish_answers").success
    assert lake.read("answer_metrics").num_rows == 0
    drop(lake, answers_to_other_questions(lake))
    assert lake.read_all("answers").num_rows == 0


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
