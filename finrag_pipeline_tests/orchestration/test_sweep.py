"""The sweep: what is run, what is left out without failing, and what makes a run stale."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from finrag_pipeline.chunking.registry import CONTEXTUAL, ON_DEMAND, PARENT_CHILD
from finrag_pipeline.orchestration.build import build_definitions
from finrag_pipeline.orchestration.lineage import stale_on_demand
from finrag_pipeline.orchestration.partitions import FILINGS, FOLD_COUNT, sweep_range
from finrag_pipeline.orchestration.sweeps import Sweep, drop, fold_questions, stale_results, state_of_results
from finrag_pipeline.rankers import registry
from finrag_pipeline.rankers.registry import ALPHA_SWEEP, alphas_without
from finrag_pipeline.retrieval.systems import SYSTEMS
from finrag_pipeline.settings import Settings
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.orchestration.conftest import Pipeline, made
from finrag_pipeline_tests.orchestration.learned_models import small_benchmark
from finrag_pipeline_tests.retrieval.stand_ins import FixedPages

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Root of a lake with a small benchmark that is indexed and prepared; for copying only."""
    folder = tmp_path_factory.mktemp("prepared")
    root = folder / "lake"
    with small_benchmark(Settings(lake=str(root), workers=1), folder / "source") as pipeline:
        assert pipeline.lake.info(ALPHA_SWEEP) is None, "there is nothing to weigh yet"
        for name in small_filings.COMPANIES:
            pipeline.index_chunks(name)
        assert ALPHA_SWEEP in made(pipeline.run("prepare_benchmark"))
    return root


@pytest.fixture
def measured(pipeline: Pipeline, prepared: Path) -> Pipeline:
    """A lake of one's own like the prepared one."""
    for folder in prepared.iterdir():
        # The warehouse has views of the lake that it was made for.
        if folder.is_dir() and folder.name not in ("dagster_home", "inbox", "models"):
            shutil.copytree(folder, Path(pipeline.lake.root) / folder.name)
    pipeline.instance.add_dynamic_partitions(FILINGS, list(small_filings.COMPANIES))
    return pipeline


def sweep(pipeline: Pipeline, system: str) -> dg.ExecuteInProcessResult:
    return pipeline.run("sweep", tags=sweep_range(system))


def parts(pipeline: Pipeline, asset: str, system: str) -> list[str]:
    return [keys["fold"] for keys in pipeline.lake.partitions(asset) if keys["system"] == system]


def test_a_system_that_cannot_run_is_left_out_and_no_run_fails(measured: Pipeline) -> None:
    for name in ("finrag", "dense_rerank", "document_selection", "parent_child"):
        result = sweep(measured, name)
        assert result.success
        assert made(result) == {} and parts(measured, "retrieval_runs", name) == []
        entry = measured.lake.ledger_entry("retrieval_runs", f"fold_0_{name}")
        assert entry and entry["outcome"] == "skipped" and entry["error"]
        (check,) = result.get_asset_check_evaluations()
        assert check.passed and str(check.description).startswith("Not run: ")
    # Others go on.
    result = sweep(measured, "bm25")
    assert result.success and set(made(result)) == {"retrieval_runs", "retrieval_scores"}
    assert len(parts(measured, "retrieval_scores", "bm25")) == FOLD_COUNT


