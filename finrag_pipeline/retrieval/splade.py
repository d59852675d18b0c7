"""SPLADE: a masked language model weighs every word of its vocabulary for a text; retrieval by those weights.

Formal et al., "SPLADE v2" (2109.10086), with the checkpoint and limits of Kobeissi & Langlais: texts cut
at 512 tokens, the 256 terms of largest weight kept. The score of a document is the dot product of its
weights with the question's. Vectors are kept in the lake by content, so that no text is encoded twice; their
shards are written while encoding goes on, so that a killed run loses one at most.
"""

from __future__ import annotations

import io
import uuid
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from finrag_pipeline.errors import ModelError, Problem
from finrag_pipeline.settings import SpladeSettings
from finrag_pipeline.storage.fingerprints import fingerprint, text_hash
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.model_folders import model_fingerprint, model_folder, model_problem
from finrag_pipeline.storage.torch_models import loading, read_config, torch_device, usable_length

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SHARD = 512
"""Texts per shard."""


class SparseVectorCache:
    """Sparse vectors of one encoder in the lake.

    Args:
        lake: where the shards are.
        folder: of the encoder.
    """

    def __init__(self, lake: Lake, folder: Sequence[str]) -> None:
        self._lake = lake
        self._folder = tuple(folder)
        self._shards: dict[str, csr_matrix] = {}
        self._seen: set[str] = set()
        self._where: dict[str, tuple[str, int]] = {}

    def missing(self, texts: Sequence[str]) -> list[str]:
        """Distinct texts that have no vector yet, in order of first appearance."""
        self._refresh()
        unique = {text_hash(text): text for text in texts}
        return [text for value, text in unique.items() if value not in self._where]

    def vectors(self, texts: Sequence[str], encode: Callable[[list[str]], csr_matrix]) -> csr_matrix:
        """Vectors of ``texts``, shape (texts, terms), float32; ``encode`` is asked for the missing ones.

        Args:
            texts: at least one; may repeat.
            encode: vectors of distinct texts, shape (texts, terms).
        """
        from scipy.sparse import csr_matrix, vstack

        missing = sorted(self.missing(texts), key=len, reverse=True)
        for start in range(0, len(missing), SHARD):
            part = missing[start : start + SHARD]
            self._keep(part, encode(part))
        rows: dict[str, list[tuple[int, int]]] = {}
        for position, text in enumerate(texts):
            shard, row = self._where[text_hash(text)]
            rows.setdefault(shard, []).append((position, row))
        stacked = vstack([self._shards[shard][[row for _, row in found]] for shard, found in rows.items()])
        order = np.empty(len(texts), np.int64)
        order[[position for found in rows.values() for position, _ in found]] = np.arange(len(texts))
        return csr_matrix(stacked)[order]

    def _refresh(self) -> None:
        base = self._lake.path(*self._folder)
        if not self._lake.fs.exists(base):
            return
        for path in sorted(self._lake.fs.find(base)):
            name = path.rsplit("/", 1)[-1]
            if name.endswith(".npz") and name not in self._seen:
                self._seen.add(name)
                self._load(name)

    def _load(self, name: str) -> None:
        """Take in a shard; a damaged one is none, and its texts are encoded again."""
        from scipy.sparse import csr_matrix

        data = self._lake.read_bytes(self._lake.path(*self._folder, name))
        if data is None:
            return
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
                hashes = [value.decode() for value in arrays["hashes"].tolist()]
                parts = (arrays["weights"], arrays["terms"], arrays["indptr"])
                matrix = csr_matrix(parts, shape=(len(hashes), int(arrays["width"])))
                matrix.check_format(full_check=True)
        except (ValueError, TypeError, KeyError, OSError, EOFError, BadZipFile, AttributeError):
            return
        self._add(name, hashes, matrix)

    def _keep(self, texts: list[str], matrix: csr_matrix) -> None:
        buffer = io.BytesIO()
        hashes = [text_hash(text) for text in texts]
        np.savez(
            buffer,
            hashes=np.array(hashes, "S32"),
            weights=matrix.data.astype(np.float32),
            terms=matrix.indices.astype(np.int32),
            indptr=matrix.indptr.astype(np.int64),
            width=matrix.shape[1],
        )
        name = f"{uuid.uuid4().hex}.npz"
        self._lake.write_bytes(self._lake.path(*self._folder, name), buffer.getvalue())
        self._add(name, hashes, matrix)

    def _add(self, name: str, hashes: list[str], matrix: csr_matrix) -> None:
        self._seen.add(name)
        self._shards[name] = matrix
        self._where.update((value, (name, row)) for row, value in enumerate(hashes))


