"""The whole Dagster graph as plain data, for the golden test and for reading the difference of two versions.

When a change of the graph is meant, update the golden file with::

    python -m finrag_pipeline_tests.orchestration.graph
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import dagster as dg

from finrag_pipeline.orchestration.build import build_definitions
from finrag_pipeline.settings import Settings

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "asset_graph.json"


def describe(definitions: dg.Definitions) -> dict[str, Any]:
    """Assets, checks, jobs, sensors, schedules and resources of ``definitions``; sorted, JSON-ready."""
    repository = definitions.get_repository_def()
    graph = repository.asset_graph
    return {
        "assets": {
            key.to_user_string(): _asset(graph, key) for key in sorted(graph.get_all_asset_keys(), key=str)
        },
        "jobs": {
            job.name: _job(job)
            for job in sorted(repository.get_all_jobs(), key=lambda job: job.name)
            if not job.name.startswith("__")
        },
        "sensors": {
            sensor.name: {
                "type": sensor.sensor_type.name,
                "jobs": sorted(target.job_name for target in sensor.targets) if sensor.targets else [],
                "assets": _selected(sensor, graph),
                "interval_seconds": sensor.minimum_interval_seconds,
                "default_status": sensor.default_status.name,
            }
            for sensor in sorted(repository.sensor_defs, key=lambda sensor: sensor.name)
        },
        "schedules": {
            schedule.name: {
                "job": schedule.job_name,
                "cron": schedule.cron_schedule,
                "timezone": schedule.execution_timezone,
                "default_status": schedule.default_status.name,
            }
            for schedule in sorted(repository.schedule_defs, key=lambda schedule: schedule.name)
        },
        "resources": sorted(repository.get_top_level_resources()),
    }


def _asset(graph: Any, key: dg.AssetKey) -> dict[str, Any]:
    node = graph.get(key)
    spec = node.assets_def.get_asset_spec(key)
    condition = node.automation_condition
    return {
        "deps": {
            dep.asset_key.to_user_string(): _mapping(node.partition_mappings.get(dep.asset_key))
            for dep in spec.deps
        },
        "group": node.group_name,
        "kinds": sorted(spec.kinds),
        "owners": sorted(node.owners),
        # Any version of the PDF reader gives the same graph.
        "code_version": re.sub(r"pymupdf [\d.]+", "pymupdf", node.code_version or ""),
        "partitions": _partitions(node.partitions_def),
        "backfill_policy": _backfill(node.backfill_policy),
        "pools": sorted(node.pools or ()),
        "automation": condition.get_label() if condition else None,
        "freshness": _freshness(spec.freshness_policy),
        "table": node.metadata.get("dagster/table_name"),
        "checks": {
            check.name: {
                "blocking": graph.get(check).blocking,
                "partitions": _partitions(graph.get(check).partitions_def),
                "description": graph.get(check).description,
            }
            for check in sorted(graph.get_check_keys_for_assets({key}), key=lambda check: check.name)
        },
    }


def _mapping(mapping: dg.PartitionMapping | None) -> str | None:
    return None if mapping is None else type(mapping).__name__


def _partitions(partitions: dg.PartitionsDefinition | None) -> Any:
    match partitions:
        case None:
            return None
        case dg.DynamicPartitionsDefinition():
            return {"dynamic": partitions.name}
        case dg.MultiPartitionsDefinition():
            dimensions = partitions.partitions_defs
            return {
                "multi": {dimension.name: _partitions(dimension.partitions_def) for dimension in dimensions}
            }
        case _:
            return {"static": list(partitions.get_partition_keys())}


def _backfill(policy: dg.BackfillPolicy | None) -> dict[str, Any] | None:
    if policy is None:
        return None
    return {"type": policy.policy_type.name, "max_partitions_per_run": policy.max_partitions_per_run}


def _freshness(policy: Any) -> dict[str, float] | None:
    if policy is None:
        return None
    windows = {"fail_after_hours": policy.fail_window, "warn_after_hours": policy.warn_window}
    return {name: window.to_timedelta().total_seconds() / 3600 for name, window in windows.items()}


def _job(job: dg.JobDefinition) -> dict[str, Any]:
    layer = job.asset_layer
    return {
        "assets": sorted(key.to_user_string() for key in layer.selected_asset_keys),
        "checks": sorted(check.to_user_string() for check in layer.asset_graph.asset_check_keys),
        "ops": sorted(node.name for node in job.nodes) if not layer.selected_asset_keys else [],
        "executor": job.executor_def.name,
        "tags": dict(sorted(job.tags.items())),
        "partitions": _partitions(job.partitions_def),
    }


def _selected(sensor: dg.SensorDefinition, graph: Any) -> list[str]:
    if not isinstance(sensor, dg.AutomationConditionSensorDefinition):
        return []
    keys = sensor.asset_selection.resolve(graph)
    return sorted(key.to_user_string() for key in keys if graph.get(key).automation_condition)


def current() -> dict[str, Any]:
    """The graph as it stands."""
    return describe(build_definitions(Settings(lake="lake", workers=1)))


def as_json(graph: dict[str, Any]) -> str:
    """``graph`` as it is kept in the golden file."""
    return json.dumps(graph, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    GOLDEN.write_text(as_json(current()), encoding="utf-8")
