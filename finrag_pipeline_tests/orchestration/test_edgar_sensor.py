"""The watch-list: from what companies file to what is found by a search, with nobody doing anything."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest

from finrag_pipeline.errors import EdgarError
from finrag_pipeline.filings import edgar
from finrag_pipeline.orchestration import sensors
from finrag_pipeline.orchestration.resources import LakeResource, SettingsResource
from finrag_pipeline.services.search import Searcher
from finrag_pipeline_tests.edgar_server import TEN, UNDECLARED, sec
from finrag_pipeline_tests.language_models.server import Reply
from finrag_pipeline_tests.orchestration.conftest import Pipeline
from finrag_pipeline_tests.orchestration.test_sensors import Daemon, age

pytestmark = pytest.mark.slow


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


def test_ten_filings_become_searchable_without_a_click_through_all_faults(
    pipeline: Pipeline, inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edgar, "_pause", lambda _: 0.0)
    ahead = dt.datetime.now(dt.UTC) + dt.timedelta(days=400)
    ten = (*TEN[:9], replace(TEN[9], accepted=f"{ahead:%Y-%m-%dT%H:%M:%S}.000Z"))
    amended, main = ten[1], [one.folder + one.document for one in ten]
    with sec(*(one for one in ten if one != amended)) as server:
        server.faults = {
            main[2]: [Reply(403, UNDECLARED, "text/html")],
            main[4]: [Reply(403, b"Forbidden", "text/plain")],
            main[5]: [Reply(429, b"slow down", headers=(("Retry-After", "1"),))],
            main[6]: [Reply(body=b"<html><body>cut short", announced=4000)],
            main[8]: [Reply(body=b"<html><body>cut short by the header</body></html>", announced=30)],
        }
        watching = pipeline.configured(edgar=server.settings())
        for refused in ("undeclared", "403"):
            with pytest.raises(EdgarError, match=refused):
                tick(watching)
        assert "of 9" in tick(watching)
        server.file(*ten)
        assert "1 of 10" in tick(watching), "what was amended the next day"
        for path in inbox.iterdir():
            age(path)
        launched = Daemon(watching).tick()
        assert sorted(launched) == sorted(one.filing for one in ten)
        for filing in launched:
            assert watching.index(filing).success
        assert not list(inbox.iterdir())

        searcher = Searcher(watching.settings)
        for one in ten:
            hit = searcher.search(f"the {one.about} plant", "bm25", 1).results[0]
            assert (hit["filing"], hit["page"]) == (one.filing, 1)
        (hit,) = searcher.search("the Garnet line", "bm25", 1).results
        assert hit["filing"] == ten[6].filing, "the release belongs to its 8-K"

        assert "0 of 10" in tick(watching)
        cut = Counter({main[6]: 1, main[8]: 1})
        assert set((Counter(server.documents()) - cut).values()) == {1}, "nothing is fetched twice"


def test_a_tick_that_is_refused_fails_and_keeps_what_came(pipeline: Pipeline, inbox: Path) -> None:
    with sec(TEN[0], TEN[2]) as server:
        server.faults[TEN[2].folder + TEN[2].document] = [Reply(403, b"no")]
        watching = pipeline.configured(edgar=server.settings(watch="TVXL"))
        with pytest.raises(EdgarError, match="403"):
            tick(watching)
        assert [path.stem for path in inbox.iterdir()] == [TEN[0].filing]
        assert "1 of 2" in tick(watching)
        assert len(list(inbox.iterdir())) == 2
