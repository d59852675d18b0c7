"""Profiles of pages and page rankers, over the generated sample."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from finrag_pipeline.errors import LakeError
from finrag_pipeline.orchestration.partitions import FILINGS, sweep_range, trained_partitions, trained_range
from finrag_pipeline.rankers.card import kept_folder
from finrag_pipeline.rankers.page_ranker import model as ranking
from finrag_pipeline.rankers.registry import load_page_ranker
from finrag_pipeline.schemas import FOLDS, PER_FILING
from finrag_pipeline.schemas.catalogue import CATALOGUE
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.orchestration.conftest import Pipeline, caches, failure_text, made
from finrag_pipeline_tests.shared_run import sample_lake

pytestmark = pytest.mark.slow

KEYS = trained_partitions.get_partition_keys()
READ = ("parquet", "lance", "benchmarks", "filings", "ledger")
"""Folders of the lake that training reads."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Root of the lake after ``finrag run`` on the sample; for reading only."""
    found, done = sample_lake(tmp_path_factory)
    assert done.code == 0, done.err
    return found


@pytest.fixture
def sample(root: Path, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """A copy of the lake after ``finrag run`` on the sample, with its rankers; training is quick."""
    for name in READ:
        shutil.copytree(root / name, Path(pipeline.lake.root) / name, dirs_exist_ok=True)
    shutil.copytree(root / "models" / "page_ranker", Path(pipeline.lake.root) / "models" / "page_ranker")
    names = [keys["filing"] for keys in pipeline.lake.partitions("filings")]
    pipeline.instance.add_dynamic_partitions(FILINGS, names)
    monkeypatch.setattr(ranking, "ROUNDS", 3)
    return pipeline


def train(pipeline: Pipeline) -> dg.ExecuteInProcessResult:
    return pipeline.run("train_page_ranker", tags=trained_range())


def outcomes(pipeline: Pipeline) -> dict[str, str]:
    entries = {key: pipeline.lake.ledger_entry("page_ranker", key) for key in KEYS}
    return {key: entry["outcome"] for key, entry in entries.items() if entry}


def assign(lake: Lake, fold_of: Callable[[int, str], int]) -> None:
    """Other folds; ``fold_of`` knows the number of a question and its filing."""
    rows = lake.read("folds").to_pylist()
    table = [{**row, "fold": fold_of(n, row["filing"])} for n, row in enumerate(rows)]
    lake.write("folds", pa.Table.from_pylist(table, schema=FOLDS), "other folds")


class TestProfiles:
    def test_a_part_that_is_missing_is_made_again_alone_and_alike(self, sample: Pipeline) -> None:
        filing = sample.lake.partitions("page_profiles")[0]["filing"]
        before = sample.lake.read("page_profiles", {"filing": filing})
        sample.lake.remove("page_profiles", {"filing": filing})
        found = caches(sample.index(filing))
        assert found.pop("page_profiles") == "miss" and set(found.values()) == {"hit"}
        after = sample.lake.read("page_profiles", {"filing": filing})
        assert after.equals(before)
        assert after.num_rows == sample.lake.read("filing_pages", {"filing": filing}, ["page"]).num_rows
        result = sample.index(filing)
        assert caches(result)["page_profiles"] == "hit"
        assert made(result)["page_profiles"].metadata["pages"] == after.num_rows

    def test_statements_and_sections_of_an_annual_report_of_the_sample(self, root: Path) -> None:
        rows = Lake(root).read("page_profiles", {"filing": "TORVEXLEY_2023_10K"}).to_pylist()
        found = {section for row in rows for section in row["sections"]}
        assert {"cover", "business", "risk_factors", "mdna", "statements", "notes"} <= found
        kinds = {
            item["statement"] for row in rows for item in row["statements"] if item["scope"] == "primary"
        }
        assert {"income_statement", "financial_position", "cash_flows"} <= kinds


def changed(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Another version of the code that makes an entry of the catalogue."""
    module, _, attribute = CATALOGUE[name].code[0].partition(":")
    *owners, constant = attribute.split(".")
    owner = resolve_name(":".join([f"finrag_pipeline.{module}", *([".".join(owners)] if owners else [])]))
    found = getattr(owner, constant)
    monkeypatch.setattr(owner, constant, (lambda: "next") if callable(found) else "next")


def follows(name: str, other: str) -> bool:
    """Whether an entry is made from another one; of identities only what has changed counts."""
    inputs = set(CATALOGUE[name].inputs) - {"filings"}
    return other in inputs or any(follows(one, other) for one in inputs)


class TestChangedCode:
    @pytest.mark.parametrize("stage", PER_FILING)
    def test_a_stage_and_what_follows_run_again_and_nothing_else(
        self, sample: Pipeline, monkeypatch: pytest.MonkeyPatch, stage: str
    ) -> None:
        filing = "TORVEXLEY_2023_10K"
        changed(monkeypatch, stage)
        # The PDF reader is code of two stages.
        made = {one for one in PER_FILING if CATALOGUE[stage].code[0] in CATALOGUE[one].code}
        again = {one for one in PER_FILING if one in made or any(follows(one, other) for other in made)}
        assert caches(sample.index(filing)) == {one: "miss" if one in again else "hit" for one in PER_FILING}

    def test_other_metrics_leave_rankings_and_answers_alone(
        self, sample: Pipeline, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def outcome(job: str, asset: str, **options: Any) -> str:
            result = sample.run(job, asset_selection=[dg.AssetKey(asset)], **options)
            assert result.success, failure_text(result)
            return str(made(result)[asset].metadata["cache"])

        changed(monkeypatch, "retrieval_scores")
        of_system = {"tags": sweep_range("bm25")}
        assert outcome("sweep", "retrieval_runs", **of_system) == "hit"
        assert outcome("sweep", "retrieval_scores", **of_system) == "miss"
        assert outcome("publish", "system_metrics") == "miss"
        assert outcome("answer", "answers", tags=sweep_range("calculator")) == "hit"
        assert outcome("answer", "answer_scores", tags=sweep_range("calculator")) == "hit"
        assert outcome("prepare_benchmark", "folds") == "hit"


class TestRankers:
    def test_a_second_run_is_a_cache_hit(self, sample: Pipeline) -> None:
        before = {key: sample.lake.info("page_ranker", {"fold": key}) for key in KEYS}
        assert all(before.values())
        result = train(sample)
        assert result.success, failure_text(result)
        assert set(outcomes(sample).values()) == {"cache_hit"} and len(outcomes(sample)) == len(KEYS)
        assert {key: sample.lake.info("page_ranker", {"fold": key}) for key in KEYS} == before
        (check,) = result.get_asset_check_evaluations()
        assert check.passed and check.check_name == "no_leak"

    def test_gains_are_shares_of_named_features(self, root: Path) -> None:
        for key in KEYS:
            rows = Lake(root).read("page_ranker", {"fold": key}).to_pylist()
            gains = {row["feature"]: row["gain"] for row in rows}
            assert len(gains) == len(rows) and {"position", "form_10-K", "section_mdna"} < set(gains)
            assert sum(gains.values()) == pytest.approx(1.0)

    def test_every_fold_is_trained_without_its_questions_and_production_with_all(self, root: Path) -> None:
        folds = Lake(root).read("folds").to_pylist()
        for fold in (*range(5), None):
            ranker = load_page_ranker(Lake(root), Settings(lake=str(root)), fold)
            assert ranker is not None
            card = ranker._own.card
            assert set(card["question_ids"]) == {row["question_id"] for row in folds if row["fold"] != fold}
            assert set(card["filings"]) == {row["filing"] for row in folds if row["fold"] != fold}

    def test_a_damaged_or_missing_model_is_trained_again_alone(self, sample: Pipeline) -> None:
        infos = {key: sample.lake.info("page_ranker", {"fold": key}) for key in KEYS}
        folders = {
            key: sample.lake.local_path(*kept_folder("page_ranker", info.fingerprint))
            for key, info in infos.items()
            if info
        }
        (folders["fold_1"] / "lambdarank-0.txt").write_text("half a mod")
        shutil.rmtree(folders["production"])
        with pytest.raises(LakeError):
            load_page_ranker(sample.lake, sample.settings, 1)
        assert train(sample).success
        assert {key for key, outcome in outcomes(sample).items() if outcome == "materialised"} == {
            "fold_1",
            "production",
        }
        assert load_page_ranker(sample.lake, sample.settings, 1) is not None
        assert load_page_ranker(sample.lake, sample.settings, None) is not None

    def test_a_leak_stops_the_fold_with_a_remedy_and_no_other(self, sample: Pipeline) -> None:
        filing = sample.lake.read("folds")["filing"].to_pylist()[0]
        # Questions of one filing are torn apart; all others are in fold 2.
        assign(sample.lake, lambda number, name: number % 2 if name == filing else 2)
        result = train(sample)
        assert not result.success
        told = failure_text(result)
        assert "fold_0: " in told and "fold_1: " in told and "fold_2" not in told
        assert "was trained on what it is measured on" in told and "again" in told
        assert outcomes(sample)["fold_0"] == outcomes(sample)["fold_1"] == "failed"
        assert outcomes(sample)["fold_2"] == "materialised"

    def test_a_fold_that_holds_all_questions_is_left_out_and_no_run_fails(self, sample: Pipeline) -> None:
        assign(sample.lake, lambda number, name: 0)
        result = train(sample)
        assert result.success, failure_text(result)
        assert outcomes(sample)["fold_0"] == "skipped"
        assert outcomes(sample)["production"] == "cache_hit"
        assert load_page_ranker(sample.lake, sample.settings, 0) is None, "that of the other folds is gone"
