"""What re-runs by itself, tick by tick: changed data does, unchanged data and other filings' troubles do not."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.orchestration.conftest import Pipeline

pytestmark = pytest.mark.slow


@dataclass
class Clock:
    """Evaluates the automation conditions of a pipeline, one tick after the other."""

    pipeline: Pipeline
    cursor: Any = None

    def tick(self) -> set[tuple[str, str | None]]:
        """(asset, partition) of everything that the next tick requests."""
        result = dg.evaluate_automation_conditions(
            defs=self.pipeline.definitions, instance=self.pipeline.instance, cursor=self.cursor
        )
        self.cursor = result.cursor
        return {
            (evaluation.key.to_user_string(), key)
            for evaluation in result.results
            for key in result.get_requested_partitions(evaluation.key)
        }

    def settle(self) -> None:
        """Tick until nothing new is requested; simulated ticks launch no runs."""
        for _ in range(2):
            self.tick()


def report(pipeline: Pipeline, folder: Path, name: str, company: str, year: int, pages: int = 3) -> str:
    return pipeline.accept(small_filings.annual_report(folder / f"{name}.pdf", company, year, pages))


def run_filings(pipeline: Pipeline, filing: str) -> bool:
    """Materialise the first asset of a filing only, as a changed original does."""
    return pipeline.run(
        "index_filing", partition_key=filing, asset_selection=[dg.AssetKey("filings")]
    ).success


@pytest.fixture
def two(pipeline: Pipeline, tmp_path: Path) -> tuple[str, str]:
    """Two filings, from original to vectors."""
    names = (
        report(pipeline, tmp_path, "ALDER_2021_10K", "Alder Corp", 2021),
        report(pipeline, tmp_path, "BIRCH_2022_10K", "Birch Corp", 2022),
    )
    for name in names:
        assert pipeline.index(name).success
    return names


def test_a_child_runs_when_its_parents_data_changed_and_not_before(
    pipeline: Pipeline, two: tuple[str, str], tmp_path: Path
) -> None:
    alder, _ = two
    clock = Clock(pipeline)
    clock.settle()

    # The parent runs again and comes back with the same data version.
    assert run_filings(pipeline, alder)
    assert not {asset for asset, _ in clock.tick()} & {"filing_pages", "filing_chunks", "chunk_index"}

    # The parent's data changed.
    report(pipeline, tmp_path, alder, "Alder Corp", 2021, pages=4)
    assert run_filings(pipeline, alder)
    assert ("filing_pages", alder) in clock.tick()
    pages = pipeline.run("index_filing", partition_key=alder, asset_selection=[dg.AssetKey("filing_pages")])
    assert pages.success
    requested = clock.tick()
    assert ("filing_chunks", alder) in requested
    assert not {key for asset, key in requested if asset in ("filing_pages", "filing_chunks")} - {alder}


def test_one_bad_filing_holds_back_nobody_else(
    pipeline: Pipeline, two: tuple[str, str], tmp_path: Path, inbox: Path
) -> None:
    alder, birch = two
    bad = pipeline.accept(small_filings.zero_bytes(tmp_path / "BAD_2020_10K.pdf"))
    clock = Clock(pipeline)
    clock.settle()

    # Two filings change in the same minute; the new version of one cannot be read, and fails last.
    report(pipeline, tmp_path, alder, "Alder Corp", 2021, pages=5)
    broken = small_filings.truncated(inbox / f"{birch}.pdf")
    os.utime(broken, (time.time() - 120,) * 2)
    assert run_filings(pipeline, alder)
    assert not run_filings(pipeline, birch)
    assert not run_filings(pipeline, bad)

    requested = clock.tick()
    assert {key for asset, key in requested if asset == "filing_pages"} == {alder}

    # Corpus-wide assets go on although one filing has no chunks and never will.
    chunked = pipeline.run(
        "index_filing",
        partition_key=alder,
        asset_selection=[dg.AssetKey("filing_pages"), dg.AssetKey("filing_chunks")],
    )
    assert chunked.success
    assert ("bm25_index", None) in clock.tick()


def test_corpus_assets_run_once_per_change(pipeline: Pipeline, two: tuple[str, str], tmp_path: Path) -> None:
    alder, _ = two
    clock = Clock(pipeline)
    clock.settle()
    assert not {"bm25_index", "warehouse"} & {asset for asset, _ in clock.tick()}

    report(pipeline, tmp_path, alder, "Alder Corp", 2021, pages=4)
    assert pipeline.index(alder).success
    assert {("bm25_index", None), ("warehouse", None)} <= clock.tick()
    assert not {"bm25_index", "warehouse"} & {asset for asset, _ in clock.tick()}, "asked for once already"


def test_a_new_code_version_re_runs_the_asset_alone(pipeline: Pipeline, two: tuple[str, str]) -> None:
    clock = Clock(pipeline)
    clock.settle()

    def changed(spec: dg.AssetSpec) -> dg.AssetSpec:
        return spec.replace_attributes(code_version="next") if spec.key.path[-1] == "filing_chunks" else spec

    pipeline.definitions = pipeline.definitions.map_resolved_asset_specs(func=changed)
    requested = clock.tick()
    assert {key for asset, key in requested if asset == "filing_chunks"} == set(two)
    assert not {asset for asset, _ in requested} & {"filing_pages", "chunk_index"}
