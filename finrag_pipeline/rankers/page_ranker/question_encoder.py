"""A question as it is looked for among sentences of pages: the default encoder, taught on questions alone.

Low-rank adapters (Hu et al., LoRA, 2021, section 4.1) put it near sentences of the pages that answer it. The
sentences keep their vectors, so nothing is embedded again (query-side fine-tuning: Lee et al., Learning Dense
Representations of Phrases at Scale, 2021). Trained by ``benchmarks/question_encoder.py``; the package ships
the adapters, and the weights below them are those of the default encoder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files

import numpy as np

from finrag_pipeline.embedding.bert import adapted_minilm, minilm_tokenizer
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.embedding.model_files import MINILM
from finrag_pipeline.storage.fingerprints import fingerprint

ADAPTER_FILE = "question_encoder.safetensors"
MOST_TOKENS = 64

Encode = Callable[[Sequence[str]], np.ndarray]
"""Embeds texts; shape (texts, dimensions)."""


class QuestionEncoder:
    """Embeds questions for a search among sentences that the default encoder has embedded.

    Args:
        adapters: see `adapted_minilm`.
    """

    def __init__(self, adapters: Mapping[str, np.ndarray]) -> None:
        self._bert, self._tokenizer = adapted_minilm(adapters), minilm_tokenizer()
        self._known = lru_cache(1 << 12)(self._embed)  # a benchmark asks the same of every fold and space

    def __call__(self, questions: Sequence[str]) -> np.ndarray:
        """Unit-length vectors, shape (questions, dimensions), float32."""
        return np.stack([self._known(question) for question in questions])

    def _embed(self, question: str) -> np.ndarray:
        read = self._tokenizer.encode(question).ids
        ids = np.array([read if len(read) <= MOST_TOKENS else [*read[: MOST_TOKENS - 1], read[-1]]])
        mean = self._bert.hidden(ids, np.zeros_like(ids), np.ones_like(ids))[0].mean(0)
        return np.asarray(mean / np.linalg.norm(mean))


@cache
def _adapters() -> bytes:
    return (files("finrag_pipeline.rankers.page_ranker") / ADAPTER_FILE).read_bytes()


@cache
def _shipped() -> QuestionEncoder:
    from safetensors.numpy import load

    return QuestionEncoder(load(_adapters()))


def question_encoder(encoder: Encoder) -> Encode:
    """Embeds questions for sentences of an encoder: as taught for the default one, else as it does itself.

    Raises:
        ModelError: when it embeds: the encoder's weights are not to be had.
    """
    taught = encoder.settings.name == MINILM
    return (lambda questions: _shipped()(questions)) if taught else encoder.embed_short


@cache
def encoder_version() -> str:
    """What decides the vectors of questions, besides the encoder."""
    return fingerprint(_adapters().hex())
