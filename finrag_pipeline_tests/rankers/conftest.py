from __future__ import annotations

from typing import Any

import pytest

from finrag_pipeline.settings import EncoderSettings, PageScorerSettings, RerankerTrainingSettings, Settings
from finrag_pipeline.storage.lake import Lake


@pytest.fixture
def training_settings(lake: Lake, tiny_encoder_settings: EncoderSettings) -> Settings:
    """Settings under which the tiny encoder learns to be either kind of model within a few steps."""
    quick: dict[str, Any] = {
        "batch_size": 4, "learning_rate": 5e-3, "negatives": ("filing",), "checkpoint_seconds": 0
    }  # fmt: skip
    return Settings(
        lake=lake.root,
        encoder=tiny_encoder_settings,
        page_scorer=PageScorerSettings(epochs=3, **quick),
        reranker_training=RerankerTrainingSettings(epochs=2, **quick),
        workers=1,
    )
