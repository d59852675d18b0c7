"""Models that had a part in the results, with what tells one version of them from another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.errors import FinragError
from finrag_pipeline.reporting.report_data import ModelUsed
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake

_TRAINED = {"page_ranker": "Page ranker", "page_scorer": "Page scorer", "reranker": "Reranker"}


def models_used(store: Lake, settings: Settings) -> tuple[ModelUsed, ...]:
    """The encoder, the trained models of the lake, and the language model where one is set.

    The fingerprint of the encoder is over its files, that of a trained model over all that it was made from.
    """
    return (_encoder(store, settings), *_trained(store), *_language_model(settings))


def _encoder(store: Lake, settings: Settings) -> ModelUsed:
    used = settings.encoder
    found = ""
    with suppress(FinragError, OSError):  # the lake outlives the model's files
        encoder = Encoder(settings.encoder, store)
        used, found = encoder.running, encoder.fingerprint
    revision = f" at {used.revision}" if used.revision else ""
    return ModelUsed("Encoder", f"{used.name}{revision}, {used.precision}", found)


def _trained(store: Lake) -> Iterator[ModelUsed]:
    for asset, name in _TRAINED.items():
        for keys in store.partitions(asset):
            info = store.info(asset, keys)
            if info is not None:
                yield ModelUsed(name, keys.get("fold", "").replace("_", " "), info.fingerprint)


def _language_model(settings: Settings) -> Iterator[ModelUsed]:
    model = settings.language_model
    if model.kind != "none":
        yield ModelUsed("Language model", f"{model.name} ({model.kind})", "")
