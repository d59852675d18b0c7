"""What is costly and the same for many test modules, made once per test session."""

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
    Encoder(EncoderSettings(), Lake(folder)).embed_query("a text")
    encoders = folder / "models" / "encoders"
    encoders.mkdir(parents=True, exist_ok=True)
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


_sample: list[tuple[Path, Done]] = []


def sample_lake(config: pytest.Config, factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """The lake after ``finrag run`` on the generated sample, and how that run ended; for reading only.

    The run takes minutes: one process of a parallel session makes it, the others copy its lake.
    """
    if not _sample:
        base = factory.getbasetemp()
        first = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "sample_run"
        with FileLock(f"{first}.lock"):
            if not (first / "done.json").exists():
                done = finrag(new_lake(config, first / "lake"), "run", "--json")
                (first / "done.json").write_text(json.dumps(asdict(done)))
        own = factory.mktemp("sample_run") / "lake"
        shutil.copytree(first / "lake", own, symlinks=True)
        told = (first / "done.json").read_text().replace(str(first / "lake"), str(own))
        _sample.append((own, Done(**json.loads(told))))
    return _sample[0]
