"""The inbox, tick by tick: which files become runs, and which do not."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest

from finrag_pipeline.filings.intake import SETTLED_SECONDS, STALLED_SECONDS, accept
from finrag_pipeline.filings.names import filing_id
from finrag_pipeline.orchestration import sensors
from finrag_pipeline.orchestration.partitions import filings_partitions
from finrag_pipeline.orchestration.resources import LakeResource
from finrag_pipeline.retrieval.chunk_index import searchable_filings
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.orchestration.conftest import Pipeline


def age(path: Path, seconds: float = 60.0) -> Path:
    """Date a file back, so that it counts as completely written."""
    then = time.time() - seconds
    os.utime(path, (then, then))
    return path


def drop(inbox: Path, name: str, content: bytes = b"%PDF-1.7 some bytes\n%%EOF") -> Path:
    path = inbox / name
    path.write_bytes(content)
    return age(path)


@dataclass
class Daemon:
    """Ticks the inbox sensor as Dagster's daemon does: keeps the cursor, adds partitions, drops repeated run keys."""

    pipeline: Pipeline
    cursor: str | None = None

    def __post_init__(self) -> None:
        self.run_keys: set[str] = set()

    def evaluate(self) -> dg.SensorResult:
        with dg.build_sensor_context(
            instance=self.pipeline.instance,
            definitions=self.pipeline.definitions,
            cursor=self.cursor,
            resources={"lake": LakeResource(root=self.pipeline.settings.lake)},
        ) as context:
            result = sensors.inbox_sensor(context)
        assert isinstance(result, dg.SensorResult)
        self.cursor = result.cursor
        return result

    def tick(self) -> list[str]:
        """Filings for which a run is really launched, at the first look or the second."""
        return self.look() or self.look()

    def look(self) -> list[str]:
        """Filings for which one look launches a run."""
        result = self.evaluate()
        for request in result.dynamic_partitions_requests or []:
            self.pipeline.instance.add_dynamic_partitions(request.partitions_def_name, request.partition_keys)
        launched = [r for r in result.run_requests or [] if r.run_key not in self.run_keys]
        self.run_keys |= {request.run_key for request in launched if request.run_key}
        known = self.pipeline.instance.get_dynamic_partitions(filings_partitions.name)
        assert all(request.partition_key in known for request in launched)
        return [str(request.partition_key) for request in launched]


@pytest.fixture
def daemon(pipeline: Pipeline, inbox: Path) -> Daemon:
    return Daemon(pipeline)


def test_a_file_in_the_inbox_becomes_searchable(daemon: Daemon, pipeline: Pipeline, inbox: Path) -> None:
    age(small_filings.annual_report(inbox / "ALDER_2021_10K.pdf", "Alder Corp", 2021))
    assert daemon.tick() == ["ALDER_2021_10K"]
    result = pipeline.index("ALDER_2021_10K")
    assert result.success
    assert not list(inbox.iterdir()), "a file leaves the inbox once its original is kept"
    assert daemon.tick() == []


def test_the_run_request_names_partition_key_and_origin(daemon: Daemon, inbox: Path) -> None:
    drop(inbox, "ALDER_2021_10K.pdf")
    assert not daemon.evaluate().run_requests, "the first look"
    result = daemon.evaluate()
    (request,) = result.run_requests or []
    assert request.partition_key == "ALDER_2021_10K"
    assert request.tags["finrag/origin"] == "inbox"
    assert request.run_key and request.run_key.startswith("ALDER_2021_10K:")
    (added,) = result.dynamic_partitions_requests or []
    assert (added.partitions_def_name, added.partition_keys) == ("filings", ["ALDER_2021_10K"])


def test_an_empty_or_missing_inbox_is_skipped_with_a_reason(daemon: Daemon, inbox: Path) -> None:
    for _ in range(2):
        result = daemon.evaluate()
        assert not result.run_requests and "0 files" in str(result.skip_reason)
        if inbox.exists():
            inbox.rmdir()


def test_a_file_still_being_written_waits(daemon: Daemon, inbox: Path) -> None:
    path = drop(inbox, "ALDER_2021_10K.pdf")
    path.touch()
    assert daemon.tick() == []
    age(path, SETTLED_SECONDS + 1)
    assert daemon.tick() == ["ALDER_2021_10K"]


