"""The watch-list: from what companies file to what is found by a search, with nobody doing anything."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import dagster as dg
import pytest

from finrag_pipeline.errors import EdgarError
from finrag_pipeline.orchestration import sensors
from finrag_pipeline.orchestration.resources import LakeResource, SettingsResource
from finrag_pipeline.services.search import Searcher
from finrag_pipeline_tests.edgar_server import TEN, sec
from finrag_pipeline_tests.language_models.server import Reply
from finrag_pipeline_tests.orchestration.conftest import Pipeline
from finrag_pipeline_tests.orchestration.test_sensors import Daemon, age

FILED = (TEN[0], TEN[6], TEN[7])
"""A report, a release and a report with an exhibit, of both companies; `filings/test_edgar.py` fetches all ten."""


def tick(pipeline: Pipeline) -> str:
    """Why the sensor launches nothing itself."""
    values = pipeline.settings.model_dump(mode="json", exclude_none=True)
    with dg.build_sensor_context(
        instance=pipeline.instance,
        resources={
            "lake": LakeResource(root=pipeline.settings.lake),
            "settings": SettingsResource(values=values),
        },
    ) as context:
        skipped = sensors.edgar_sensor(context)
    assert isinstance(skipped, dg.SkipReason)
    return str(skipped.skip_message)


def test_filings_become_searchable_without_a_click(pipeline: Pipeline, inbox: Path) -> None:
    with sec(*FILED) as server:
        watching = pipeline.configured(edgar=server.settings())
        assert "3 of 3" in tick(watching)
        for path in inbox.iterdir():
            age(path)
        launched = Daemon(watching).tick()
        assert sorted(launched) == sorted(one.filing for one in FILED)
        for filing in launched:
            assert watching.index(filing).success
        assert not list(inbox.iterdir())

        searcher = Searcher(watching.settings)
        for one in FILED:
            hit = searcher.search(f"the {one.about} plant", "bm25", 1).results[0]
            assert (hit["filing"], hit["page"]) == (one.filing, 1)
        (hit,) = searcher.search("the Garnet line", "bm25", 1).results
        assert hit["filing"] == TEN[6].filing, "the release belongs to its 8-K"

        assert "0 of 3" in tick(watching)
        assert set(Counter(server.documents()).values()) == {1}


def test_a_tick_that_is_refused_fails_and_keeps_what_came(pipeline: Pipeline, inbox: Path) -> None:
    with sec(TEN[0], TEN[2]) as server:
        server.faults[TEN[2].folder + TEN[2].document] = [Reply(403, b"no")]
        watching = pipeline.configured(edgar=server.settings(watch="TVXL"))
        with pytest.raises(EdgarError, match="403"):
            tick(watching)
        assert [path.stem for path in inbox.iterdir()] == [TEN[0].filing]
        assert "1 of 2" in tick(watching)
        assert len(list(inbox.iterdir())) == 2