def test_chunks_of_some_systems_are_made_on_demand(measured: Pipeline) -> None:
    names = sorted(small_filings.COMPANIES)
    for chunking in (CONTEXTUAL, PARENT_CHILD):
        assert sorted(stale_on_demand(measured.lake, measured.settings, chunking, names)) == names
    for name in names:
        result = measured.run("index_on_demand", partition_key=name)
        assert result.success and set(made(result)) == set(ON_DEMAND)
        # Short pages are the same windows as those of the fixed chunks: nothing is embedded twice.
        assert made(result)["parent_child_index"].metadata["embedded"] == 0
    for chunking in (CONTEXTUAL, PARENT_CHILD):
        assert stale_on_demand(measured.lake, measured.settings, chunking, names) == []
    for name, mark in (("bm25_contextual_pages", "/x"), ("parent_child", "/parent")):
        assert sweep(measured, name).success
        runs = measured.lake.read_all("retrieval_runs", only={"system": [name]})
        assert runs.num_rows and all(mark in chunk for chunk in runs["chunk_id"].to_pylist())
    scores = measured.lake.read_all("retrieval_scores", only={"system": ["parent_child"]})
    pages = scores.filter((pc.field("space") == "pages") & (pc.field("metric") == "page_rec"))
    assert set(pages["value"].to_pylist()) == {1.0}


def test_recorded_passages_run_both_rows_and_others_make_them_stale(
    measured: Pipeline, tmp_path: Path
) -> None:
    questions = measured.lake.read("benchmark_questions")["question"].to_pylist()
    path = tmp_path / "passages.json"

    def recorded(word: str, count: int = len(questions)) -> Pipeline:
        passages = {text: [f"{word} {n} of {text}" for n in range(3)] for text in questions[:count]}
        path.write_text(json.dumps(passages), encoding="utf-8")
        return measured.configured(hyde=measured.settings.hyde.model_copy(update={"recorded": str(path)}))

    pipeline = recorded("revenue")
    for name in ("hyde", "multi_hyde", "multi_hyde_fused"):
        assert made(sweep(pipeline, name)), name
        assert len(parts(pipeline, "retrieval_scores", name)) == FOLD_COUNT
    assert drop(pipeline.lake, stale_results(pipeline.lake, pipeline.settings)) == []
    told = Sweep(recorded("revenue", 1).settings, measured.lake).problem(SYSTEMS["hyde"])
    assert told == f"{len(questions) - 1} of {len(questions)} questions have no recorded passages."
    states = [
        state_of_results(measured.lake, recorded(word).settings, ["hyde"])
        for word in ("revenue", "revenue", "tax")
    ]
    assert states[0] == states[1] != states[2], "'finrag run' must notice other passages in the same file"
    other = recorded("assets")
    found = drop(other.lake, stale_results(other.lake, other.settings))
    assert found == ["hyde", "multi_hyde", "multi_hyde_fused"]


