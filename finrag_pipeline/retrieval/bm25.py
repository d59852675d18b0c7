"""BM25 as the papers run it: the package rank-bm25 itself, or its scores from an index kept in the lake.

rank-bm25 keeps a dictionary per document and looks into all of them at every question. `Bm25Index` computes
the weight of each (term, chunk) once. The package bm25s does so too, but none of its methods has rank-bm25's
idf with its floor, so its scores are others; docs/architecture.md has the figures.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from zipfile import BadZipFile

import numpy as np

from finrag_pipeline.errors import LakeError
from finrag_pipeline.storage.lake import Lake

_TOKEN = re.compile(r"\b\w+(?:[.,]\w+)*\b|[$€£%]")


def finance_tokens(text: str) -> list[str]:
    """Lower-cased words, numbers with their separators (1,577.0), and the signs $ € £ %.

    The regular expression is the one published with Kobeissi & Langlais.
    """
    return _TOKEN.findall(text.lower())


BM25_VERSION = "2"
K1, B, EPSILON = 1.5, 0.75, 0.25


@dataclass(frozen=True)
class Bm25Index:
    """Precomputed Okapi BM25 weights over ``documents`` texts.

    Attributes:
        vocabulary: term to number.
        indptr: start of each term's postings; shape (terms + 1,).
        postings: document numbers of the postings, ascending per term.
        weights: BM25 weight of each posting, float32.
        documents: number of documents.
    """

    vocabulary: dict[str, int]
    indptr: np.ndarray
    postings: np.ndarray
    weights: np.ndarray
    documents: int

    def _part(self, term: str) -> slice:
        number = self.vocabulary.get(term)
        return slice(0, 0) if number is None else slice(*self.indptr[number : number + 2].tolist())

    def scores(self, query: str) -> np.ndarray:
        """BM25 score of every document for ``query``; shape (documents,), float32.

        A term that the query repeats counts as often as it stands there (as in rank-bm25).
        """
        found = [self._part(term) for term in finance_tokens(query)]
        if not found:
            return np.zeros(self.documents, np.float32)
        documents = np.concatenate([self.postings[part] for part in found])
        weights = np.concatenate([self.weights[part] for part in found])
        return np.bincount(documents, weights, self.documents).astype(np.float32)

    def matched_terms(self, query: str, document: int) -> list[tuple[str, float]]:
        """Terms of the query that ``document`` holds, with what each adds to its score, largest first."""
        found: list[tuple[str, float]] = []
        wanted = self.postings.dtype.type(document)  # of another type it copies postings
        for term, times in Counter(finance_tokens(query)).items():
            part = self._part(term)
            place = part.start + int(self.postings[part].searchsorted(wanted))
            if place < part.stop and self.postings[place] == wanted:
                found.append((term, float(self.weights[place]) * times))
        return sorted(found, key=lambda pair: -pair[1])


class RankBm25:
    """The package rank-bm25 over ``texts``, with the methods of `Bm25Index`; made again in every process."""

    def __init__(self, texts: Iterable[str]) -> None:
        from rank_bm25 import BM25Okapi

        tokens = [finance_tokens(text) for text in texts]
        self.documents = len(tokens)
        # It divides by the numbers of documents and of terms.
        self._okapi = BM25Okapi(tokens, k1=K1, b=B, epsilon=EPSILON) if any(tokens) else None

    def scores(self, query: str) -> np.ndarray:
        """As `Bm25Index.scores`."""
        if self._okapi is None:
            return np.zeros(self.documents, np.float32)
        return np.asarray(self._okapi.get_scores(finance_tokens(query)), np.float32)

    def matched_terms(self, query: str, document: int) -> list[tuple[str, float]]:
        """As `Bm25Index.matched_terms`."""
        if self._okapi is None:
            return []
        held = self._okapi.doc_freqs[document]
        times = Counter(term for term in finance_tokens(query) if term in held)
        found = [(term, self._okapi.get_batch_scores([term], [document])[0] * n) for term, n in times.items()]
        return sorted(found, key=lambda pair: -pair[1])


def build_bm25(texts: Iterable[str]) -> Bm25Index:
    """Index ``texts`` with Okapi BM25: k1 = 1.5, b = 0.75, epsilon = 0.25 (rank-bm25's defaults).

    weight(t, d) = idf(t) · tf · (k1 + 1) / (tf + k1 · (1 - b + b · |d| / avg|d|)), with
    idf(t) = ln((N - df + 0.5) / (df + 0.5)), and epsilon · mean idf where that is negative
    (Robertson & Walker; floor as in rank-bm25).
    """
    vocabulary: dict[str, int] = {}
    counted = [Counter(finance_tokens(text)) for text in texts]
    terms = [vocabulary.setdefault(term, len(vocabulary)) for counts in counted for term in counts]
    documents = len(counted)
    term = np.array(terms, np.int64)
    order = np.argsort(term, kind="stable")  # documents stay ascending within a term
    document = np.repeat(np.arange(documents), np.array([len(counts) for counts in counted], np.int64))[order]
    frequency = np.array([n for counts in counted for n in counts.values()], np.float64)[order]
    df = np.bincount(term, minlength=len(vocabulary)).astype(np.float64)
    idf = np.log(documents - df + 0.5) - np.log(df + 0.5)
    if len(idf):
        idf = np.where(idf < 0, EPSILON * idf.mean(), idf)
    length = np.array([counts.total() for counts in counted], np.float64)
    norm = K1 * (1 - B + B * length / (length.mean() if length.any() else 1.0))
    weights = np.repeat(idf, df.astype(np.int64)) * frequency * (K1 + 1) / (frequency + norm[document])
    indptr = np.concatenate([[0], np.cumsum(df.astype(np.int64))])
    return Bm25Index(vocabulary, indptr, document.astype(np.int32), weights.astype(np.float32), documents)


def top_documents(scores: np.ndarray, k: int, allowed: np.ndarray | None = None) -> np.ndarray:
    """Numbers of the ``k`` best documents by scores of shape (documents,), best first, ties by number.

    They are chosen among ``allowed`` numbers, which ascend, or among all.
    """
    if allowed is not None:
        return allowed[top_documents(scores[allowed], k)]
    k = min(k, len(scores))
    if not k:
        return np.empty(0, np.int64)
    candidates = np.flatnonzero(scores >= np.partition(scores, len(scores) - k)[len(scores) - k])
    return candidates[np.argsort(-scores[candidates], kind="stable")[:k]]


def kept_bm25(lake: Lake, folder: Sequence[str], texts: Callable[[], Iterable[str]]) -> Bm25Index:
    """The index in a folder of the lake; made of ``texts`` and kept where there is none, or a damaged one."""
    try:
        index = load_bm25(lake, folder)
    except LakeError:
        index = None
    if index is None:
        index = build_bm25(texts())
        save_bm25(index, lake, folder)
    return index


def save_bm25(index: Bm25Index, lake: Lake, folder: Sequence[str]) -> None:
    """Keep an index in the lake: three arrays and the vocabulary."""
    buffer = io.BytesIO()
    np.savez(
        buffer, indptr=index.indptr, postings=index.postings, weights=index.weights, documents=index.documents
    )
    lake.write_json(lake.path(*folder, "vocabulary.json"), list(index.vocabulary))
    # Written last: its presence means that the index is complete.
    lake.write_bytes(lake.path(*folder, "bm25.npz"), buffer.getvalue())


def load_bm25(lake: Lake, folder: Sequence[str]) -> Bm25Index | None:
    """A kept index, or None when there is none.

    Raises:
        LakeError: its files are damaged.
    """
    data = lake.read_bytes(lake.path(*folder, "bm25.npz"))
    vocabulary = lake.read_bytes(lake.path(*folder, "vocabulary.json"))
    if data is None or vocabulary is None:
        return None
    try:
        terms = {term: number for number, term in enumerate(json.loads(vocabulary))}
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            indptr, documents = arrays["indptr"], int(arrays["documents"])
            if len(indptr) != len(terms) + 1:
                raise ValueError(f"{len(terms)} terms, but postings of {len(indptr) - 1}")
            return Bm25Index(terms, indptr, arrays["postings"], arrays["weights"], documents)
    except (ValueError, TypeError, KeyError, OSError, EOFError, BadZipFile) as error:
        raise LakeError(
            f"The BM25 index in {'/'.join(folder)} is damaged ({error}).", "Delete that folder."
        ) from error
