"""From a benchmark's questions to a reranker: the recipe of the page scorer with another model and loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from finrag_pipeline.rankers.page_scorer.cards import training_card
from finrag_pipeline.rankers.page_scorer.loop import Checkpoints, Progress
from finrag_pipeline.rankers.page_scorer.pairs import Pair, Question
from finrag_pipeline.rankers.page_scorer.recipe import Recipe
from finrag_pipeline.rankers.reranker import RERANKER_TRAINING_VERSION
from finrag_pipeline.rankers.reranker.model import load_cross_encoder, pair_length, text_length
from finrag_pipeline.rankers.reranker.pretraining import pretraining_fingerprint, reranker_start
from finrag_pipeline.rankers.reranker.training import LOSS, fit_reranker
from finrag_pipeline.rankers.reranker.validation import CandidatePages
from finrag_pipeline.settings import TrainingSettings

KIND = "reranker"


class RerankerRecipe(Recipe):
    """One reranker: known before anything is computed.

    Pairs, hard negatives, inner split and leak check are those of the page scorer.
    """

    kind: ClassVar[str] = KIND
    version: ClassVar[str] = RERANKER_TRAINING_VERSION

    @property
    def _training(self) -> TrainingSettings:
        return self._settings.reranker_training

    def _pretraining(self) -> str:
        return pretraining_fingerprint(self._settings)

    @property
    def _window(self) -> int:
        return text_length(self._settings)

    def _fitted(
        self,
        pairs: list[Pair],
        validating: Sequence[Question],
        checkpoints: Checkpoints,
        progress: Progress | None,
    ) -> tuple[Any, dict[str, Any]]:
        settings, training = self._settings, self._settings.reranker_training
        pages = {name: self._texts.pages(name) for name in sorted({str(row["filing"]) for row in validating})}
        validation = (
            CandidatePages(validating, pages, training.validation_pages, training.windows)
            if validating
            else None
        )
        start = reranker_start(self._lake, settings, progress)
        model = load_cross_encoder(start, pair_length(settings), settings.seed)
        done = fit_reranker(
            model, pairs, validation, training, settings.seed, training.epochs, checkpoints, progress
        )
        card = training_card(
            settings,
            training,
            self.version,
            LOSS,
            self.fingerprint,
            pairs,
            done,
            str(model.device.type),
        )
        pretrained = start.name if training.pretraining else None
        read = {"text_tokens": self._window, "windows": training.windows}
        return model, {**card, **read, "pretrained": pretrained}
