"""Lexical evidence in a filing, page by page: BM25, coverage of the question, its passages and word pairs.

And labels of its tables: is one row, column or table of a page called what the question asks for? All labels
of a page in one bag tell pages of many small words from others; a single label that says just what is asked,
"Finished goods", tells where the number stands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

K1, B = 1.2, 0.75
PASSAGE_TERMS = 48
"""Length of a passage in terms; passages begin every half of it, and none spans two pages."""


def idf(pages: int, df: int) -> float:
    """Weight of a term that ``df`` of the pages of a filing hold: ln(1 + (N − df + 0.5) / (df + 0.5)).

    It is never negative (Robertson & Zaragoza 2009, with Lucene's idf).
    """
    return float(np.log1p((pages - df + 0.5) / (df + 0.5)))


@dataclass(frozen=True)
class PageTerms:
    """Terms of the pages of a filing, one after the other.

    Attributes:
        vocabulary: number of each term.
        tokens: number of the term at each position.
        pages: page of each position, ascending.
        lengths: number of terms of each page, float32.
        order: positions sorted by term, for look-ups.
        starts: first place in ``order`` of each term, and the end; shape (terms + 1,).
        halves: half passage of each position; one without terms stands between any two pages.
        first_halves: first half passage of each page, and the end; shape (pages + 1,).

    What has a number for each position is int32.
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
    pages = np.repeat(np.arange(len(texts), dtype=np.int32), sizes)
    order = np.argsort(tokens, kind="stable").astype(np.int32)
    starts = np.searchsorted(tokens[order], np.arange(len(vocabulary) + 1))
    half = PASSAGE_TERMS // 2
    first_halves = np.concatenate([[0], np.cumsum(-(-sizes // half) + 1)])
    offsets = np.arange(len(tokens)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    halves = (first_halves[pages] + offsets // half).astype(np.int32)
    return PageTerms(vocabulary, tokens, pages, sizes.astype(np.float32), order, starts, halves, first_halves)


def lexical_scores(pages: PageTerms, query: Sequence[str]) -> np.ndarray:
    """Evidence of a query on every page of a filing, shape (3, pages), float32.

    Okapi BM25 with `idf` over the pages of the filing; the share of the query's idf that a page holds, in
    [0, 1], its coverage; and the same share within the best passage of the page. Terms that the filing lacks
    count in the coverage like its rarest ones.
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
        weight = idf(count, int(present.sum()))
        total += weight
        rarest = max(rarest, weight)
        bm25 += weight * frequency * (K1 + 1) / (frequency + norm)
        held += weight * present
        # Passage h is the half passages h − 1 and h.
        inside = np.unique(pages.halves[found])
        passages[np.unique(np.concatenate([inside, inside + 1]))] += weight
    total += missing * rarest
    if total <= 0:
        return np.zeros((3, count), np.float32)
    best = np.maximum.reduceat(passages, pages.first_halves[:-1])
    return np.array([bm25, held / total, best / total], np.float32)


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
        weight = idf(count, int(present.sum()))
        total += weight
        held += weight * present
    return (held / total if total else held).astype(np.float32)


LONGEST_LABEL = 160
"""Characters of a label that are read: longer ones are prose in a table."""


@dataclass(frozen=True)
class PageLabels:
    """Labels of the pages of a filing.

    Attributes:
        pages: page of each label; shape (labels,).
        weights: idf of all terms of each label together; shape (labels,).
        several: whether a label has more than one term; shape (labels,).
        labels: labels that hold each term, ascending.
        count: number of pages.
    """

    pages: np.ndarray
    weights: np.ndarray
    several: np.ndarray
    idf: dict[str, float]
    labels: dict[str, np.ndarray]
    texts: tuple[str, ...]
    count: int


def read_labels(texts: Sequence[Sequence[str]], stemmed: Sequence[Sequence[Sequence[str]]]) -> PageLabels:
    """Labels of each page of a filing, printed and as terms; a page has one of those with the same terms."""
    found: dict[tuple[int, tuple[str, ...]], str] = {}
    for page, (printed, words) in enumerate(zip(texts, stemmed, strict=True)):
        for text, of_label in zip(printed, words, strict=True):
            found.setdefault((page, tuple(dict.fromkeys(of_label))), text)
    labels = [(page, words) for page, words in found if words]
    holders: dict[str, list[int]] = defaultdict(list)
    on_pages: dict[str, set[int]] = defaultdict(set)
    for number, (page, of_one) in enumerate(labels):
        for word in of_one:
            holders[word].append(number)
            on_pages[word].add(page)
    count = len(texts)
    weights = {word: idf(count, len(pages)) for word, pages in on_pages.items()}
    return PageLabels(
        np.array([page for page, _ in labels], np.int64),
        np.array([sum(weights[word] for word in words) for _, words in labels], np.float64),
        np.array([len(words) > 1 for _, words in labels], bool),
        weights,
        {word: np.array(numbers, np.int64) for word, numbers in holders.items()},
        tuple(found[label] for label in labels),
        count,
    )


def label_scores(labels: PageLabels, query: Sequence[str]) -> np.ndarray:
    """How well the best label of every page agrees with a query, shape (3, pages), float32, in [0, 1].

    Their similarity is the cosine of the two sets of terms, weighed by the root of their idf; their coverage
    the share of the query's idf that one label holds; and then the share of the idf of a label of several
    terms that the query holds. The idf of a term is over the pages whose labels hold it, as in
    `lexical_scores`; a term that no label holds counts like the rarest one.
    """
    similarity, coverage, contained = scores = np.zeros((3, labels.count))
    shared, total = _shared_idf(labels, query)
    if total > 0:
        hit = np.flatnonzero(shared)
        pages, shared, weights = labels.pages[hit], shared[hit], labels.weights[hit]
        np.maximum.at(similarity, pages, shared / np.sqrt(total * weights))
        np.maximum.at(coverage, pages, shared / total)
        np.maximum.at(contained, pages, np.where(labels.several[hit], shared / weights, 0.0))
    return scores.astype(np.float32)


def closest_label(labels: PageLabels, query: Sequence[str], page: int, least: float) -> str | None:
    """The label of a zero-based page that agrees best with a query, as printed.

    None where none has at least the similarity ``least`` (see `label_scores`).
    """
    shared, total = _shared_idf(labels, query)
    own = np.flatnonzero((labels.pages == page) & (shared > 0))
    if not len(own):
        return None
    similarity = shared[own] / np.sqrt(total * labels.weights[own])
    best = int(np.argmax(similarity))
    return labels.texts[own[best]] if similarity[best] >= least else None


def _shared_idf(labels: PageLabels, query: Sequence[str]) -> tuple[np.ndarray, float]:
    """The idf of the terms that each label shares with a query, shape (labels,), and that of the query."""
    wanted = dict.fromkeys(query)
    rarest = max(labels.idf.values(), default=0.0)
    shared = np.zeros(len(labels.pages))
    for word in wanted:
        if word in labels.idf:
            shared[labels.labels[word]] += labels.idf[word]
    return shared, sum(labels.idf.get(word, rarest) for word in wanted)
