"""Cross-encoders of sentence-transformers as rerankers; their scores are kept, and no pair is scored twice.

No code of a model's repository is run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from finrag_pipeline.errors import ModelError, Problem
from finrag_pipeline.settings import RerankerSettings
from finrag_pipeline.storage.fingerprints import fingerprint, text_hash
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.model_folders import model_fingerprint, model_folder, model_problem
from finrag_pipeline.storage.torch_models import loading, read_config, torch_device, usable_length

VARIABLE = "FINRAG_RERANKER__NAME"
RERANKER_VERSION = "1"
FOLDER = "rerank_scores"
_CHOOSE = f"Choose a cross-encoder with one output: {VARIABLE}."


class CrossEncoderReranker:
    """A cross-encoder with one output; its score is that output itself, before any sigmoid.

    The sigmoid changes no order but rounds clear cases to equal scores. Cheap to make: weights are loaded
    when the first pair is missing in the lake, and what is wrong with the model is said then; ask
    `problem` first.
    """

    def __init__(self, settings: RerankerSettings, lake: Lake) -> None:
        self._settings = settings
        self._lake = lake

    @cached_property
    def _folder(self) -> Path:
        return model_folder(self._settings.name, self._settings.revision, VARIABLE)

    @cached_property
    def fingerprint(self) -> str:
        """Of weights, tokenizer and length.

        Raises:
            ModelError: the model is nowhere to be had.
        """
        return fingerprint(RERANKER_VERSION, model_fingerprint(self._folder), self._settings.max_length)

    @cached_property
    def _model(self) -> Any:
        config = read_config(self._folder)
        architectures = config.get("architectures") or []
        # Loaded with this head all the same, another model would score by random weights.
        if not any(str(name).endswith("ForSequenceClassification") for name in architectures):
            found = ", ".join(map(str, architectures)) or "none"
            raise ModelError(f"{self._settings.name} is no cross-encoder (architecture {found}).", _CHOOSE)
        from sentence_transformers import CrossEncoder
        from torch.nn import Identity

        with loading(self._folder) as shared:
            model = CrossEncoder(
                str(self._folder),
                device=torch_device(),
                max_length=usable_length(config, self._settings.max_length),
                activation_fn=Identity(),
                model_kwargs={"use_safetensors": True},
                **shared,
            )
        if model.num_labels != 1:
            raise ModelError(f"{self._settings.name} has {model.num_labels} outputs.", _CHOOSE)
        return model

    def problem(self) -> Problem | None:
        """Why it cannot run here; None when its weights are here or can be fetched. Fetches nothing."""
        return model_problem(self._settings.name, self._settings.revision, VARIABLE)

    def score(self, question: str, texts: Sequence[str]) -> np.ndarray:
        """One score per text, higher is better, shape (texts,), float32.

        Question and text together are cut at ``max_length`` tokens.

        Raises:
            ModelError: the model cannot be had or loaded, or its scores are no numbers.
        """
        if not texts:
            return np.empty(0, np.float32)
        question = " ".join(question.split())
        return kept_scores(
            self._lake, self.fingerprint, question, texts, lambda missing: self._predicted(question, missing)
        )

    def _predicted(self, question: str, texts: list[str]) -> np.ndarray:
        pairs = [(question, text) for text in texts]
        return np.asarray(
            self._model.predict(pairs, batch_size=self._settings.batch_size, show_progress_bar=False)
        )


def load_reranker(name: str | None, settings: RerankerSettings, lake: Lake) -> CrossEncoderReranker:
    """The reranker called ``name``: a hub name or a folder; that of the settings when None."""
    if name is not None and name != settings.name:
        # A revision belongs to the model it was set for.
        settings = settings.model_copy(update={"name": name, "revision": None})
    return CrossEncoderReranker(settings, lake)


def kept_scores(
    lake: Lake, model: str, question: str, texts: Sequence[str], compute: Callable[[list[str]], np.ndarray]
) -> np.ndarray:
    """Scores of ``texts``, which may repeat, shape (texts,), float32, kept in a small file per question.

    ``compute`` is asked for those of distinct texts that the model, a fingerprint, has not scored yet, shape
    (missing,).

    Raises:
        ModelError: the model gave something that is no number; nothing is kept then.
    """
    asked = text_hash(question)
    path = lake.path(FOLDER, model, asked[:2], f"{asked}.json")
    known = _read_scores(lake, path)
    hashes = [text_hash(text) for text in texts]
    missing = {h: text for h, text in zip(hashes, texts, strict=True) if h not in known}
    if missing:
        found = np.asarray(compute(list(missing.values())), np.float32)
        if found.shape != (len(missing),) or not np.isfinite(found).all():
            raise ModelError("The reranker returned scores that are not numbers.", "Choose another model.")
        new = dict(zip(missing, found.tolist(), strict=True))
        # Read again: another process may have added scores of the same question meanwhile. One that is lost
        # all the same is computed again.
        lake.write_json(path, {**_read_scores(lake, path), **new})
        known.update(new)
    return np.array([known[h] for h in hashes], np.float32)


def _read_scores(lake: Lake, path: str) -> dict[str, float]:
    entries = lake.read_json(path)
    if not isinstance(entries, dict):
        return {}
    return {h: s for h, s in entries.items() if isinstance(s, float) and math.isfinite(s)}