def test_other_answers_are_noticed(measured: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    before = state_of_results(measured.lake, measured.settings, ["bm25"])
    monkeypatch.setattr("finrag_pipeline.answering.systems.RUNS_VERSION", "other")
    assert state_of_results(measured.lake, measured.settings, ["bm25"]) != before


class TestAlpha:
    def test_a_fold_chooses_from_the_questions_of_the_others(self, measured: Pipeline) -> None:
        lake = measured.lake
        before = {fold: alphas_without(lake, fold) for fold in (None, *range(FOLD_COUNT))}
        assert all(set(alphas) == {"corpus", "filing", "pages"} for alphas in before.values())
        sweep_table = lake.read(ALPHA_SWEEP)
        fold, tested = next(
            (fold, found["question_id"].to_pylist())
            for fold in range(FOLD_COUNT)
            if (found := fold_questions(lake, fold)).num_rows
        )
        # Only the questions of one fold say anything, and they want the weight 1.
        rows = sweep_table.to_pylist()
        for row in rows:
            mine = row["question_id"] in tested
            row["value"] = float(mine and row["system"] == "alpha=1.00")
        lake.write(
            ALPHA_SWEEP,
            pa.Table.from_pylist(rows, sweep_table.schema),
            "changed",
        )
        assert set(alphas_without(lake, None).values()) == {1.0}
        assert set(alphas_without(lake, fold).values()) == {0.5}, "the fold must not see its own questions"

    def test_another_weight_makes_the_runs_of_the_hybrid_stale_and_no_other(self, measured: Pipeline) -> None:
        assert sweep(measured, "hybrid_alpha").success and sweep(measured, "hybrid_rrf").success
        assert drop(measured.lake, stale_results(measured.lake, measured.settings)) == []
        table = measured.lake.read(ALPHA_SWEEP)
        values = [float(name == "alpha=0.05") for name in table["system"].to_pylist()]
        table = table.set_column(
            table.column_names.index("value"), table.schema.field("value"), pa.array(values)
        )
        measured.lake.write(ALPHA_SWEEP, table, "changed")
        assert measured.run("publish", asset_selection=[dg.AssetKey("system_metrics")]).success
        published = set(measured.lake.read("system_metrics")["system"].to_pylist())
        assert "hybrid_rrf" in published and "hybrid_alpha" not in published
        kept = parts(measured, "retrieval_runs", "hybrid_alpha")
        assert len(kept) == FOLD_COUNT, "an asset deletes nothing that it was made from"
        assert drop(measured.lake, stale_results(measured.lake, measured.settings)) == ["hybrid_alpha"]
        assert parts(measured, "retrieval_runs", "hybrid_alpha") == []

    def test_it_is_kept_and_shown(self, measured: Pipeline) -> None:
        result = measured.run("prepare_benchmark")
        metadata = made(result)["hybrid_alpha_sweep"].metadata
        assert metadata["cache"] == "hit" and metadata["sweep"].startswith("![Page recall over the weight")
        assert set(metadata["chosen"]) == {"corpus", "filing", "pages"}


class TestTrainedModels:
    """What is trained without a fold ranks the questions of that fold."""

    @pytest.fixture
    def rankers(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[int | None, FixedPages]]:
        pages = [(name, page) for page in range(3) for name in small_filings.COMPANIES]
        found: dict[int | None, FixedPages] = {
            fold: FixedPages(pages, f"without {fold}") for fold in (None, *range(FOLD_COUNT))
        }
        monkeypatch.setattr(
            registry, "load_page_ranker", lambda lake, settings, fold, library: found.get(fold)
        )
        yield found

    def test_each_fold_is_ranked_by_its_own_model_and_stale_when_that_is_trained_anew(
        self, measured: Pipeline, rankers: dict[int | None, FixedPages]
    ) -> None:
        assert sweep(measured, "finrag").success
        for fold in range(FOLD_COUNT):
            asked = {question for question, *_ in rankers[fold].asked}
            assert asked == set(fold_questions(measured.lake, fold)["question"].to_pylist())
        assert rankers[None].asked == [], "the production model has seen every question"
        assert drop(measured.lake, stale_results(measured.lake, measured.settings)) == []
        rankers[1].fingerprint = "trained again"
        assert drop(measured.lake, stale_results(measured.lake, measured.settings)) == ["finrag"]
        assert parts(measured, "retrieval_runs", "finrag") == [f"fold_{n}" for n in (0, 2, 3, 4)]

    def test_a_fold_without_its_model_is_left_out(
        self, measured: Pipeline, rankers: dict[int | None, FixedPages]
    ) -> None:
        fold = next(fold for fold in range(FOLD_COUNT) if fold_questions(measured.lake, fold).num_rows)
        del rankers[fold]
        told = Sweep(measured.settings, measured.lake).problem(SYSTEMS["finrag"])
        assert told == f"No page ranker was trained without the questions of fold {fold}."
        result = sweep(measured, "finrag")
        assert result.success
        assert f"fold_{fold}" not in parts(measured, "retrieval_runs", "finrag")


def test_the_key_of_a_language_model_is_not_shown_with_the_runs(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINRAG_LANGUAGE_MODEL__KEY", "a secret")
    settings = Settings(lake=pipeline.settings.lake, workers=1)
    resource: Any = (build_definitions(settings).resources or {})["settings"]
    assert "key" not in resource.values["language_model"]
    key = resource.get().language_model.key
    assert key is not None and key.get_secret_value() == "a secret", "the environment holds it"
