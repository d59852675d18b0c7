"""Assembly of the Dagster definitions; tests build their own by overriding settings.

Only top-level assembly belongs here. Concept: https://docs.dagster.io/guides/build/projects-and-components
"""

from datetime import timedelta
from typing import Any

import dagster as dg

from finrag_pipeline.orchestration import jobs, schedules, sensors
from finrag_pipeline.orchestration.assets import (
    answering,
    benchmark,
    chunking,
    comparisons,
    indexing,
    ingestion,
    judging,
    labels,
    pages,
    reporting,
    retrieval,
    retrieval_gap,
    tables,
    training,
    tuning,
)
from finrag_pipeline.orchestration.checks import corpus as corpus_checks
from finrag_pipeline.orchestration.resources.settings import EngineResource, LakeResource, SettingsResource
from finrag_pipeline.settings import Settings, get_settings

ASSET_MODULES = (
    ingestion,
    tables,
    chunking,
    indexing,
    benchmark,
    tuning,
    pages,
    training,
    retrieval,
    answering,
    reporting,
    retrieval_gap,
    judging,
    labels,
    comparisons,
)
FRESH_ASSETS = {"page_sentences", "system_metrics"}
"""Assets whose age matters: they fail their freshness policy after two nights without a run."""


_SECRETS: dict[str, Any] = {"language_model": {"key"}, "judge": {"models": {"__all__": {"key"}}}}


def build_definitions(settings: Settings | None = None) -> dg.Definitions:
    """All assets, checks, jobs, sensors, schedules and resources.

    Args:
        settings: settings of the deployment; those of the environment when None.
    """
    settings = settings or get_settings()
    assets = [a for a in dg.load_assets_from_modules(ASSET_MODULES) if isinstance(a, dg.AssetsDefinition)]
    return dg.Definitions(
        assets=dg.map_asset_specs(_with_freshness, assets),
        asset_checks=dg.load_asset_checks_from_modules([corpus_checks]),
        jobs=[
            jobs.index_filing_job,
            jobs.index_on_demand_job,
            jobs.prepare_benchmark_job,
            jobs.sweep_job,
            jobs.publish_job,
            *jobs.TRAINING_JOBS.values(),
            *jobs.OTHER_JOBS,
            jobs.compact_lake_job,
        ],
        sensors=[
            sensors.inbox_sensor,
            sensors.failed_run_sensor,
            sensors.filing_automation,
            sensors.corpus_automation,
        ],
        schedules=[
            schedules.nightly_reindex,
            schedules.nightly_preparation,
            schedules.nightly_sweep,
            schedules.nightly_publish,
            schedules.nightly_compaction,
            *schedules.WEEKLY_TRAINING,
        ],
        resources={
            # Values are shown with every run; the keys of language models come from the environment.
            "settings": SettingsResource(values=settings.model_dump(mode="json", exclude=_SECRETS)),
            "lake": LakeResource(root=settings.lake),
            "engine": EngineResource(workers=settings.workers, timeout=settings.page_timeout),
        },
    )


def _with_freshness(spec: dg.AssetSpec) -> dg.AssetSpec:
    if spec.key.to_user_string() not in FRESH_ASSETS:
        return spec
    policy = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=50), warn_window=timedelta(hours=26))
    return dg.apply_freshness_policy(spec, policy)
