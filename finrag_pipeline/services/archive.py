"""A lake as one file: to move it to another machine, or to keep it."""

from __future__ import annotations

import shutil
import tarfile
import uuid
from pathlib import Path

from finrag_pipeline.errors import LakeError
from finrag_pipeline.storage.lake import TEMPORARY, Lake
from finrag_pipeline.storage.vectors import one_writer

LEFT_BEHIND = frozenset({"dagster_home", "inbox", "damaged", "sources"})
"""Folders of one machine: the history of its runs, files that wait, damaged ones, sources."""


def export_lake(lake: Lake, archive: Path) -> int:
    """Write a local lake to a tar file, what is `LEFT_BEHIND` excepted; how many files it holds.

    Every part is whole; what runs add meanwhile may be missing, and is made again where it is imported.

    Raises:
        LakeError: there is no lake, it is not local, or the file cannot be written.
    """
    root = lake.required().local_path()
    if archive.is_dir():
        raise LakeError(f"{archive} is a folder.", "Name a file, such as lake.tar.")
    beside = archive.with_name(f"{archive.name}.{uuid.uuid4().hex}.tmp")
    try:
        with one_writer(lake.uri("lance")), tarfile.open(beside, "w") as tar:
            files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
            inside = [path.relative_to(root) for path in files]
            kept = [
                path
                for path in inside
                if path.parts[0] not in LEFT_BEHIND and not any(map(TEMPORARY.search, path.parts))
            ]
            for path in kept:
                tar.add(root / path, str(path), recursive=False)
        beside.replace(archive)
    except OSError as error:
        raise LakeError(
            f"{archive} cannot be written: {error}.", "Check permissions and free space."
        ) from error
    finally:
        beside.unlink(missing_ok=True)
    return len(kept)


def import_lake(archive: Path, lake: Lake) -> None:
    """Unpack what `export_lake` has written where there is no lake yet.

    Raises:
        LakeError: there is something, or the file is no such archive.
    """
    root = lake.local_path()
    if root.exists() and any(root.iterdir()):
        raise LakeError(f"{root} is not empty.", "Name another folder: finrag --lake FOLDER import …")
    beside = root.with_name(f"{root.name}.{uuid.uuid4().hex}.tmp")
    try:
        with tarfile.open(archive) as tar:
            if "parquet" not in {Path(name).parts[0] for name in tar.getnames()}:
                raise LakeError(f"{archive} holds no lake.", "Take a file that 'finrag export' has written.")
            tar.extractall(beside, filter="data")  # refuses paths that would leave the folder
        if root.exists():
            root.rmdir()
        beside.rename(root)
    except (tarfile.TarError, OSError) as error:
        reason = f"{archive} cannot be unpacked: {error}."
        raise LakeError(reason, "Take a file that 'finrag export' has written; check free space.") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
