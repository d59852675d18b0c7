"""A lake and a Dagster instance of one's own per test, with the repository's ``dagster.yaml``."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pytest

from finrag_pipeline.evaluation.benchmark import register_benchmark
from finrag_pipeline.filings.intake import accept
from finrag_pipeline.orchestration.build import build_definitions
from finrag_pipeline.orchestration.instance import dagster_home, open_instance
from finrag_pipeline.orchestration.partitions import FOLD_COUNT, filings_partitions
from finrag_pipeline.orchestration.resources import Corpora
from finrag_pipeline.retrieval.systems import get_system
from finrag_pipeline.schemas import PER_FILING, TABLES
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.indexed_lake import IndexedLake

_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass
class Pipeline:
    """The definitions on a lake and an instance of their own."""

    settings: Settings
    instance: dg.DagsterInstance
    definitions: dg.Definitions = field(init=False)

    def __post_init__(self) -> None:
        self.definitions = build_definitions(self.settings)

    @property
    def lake(self) -> Lake:
        return Lake(self.settings.lake)

    def configured(self, **changes: Any) -> Pipeline:
        """The same lake and instance under other settings."""
        return Pipeline(self.settings.model_copy(update=changes), self.instance)

    def accept(self, path: Path) -> str:
        """Bring a file into the lake; the identifier of its filing."""
        filing = accept(self.lake, path).filing
        self.instance.add_dynamic_partitions(filings_partitions.name, [filing])
        return filing

    def run(self, job: str, **options: Any) -> dg.ExecuteInProcessResult:
        """Run a job in this process, whatever its end."""
        return self.definitions.resolve_job_def(job).execute_in_process(
            instance=self.instance, run_config=_QUIET, raise_on_error=False, **options
        )

    def index(self, filing: str) -> dg.ExecuteInProcessResult:
        """Run the per-filing job."""
        return self.run("index_filing", partition_key=filing)

    def index_chunks(self, filing: str) -> dg.ExecuteInProcessResult:
        """Make the vectors of the fixed chunks, as systems that read them ask for."""
        vectors = [dg.AssetKey("chunk_index")]
        result = self.run("index_on_demand", partition_key=filing, asset_selection=vectors)
        assert result.success
        return result


@contextmanager
def opened(settings: Settings) -> Iterator[Pipeline]:
    """The definitions on the lake and the instance of ``settings``, as the command line opens it."""
    with open_instance(settings) as instance:
        yield Pipeline(settings, instance)


@dataclass(frozen=True)
class Made:
    """What a run said of one asset."""

    version: str
    metadata: dict[str, Any]
    partition: str | None


def made(result: dg.ExecuteInProcessResult) -> dict[str, Made]:
    """Every materialisation of a run, by asset."""
    found = {}
    for event in result.get_asset_materialization_events():
        materialization = event.materialization
        found[materialization.asset_key.to_user_string()] = Made(
            (materialization.tags or {})["dagster/data_version"],
            {name: value.value for name, value in materialization.metadata.items()},
            materialization.partition,
        )
    return found


def caches(result: dg.ExecuteInProcessResult) -> dict[str, str]:
    """hit or miss per asset of a per-filing run."""
    return {asset: made(result)[asset].metadata["cache"] for asset in PER_FILING}


def failure_text(result: dg.ExecuteInProcessResult) -> str:
    """What Dagster shows for the step that failed."""
    data = next(event.step_failure_data for event in result.all_events if event.is_step_failure)
    description = data.user_failure_data.description if data.user_failure_data else None
    return description or data.error.to_string()


EMPTY = {"string": "", "int32": 0, "int64": 0, "double": 0.0, "float": 0.0, "bool": False}


def rows(table: str, *values: dict) -> pa.Table:
    """Rows of a table, with a value of the right type where one must be."""
    schema = TABLES[table]
    blank = {field.name: None if field.nullable else EMPTY.get(str(field.type), []) for field in schema}
    return pa.Table.from_pylist([blank | one for one in values], schema)


@pytest.fixture(scope="module", autouse=True)
def figures(unrendered: None) -> None:
    """No test here looks at a picture."""


@pytest.fixture(scope="session")
def blank_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of an instance that has run nothing; to make its tables takes four times as long as to copy them."""
    home = dagster_home(Settings(lake=str(tmp_path_factory.mktemp("blank") / "lake")))
    with dg.DagsterInstance.from_config(str(home)) as instance:
        instance.get_runs(limit=1)
        instance.get_dynamic_partitions("filings")
        instance.all_instigator_state()
    return home


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blank_home: Path) -> Iterator[Pipeline]:
    root = tmp_path / "lake"
    shutil.copytree(blank_home, root / "dagster_home")
    monkeypatch.setenv("FINRAG_LAKE", str(root))
    monkeypatch.setenv("DAGSTER_HOME", str(root / "dagster_home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    settings = Settings(lake=str(root), workers=1)
    with opened(settings) as found:
        yield found


@pytest.fixture
def inbox(pipeline: Pipeline) -> Path:
    folder = pipeline.lake.local_path("inbox")
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def answering(
    indexed: IndexedLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blank_home: Path
) -> Iterator[Pipeline]:
    """A lake with a benchmark whose rankings of `finrag` are made up: every question, the first chunks there are."""
    root = tmp_path / "lake"
    shutil.copytree(indexed.lake.root, root)
    shutil.copytree(blank_home, root / "dagster_home", dirs_exist_ok=True)
    settings = indexed.settings.model_copy(update={"lake": str(root)})
    lake, names = Lake(settings.lake), indexed.filings
    for keys in lake.partitions("retrieval_runs"):  # the lake is shared: other tests may have searched it
        lake.remove("retrieval_runs", keys)
    for name in names:
        keys = {"filing": name}
        lake.write(
            "filings",
            rows("filings", {"filing": name, "status": "ok", "company": name.split("_")[0]}),
            "x",
            keys,
        )
        lake.write("statement_facts", rows("statement_facts"), "x", keys)
    (tmp_path / "questions.jsonl").write_text("{}")
    register_benchmark(lake, "small", names, tmp_path / "questions.jsonl", None)
    asked = [
        {**question, "answer": "5", "question_type": "t", "company": "Alder", "status": "measured"}
        for question in indexed.questions
    ]
    lake.write("benchmark_questions", rows("benchmark_questions", *asked), "q")
    folds = [{**question, "fold": n % FOLD_COUNT} for n, question in enumerate(asked)]
    lake.write(
        "folds", rows("folds", *({k: f[k] for k in ("question_id", "filing", "fold")} for f in folds)), "f"
    )
    chunks = (
        Corpora()
        .corpus(settings, lake, tuple(sorted(names)), get_system("finrag"))
        .chunks.slice(0, 4)
        .to_pylist()
    )
    for fold in range(FOLD_COUNT):
        ranked = [
            {"system": "finrag", "space": space, "question_id": question["question_id"], "rank": rank,
             **{k: chunk[k] for k in ("chunk_id", "filing", "page")}}
            for space in ("corpus", "filing", "pages")
            for question in folds if question["fold"] == fold
            for rank, chunk in enumerate(chunks, start=1)
        ]  # fmt: skip
        lake.write(
            "retrieval_runs",
            rows("retrieval_runs", *ranked),
            "r",
            {"system": "finrag", "fold": f"fold_{fold}"},
        )
    monkeypatch.setenv("FINRAG_LAKE", str(root))
    monkeypatch.setenv("DAGSTER_HOME", str(root / "dagster_home"))
    with opened(settings) as found:
        yield found
