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
    """A folder that ``make`` fills; for reading only. Whichever worker asks first makes it."""
    folder = session_folder(factory) / name
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            make(folder)
    return folder


def sample_lake(factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """The lake after ``finrag run`` on the generated sample, and how that run ended; for reading only.

    Whichever worker asks first makes it; the others wait, and read the same.
    """
    folder = session_folder(factory) / "sample_run"
    root, ended = folder / "lake", folder / "done.json"
    with FileLock(f"{folder}.lock"):
        if not ended.is_file():
            done = finrag(root, "run", "--json")
            shutil.copytree(root, folder / "untouched" / "lake")
            ended.write_text(json.dumps(asdict(done)), encoding="utf-8")
    return root, Done(**json.loads(ended.read_text(encoding="utf-8")))


def sample_copy(factory: pytest.TempPathFactory, root: Path) -> Path:
    """A copy at ``root`` of the lake as ``finrag run`` left it, for a test that changes it."""
    lake, _ = sample_lake(factory)
    shutil.copytree(lake.parent / "untouched" / "lake", root)
    return root
