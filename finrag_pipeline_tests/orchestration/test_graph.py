"""The graph as a whole: pinned by a golden file, documented, and loadable by Dagster's own tools."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
import yaml

from finrag_pipeline.orchestration.build import build_definitions
from finrag_pipeline.schemas import TABLES, column_docs
from finrag_pipeline.settings import Settings
from finrag_pipeline_tests.console import REPOSITORY, environment
from finrag_pipeline_tests.orchestration import graph


@pytest.fixture(scope="module")
def definitions() -> dg.Definitions:
    return build_definitions(Settings(lake="lake", workers=1))


@pytest.fixture(scope="module")
def specs(definitions: dg.Definitions) -> list[dg.AssetSpec]:
    return list(definitions.resolve_all_asset_specs())


def test_the_graph_is_the_one_that_was_agreed(definitions: dg.Definitions) -> None:
    golden = json.loads(graph.GOLDEN.read_text(encoding="utf-8"))
    # When the change is meant: python -m finrag_pipeline_tests.orchestration.graph
    assert graph.describe(definitions) == golden


def test_the_golden_file_is_as_its_command_writes_it() -> None:
    text = graph.GOLDEN.read_text(encoding="utf-8")
    assert graph.as_json(json.loads(text)) == text


def test_definitions_are_loadable(definitions: dg.Definitions) -> None:
    dg.Definitions.validate_loadable(definitions)


def test_every_asset_says_what_it_is(specs: list[dg.AssetSpec]) -> None:
    assert specs
    for spec in specs:
        name = spec.key.to_user_string()
        assert spec.description and spec.description.endswith("."), name
        assert spec.owners and spec.kinds and spec.code_version, name
        assert spec.group_name and spec.group_name != "default", name


def test_every_declared_table_shows_its_columns_with_descriptions(specs: list[dg.AssetSpec]) -> None:
    shown = {
        spec.metadata["dagster/table_name"]: spec.metadata["dagster/column_schema"]
        for spec in specs
        if "dagster/table_name" in spec.metadata
    }
    # Two declared tables are no asset: the vector cache and the ledger.
    assert set(shown) == set(TABLES) - {"embeddings", "ledger"}
    for name, schema in shown.items():
        assert [column.name for column in schema.columns] == TABLES[name].names
        assert {column.name: column.description for column in schema.columns} == column_docs(TABLES[name])
        assert all(column.description for column in schema.columns), name
        assert [column.constraints.nullable for column in schema.columns] == [
            f.nullable for f in TABLES[name]
        ]


def test_all_tables_describe_every_column() -> None:
    assert not [
        (name, column) for name, s in TABLES.items() for column, doc in column_docs(s).items() if not doc
    ]


def test_every_check_says_what_it_checks(definitions: dg.Definitions) -> None:
    described = graph.describe(definitions)["assets"]
    silent = [
        (a, c)
        for a, asset in described.items()
        for c, check in asset["checks"].items()
        if not check["description"]
    ]
    assert not silent


def test_freshness_is_watched_on_index_and_metrics(specs: list[dg.AssetSpec]) -> None:
    policies = {spec.key.to_user_string(): spec.freshness_policy for spec in specs if spec.freshness_policy}
    assert set(policies) == {"page_sentences", "system_metrics"}
    for policy in policies.values():
        assert policy.fail_window.to_timedelta() == timedelta(hours=50)
        assert policy.warn_window.to_timedelta() == timedelta(hours=26)


def test_the_two_automation_sensors_share_no_asset_and_miss_none(definitions: dg.Definitions) -> None:
    described = graph.describe(definitions)
    first, second = (
        set(described["sensors"][f"{name}_automation"]["assets"]) for name in ("filing", "corpus")
    )
    assert not first & second
    assert first | second == {name for name, asset in described["assets"].items() if asset["automation"]}


def test_pools_have_one_slot_and_are_freed_after_a_killed_run() -> None:
    config = yaml.safe_load((REPOSITORY / "data_lake" / "dagster_home" / "dagster.yaml").read_text())
    assert config["concurrency"]["pools"] == {"default_limit": 1, "granularity": "op"}
    assert config["run_monitoring"]["enabled"] is True
    assert config["run_monitoring"]["free_slots_after_run_end_seconds"] <= 120
    assert config["telemetry"]["enabled"] is False


@pytest.mark.slow
def test_dagster_validates_the_workspace_without_a_warning(tmp_path: Path) -> None:
    (tmp_path / "lake" / "dagster_home").mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-m", "dagster", "definitions", "validate", "-w", "workspace.yaml"],
        cwd=REPOSITORY,
        env=environment(tmp_path / "lake"),
        capture_output=True,
        text=True,
        timeout=180,
    )
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    assert "Validation successful" in text
    ours = [line for line in text.splitlines() if "Warning" in line and "SupersessionWarning" not in line]
    assert not ours, text
