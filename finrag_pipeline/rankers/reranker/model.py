"""The model of a trained reranker: a cross-encoder with one output, on the base's own head or a fresh one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from finrag_pipeline.errors import ModelError
from finrag_pipeline.rankers.page_scorer.loop import bf16_on_gpu
from finrag_pipeline.rankers.page_scorer.model import base_length
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.model_folders import model_folder
from finrag_pipeline.storage.torch_models import first_line, quiet_libraries, torch_device

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

VARIABLE = "FINRAG_RERANKER_TRAINING__BASE"


def pair_length(settings: Settings) -> int:
    """Tokens of question and text together that the trained model reads.

    Raises:
        ModelError: the base is not to be had.
    """
    return base_length(settings, settings.reranker_training)


def text_length(settings: Settings) -> int:
    """Tokens of them that a text may take; the question needs the others.

    Raises:
        ModelError: the base is not to be had.
    """
    length = pair_length(settings)
    return length - min(settings.reranker_training.question_tokens, length // 2)


def load_cross_encoder(folder: Path, length: int, seed: int) -> CrossEncoder:
    """A cross-encoder with one output for training, on a GPU where there is one.

    An encoder gets a fresh output on its backbone, the same for the same seed.

    Args:
        folder: of a cross-encoder or an encoder; only safetensors are read and no code in it is run.
        length: tokens of question and text together; longer pairs are cut.
        seed: of a fresh output.

    Raises:
        ModelError: it cannot be loaded, or has several outputs.
    """
    model_folder(str(folder), None, VARIABLE)  # raises where weights are pickles only
    quiet_libraries()
    import torch
    from sentence_transformers import CrossEncoder

    # That an encoder is made a cross-encoder is what is wanted here, and no warning.
    logging.getLogger("sentence_transformers.base.model").setLevel(logging.ERROR)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        try:
            return CrossEncoder(
                str(folder),
                num_labels=1,
                max_length=length,
                device=torch_device(),
                activation_fn=torch.nn.Identity(),
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True},
            )
        except Exception as error:  # the library raises nothing narrower
            raise ModelError(
                f"The model in {folder} cannot be trained as a cross-encoder: {first_line(error)}.",
                f"Choose an encoder, or a cross-encoder with one output: {VARIABLE}.",
            ) from error


def score_pairs(model: CrossEncoder, pairs: Sequence[tuple[str, str]], batch_size: int) -> np.ndarray:
    """Output of the model for pairs of question and text, before any sigmoid; shape (pairs,), float32."""
    if not pairs:
        return np.empty(0, np.float32)
    with bf16_on_gpu(model):
        scores = model.predict(list(pairs), batch_size=batch_size, show_progress_bar=False)
    return np.asarray(scores, np.float32)
