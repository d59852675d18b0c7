"""Pre-training on clean rows of other data: one model, from which the rerankers of all folds start."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from finrag_pipeline.embedding import model_files
from finrag_pipeline.rankers.page_scorer.cards import deciding, training_card
from finrag_pipeline.rankers.page_scorer.clean_rows import drawn_rows, read_clean_rows
from finrag_pipeline.rankers.page_scorer.loop import Checkpoints, Progress
from finrag_pipeline.rankers.page_scorer.model import (
    base_encoder,
    base_fingerprint,
    kept_or_trained,
    local_folder,
)
from finrag_pipeline.rankers.page_scorer.pretraining import clean_files, split_rows
from finrag_pipeline.rankers.page_scorer.texts import PageTexts
from finrag_pipeline.rankers.reranker import RERANKER_TRAINING_VERSION
from finrag_pipeline.rankers.reranker.model import load_cross_encoder, pair_length, text_length
from finrag_pipeline.rankers.reranker.training import LOSS, fit_reranker
from finrag_pipeline.rankers.reranker.validation import CandidatePages
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

KIND = "reranker_pretraining"
VALIDATION_QUESTIONS = 100
"""Questions, about, on which the pre-training is validated."""


def pretraining_fingerprint(settings: Settings) -> str:
    """What the pre-trained model is made from: base, files of the clean rows, settings and seed."""
    training = settings.reranker_training
    return fingerprint(
        KIND,
        RERANKER_TRAINING_VERSION,
        base_fingerprint(settings, training),
        pair_length(settings),
        deciding(training),
        [training.pretraining_epochs, training.pretraining_rows],
        clean_files(Path(training.pretraining or "")),
        settings.seed,
    )


def pretrained_folder(name: str) -> tuple[str, ...]:
    """Folder in the lake of the pre-trained model with this fingerprint."""
    return ("models", KIND, name)


def reranker_start(lake: Lake, settings: Settings, progress: Progress | None = None) -> Path:
    """Folder of the model that training starts from: the base, or what it has learned from clean rows.

    Raises:
        BenchmarkError: the clean rows cannot be read.
        ModelError: the base is not to be had.
    """
    training, seed = settings.reranker_training, settings.seed
    base = base_encoder(settings, training)
    start = model_files.model_folder(base.name, base.revision)
    if training.pretraining is None:
        return start
    rows, name = Path(training.pretraining), pretraining_fingerprint(settings)
    checkpoints = Checkpoints(lake, name, training.checkpoint_seconds, KIND)

    def train() -> tuple[CrossEncoder, dict[str, Any]]:
        clean = drawn_rows(read_clean_rows(rows), training.pretraining_rows, seed)
        texts = PageTexts(lake, training, base, text_length(settings))
        pairs, questions, pages = split_rows(clean, texts, 1, seed, VALIDATION_QUESTIONS)
        validation = (
            CandidatePages(questions, pages, training.validation_pages, training.windows)
            if questions
            else None
        )
        model = load_cross_encoder(start, pair_length(settings), seed)
        epochs = training.pretraining_epochs
        done = fit_reranker(model, pairs, validation, training, seed, epochs, checkpoints, progress)
        device = str(model.device.type)
        told = training_card(settings, training, RERANKER_TRAINING_VERSION, LOSS, name, pairs, done, device)
        return model, {**told, "skipped": dict(clean.skipped), "questions": len(clean.rows)}

    folder = pretrained_folder(name)
    return local_folder(lake, folder, kept_or_trained(lake, folder, checkpoints, train))
