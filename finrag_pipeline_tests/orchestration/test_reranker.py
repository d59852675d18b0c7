"""The asset reranker on a small benchmark, with a tiny encoder; and the sweep of the row that needs it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg
import pyarrow.compute as pc
import pytest

from finrag_pipeline.commands.run import train_models
from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.orchestration.partitions import (
    FOLD_COUNT,
    sweep_range,
    trained_partitions,
    trained_range,
)
from finrag_pipeline.orchestration.sweeps import Sweep
from finrag_pipeline.rankers.card import kept_folder
from finrag_pipeline.rankers.page_ranker import model
from finrag_pipeline.rankers.registry import load_reranker, trained_models
from finrag_pipeline.retrieval.systems import SYSTEMS
from finrag_pipeline.settings import ChunkSettings, EncoderSettings, RerankerTrainingSettings, Settings
from finrag_pipeline_tests.orchestration.conftest import Pipeline, made
from finrag_pipeline_tests.orchestration.learned_models import (
    fold_with_questions,
    other_folds,
    small_benchmark,
)
from finrag_pipeline_tests.retrieval.stand_ins import FixedPages

pytestmark = pytest.mark.slow

TRAINING = RerankerTrainingSettings(batch_size=2, epochs=1, learning_rate=1e-3)


@pytest.fixture(scope="module")
def trained(
    tmp_path_factory: pytest.TempPathFactory, tiny_encoder_settings: EncoderSettings
) -> Iterator[tuple[Pipeline, dg.ExecuteInProcessResult]]:
    """A lake of its own, with the page ranker that the reranker follows: models must not outlive a test."""
    folder = tmp_path_factory.mktemp("reranker")
    settings = Settings(
        lake=str(folder / "lake"),
        encoder=tiny_encoder_settings,
        chunks=ChunkSettings(tokens=64, overlap=16),
        reranker_training=TRAINING,
        workers=1,
    )
    with small_benchmark(settings, folder / "source") as pipeline:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(model, "ROUNDS", 3)
            assert pipeline.run("train_page_ranker", tags=trained_range()).success
        problem = Sweep(settings, pipeline.lake).problem(SYSTEMS["finrag_rerank"], 0)
        assert problem == "No reranker was trained without the questions of fold 0."
        assert Sweep(settings, pipeline.lake).problem(SYSTEMS["finrag"], 0) is None
        yield pipeline, pipeline.run("train_reranker", tags=trained_range())


def test_all_folds_are_trained_in_one_run(trained: tuple[Pipeline, dg.ExecuteInProcessResult]) -> None:
    pipeline, result = trained
    assert result.success
    keys = trained_partitions.get_partition_keys()
    assert [part["fold"] for part in pipeline.lake.partitions("reranker")] == sorted(keys)
    (check,) = result.get_asset_check_evaluations()
    assert check.passed and check.check_name == "no_leak"
    rows = pipeline.lake.read_all("reranker").to_pylist()
    assert all((row["loss"] is None) == (row["epoch"] == 0) for row in rows)
    assert len([row for row in rows if row["chosen"]]) == len(keys)
    measured = pipeline.lake.read("reranker", {"fold": f"fold_{fold_with_questions(pipeline)}"}).to_pylist()
    assert [row["tested_page_rec"] is not None for row in measured] == [row["chosen"] for row in measured]
    metadata: Any = {
        event.materialization.partition: event.materialization.metadata
        for event in result.get_asset_materialization_events()
    }["production"]
    assert metadata["curves_document"].value.startswith("![Loss and page recall, production by document]")


def test_what_is_fresh_is_not_trained_again_and_what_is_gone_is(
    trained: tuple[Pipeline, dg.ExecuteInProcessResult],
) -> None:
    pipeline, _ = trained
    again = pipeline.run("train_reranker", partition_key="production")
    assert again.success and made(again)["reranker"].metadata["cache"] == "hit"
    name = pipeline.lake.read("reranker", {"fold": "production"})["model"][0].as_py()
    pipeline.lake.fs.rm(pipeline.lake.path(*kept_folder("reranker", name)), recursive=True)
    assert load_reranker(pipeline.lake, pipeline.settings, None) is None
    again = pipeline.run("train_reranker", partition_key="production")
    assert again.success and made(again)["reranker"].metadata["cache"] == "miss"
    assert load_reranker(pipeline.lake, pipeline.settings, None) is not None


def test_each_fold_is_reranked_by_the_model_that_has_not_seen_it(
    trained: tuple[Pipeline, dg.ExecuteInProcessResult],
) -> None:
    pipeline, _ = trained
    table = pipeline.lake.read("folds")
    for fold in range(FOLD_COUNT):
        tested = table.filter(pc.equal(table["fold"], fold)).to_pylist()
        reranker = load_reranker(pipeline.lake, pipeline.settings, fold)
        assert reranker is not None
        assert not {row["question_id"] for row in tested} & set(reranker.card["question_ids"])
        assert not {row["filing"] for row in tested} & set(reranker.card["filings"])


def test_the_row_runs_and_keeps_the_pages_of_finrag(
    trained: tuple[Pipeline, dg.ExecuteInProcessResult],
) -> None:
    pipeline, _ = trained
    for name in ("finrag", "finrag_rerank"):
        assert pipeline.run("sweep", tags=sweep_range(name)).success
    runs = pipeline.lake.read_all("retrieval_runs", only={"system": ["finrag", "finrag_rerank"]})
    found: dict[tuple[str, str], dict[str, list[tuple[str, int]]]] = {}
    for row in runs.to_pylist():
        ranking = found.setdefault((row["space"], row["question_id"]), {}).setdefault(row["system"], [])
        ranking.append((row["filing"], row["page"]))
    assert {space for space, _ in found} == {"corpus", "filing", "pages"}
    assert all(set(both["finrag"]) == set(both["finrag_rerank"]) for both in found.values())
    assert any(both["finrag"] != both["finrag_rerank"] for both in found.values())
    assert pipeline.lake.fs.exists(pipeline.lake.path("rerank_scores")), "no pair is scored twice"


def test_the_command_trains_single_folds(trained: tuple[Pipeline, dg.ExecuteInProcessResult]) -> None:
    pipeline, _ = trained
    lines: list[str] = []
    fold = f"fold_{fold_with_questions(pipeline)}"
    rows = train_models(pipeline.settings, "reranker", [fold], lines.append)
    assert lines == [f"training {fold}"] and [row["policy"] for row in rows] == ["document"]
    assert all(0 <= row["tested_page_rec"] <= 1 for row in rows)


def test_other_folds_are_a_leak(
    trained: tuple[Pipeline, dg.ExecuteInProcessResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline, _ = trained
    lake, fold = pipeline.lake, fold_with_questions(pipeline)
    with other_folds(lake):
        with pytest.raises(BenchmarkError, match="was trained on what it is measured on"):
            load_reranker(lake, pipeline.settings, (fold + 1) % FOLD_COUNT)
        # As after 'finrag run': the page ranker is trained again by itself, and the reranker is not.
        fresh = FixedPages([])
        monkeypatch.setattr("finrag_pipeline.rankers.registry.load_page_ranker", lambda *given: fresh)
        found = trained_models(lake, pipeline.settings, (fold + 1) % FOLD_COUNT)
        assert found.models["page_ranker"] is fresh and "page_reranker" not in found.models
