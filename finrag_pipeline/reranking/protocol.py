"""What a reranker is to retrieval: a question and texts in, one score per text out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np


class Reranker(Protocol):
    """Scores texts for a question, reading both together."""

    @property
    def name(self) -> str:
        """Name for people."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of everything that decides a score besides question and text."""
        ...

    def score(self, question: str, texts: Sequence[str]) -> np.ndarray:
        """One score per text, higher is better, shape (texts,), float32.

        Raises:
            ModelError: the model cannot be had or loaded.
        """
        ...
