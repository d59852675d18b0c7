"""Damage on disk: it is found against the checksums, set aside, and made again as it was."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest

from finrag_pipeline.commands.upkeep import _damage
from finrag_pipeline.errors import DamageError
from finrag_pipeline.filings.originals import get_source, original_path
from finrag_pipeline.orchestration.partitions import FILINGS
from finrag_pipeline.orchestration.runs import RunReport, index, ingest
from finrag_pipeline.services.damage import find_damage
from finrag_pipeline.services.search import Searcher
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests import small_filings
from finrag_pipeline_tests.orchestration.conftest import Pipeline

FILING = "ALDER_2021_10K"


def flip(path: Path) -> None:
    """Change bytes in the middle, as a disk does; the end of a part, which says what it is, stays whole."""
    data = bytearray(path.read_bytes())
    for place in range(len(data) // 8, len(data) // 4):
        data[place] ^= 0xFF
    path.write_bytes(data)


def silent(*_: object) -> None:
    """No progress."""


def contents(lake: Lake) -> dict[str, str]:
    """Hash of every part of the lake."""
    base = Path(lake.root, "parquet")
    return {
        str(path.relative_to(base)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in base.rglob("data.parquet")
        if "embeddings" not in path.parts
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of two files, and of a lake of them with the vectors of their chunks; for copying only."""
    folder = tmp_path_factory.mktemp("whole")
    files = [
        small_filings.annual_report(folder / f"{FILING}.pdf", "Alder Corp", 2021),
        small_filings.annual_report(folder / "BIRCH_2021_10K.pdf", "Birch Corp", 2021),
    ]
    settings = Settings(lake=str(folder / "lake"), workers=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", str(folder / "lake" / "dagster_home"))
        ingest(settings, files, silent)
        index(settings, ["dense"], silent)
    return folder


@pytest.fixture
def filed(pipeline: Pipeline, whole: Path) -> Pipeline:
    """A lake of one's own like that one, in an instance that has run nothing."""
    for path in (whole / "lake").iterdir():
        # The warehouse has views of the lake that it was made for.
        if path.is_dir() and path.name != "dagster_home":
            shutil.copytree(path, Path(pipeline.lake.root) / path.name, dirs_exist_ok=True)
    pipeline.instance.add_dynamic_partitions(FILINGS, [FILING, "BIRCH_2021_10K"])
    assert not any(find_damage(pipeline.lake))
    return pipeline


def part(lake: Lake, table: str) -> Path:
    return Path(lake.part_path(table, {"filing": FILING}))


def fragment(lake: Lake) -> Path:
    return sorted(Path(lake.root, "lance").glob("fixed*/data/*.lance"))[0]


@pytest.mark.slow
def test_a_run_that_meets_damage_makes_it_again_and_says_so(filed: Pipeline, tmp_path: Path) -> None:
    lake, before = filed.lake, contents(filed.lake)
    flip(part(lake, "filing_chunks"))
    fragment(lake).unlink()
    with pytest.raises(DamageError, match=r"filing_chunks .* is damaged") as caught:
        Searcher(filed.settings).search("revenue of Alder", "bm25", 3)
    assert "finrag doctor --heal" in caught.value.remedy

    other = small_filings.annual_report(tmp_path / "CEDAR_2021_10K.pdf", "Cedar Corp", 2021)
    done = ingest(filed.settings, [other], silent)
    assert (done.indexed, done.failures) == (["CEDAR_2021_10K"], {}), "another filing is not held up"
    done: RunReport = index(filed.settings, ["dense"], silent)
    assert not done.failures
    assert sum("was damaged and is set aside; it is made again" in told for told in done.warnings) == 2
    assert {name: contents(lake)[name] for name in before} == before
    assert not any(find_damage(lake)) and not lake.set_aside_paths()
    found = Searcher(filed.settings).search("revenue of Alder", "dense", 3)
    assert found.results[0]["filing"] == FILING and not found.warnings


@pytest.mark.slow
def test_the_doctor_finds_what_is_damaged_and_heals_what_can_be_made_again(
    filed: Pipeline, whole: Path
) -> None:
    lake, before = filed.lake, contents(filed.lake)
    original = Path(original_path(lake, get_source(lake, FILING)))
    for path in (part(lake, "page_tables"), part(lake, "page_profiles"), fragment(lake)):
        flip(path)
    found = _damage(filed.settings, heal=False)
    assert [one["status"] for one in found] == ["broken"] * 3
    for name in ("page_tables", "page_profiles", "vector index"):
        assert any(name in one["found"] and one["remedy"] for one in found), name
    assert contents(lake) != before, "it was looked at, not changed"
    assert [one["status"] for one in _damage(filed.settings, heal=True)] == ["ok"] * 4
    assert contents(lake) == before

    # A reader repairs a damaged file, into other pages: nothing is made of one.
    flip(original)
    flip(part(lake, "filing_pages"))
    left, lost = _damage(filed.settings, heal=True)
    assert "ALDER_2021_10K.pdf" in left["found"] and "Ingest its file again" in left["remedy"]
    assert "cannot be made again" in lost["found"] and (left["status"], lost["status"]) == (
        "broken",
        "broken",
    )
    ingest(filed.settings, [whole / f"{FILING}.pdf"], silent)
    assert not any(find_damage(lake))
    assert contents(lake) == before