def test_an_unchanged_file_is_asked_for_once(daemon: Daemon, inbox: Path) -> None:
    drop(inbox, "ALDER_2021_10K.pdf")
    assert daemon.tick() == ["ALDER_2021_10K"]
    for _ in range(2):
        skipped = daemon.evaluate()
        assert not skipped.run_requests and "none of them new" in str(skipped.skip_reason)


def test_a_file_that_grows_between_two_looks_waits(daemon: Daemon, inbox: Path) -> None:
    """Also when every write keeps an old date, as some copying programs do."""
    path = drop(inbox, "ALDER_2021_10K.pdf")
    for _ in range(3):
        assert daemon.look() == []
        path.write_bytes(path.read_bytes() + b"\nmore\n%%EOF")
        age(path)
    assert daemon.look() == []
    assert daemon.look() == ["ALDER_2021_10K"]


def test_a_stalled_upload_is_told_of_and_its_completion_is_taken(
    daemon: Daemon, pipeline: Pipeline, inbox: Path
) -> None:
    path = small_filings.annual_report(inbox / "ALDER_2021_10K.pdf", "Alder Corp", 2021)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    age(path, SETTLED_SECONDS + 1)
    assert daemon.tick() == [], "the rest may be on its way"
    age(path, STALLED_SECONDS + 1)
    assert daemon.tick() == ["ALDER_2021_10K"]
    assert not pipeline.index("ALDER_2021_10K").success and path.exists()
    entry = pipeline.lake.ledger_entry("filings", "ALDER_2021_10K")
    assert entry and entry["outcome"] == "failed" and "truncated" in entry["error"] and entry["remedy"]

    path.write_bytes(whole)
    age(path, SETTLED_SECONDS + 1)
    assert daemon.tick() == ["ALDER_2021_10K"]
    assert pipeline.index("ALDER_2021_10K").success and not path.exists()
    assert pipeline.lake.ledger_entry("filings", "ALDER_2021_10K")["outcome"] == "materialised"


def test_a_refused_file_is_not_tried_again_until_it_changes(pipeline: Pipeline, inbox: Path) -> None:
    small = pipeline.configured(max_filing_bytes=100)
    daemon = Daemon(small)
    path = drop(inbox, "HUGE_2021_10K.pdf", b"%PDF-1.7" + b"x" * 194 + b"\n%%EOF")
    assert daemon.tick() == ["HUGE_2021_10K"]
    result = small.index("HUGE_2021_10K")
    assert not result.success and path.exists(), "a refused file stays where people find it"
    entry = small.lake.ledger_entry("filings", "HUGE_2021_10K")
    assert entry and entry["outcome"] == "failed"
    assert "HUGE_2021_10K.pdf has 208 bytes; the limit is 100." in entry["error"]
    assert "FINRAG_MAX_FILING_BYTES" in entry["remedy"]

    assert daemon.tick() == [] and daemon.tick() == []
    drop(inbox, "HUGE_2021_10K.pdf", b"%PDF-1.7 smaller\n%%EOF")
    assert daemon.tick() == ["HUGE_2021_10K"]


@pytest.mark.parametrize("empty_tick", [False, True])
def test_going_back_to_an_earlier_version_runs_again(
    daemon: Daemon, inbox: Path, tmp_path: Path, empty_tick: bool
) -> None:
    """Also with a copy that keeps its modification time: Dagster never repeats a run key."""
    first, second = tmp_path / "first.pdf", tmp_path / "second.pdf"
    first.write_bytes(b"%PDF-1.7 first\n%%EOF")
    second.write_bytes(b"%PDF-1.7 second\n%%EOF")
    for path in (first, second):
        age(path)
    for version in (first, second, first, first):
        shutil.copy2(version, inbox / "ALDER_2021_10K.pdf")
        assert daemon.tick() == ["ALDER_2021_10K"]
        (inbox / "ALDER_2021_10K.pdf").unlink()  # as the run does
        if empty_tick:
            assert daemon.tick() == []


