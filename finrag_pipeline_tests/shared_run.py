"""What is costly and the same for many test modules, made once per test session and shared by its workers."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from filelock import FileLock

from finrag_pipeline_tests.console import Done, finrag


def session_folder(factory: pytest.TempPathFactory) -> Path:
    """A folder of this test session that all its workers see."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that ``make`` fills; for reading only.

    Whichever worker asks first makes it; the others wait, and read the same. What failed is made anew.
    """
    folder = session_folder(factory) / name
    made = folder.with_name(f"{name}.made")
    with FileLock(f"{folder}.lock"):
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)
            make(folder)
            made.touch()
    return folder


def sample_lake(factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """The lake after ``finrag run`` on the generated sample, and how that run ended; for reading only."""
    folder = made_once(factory, "sample_run", _run_sample)
    return folder / "lake", Done(**json.loads((folder / "done.json").read_text(encoding="utf-8")))


def _run_sample(folder: Path) -> None:
    done = finrag(folder / "lake", "run", "--json", FINRAG_WORKERS="2")  # with a second process
    shutil.copytree(folder / "lake", folder / "untouched" / "lake")
    (folder / "done.json").write_text(json.dumps(asdict(done)), encoding="utf-8")


def sample_copy(factory: pytest.TempPathFactory, root: Path) -> Path:
    """A copy at ``root`` of the lake as ``finrag run`` left it, for a test that changes it."""
    lake, _ = sample_lake(factory)
    shutil.copytree(lake.parent / "untouched" / "lake", root)
    return root
