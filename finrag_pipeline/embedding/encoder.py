"""The encoder in use: tokenizer, windows, backend and vector cache together.

Cheap to make; weights are loaded when the first missing vector is asked for.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from finrag_pipeline.embedding.backends import Embedder, Progress, load_embedder
from finrag_pipeline.embedding.cache import EmbeddingCache
from finrag_pipeline.embedding.model_files import (
    chosen_backend,
    chosen_precision,
    encoder_fingerprint,
    max_tokens,
    model_folder,
    problem_of_precision,
    prompts,
)
from finrag_pipeline.embedding.tokens import TokenCounter, split_windows, token_counter
from finrag_pipeline.settings import EncoderSettings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.model_folders import user_cache

CALIBRATION_TEXTS = 128
SPECIAL_TOKENS = 2
"""Tokens an encoder may add around a text ([CLS] and [SEP])."""


class Encoder:
    """Embeds texts of any length with the encoder of ``settings``, caching by content in ``lake``."""

    def __init__(self, settings: EncoderSettings, lake: Lake) -> None:
        self.settings = settings
        self._lake = lake
        self.listener: Callable[[int, int], None] | None = None
        """Told how many of how many missing texts are embedded, whoever asked for them."""

    @cached_property
    def running(self) -> EncoderSettings:
        """The settings with the precision that runs.

        ``auto`` is that of the vectors which the lake has, so that a lake may move to a machine with another
        processor and be searched there.
        """
        if self.settings.precision != "auto":
            return self.settings
        backend = chosen_backend(self.settings)
        for precision in ("bf16", "fp32"):
            if problem_of_precision(backend, precision):
                continue
            found = self.settings.model_copy(update={"precision": precision})
            kept = f"encoder={encoder_fingerprint(found)}"
            if self._lake.fs.exists(self._lake.path("parquet", "embeddings", kept)):
                return found
        return self.settings.model_copy(update={"precision": chosen_precision(self.settings)})

    @cached_property
    def fingerprint(self) -> str:
        """What decides the vector of a text."""
        return encoder_fingerprint(self.running)

    @cached_property
    def tokens(self) -> TokenCounter:
        """Counter of the encoder's tokens."""
        return token_counter(self.settings)

    @cached_property
    def window_tokens(self) -> int:
        """Tokens of text that the encoder reads at once, special tokens and its prompt apart."""
        return max_tokens(self.settings) - SPECIAL_TOKENS - self.tokens.count(self._prompts[1])

    @cached_property
    def _prompts(self) -> tuple[str, str]:
        return prompts(self.settings)

    @cached_property
    def embedder(self) -> Embedder:
        """The backend; loads the weights."""
        return load_embedder(self.running, self._converted, calibration_texts)

    @property
    def _converted(self) -> Path:
        """Folder of converted models: one for all lakes, but the lake's own for models that it trained."""
        own = self._lake.local_path("models")
        folder = model_folder(self.settings.name, self.settings.revision).resolve()
        return own / "encoders" if folder.is_relative_to(own.resolve()) else user_cache("encoders")

    @cached_property
    def _cache(self) -> EmbeddingCache:
        return EmbeddingCache(self._lake, self.fingerprint)

    def windows(self, text: str) -> list[str]:
        """The windows a long text is encoded in."""
        return split_windows(text, self.window_tokens, self.tokens)

    def missing(self, texts: Sequence[str]) -> int:
        """Distinct texts that would have to be computed."""
        return len(self._cache.missing(self._as_documents(texts)))

    def embed(self, texts: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Unit-length float32 vectors of texts no longer than a window, shape (texts, dimensions)."""
        return self._embed(self._as_documents(texts), progress)

    def _embed(self, texts: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        listener, total, done = self.listener, len(self._cache.missing(texts)), 0

        def count(finished: int) -> None:
            nonlocal done
            done += finished
            if progress:
                progress(finished)
            if listener:
                listener(done, total)

        return self._cache.vectors(texts, lambda part: self.embedder.embed(part, count))

    def _as_documents(self, texts: Sequence[str]) -> Sequence[str]:
        prompt = self._prompts[1]
        return [prompt + text for text in texts] if prompt else texts

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of questions, kept in the cache; questions longer than a window are cut."""
        return self._embed([self._question(text) for text in texts])

    def embed_short(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of a few questions in one pass; not kept, cut at the encoder's length."""
        return self.embedder.embed([self._question(text) for text in texts])

    def embed_query(self, text: str) -> np.ndarray:
        """Vector of a question, shape (dimensions,); not kept, cut at the encoder's length."""
        return self.embed_short([text])[0]

    def _question(self, text: str) -> str:
        # Not its first window, which would be half of a question that is a little too long: the encoder cuts.
        return self._prompts[0] + " ".join(text.split())


def calibration_texts() -> list[str]:
    """Paragraph-sized texts of the sample filings, for quantising: the same on every machine."""
    from finrag_pipeline.filings.originals import filing_files
    from finrag_pipeline.filings.pdf import inspect_pdf, read_texts
    from finrag_pipeline.sample.generate import write_sample

    with tempfile.TemporaryDirectory() as folder:
        texts: list[str] = []
        for path in filing_files(write_sample(Path(folder) / "sample") / "pdfs"):
            texts.extend(text[:1200] for text in read_texts(path, 0, inspect_pdf(path).pages) if text.strip())
    step = max(1, len(texts) // CALIBRATION_TEXTS)
    return texts[::step][:CALIBRATION_TEXTS]