def test_many_files_come_a_few_per_tick_and_none_is_forgotten(
    daemon: Daemon, inbox: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensors, "MAX_PER_TICK", 4)
    names = {f"F{n:02d}_2021_10K" for n in range(10)}
    for name in names:
        drop(inbox, f"{name}.pdf")
    ticks = [daemon.tick() for _ in range(4)]
    assert [len(tick) for tick in ticks] == [4, 4, 2, 0]
    assert {filing for tick in ticks for filing in tick} == names


def test_what_is_no_filing_is_left_alone(daemon: Daemon, inbox: Path) -> None:
    drop(inbox, ".ALDER_2021_10K.pdf")
    drop(inbox, "notes.txt")
    drop(inbox, "ALDER_2021_10K.pdf.part")
    drop(inbox, "README.md")
    (inbox / "folder.pdf").mkdir()
    assert daemon.tick() == []
    drop(inbox, "ALDER_2021_10K.PDF")
    drop(inbox, "BIRCH_2022_10K.jsonl", b'{"doc": "BIRCH", "page": 0, "text": "x"}')
    assert sorted(daemon.tick()) == ["ALDER_2021_10K", "BIRCH_2022_10K"]


def test_a_filing_that_comes_twice_is_taken_twice_and_the_pdf_stays(
    daemon: Daemon, pipeline: Pipeline, inbox: Path
) -> None:
    small_filings.write_lines(
        inbox / "ALDER_2021_10K.jsonl",
        [{"doc": "ALDER_2021_10K", "page": 0, "text": "Page text of Alder Corp."}],
    )
    age(inbox / "ALDER_2021_10K.jsonl")
    age(small_filings.annual_report(inbox / "ALDER_2021_10K.pdf", "Alder Corp", 2021))
    for _ in range(2):
        assert daemon.tick() == ["ALDER_2021_10K"]
        assert pipeline.index("ALDER_2021_10K").success
    assert daemon.tick() == [] and not list(inbox.iterdir())
    (row,) = pipeline.lake.read("filings", {"filing": "ALDER_2021_10K"}).to_pylist()
    assert (row["source"], row["pages"]) == ("pdf", 3)


ODD_NAMES = (
    'O\'Neil & "Sons" 10-K 2021.pdf',
    "Société Générale – rapport 2022.pdf",
    "日本株式会社_2022_10K.pdf",
    "  spaces  .pdf",
    "a=b?c#d%20.pdf",
    "up..one .. level.pdf",
    "semi;colon,comma|bar.pdf",
    "emoji 📄.pdf",
    "x" * 240 + ".pdf",
)


def test_odd_names_go_all_the_way(daemon: Daemon, pipeline: Pipeline, inbox: Path) -> None:
    for number, name in enumerate(ODD_NAMES):
        age(small_filings.annual_report(inbox / name, f"Odd Name {number} Corp", 2000 + number))
    filings = daemon.tick()
    assert sorted(filings) == sorted(filing_id(name) for name in ODD_NAMES)
    assert len(set(filings)) == len(ODD_NAMES)
    for name in (ODD_NAMES[0], ODD_NAMES[1], ODD_NAMES[-1]):
        filing = filing_id(name)
        result = pipeline.index(filing)
        assert result.success
        (row,) = pipeline.lake.read("filings", {"filing": filing}).to_pylist()
        assert (row["filing"], row["file_name"], row["status"]) == (filing, name, "ok")
    assert not (inbox / ODD_NAMES[0]).exists() and (inbox / ODD_NAMES[2]).exists()


def test_a_file_that_is_there_under_another_name_is_one_filing(pipeline: Pipeline, tmp_path: Path) -> None:
    first = small_filings.annual_report(tmp_path / "ALDER_2021_10K.pdf", "Alder Corp", 2021)
    assert pipeline.index(pipeline.accept(first)).success
    (tmp_path / "copy.pdf").write_bytes(first.read_bytes())
    assert accept(pipeline.lake, tmp_path / "copy.pdf").filing == "ALDER_2021_10K"
    pipeline.instance.add_dynamic_partitions("filings", ["copy"])
    result = pipeline.index("copy")
    assert result.success and not result.get_asset_materialization_events()
    entry = pipeline.lake.ledger_entry("filings", "copy")
    assert (
        entry and entry["outcome"] == "skipped" and "same file as filing 'ALDER_2021_10K'" in entry["error"]
    )
    assert searchable_filings(pipeline.lake) == ("ALDER_2021_10K",)
