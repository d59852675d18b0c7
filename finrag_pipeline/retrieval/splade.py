"""SPLADE: a masked language model weighs every word of its vocabulary for a text; retrieval by those weights.

Formal et al., "SPLADE v2" (2109.10086), with the checkpoint and limits of Kobeissi & Langlais: texts cut
at 512 tokens, the 256 terms of largest weight kept. The score of a document is the dot product of its
weights with the question's.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from zipfile import BadZipFile

import numpy as np

from finrag_pipeline.errors import LakeError, ModelError
from finrag_pipeline.retrieval.sparse_vectors import SparseVectorCache
from finrag_pipeline.settings import SpladeSettings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.model_folders import model_fingerprint, model_folder, model_problem
from finrag_pipeline.storage.torch_models import (
    AGAIN,
    first_line,
    quiet_libraries,
    read_config,
    torch_device,
    usable_length,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

VARIABLE = "FINRAG_SPLADE__NAME"
SPLADE_VERSION = "1"
FOLDER = "splade_vectors"

_REMEMBERED = 256


class SparseEncoding(Protocol):
    """Turns texts into weights of terms."""

    @property
    def vocabulary(self) -> list[str]:
        """Terms by number."""
        ...

    def documents(self, texts: Sequence[str]) -> csr_matrix:
        """Weights of documents, shape (texts, terms)."""
        ...

    def question(self, text: str) -> csr_matrix:
        """Weights of a question, shape (1, terms)."""
        ...


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
        """Told how many texts were just encoded."""
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

        quiet_libraries()
        try:
            model = SparseEncoder(
                str(self._folder),
                device=torch_device(),
                max_active_dims=self._settings.terms,
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True},
            )
        except Exception as error:  # the library raises nothing narrower
            raise ModelError(
                f"The model in {self._folder} cannot be loaded: {first_line(error)}.", AGAIN
            ) from error
        # Any other encoder would get layers of random weights.
        if not any(isinstance(module, SpladePooling) for module in model.modules()):
            raise ModelError(f"{self.name} is no SPLADE model.", f"Choose another one: {VARIABLE}.")
        model.max_seq_length = usable_length(read_config(self._folder), self._settings.max_length)
        return model

    @cached_property
    def vocabulary(self) -> list[str]:
        """Terms of the model's tokenizer, by number."""
        terms = self._model.tokenizer.get_vocab()
        # The library knows the width only after it has encoded something.
        names = [""] * int(self.question("").shape[1])
        for term, number in terms.items():
            if number < len(names):
                names[number] = term
        return names

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


@dataclass(frozen=True)
class SpladeIndex:
    """Weights of terms over documents.

    Attributes:
        weights: shape (documents, terms), float32, compressed by row.
        vocabulary: terms by number.
        encoder: encodes questions.
    """

    weights: csr_matrix
    vocabulary: list[str] = field(repr=False)
    encoder: SparseEncoding = field(repr=False)

    @property
    def documents(self) -> int:
        """Number of documents."""
        return int(self.weights.shape[0])

    def scores(self, question: str) -> np.ndarray:
        """Dot product of every document's weights with the question's; shape (documents,), float32."""
        asked = self.encoder.question(question).toarray().ravel().astype(np.float32)
        return np.asarray(self.weights @ asked, np.float32)

    def matched_terms(self, question: str, document: int) -> list[tuple[str, float]]:
        """Terms that question and ``document`` share, with what each adds to the score, largest first.

        They need not stand in either: the model weighs related words too.
        """
        asked = self.encoder.question(question)
        shared = self.weights[document].multiply(asked).tocoo()
        found = [
            (self.vocabulary[number], float(weight))
            for number, weight in zip(shared.col, shared.data, strict=True)
            if weight
        ]
        return sorted(found, key=lambda pair: (-pair[1], pair[0]))


def build_splade(texts: Sequence[str], encoder: SparseEncoding) -> SpladeIndex:
    """Index over ``texts``, in their order.

    Raises:
        ModelError: the model cannot be had or loaded.
    """
    from scipy.sparse import csr_matrix

    width = len(encoder.vocabulary)
    weights = encoder.documents(texts) if texts else csr_matrix((0, width), dtype=np.float32)
    return SpladeIndex(weights, encoder.vocabulary, encoder)


def save_splade(index: SpladeIndex, lake: Lake, folder: Sequence[str]) -> None:
    """Keep an index in the lake: three arrays and the vocabulary."""
    buffer = io.BytesIO()
    weights = index.weights
    np.savez(buffer, data=weights.data, indices=weights.indices, indptr=weights.indptr, shape=weights.shape)
    lake.write_json(lake.path(*folder, "vocabulary.json"), index.vocabulary)
    # Written last: its presence means that the index is complete.
    lake.write_bytes(lake.path(*folder, "splade.npz"), buffer.getvalue())


def load_splade(lake: Lake, folder: Sequence[str], encoder: SparseEncoding) -> SpladeIndex | None:
    """A kept index, or None when there is none. The encoder is not asked before the first question.

    Raises:
        LakeError: its files are damaged.
    """
    data = lake.read_bytes(lake.path(*folder, "splade.npz"))
    vocabulary = lake.read_bytes(lake.path(*folder, "vocabulary.json"))
    if data is None or vocabulary is None:
        return None
    from scipy.sparse import csr_matrix

    try:
        terms = json.loads(vocabulary)
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            documents, width = (int(size) for size in arrays["shape"])
            if not isinstance(terms, list) or len(terms) != width:
                raise ValueError("the vocabulary has another size than the weights")
            weights = csr_matrix(
                (arrays["data"], arrays["indices"], arrays["indptr"]), shape=(documents, width)
            )
            weights.check_format(full_check=True)
    except (ValueError, TypeError, KeyError, OSError, EOFError, BadZipFile) as error:
        raise LakeError(
            f"The SPLADE index in {'/'.join(folder)} is damaged ({error}).", "Delete that folder."
        ) from error
    return SpladeIndex(weights, terms, encoder)


def splade_problem(settings: SpladeSettings) -> str | None:
    """Why SPLADE cannot run here; None when its weights are here or can be fetched. Fetches nothing."""
    return model_problem(settings.name, settings.revision, VARIABLE)
