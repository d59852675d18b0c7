"""The asset page_scorer on a small benchmark, with a tiny encoder; and the sweep of its row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg
import pyarrow.compute as pc
import pytest

from finrag_pipeline.commands.run import train_models
from finrag_pipeline.errors import BenchmarkError, UsageError
from finrag_pipeline.orchestration.partitions import (
    FOLD_COUNT,
    sweep_range,
    trained_partitions,
    trained_range,
)
from finrag_pipeline.orchestration.runs import backfill
from finrag_pipeline.rankers.card import kept_folder
from finrag_pipeline.rankers.registry import load_page_scorer
from finrag_pipeline.settings import ChunkSettings, EncoderSettings, PageScorerSettings, Settings
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.orchestration.conftest import Pipeline, failure_text
from finrag_pipeline_tests.orchestration.learned_models import (
    fold_with_questions,
    other_folds,
    small_benchmark,
)

pytestmark = pytest.mark.slow

SCORER = PageScorerSettings(batch_size=2, epochs=1, learning_rate=1e-3, policies=("document", "company"))


@pytest.fixture(scope="module")
def trained(
    tmp_path_factory: pytest.TempPathFactory, tiny_encoder_settings: EncoderSettings
) -> Iterator[tuple[Pipeline, dg.ExecuteInProcessResult]]:
    """A lake of its own: models of a test must not outlive it."""
    folder = tmp_path_factory.mktemp("page_scorer")
    settings = Settings(
        lake=str(folder / "lake"),
        encoder=tiny_encoder_settings,
        chunks=ChunkSettings(tokens=64, overlap=16),
        page_scorer=SCORER,
        workers=1,
    )
    with small_benchmark(settings, folder / "source") as pipeline:
        yield pipeline, pipeline.run("train_page_scorer", tags=trained_range())


def test_all_folds_are_trained_in_one_run(trained: tuple[Pipeline, dg.ExecuteInProcessResult]) -> None:
    pipeline, result = trained
    assert result.success
    keys = trained_partitions.get_partition_keys()
    assert [part["fold"] for part in pipeline.lake.partitions("page_scorer")] == sorted(keys)
    (check,) = result.get_asset_check_evaluations()
    assert check.passed and check.check_name == "no_leak"
    rows = pipeline.lake.read_all("page_scorer").to_pylist()
    assert {row["policy"] for row in rows} == {"document", "company"}
    assert all((row["loss"] is None) == (row["epoch"] == 0) for row in rows)
    chosen = [row for row in rows if row["chosen"]]
    assert len(chosen) == 2 * len(keys)
    fold = fold_with_questions(pipeline)
    measured = pipeline.lake.read("page_scorer", {"fold": f"fold_{fold}"}).to_pylist()
    assert [row["tested_page_rec"] is not None for row in measured] == [row["chosen"] for row in measured]


def test_curves_are_in_the_metadata_of_each_fold(
    trained: tuple[Pipeline, dg.ExecuteInProcessResult],
) -> None:
    _, result = trained
    found = {
        event.materialization.partition: event.materialization.metadata
        for event in result.get_asset_materialization_events()
    }
    assert len(found) == FOLD_COUNT + 1
    metadata: Any = found["production"]
    assert metadata["curves_document"].value.startswith("![Loss and page recall, production by document]")
    assert metadata["questions"].value == 6 and "best_epoch_company" in metadata


def test_what_is_fresh_is_not_trained_again_and_what_is_gone_is(
    trained: tuple[Pipeline, dg.ExecuteInProcessResult],
) -> None:
    pipeline, _ = trained
    filled = backfill(pipeline.settings, "page_scorer", ["all"], lambda *_: None)
    assert filled.fresh == trained_partitions.get_partition_keys() and not filled.indexed
    name = pipeline.lake.read("page_scorer", {"fold": "production"})["model"][0].as_py()
    pipeline.lake.fs.rm(pipeline.lake.path(*kept_folder("page_scorer", name)), recursive=True)
    assert load_page_scorer(pipeline.lake, pipeline.settings, None) is None
    filled = backfill(pipeline.settings, "page_scorer", ["production"], lambda *_: None)
    assert filled.indexed == ["production"] and not filled.failures
    assert load_page_scorer(pipeline.lake, pipeline.settings, None) is not None


def test_each_fold_is_ranked_by_the_model_that_has_not_seen_it(
    trained: tuple[Pipeline, dg.ExecuteInProcessResult],
) -> None:
    pipeline, _ = trained
    table = pipeline.lake.read("folds")
    for fold in range(FOLD_COUNT):
        tested = table.filter(pc.equal(table["fold"], fold)).to_pylist()
        ranker = load_page_scorer(pipeline.lake, pipeline.settings, fold)
        assert ranker is not None
        card: Any = getattr(ranker, "card")  # noqa: B009
        assert card["policy"] == "document"
        assert not {row["question_id"] for row in tested} & set(card["question_ids"])
        assert not {row["filing"] for row in tested} & set(card["filings"])


def test_the_row_page_scorer_runs(trained: tuple[Pipeline, dg.ExecuteInProcessResult]) -> None:
    pipeline, _ = trained
    for filing in small_filings.COMPANIES:
        pipeline.index_chunks(filing)
    result = pipeline.run("sweep", tags=sweep_range("page_scorer"))
    assert result.success
    runs = pipeline.lake.read_all("retrieval_runs", only={"system": ["page_scorer"]})
    assert set(runs["space"].to_pylist()) == {"corpus", "filing", "pages"}
    asked = set(runs["question_id"].to_pylist())
    assert asked == set(pipeline.lake.read("folds")["question_id"].to_pylist())


def test_the_command_trains_single_folds(trained: tuple[Pipeline, dg.ExecuteInProcessResult]) -> None:
    pipeline, _ = trained
    lines: list[str] = []
    fold = f"fold_{fold_with_questions(pipeline)}"
    rows = train_models(pipeline.settings, "page_scorer", [fold, fold], lines.append)
    assert lines == [f"training {fold}"] and [row["policy"] for row in rows] == ["document", "company"]
    assert all(0 <= row["tested_page_rec"] <= 1 for row in rows if row["tested_page_rec"] is not None)
    with pytest.raises(UsageError, match="no fold 'fold_9'"):
        train_models(pipeline.settings, "page_scorer", ["fold_9"], lines.append)


def test_other_folds_are_a_leak(trained: tuple[Pipeline, dg.ExecuteInProcessResult]) -> None:
    pipeline, _ = trained
    lake, fold = pipeline.lake, fold_with_questions(pipeline)
    with other_folds(lake), pytest.raises(BenchmarkError, match="was trained on what it is measured on"):
        load_page_scorer(lake, pipeline.settings, (fold + 1) % FOLD_COUNT)


def test_a_base_that_cannot_be_had_fails_with_a_remedy(
    trained: tuple[Pipeline, dg.ExecuteInProcessResult],
) -> None:
    pipeline, _ = trained
    scorer = SCORER.model_copy(update={"base": "nobody/no-such-model"})
    result = pipeline.configured(page_scorer=scorer).run("train_page_scorer", partition_key="fold_0")
    assert not result.success and "no-such-model" in failure_text(result)
