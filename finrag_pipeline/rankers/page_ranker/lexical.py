"""Lexical evidence in a filing, page by page: BM25, coverage of the question, its passages and word pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

K1, B = 1.2, 0.75
PASSAGE_TERMS = 48
"""Length of a passage in terms; passages begin every half of it, and none spans two pages."""


@dataclass(frozen=True)
class PageTerms:
    """Terms of the pages of a filing, one after the other.

    Attributes:
        vocabulary: number of each term.
        tokens: number of the term at each position, int32.
        pages: page of each position, ascending.
        lengths: number of terms of each page, float32.
        order: positions sorted by term, for look-ups.
        starts: first place in ``order`` of each term, and the end; shape (terms + 1,).
        halves: half passage of each position; one without terms stands between any two pages.
        first_halves: first half passage of each page, and the end; shape (pages + 1,).
    """

    vocabulary: dict[str, int]
    tokens: np.ndarray
    pages: np.ndarray
    lengths: np.ndarray
    order: np.ndarray
    starts: np.ndarray
    halves: np.ndarray
    first_halves: np.ndarray

    def positions(self, term: str) -> np.ndarray:
        """Ascending positions of a term."""
        number = self.vocabulary.get(term)
        if number is None:
            return np.empty(0, np.int64)
        return self.order[self.starts[number] : self.starts[number + 1]]


def page_terms(texts: Sequence[Sequence[str]]) -> PageTerms:
    """Arrange the terms of each page, in their order."""
    vocabulary: dict[str, int] = {}
    tokens = np.array(
        [vocabulary.setdefault(term, len(vocabulary)) for text in texts for term in text], np.int32
    )
    sizes = np.array([len(text) for text in texts], np.int64)
    pages = np.repeat(np.arange(len(texts)), sizes)
    order = np.argsort(tokens, kind="stable")
    starts = np.searchsorted(tokens[order], np.arange(len(vocabulary) + 1))
    half = PASSAGE_TERMS // 2
    first_halves = np.concatenate([[0], np.cumsum(-(-sizes // half) + 1)])
    offsets = np.arange(len(tokens)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    halves = first_halves[pages] + offsets // half
    return PageTerms(vocabulary, tokens, pages, sizes.astype(np.float32), order, starts, halves, first_halves)


@dataclass(frozen=True)
class LexicalScores:
    """Evidence of a query on each page, arrays of shape (pages,).

    Attributes:
        bm25: Okapi BM25.
        coverage: share of the query's idf that the page holds, in [0, 1].
        passage: the same share within the best passage of the page.
    """

    bm25: np.ndarray
    coverage: np.ndarray
    passage: np.ndarray


def lexical_scores(pages: PageTerms, query: Sequence[str]) -> LexicalScores:
    """Score every page of a filing for a query.

    Okapi BM25 with idf over the pages of the filing: ln(1 + (N − df + 0.5) / (df + 0.5)), so never negative
    (Robertson & Zaragoza 2009, with Lucene's idf). Terms that the filing lacks count in the coverage like its
    rarest ones.
    """
    count = len(pages.lengths)
    bm25, held = np.zeros(count), np.zeros(count)
    passages = np.zeros(pages.first_halves[-1])
    norm = K1 * (1 - B + B * pages.lengths / max(float(pages.lengths.mean()) if count else 1.0, 1.0))
    total, rarest, missing = 0.0, 0.0, 0
    for term in dict.fromkeys(query):
        found = pages.positions(term)
        if not len(found):
            missing += 1
            continue
        frequency = np.bincount(pages.pages[found], minlength=count)
        present = frequency > 0
        df = int(present.sum())
        idf = float(np.log1p((count - df + 0.5) / (df + 0.5)))
        total += idf
        rarest = max(rarest, idf)
        bm25 += idf * frequency * (K1 + 1) / (frequency + norm)
        held += idf * present
        # Passage h is the half passages h − 1 and h.
        inside = np.unique(pages.halves[found])
        passages[np.unique(np.concatenate([inside, inside + 1]))] += idf
    weight = total + missing * rarest
    if weight <= 0:
        zero = np.zeros(count, np.float32)
        return LexicalScores(zero, zero, zero)
    best = np.maximum.reduceat(passages, pages.first_halves[:-1])
    return LexicalScores(
        bm25.astype(np.float32), (held / weight).astype(np.float32), (best / weight).astype(np.float32)
    )


def pair_coverage(pages: PageTerms, query: Sequence[str]) -> np.ndarray:
    """Share of the query's pairs of neighbouring terms that stand together on each page, weighed by idf.

    Shape (pages,), in [0, 1].
    """
    count = len(pages.lengths)
    held, total = np.zeros(count), 0.0
    for first, second in dict.fromkeys(pairwise(query)):
        number = pages.vocabulary.get(second, -1)
        found = pages.positions(first)
        found = found[found + 1 < len(pages.tokens)]
        found = found[(pages.tokens[found + 1] == number) & (pages.pages[found + 1] == pages.pages[found])]
        present = np.bincount(pages.pages[found], minlength=count) > 0
        df = int(present.sum())
        idf = float(np.log1p((count - df + 0.5) / (df + 0.5)))
        total += idf
        held += idf * present
    return (held / total if total else held).astype(np.float32)
