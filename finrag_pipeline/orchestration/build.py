"""Assembly of the Dagster definitions; tests build their own by overriding settings.

Only top-level assembly belongs here. Concept: https://docs.dagster.io/guides/build/projects-and-components
"""

from datetime import timedelta
from typing import Any

import dagster as dg

from finrag_pipeline.orchestration import assets, checks, jobs, nights, sensors
from finrag_pipeline.orchestration.resources import Corpora, LakeResource, SettingsResource
from finrag_pipeline.schemas.catalogue import CATALOGUE
from finrag_pipeline.settings import Settings, get_settings

SECRETS: dict[str, Any] = {
    "service_token": True,
    "alert": True,  # an address may hold a key
    "language_model": {"key"},
    "judge": {"models": {"__all__": {"key"}}},
}
"""Settings that are neither shown nor sent."""


def build_definitions(settings: Settings | None = None) -> dg.Definitions:
    """All assets, checks, jobs, sensors, schedules and resources; by the environment without ``settings``."""
    settings = settings or get_settings()
    found = dg.load_assets_from_package_module(assets)
    return dg.Definitions(
        assets=dg.map_asset_specs(
            _with_freshness, [one for one in found if isinstance(one, dg.AssetsDefinition)]
        ),
        asset_checks=dg.load_asset_checks_from_modules([checks]),
        jobs=[*jobs.JOBS.values(), jobs.compact_lake_job],
        sensors=[*sensors.SENSORS, nights.night_sensor],
        resources={
            # Values are shown with every run; the keys of language models come from the environment.
            "settings": SettingsResource(
                values=settings.model_dump(mode="json", exclude=SECRETS, exclude_none=True)
            ),
            "lake": LakeResource(root=settings.lake),
            "corpora": Corpora(),
        },
    )


def _with_freshness(spec: dg.AssetSpec) -> dg.AssetSpec:
    """What is watched fails its freshness policy after two nights without a run."""
    if not CATALOGUE[spec.key.to_user_string()].watched:
        return spec
    policy = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=50), warn_window=timedelta(hours=26))
    return dg.apply_freshness_policy(spec, policy)
