"""Training a bi-encoder by Multiple Negatives Ranking loss.

Henderson et al. (2017), as sentence-transformers implements it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from finrag_pipeline.rankers.page_scorer.batches import epoch_batches
from finrag_pipeline.rankers.page_scorer.loop import (
    Checkpoints,
    Progress,
    Run,
    Training,
    bf16_on_gpu,
    run_epochs,
)
from finrag_pipeline.rankers.page_scorer.pairs import Pair
from finrag_pipeline.rankers.page_scorer.validation import Recall, Validation
from finrag_pipeline.settings import PageScorerSettings

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

EMBED_BATCH = 64
"""Texts per forward pass where nothing is learned."""


def loss_name(settings: PageScorerSettings) -> str:
    """Name of the loss, for cards."""
    return ("cached " if settings.mini_batch_size else "") + "multiple negatives ranking"


def fit(
    model: SentenceTransformer,
    pairs: list[Pair],
    validation: Validation | None,
    settings: PageScorerSettings,
    seed: int,
    epochs: int,
    checkpoints: Checkpoints | None = None,
    progress: Progress | None = None,
) -> Training:
    """Train ``model`` in place; it ends with the weights of its best epoch (`run_epochs`).

    Args:
        model: to be trained, on its device; bf16 arithmetic where that is a GPU.
        pairs: what to learn from.
        validation: stops the training; never questions of the fold that is tested.
        settings: batch, rate, patience.
        seed: of the order, the choice of negatives and dropout.
        epochs: at most.
        checkpoints: where the state is kept; nowhere when None.
        progress: told how many steps are done.

    Raises:
        ModelError: there is nothing to learn from, or the loss is no number any more.
    """
    schedule = (
        [epoch_batches(pairs, settings.batch_size, seed, n + 1) for n in range(epochs)] if pairs else []
    )

    def start(total: int) -> _Run:
        return _Run(model, settings, total, validation)

    return run_epochs(start, schedule, model.device, seed, checkpoints, progress)


class _Run(Run[list[list[str]]]):
    """A bi-encoder learns to tell the gold page of a question from the other texts of the batch."""

    def __init__(
        self,
        model: SentenceTransformer,
        settings: PageScorerSettings,
        total: int,
        validation: Validation | None,
    ) -> None:
        super().__init__(model, settings, total, "FINRAG_PAGE_SCORER__LEARNING_RATE")
        self._cached = settings.mini_batch_size is not None
        self._loss = _loss(model, settings)
        self._validation = validation

    def backward(self, batch: list[list[str]]) -> float:
        """Loss of rows of question, positive and negatives."""
        import torch

        columns = [list(column) for column in zip(*batch, strict=True)]
        features = [self.moved(self.model.preprocess(column)) for column in columns]
        with bf16_on_gpu(self.model):
            loss = self._loss(features, torch.empty(0))
            if self._cached:
                loss.backward()  # cached gradients: texts are embedded once more, in the same arithmetic
        if not self._cached:
            loss.backward()
        return float(loss.detach())

    def validated(self) -> Recall | None:
        """Page recall among all pages of the validation filings."""
        if self._validation is None:
            return None
        return self._validation.measure(lambda texts: embed_texts(self.model, texts))


def _loss(model: SentenceTransformer, settings: PageScorerSettings) -> Any:
    from sentence_transformers.sentence_transformer.losses import (
        CachedMultipleNegativesRankingLoss,
        MultipleNegativesRankingLoss,
    )

    if settings.mini_batch_size:
        return CachedMultipleNegativesRankingLoss(model, mini_batch_size=settings.mini_batch_size)
    return MultipleNegativesRankingLoss(model)


def embed_texts(model: SentenceTransformer, texts: Iterable[str]) -> np.ndarray:
    """Unit-length float32 vectors of texts, shape (texts, dimensions); longer ones are cut."""
    with bf16_on_gpu(model):
        vectors = model.encode(
            list(texts), batch_size=EMBED_BATCH, normalize_embeddings=True, show_progress_bar=False
        )
    return np.asarray(vectors, np.float32)
