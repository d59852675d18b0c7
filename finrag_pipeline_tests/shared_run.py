"""What is costly and the same for many test modules, made once per test session."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

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


@lru_cache(maxsize=1)
def _run_sample(root: Path) -> Done:
    return finrag(root, "run", "--json")


_sample: list[Path] = []


def sample_lake(config: pytest.Config, factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """The lake after ``finrag run`` on the generated sample, and how that run ended; for reading only."""
    if not _sample:
        _sample.append(new_lake(config, factory.mktemp("sample_run") / "lake"))
    return _sample[0], _run_sample(_sample[0])