VARIABLE = "FINRAG_SPLADE__NAME"
SPLADE_VERSION = "1"
FOLDER = "splade_vectors"

_REMEMBERED = 256


class SpladeEncoder:
    """A SPLADE model of sentence-transformers, its vectors kept in the lake.

    Cheap to make: weights are loaded when the first vector is missing.

    Args:
        settings: hub name or folder, revision, length, terms and batch size.
        lake: where vectors are kept.
    """

    def __init__(self, settings: SpladeSettings, lake: Lake) -> None:
        self._settings = settings
        self._lake = lake
        self.listener: Callable[[int], None] | None = None
        """Called with how many texts were just encoded."""
        self._asked: dict[str, csr_matrix] = {}

    @property
    def name(self) -> str:
        """Hub name or folder."""
        return self._settings.name

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
            raise ModelError(f"{self.name} is no SPLADE model.", f"Choose another one: {VARIABLE}.")
        model.max_seq_length = usable_length(read_config(self._folder), self._settings.max_length)
        return model

    @cached_property
    def _documents(self) -> SparseVectorCache:
        return SparseVectorCache(self._lake, (FOLDER, self.fingerprint, "documents"))

    @cached_property
    def _questions(self) -> SparseVectorCache:
        return SparseVectorCache(self._lake, (FOLDER, self.fingerprint, "questions"))

    def missing(self, texts: Sequence[str]) -> int:
        """Distinct documents that would have to be encoded."""
        return len(self._documents.missing(texts))

    def documents(self, texts: Sequence[str]) -> csr_matrix:
        """Weights of documents, shape (texts, terms), float32; each text is encoded once for all times.

        Raises:
            ModelError: the model cannot be had or loaded.
        """
        return self._documents.vectors(texts, lambda part: self._encoded(self._model.encode_document, part))

    def questions(self, texts: Sequence[str]) -> csr_matrix:
        """Weights of questions, shape (texts, terms), kept in the lake: for the questions of a sweep."""
        folded = [" ".join(text.split()) for text in texts]
        return self._questions.vectors(folded, lambda part: self._encoded(self._model.encode_query, part))

    def question(self, text: str) -> csr_matrix:
        """Weights of one question, shape (1, terms); from the lake where it is there, else not kept there."""
        folded = " ".join(text.split())
        if folded not in self._asked:
            if self._questions.missing([folded]):
                found = self._encoded(self._model.encode_query, [folded])
            else:
                found = self.questions([folded])
            if len(self._asked) >= _REMEMBERED:
                self._asked.clear()
            self._asked[folded] = found
        return self._asked[folded]

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
            raise ModelError(f"{self.name} returned weights that are not numbers.", "Choose another model.")
        rows, terms = vectors.indices().numpy()
        matrix = csr_matrix((weights, (rows, terms)), shape=tuple(vectors.shape), dtype=np.float32)
        matrix.eliminate_zeros()
        matrix.sort_indices()
        if self.listener:
            self.listener(len(texts))
        return matrix


class SpladeIndex:
    """Weights of terms over documents, which the encoder keeps in the lake text by text.

    Args:
        texts: the documents.
        encoder: encodes documents and questions.

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


def splade_problem(settings: SpladeSettings) -> Problem | None:
    """Why SPLADE cannot run here; None when its weights are here or can be fetched. Fetches nothing."""
    return model_problem(settings.name, settings.revision, VARIABLE)
