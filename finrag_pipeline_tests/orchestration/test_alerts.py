"""Who is told of what nobody watches: a command or an address of the settings."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.freshness import FreshnessState

from finrag_pipeline.orchestration import sensors
from finrag_pipeline.orchestration.resources import LakeResource
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.language_models.server import Reply, endpoint
from finrag_pipeline_tests.orchestration.conftest import Pipeline


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a command of the settings has got."""
    path = tmp_path / "told.json"
    code = f"import sys; open({str(path)!r}, 'w').write(sys.stdin.read())"
    monkeypatch.setenv("FINRAG_ALERT", f'{sys.executable} -c "{code}"')
    sensors.get_settings.cache_clear() if hasattr(sensors.get_settings, "cache_clear") else None
    return path


def test_an_address_gets_json() -> None:
    with endpoint(Reply(200)) as server:
        sensors.tell(server.base_url, "finrag: index_filing A failed.", run="r1")
    assert server.requests == [{"text": "finrag: index_filing A failed.", "run": "r1"}]


def test_a_failed_run_is_told_unless_somebody_watches_it(
    pipeline: Pipeline, tmp_path: Path, told: Path
) -> None:
    bad = pipeline.accept(small_filings.zero_bytes(tmp_path / "BAD_2020_10K.pdf"))
    for watched in (True, False):
        tags = {sensors.PROCESS_TAG: "host:1:1"} if watched else {}
        result = pipeline.run("index_filing", partition_key=bad, tags=tags)
        run, event = result.dagster_run, next(e for e in result.all_events if e.is_run_failure)
        context = dg.build_run_status_sensor_context(
            sensor_name="failed_run_sensor",
            dagster_event=event,
            dagster_instance=pipeline.instance,
            dagster_run=run,
            resources={"lake": LakeResource(root=pipeline.settings.lake)},
        ).for_run_failure()
        sensors.failed_run_sensor(context)
        assert told.exists() is not watched
    message = json.loads(told.read_text())
    assert message["run"] == run.run_id and message["text"].startswith(
        "finrag: index_filing BAD_2020_10K failed."
    )


def test_what_is_too_old_is_told_once(
    pipeline: Pipeline, told: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Record:
        freshness_state = FreshnessState.FAIL

    old = {sensors._WATCHED[0]: Record()}
    monkeypatch.setattr(type(pipeline.instance), "get_freshness_state_records", lambda self, keys: old)
    cursor = None
    for expected in (True, False):
        with dg.build_sensor_context(instance=pipeline.instance, cursor=cursor) as context:
            result = sensors.freshness_sensor(context)
        assert told.exists() is expected
        told.unlink(missing_ok=True)
        cursor = result.cursor
