"""What is costly and the same for many test modules, made once per test session."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.settings import EncoderSettings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.console import Done, finrag

_first: dict[str, Path] = {}


def _folder(factory: pytest.TempPathFactory, name: str) -> Path:
    if name not in _first:
        _first[name] = factory.mktemp(name)
    return _first[name]


@lru_cache(maxsize=1)
def _converted(root: Path) -> Path:
    # The first embedding converts the model; every lake of the session shares the result.
    Encoder(EncoderSettings(), Lake(root)).embed(["a text"])
    models = root / "models"
    models.mkdir(exist_ok=True)
    return models


def new_lake(factory: pytest.TempPathFactory, root: Path) -> Path:
    """An empty lake at ``root`` with the encoder ready for use."""
    root.mkdir(parents=True)
    (root / "models").symlink_to(_converted(_folder(factory, "encoder")), target_is_directory=True)
    return root


@lru_cache(maxsize=1)
def _sample(root: Path) -> Done:
    return finrag(root, "run", "--json")


def sample_lake(factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """The lake after ``finrag run`` on the generated sample, and how that run ended; for reading only."""
    folder = _folder(factory, "sample_run")
    root = folder / "lake"
    if not root.exists():
        new_lake(factory, root)
    return root, _sample(root)
