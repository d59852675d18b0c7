"""What is costly and the same for many test modules, made once per test session and shared by its workers."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

import pytest
from filelock import FileLock

from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.settings import EncoderSettings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.console import Done, finrag


@lru_cache(maxsize=1)
def _converted(folder: Path) -> Path:
    encoders = folder / "models" / "encoders"
    encoders.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / ".converting.lock"):  # the workers begin at once
        Encoder(EncoderSettings(), Lake(folder)).embed_query("a text")
    return encoders


def new_lake(config: pytest.Config, root: Path) -> Path:
    """An empty lake at ``root`` with the encoder ready for use.

    Converting the model for the fast backend takes half a minute. The result is named by the model's
    fingerprint, so pytest's cache folder keeps it for the next session.
    """
    assert config.cache is not None
    encoders = _converted(Path(config.cache.mkdir("encoder")))
    (root / "models").mkdir(parents=True)
    (root / "models" / "encoders").symlink_to(encoders, target_is_directory=True)
    return root


def session_folder(factory: pytest.TempPathFactory) -> Path:
    """A folder of this test session that all its workers see."""
    base = factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


def sample_lake(config: pytest.Config, factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """The lake after ``finrag run`` on the generated sample, and how that run ended; for reading only.

    Whichever worker asks first makes it; the others wait, and read the same.
    """
    folder = session_folder(factory) / "sample_run"
    root, ended = folder / "lake", folder / "done.json"
    with FileLock(f"{folder}.lock"):
        if not ended.is_file():
            done = finrag(new_lake(config, root), "run", "--json")
            shutil.copytree(root, folder / "untouched" / "lake", symlinks=True)
            ended.write_text(json.dumps(asdict(done)), encoding="utf-8")
    return root, Done(**json.loads(ended.read_text(encoding="utf-8")))


def sample_copy(config: pytest.Config, factory: pytest.TempPathFactory, root: Path) -> Path:
    """A copy at ``root`` of the lake as ``finrag run`` left it, for a test that changes it."""
    lake, _ = sample_lake(config, factory)
    shutil.copytree(lake.parent / "untouched" / "lake", root, symlinks=True)
    return root
