"""What the card of a trained model says."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version as version_of
from typing import Any

from finrag_pipeline.rankers.page_scorer.loop import Training
from finrag_pipeline.rankers.page_scorer.model import base_encoder, base_fingerprint, base_length
from finrag_pipeline.rankers.page_scorer.pairs import Pair
from finrag_pipeline.settings import Settings, TrainingSettings
from finrag_pipeline.storage.fingerprints import fingerprint

# They decide nothing about the weights, or stand in fingerprints in another form.
_APART = {
    *("base", "revision", "policies", "pretraining", "pretraining_epochs", "pretraining_rows"),
    *("checkpoint_seconds", "pages", "fusion_k", "prediction_batch_size"),
}


def deciding(training: TrainingSettings) -> dict[str, Any]:
    """The settings that decide what a training makes of a base and of pairs."""
    return training.model_dump(mode="json", exclude=_APART)


def training_card(
    settings: Settings,
    training: TrainingSettings,
    version: str,
    loss: str,
    name: str,
    pairs: Sequence[Pair],
    done: Training,
    device: str,
) -> dict[str, Any]:
    """Where a trained model comes from, and how its training went.

    Args:
        settings: of the run.
        training: those of ``settings`` that it was trained by.
        version: of the code.
        loss: name of the loss.
        name: fingerprint of the model.
        pairs: what it has learned from.
        done: how it went.
        device: where it was trained, ``cuda`` or ``cpu``.
    """
    return {
        "made_from": name,
        "version": version,
        "base": base_encoder(settings, training).name,
        "base_fingerprint": base_fingerprint(settings, training),
        "data_hash": fingerprint([(pair.question, pair.positive, pair.negatives) for pair in pairs]),
        "pairs": len(pairs),
        "seed": settings.seed,
        "text": training.text,
        "max_characters": training.max_characters,
        "max_tokens": base_length(settings, training),
        "hyper_parameters": deciding(training),
        "loss": loss,
        "arithmetic": "bf16" if device == "cuda" else "fp32",
        "libraries": {name: version_of(name) for name in ("sentence-transformers", "torch", "transformers")},
        "curve": [vars(epoch) for epoch in done.curve],
        "best_epoch": done.best_epoch,
        "steps": done.steps,
    }
