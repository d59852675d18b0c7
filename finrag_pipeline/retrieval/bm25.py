"""BM25 as the papers run it (Okapi, as in the package rank-bm25), with every weight precomputed.

Scores equal rank-bm25's; only the work is arranged differently: the weight of each (term, chunk) is
computed once, frequent terms are kept as dense rows, the others as sorted postings.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from zipfile import BadZipFile

import numpy as np

from finrag_pipeline.errors import LakeError
from finrag_pipeline.retrieval.finance_tokens import finance_tokens
from finrag_pipeline.storage.lake import Lake

BM25_VERSION = "1"
K1, B, EPSILON = 1.5, 0.75, 0.25
_DENSE_SHARE = 1 / 10
_BLOCK = 64


@dataclass(frozen=True)
class Bm25Index:
    """Precomputed Okapi BM25 weights over ``documents`` texts.

    Attributes:
        vocabulary: term to number.
        indptr: start of each term's postings; shape (terms + 1,).
        postings: document numbers of the postings, ascending per term.
        weights: BM25 weight of each posting, float32.
        documents: number of documents.
        dense_rows: weight of every document for the terms that stand in many, by number of the term.
    """

    vocabulary: dict[str, int]
    indptr: np.ndarray
    postings: np.ndarray
    weights: np.ndarray
    documents: int
    dense_rows: dict[int, np.ndarray]

    def scores(self, query: str) -> np.ndarray:
        """BM25 score of every document for ``query``; shape (documents,), float32.

        A term that the query repeats counts as often as it stands there (as in rank-bm25).
        """
        scores = np.zeros(self.documents, np.float32)
        for term, times in Counter(finance_tokens(query)).items():
            number = self.vocabulary.get(term)
            if number is None:
                continue
            dense = self.dense_rows.get(number)
            if dense is not None:
                scores += dense if times == 1 else dense * np.float32(times)
            else:
                part = slice(self.indptr[number], self.indptr[number + 1])
                weights = self.weights[part]
                scores[self.postings[part]] += weights if times == 1 else weights * np.float32(times)
        return scores

    def matched_terms(self, query: str, document: int) -> list[tuple[str, float]]:
        """Terms of the query that ``document`` holds, with what each adds to its score, largest first."""
        found = []
        for term, times in Counter(finance_tokens(query)).items():
            number = self.vocabulary.get(term)
            if number is None:
                continue
            part = slice(self.indptr[number], self.indptr[number + 1])
            place = int(np.searchsorted(self.postings[part], document))
            if place < len(self.postings[part]) and self.postings[part][place] == document:
                found.append((term, float(self.weights[part][place]) * times))
        return sorted(found, key=lambda pair: -pair[1])


def build_bm25(texts: Iterable[str]) -> Bm25Index:
    """Index ``texts`` with Okapi BM25: k1 = 1.5, b = 0.75, epsilon = 0.25 (rank-bm25's defaults).

    weight(t, d) = idf(t) · tf · (k1 + 1) / (tf + k1 · (1 - b + b · |d| / avg|d|)), with
    idf(t) = ln((N - df + 0.5) / (df + 0.5)), and epsilon · mean idf where that is negative
    (Robertson & Walker; floor as in rank-bm25).
    """
    vocabulary: dict[str, int] = {}
    terms: list[int] = []
    counts: list[int] = []
    sizes: list[int] = []
    lengths: list[int] = []
    for text in texts:
        tokens = finance_tokens(text)
        frequencies = Counter(tokens)
        terms.extend(vocabulary.setdefault(term, len(vocabulary)) for term in frequencies)
        counts.extend(frequencies.values())
        sizes.append(len(frequencies))
        lengths.append(len(tokens))
    documents = len(sizes)
    term = np.array(terms, np.int64)
    order = np.argsort(term, kind="stable")  # documents stay ascending within a term
    document = np.repeat(np.arange(documents), np.array(sizes, np.int64))[order]
    frequency = np.array(counts, np.float64)[order]
    df = np.bincount(term, minlength=len(vocabulary)).astype(np.float64)
    idf = np.log(documents - df + 0.5) - np.log(df + 0.5)
    if len(idf):
        idf = np.where(idf < 0, EPSILON * idf.mean(), idf)
    length = np.array(lengths, np.float64)
    norm = K1 * (1 - B + B * length / (length.mean() if length.any() else 1.0))
    weights = np.repeat(idf, df.astype(np.int64)) * frequency * (K1 + 1) / (frequency + norm[document])
    indptr = np.concatenate([[0], np.cumsum(df.astype(np.int64))])
    return _with_dense_rows(
        vocabulary, indptr, document.astype(np.int32), weights.astype(np.float32), documents
    )


def _with_dense_rows(
    vocabulary: dict[str, int], indptr: np.ndarray, postings: np.ndarray, weights: np.ndarray, documents: int
) -> Bm25Index:
    frequent = np.flatnonzero(np.diff(indptr) > documents * _DENSE_SHARE)
    dense = {}
    for number in frequent.tolist():
        part = slice(indptr[number], indptr[number + 1])
        dense[number] = np.zeros(documents, np.float32)
        dense[number][postings[part]] = weights[part]
    return Bm25Index(vocabulary, indptr, postings, weights, documents, dense)


def top_documents(scores: np.ndarray, k: int, allowed: np.ndarray | None = None) -> np.ndarray:
    """Numbers of the ``k`` best documents, best first, ties by number.

    Args:
        scores: shape (documents,).
        k: how many.
        allowed: ascending document numbers to choose among; all when None.
    """
    if allowed is not None:
        return allowed[_best(scores[allowed], k)]
    return _best(scores, k)


def _best(scores: np.ndarray, k: int) -> np.ndarray:
    k = min(k, len(scores))
    if not k:
        return np.empty(0, np.int64)
    blocks = len(scores) // _BLOCK
    if blocks > k:
        # The k-th best block maximum bounds the k-th best score from below, so few candidates remain.
        # Documents after the last whole block are candidates like all others.
        maxima = scores[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
        bound = np.partition(maxima, blocks - k)[blocks - k]
        candidates = np.flatnonzero(scores >= bound)
    else:
        candidates = np.arange(len(scores))
    return candidates[np.argsort(-scores[candidates], kind="stable")[:k]]


def save_bm25(index: Bm25Index, lake: Lake, folder: Sequence[str]) -> None:
    """Keep an index in the lake: three arrays and the vocabulary."""
    import io

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
    import io

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
            return _with_dense_rows(terms, indptr, arrays["postings"], arrays["weights"], documents)
    except (ValueError, TypeError, KeyError, OSError, EOFError, BadZipFile) as error:
        raise LakeError(
            f"The BM25 index in {'/'.join(folder)} is damaged ({error}).", "Delete that folder."
        ) from error
