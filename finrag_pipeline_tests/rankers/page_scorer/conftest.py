from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from finrag_pipeline.settings import EncoderSettings, PageScorerSettings, Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.torch_threads import one_thread as one_thread


@pytest.fixture
def scorer_settings(lake: Lake, tiny_encoder_settings: EncoderSettings) -> Settings:
    """Settings under which the tiny encoder learns within a few steps."""
    scorer = PageScorerSettings(
        batch_size=4, epochs=3, learning_rate=5e-3, negatives=("filing",), checkpoint_seconds=0
    )
    return Settings(lake=lake.root, encoder=tiny_encoder_settings, page_scorer=scorer, workers=1)


@pytest.fixture
def fresh_model(tiny_model: Path) -> Callable[[], Any]:
    """Makes the tiny model anew."""
    from finrag_pipeline.rankers.page_scorer.model import load_model

    return lambda: load_model(tiny_model, 32)
