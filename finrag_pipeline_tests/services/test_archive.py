"""A lake that goes from one machine to another as a file."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from finrag_pipeline.errors import LakeError
from finrag_pipeline.schemas import TABLES
from finrag_pipeline.services.archive import export_lake, import_lake
from finrag_pipeline.storage.lake import Lake


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    made = Lake(tmp_path / "lake")
    made.write("folds", TABLES["folds"].empty_table(), "f")
    made.write_json(made.path("lance", "x.lance", "data.json"), {"a": 1})
    made.write_bytes(made.path("parquet", "folds", f"data.parquet.{'0' * 32}.tmp"), b"half")
    for folder in ("dagster_home", "inbox", "damaged"):
        made.write_bytes(made.path(folder, "file"), b"of this machine")
    return made


def test_a_lake_comes_as_it_went(lake: Lake, tmp_path: Path) -> None:
    archive = tmp_path / "lake.tar"
    assert export_lake(lake, archive) == 3
    other = Lake(tmp_path / "other")
    import_lake(archive, other)
    files = {str(path.relative_to(other.root)) for path in Path(other.root).rglob("*") if path.is_file()}
    assert files == {"parquet/folds/data.parquet", "lance/x.lance/data.json", "lance/.writer.lock"}
    other.verify("folds")
    assert (info := other.info("folds")) and info.fingerprint == "f"
    with pytest.raises(LakeError, match="is not empty"):
        import_lake(archive, other)


def test_what_is_no_archive_leaves_nothing(lake: Lake, tmp_path: Path) -> None:
    other, bad = Lake(tmp_path / "other"), tmp_path / "bad.tar"
    bad.write_bytes(b"no archive")
    with pytest.raises(LakeError, match=r"bad.tar cannot be unpacked"):
        import_lake(bad, other)
    with tarfile.open(bad, "w") as tar:
        tar.add(Path(lake.part_path("folds")), "../outside")
        tar.add(Path(lake.part_path("folds")), "parquet/folds/data.parquet")
    with pytest.raises(LakeError, match="cannot be unpacked"):
        import_lake(bad, other)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.tar", "lake"]
