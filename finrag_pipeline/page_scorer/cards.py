"""What the card of a trained model says."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from finrag_pipeline.page_scorer import SCORER_VERSION
from finrag_pipeline.page_scorer.model import base_encoder, base_fingerprint, base_length
from finrag_pipeline.page_scorer.pairs import Pair
from finrag_pipeline.page_scorer.training import Training
from finrag_pipeline.settings import PageScorerSettings, Settings
from finrag_pipeline.storage.fingerprints import fingerprint

# They decide nothing about the weights, or stand in fingerprints in another form.
_APART = {"base", "revision", "policies", "pretraining", "pretraining_epochs", "checkpoint_seconds"}


def deciding(settings: PageScorerSettings) -> dict[str, Any]:
    """The settings that decide what a training makes of a base and of pairs."""
    return settings.model_dump(mode="json", exclude=_APART)


def training_card(
    settings: Settings, name: str, pairs: Sequence[Pair], done: Training, device: str
) -> dict[str, Any]:
    """Where a trained model comes from, and how its training went.

    Args:
        settings: of the training.
        name: its fingerprint.
        pairs: what it has learned from.
        done: how it went.
        device: where it was trained, ``cuda`` or ``cpu``.
    """
    scorer = settings.page_scorer
    return {
        "made_from": name,
        "version": SCORER_VERSION,
        "base": base_encoder(settings).name,
        "base_fingerprint": base_fingerprint(settings),
        "data_hash": fingerprint([(pair.question, pair.positive, pair.negatives) for pair in pairs]),
        "pairs": len(pairs),
        "seed": settings.seed,
        "text": scorer.text,
        "max_characters": scorer.max_characters,
        "max_tokens": base_length(settings),
        "hyper_parameters": deciding(scorer),
        "loss": "cached multiple negatives ranking"
        if scorer.mini_batch_size
        else "multiple negatives ranking",
        "arithmetic": "bf16" if device == "cuda" else "fp32",
        "libraries": {name: version(name) for name in ("sentence-transformers", "torch", "transformers")},
        "curve": [vars(epoch) for epoch in done.curve],
        "best_epoch": done.best_epoch,
        "steps": done.steps,
    }
