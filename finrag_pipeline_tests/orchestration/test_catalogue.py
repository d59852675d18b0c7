"""The catalogue: what is derived of its entries is what is done."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from finrag_pipeline import tables
from finrag_pipeline.filings.originals import get_source
from finrag_pipeline.orchestration.lineage import stale_filings, versions, why_stale
from finrag_pipeline.orchestration.partitions import PARTITIONS
from finrag_pipeline.orchestration.steps import dependencies
from finrag_pipeline.retrieval.systems import ALL_SYSTEMS
from finrag_pipeline.schemas import TABLES
from finrag_pipeline.schemas.catalogue import CATALOGUE, FOLDERS
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.orchestration.conftest import Pipeline


def test_every_asset_has_an_entry_and_every_entry_a_job(pipeline: Pipeline) -> None:
    specs = {spec.key.to_user_string(): spec for spec in pipeline.definitions.resolve_all_asset_specs()}
    assert {name: spec.code_version for name, spec in specs.items()} == {
        name: ".".join(versions(name)) for name in CATALOGUE
    }
    jobs = {entry.job for entry in CATALOGUE.values()}
    for job in jobs:
        made = pipeline.definitions.resolve_job_def(job).asset_layer.selected_asset_keys
        assert {key.to_user_string() for key in made} == {e.name for e in CATALOGUE.values() if e.job == job}


def test_entries_name_what_there_is() -> None:
    for place, entry in enumerate(CATALOGUE.values()):
        assert {*entry.inputs, *entry.after} <= set(list(CATALOGUE)[:place]), "made before it is read"
        assert entry.by in PARTITIONS and (not entry.folder or entry.folder in TABLES)
        assert versions(entry.name), entry.name


def test_the_warehouse_holds_every_table() -> None:
    assert set(FOLDERS) == {entry.folder for entry in CATALOGUE.values() if entry.folder}
    assert set(CATALOGUE["warehouse"].inputs) == {entry.name for entry in CATALOGUE.values() if entry.folder}


def test_a_filing_s_child_is_not_started_before_what_lies_between_is_made() -> None:
    assert CATALOGUE["page_profiles"].inputs[0] == "filing_pages"
    assert dependencies(CATALOGUE["page_profiles"]) == ("statement_facts",)
    assert dependencies(CATALOGUE["filing_pages"]) == ("filings",)


@pytest.mark.parametrize("name", ALL_SYSTEMS)
def test_rankings_depend_on_all_that_systems_read(name: str) -> None:
    system = ALL_SYSTEMS[name]
    read, todo = set[str](), ["retrieval_runs"]
    while todo:
        read |= (found := set(CATALOGUE[todo.pop()].inputs) - read)
        todo += found
    made_of = {"hybrid_alpha": "hybrid_alpha_sweep", "page_reranker": "reranker"}
    assert {*system.reads(), *(made_of.get(model, model) for model in system.models)} <= read


def test_another_version_of_the_code_makes_filings_stale(
    pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filing = pipeline.accept(small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021))
    assert pipeline.index(filing).success
    source = get_source(pipeline.lake, filing)
    state = pipeline.lake, pipeline.settings, [source], pipeline.instance
    assert stale_filings(*state) == [] == list(why_stale(*state[:3]))
    monkeypatch.setattr(tables, "TABLES_VERSION", "another")
    assert stale_filings(*state) == [filing]
    why = {asset: one for asset, _, one in why_stale(*state[:3])}
    assert why.pop("page_tables") == "changed: code"
    assert why and all("is made again, and may change" in one for one in why.values())
    other = pipeline.configured(chunks=pipeline.settings.chunks.model_copy(update={"tokens": 99}))
    found = {asset: one for asset, _, one in why_stale(pipeline.lake, other.settings, [source])}
    assert found["filing_chunks"] == "changed: setting chunks"
    assert versions("page_tables")[0] == "another"


def test_a_step_whose_process_died_after_it_had_written_is_noted_anew(
    pipeline: Pipeline, tmp_path: Path
) -> None:
    """Searches leave a filing out as long as a step of it counts as failed."""
    filing = pipeline.accept(small_filings.annual_report(tmp_path / "A_2020_10K.pdf", "Alder Corp", 2020))
    assert pipeline.index(filing).success
    note = {"asset": "page_sentences", "partition": filing, "run_id": "r", "at": "2024-01-01T00:00:00+00:00"}
    dead = f"{socket.gethostname()}:{2**22 + 1}:1"
    path = pipeline.lake.path("ledger", "page_sentences", f"{filing}.json.begun")
    pipeline.lake.write_json(path, note | {"process": dead})
    state = pipeline.lake, pipeline.settings, [get_source(pipeline.lake, filing)], pipeline.instance
    assert stale_filings(*state) == [filing]
    assert pipeline.index(filing).success and stale_filings(*state) == []
