"""Scores of a reranker kept in the lake, by question and text: no pair is scored twice."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from finrag_pipeline.errors import ModelError
from finrag_pipeline.storage.fingerprints import text_hash
from finrag_pipeline.storage.lake import Lake

FOLDER = "rerank_scores"


class ScoreCache:
    """Scores of one model in the lake, one small file per question.

    Args:
        lake: where they are.
        model: fingerprint of the model.
    """

    def __init__(self, lake: Lake, model: str) -> None:
        self._lake = lake
        self._model = model

    def scores(
        self, question: str, texts: Sequence[str], compute: Callable[[list[str]], np.ndarray]
    ) -> np.ndarray:
        """Scores of ``texts``, shape (texts,), float32; ``compute`` is asked for the missing ones alone.

        Args:
            question: what the texts are scored for.
            texts: may repeat.
            compute: scores of distinct texts, shape (texts,).

        Raises:
            ModelError: the model gave something that is no number; nothing is kept then.
        """
        asked = text_hash(question)
        path = self._lake.path(FOLDER, self._model, asked[:2], f"{asked}.json")
        known = self._read(path)
        hashes = [text_hash(text) for text in texts]
        missing = {h: text for h, text in zip(hashes, texts, strict=True) if h not in known}
        if missing:
            found = np.asarray(compute(list(missing.values())), np.float32)
            if found.shape != (len(missing),) or not np.isfinite(found).all():
                raise ModelError(
                    "The reranker returned scores that are not numbers.", "Choose another model."
                )
            new = dict(zip(missing, found.tolist(), strict=True))
            # Read again: another process may have added scores of the same question meanwhile. One that
            # is lost all the same is computed again.
            self._lake.write_json(path, {**self._read(path), **new})
            known.update(new)
        return np.array([known[h] for h in hashes], np.float32)

    def _read(self, path: str) -> dict[str, float]:
        entries = self._lake.read_json(path)
        if not isinstance(entries, dict):
            return {}
        return {h: s for h, s in entries.items() if isinstance(s, float) and math.isfinite(s)}
