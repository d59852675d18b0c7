"""SPLADE: a masked language model weighs every word of its vocabulary for a text; retrieval by those weights.

Formal et al., "SPLADE v2" (2109.10086), with the checkpoint and limits of Kobeissi & Langlais: texts cut
at 512 tokens, the 256 terms of largest weight kept. The score of a document is the dot product of its
weights with the question's. Vectors are kept in the lake by content, so that no text is encoded twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from finrag_pipeline.embedding.cache import EmbeddingCache
from finrag_pipeline.errors import ModelError
from finrag_pipeline.settings import SpladeSettings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.model_folders import model_fingerprint, model_folder
from finrag_pipeline.storage.torch_models import loading, read_config, torch_device, usable_length

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

VARIABLE = "FINRAG_SPLADE__NAME"
SPLADE_VERSION = "1"


class SpladeEncoder:
    """A SPLADE model of sentence-transformers, its vectors kept in the lake.

    Cheap to make: weights are loaded when the first vector is missing.
    """

    def __init__(self, settings: SpladeSettings, lake: Lake) -> None:
        self._settings = settings
        self._lake = lake
        self.question: Callable[[str], csr_matrix] = lru_cache(256)(self._question)
        """Weights of one question, shape (1, terms)."""

    @cached_property
    def _folder(self) -> Path:
        return model_folder(self._settings.name, self._settings.revision, VARIABLE)

    @cached_property
    def fingerprint(self) -> str:
        """Of weights, tokenizer, length and number of terms.

        Raises:
            ModelError: the model is nowhere to be had.
        """
        how = self._settings
        return fingerprint(SPLADE_VERSION, model_fingerprint(self._folder), how.max_length, how.terms)

    @cached_property
    def _model(self) -> Any:
        from sentence_transformers import SparseEncoder
        from sentence_transformers.sparse_encoder.modules import SpladePooling

        with loading(self._folder) as shared:
            model = SparseEncoder(
                str(self._folder),
                device=torch_device(),
                max_active_dims=self._settings.terms,
                model_kwargs={"use_safetensors": True},
                **shared,
            )
        # Any other encoder would get layers of random weights.
        if not any(isinstance(module, SpladePooling) for module in model.modules()):
            raise ModelError(f"{self._settings.name} is no SPLADE model.", f"Choose another one: {VARIABLE}.")
        model.max_seq_length = usable_length(read_config(self._folder), self._settings.max_length)
        return model

    def documents(self, texts: Sequence[str]) -> csr_matrix:
        """Weights of documents, shape (texts, terms), float32; each text is encoded once for all times.

        Raises:
            ModelError: the model cannot be had or loaded.
        """
        from scipy.sparse import csr_matrix

        kept = EmbeddingCache(self._lake, self.fingerprint).vectors(texts, self._packed)
        terms, weights = np.hsplit(kept, 2)
        rows, places = np.nonzero(weights)
        found = (weights[rows, places], (rows, terms[rows, places].astype(np.int32)))
        return csr_matrix(found, shape=(len(texts), read_config(self._folder)["vocab_size"]))

    def _packed(self, texts: list[str]) -> np.ndarray:
        """Terms of documents, ascending, then their weights, as the cache keeps them; zeros fill a row up."""
        found = self._encoded(self._model.encode_document, texts)
        kept = np.zeros((len(texts), 2, self._settings.terms), np.float32)
        for row, (start, end) in enumerate(pairwise(found.indptr)):
            kept[row, :, : end - start] = found.indices[start:end], found.data[start:end]
        return kept.reshape(len(texts), -1)

    def _question(self, text: str) -> csr_matrix:
        return self._encoded(self._model.encode_query, [" ".join(text.split())])

    def _encoded(self, encode: Callable[..., Any], texts: list[str]) -> csr_matrix:
        from scipy.sparse import csr_matrix

        vectors = encode(
            texts,
            batch_size=self._settings.batch_size,
            convert_to_sparse_tensor=True,
            save_to_cpu=True,
            show_progress_bar=False,
        ).coalesce()
        weights = vectors.values().float().numpy()
        if not np.isfinite(weights).all():
            raise ModelError(
                f"{self._settings.name} returned weights that are not numbers.", "Choose another model."
            )
        rows, terms = vectors.indices().numpy()
        matrix = csr_matrix((weights, (rows, terms)), shape=tuple(vectors.shape), dtype=np.float32)
        matrix.eliminate_zeros()
        matrix.sort_indices()
        return matrix


class SpladeIndex:
    """Weights of terms over documents, which the encoder keeps in the lake text by text.

    Raises:
        ModelError: the model cannot be had or loaded.
    """

    def __init__(self, texts: Sequence[str], encoder: SpladeEncoder) -> None:
        self._encoder = encoder
        self._weights = encoder.documents(texts) if texts else None

    def scores(self, question: str) -> np.ndarray:
        """Dot product of every document's weights with the question's; shape (documents,), float32."""
        if self._weights is None:
            return np.empty(0, np.float32)
        asked = self._encoder.question(question).toarray().ravel().astype(np.float32)
        return np.asarray(self._weights @ asked, np.float32)
