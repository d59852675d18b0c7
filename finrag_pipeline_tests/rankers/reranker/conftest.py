from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from finrag_pipeline.settings import EncoderSettings, RerankerTrainingSettings, Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.torch_threads import one_thread as one_thread


@pytest.fixture
def training_settings(lake: Lake, tiny_encoder_settings: EncoderSettings) -> Settings:
    """Settings under which the tiny encoder becomes a cross-encoder within a few steps."""
    training = RerankerTrainingSettings(
        batch_size=4, epochs=2, learning_rate=5e-3, negatives=("filing",), checkpoint_seconds=0
    )
    return Settings(lake=lake.root, encoder=tiny_encoder_settings, reranker_training=training, workers=1)


@pytest.fixture
def fresh_model(tiny_model: Path) -> Callable[[], Any]:
    """Makes a cross-encoder of the tiny encoder anew."""
    from finrag_pipeline.rankers.reranker.model import load_cross_encoder

    return lambda: load_cross_encoder(tiny_model, 64, 1)
