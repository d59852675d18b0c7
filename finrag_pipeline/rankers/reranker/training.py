"""Training a cross-encoder by binary cross-entropy: the gold page of a question 1, its hard negatives 0.

Nogueira & Cho (2019), "Passage Re-ranking with BERT"; the loss is that of sentence-transformers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from finrag_pipeline.rankers.page_scorer.loop import (
    Checkpoints,
    Progress,
    Run,
    Training,
    bf16_on_gpu,
    run_epochs,
)
from finrag_pipeline.rankers.page_scorer.pairs import Pair, draw_rows
from finrag_pipeline.rankers.page_scorer.validation import Recall
from finrag_pipeline.rankers.reranker.model import score_pairs
from finrag_pipeline.rankers.reranker.validation import CandidatePages
from finrag_pipeline.settings import RerankerTrainingSettings

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

LOSS = "binary cross-entropy"
Rows = list[list[str]]
"""Question, gold page and negatives of each pair."""


def epoch_rows(pairs: Sequence[Pair], size: int, seed: int, epoch: int) -> list[Rows]:
    """The batches of an epoch, in an order and with negatives of their own; the same for the same seed.

    Args:
        pairs: what to learn from.
        size: questions of a batch; the last one may have fewer.
        seed: of the order and of the choice of negatives.
        epoch: from 1.
    """
    rows = draw_rows(pairs, seed, epoch)
    order = np.random.default_rng((seed, epoch, len(rows))).permutation(len(rows)).tolist()
    return [[rows[n] for n in order[start : start + size]] for start in range(0, len(rows), size)]


def fit_reranker(
    model: CrossEncoder,
    pairs: list[Pair],
    validation: CandidatePages | None,
    settings: RerankerTrainingSettings,
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
    schedule = [epoch_rows(pairs, settings.batch_size, seed, n + 1) for n in range(epochs)]

    def start(total: int) -> _Run:
        return _Run(model, settings, total, validation)

    return run_epochs(start, schedule, model.device, seed, checkpoints, progress)


class _Run(Run[Rows]):
    """A cross-encoder learns to say yes to a gold page, and no to pages easily mistaken for it."""

    def __init__(
        self,
        model: CrossEncoder,
        settings: RerankerTrainingSettings,
        total: int,
        validation: CandidatePages | None,
    ) -> None:
        from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss

        super().__init__(model, settings, total, "FINRAG_RERANKER_TRAINING__LEARNING_RATE")
        self._loss = BinaryCrossEntropyLoss(model)
        self._validation = validation
        self._batch_size = settings.prediction_batch_size

    def backward(self, batch: Rows) -> float:
        """Loss of rows of question, positive and negatives."""
        import torch

        labelled = [
            (" ".join(question.split()), text, float(place == 0))
            for question, *texts in batch
            for place, text in enumerate(texts)
        ]
        questions, texts, labels = (list(column) for column in zip(*labelled, strict=True))
        with bf16_on_gpu(self.model):
            loss = self._loss([questions, texts], torch.tensor(labels, device=self.model.device))
        loss.backward()
        return float(loss.detach())

    def validated(self) -> Recall | None:
        """Page recall among the candidates of the validation questions."""
        if self._validation is None:
            return None
        return self._validation.measure(lambda pairs: score_pairs(self.model, pairs, self._batch_size))
