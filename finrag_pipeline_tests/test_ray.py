"""Two nodes of a Ray cluster on this machine do the work of this process, also when one of them dies."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from finrag_pipeline.engine import RayEngine, WorkerCrashError
from finrag_pipeline.errors import FinragError
from finrag_pipeline.filings.intake import accept
from finrag_pipeline.orchestration.ahead import make_parts
from finrag_pipeline.orchestration.runs import index, ingest
from finrag_pipeline.schemas import PER_FILING
from finrag_pipeline.schemas.catalogue import INDEX_FILING
from finrag_pipeline.settings import RaySettings, Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.console import REPOSITORY
from finrag_pipeline_tests.engine_tasks import work
from finrag_pipeline_tests.test_object_store import parts, vectors

ray = pytest.importorskip(
    "ray", reason="needs the extra ray, which is large: pip install finrag_pipeline[ray]"
)

pytestmark = pytest.mark.slow
_STORE = {"object_store_memory": 100 << 20, "include_dashboard": False}


class Nodes:
    """A head that does no work, and two nodes of one CPU."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **_STORE})
        self.workers = [self.cluster.add_node(num_cpus=1, **_STORE) for _ in range(2)]

    def kill_one(self) -> None:
        if len(self.workers) == 2:
            self.cluster.remove_node(self.workers.pop(), allow_graceful=False)


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(REPOSITORY), prepend=":")
        nodes = Nodes()
        yield nodes
        ray.shutdown()
        nodes.cluster.shutdown()


def on_node(*arguments: Any) -> tuple[str, dict[str, str]]:
    return ray.get_runtime_context().get_node_id(), make_parts(*arguments)


def test_tasks_fail_alone(nodes: Nodes) -> None:
    engine = RayEngine(nodes.cluster.address)
    tasks = [("double", 1), ("raise", 2), ("double", 3)]
    first, bad, last = engine.map(work, tasks)
    assert (first, last) == (2, 6)
    assert isinstance(bad, ValueError) and str(bad) == "no 2"
    (died,) = RayEngine(nodes.cluster.address).map(work, [("exit", 0)])
    assert isinstance(died, WorkerCrashError)


def test_the_bytes_are_those_of_one_machine_although_a_node_is_killed(
    nodes: Nodes, settings: Settings, tmp_path: Path
) -> None:
    files = [
        small_filings.annual_report(tmp_path / f"{name}_2021_10K.pdf", f"{name} Corp", 2021)
        for name in ("ALDER", "BIRCH", "CEDAR", "DOGWOOD", "ELM", "FIR")
    ]
    there = settings.model_copy(
        update={"lake": str(tmp_path / "cluster"), "ray": RaySettings(address=nodes.cluster.address)}
    )
    lake = Lake(there.lake)

    def progress(stage: str, *_: Any) -> None:
        if stage == "ahead":
            nodes.kill_one()

    names = [accept(lake, file).filing for file in files]
    values = there.model_dump(mode="json", exclude_none=True)
    items = [(values, INDEX_FILING, name, {}, ["filings", "filing_pages"]) for name in names[:4]]
    landed = list(RayEngine(there.ray.address).map(on_node, items))
    assert len({node for node, _ in landed}) == 2
    assert [made["filing_pages"] for _, made in landed] == [
        info.fingerprint for name in names[:4] if (info := lake.info("filing_pages", {"filing": name}))
    ]

    done = ingest(there, files, progress)
    assert (done.failures, done.warnings, len(nodes.workers)) == ({}, [], 1)
    outcomes = {(one["asset"], one["outcome"]) for one in lake.ledger_entries()}
    assert {(name, "materialised") for name in PER_FILING} <= outcomes, "made by the nodes, committed here"
    quiet = partial(lambda *_: None)
    assert index(there, ["dense"], quiet).failures == {}

    assert ingest(settings, files, quiet).failures == index(settings, ["dense"], quiet).failures == {}
    one_machine = Lake(settings.lake)
    assert parts(lake) == parts(one_machine)
    assert vectors(lake) == vectors(one_machine) != {}


def test_no_cluster(settings: Settings) -> None:
    ray.shutdown()
    with pytest.raises(FinragError, match=r"no Ray cluster at 127\.0\.0\.1:9"):
        list(RayEngine("127.0.0.1:9").map(work, [("double", 1)]))
