"""Labels of tables: is one row, column or table of a page called what the question asks for?

All labels of a page in one bag tell pages of many small words from others; a single label that says just what
is asked, "Finished goods", tells where the number stands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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


@dataclass(frozen=True)
class LabelScores:
    """How well the best label of each page agrees with a query, arrays of shape (pages,), in [0, 1].

    Attributes:
        similarity: cosine of the two sets of terms, weighed by the root of their idf.
        coverage: share of the query's idf that one label holds.
        contained: share of the idf of a label of several terms that the query holds.
    """

    similarity: np.ndarray
    coverage: np.ndarray
    contained: np.ndarray


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
    idf = {
        word: float(np.log1p((count - len(pages) + 0.5) / (len(pages) + 0.5)))
        for word, pages in on_pages.items()
    }
    return PageLabels(
        np.array([page for page, _ in labels], np.int64),
        np.array([sum(idf[word] for word in words) for _, words in labels], np.float64),
        np.array([len(words) > 1 for _, words in labels], bool),
        idf,
        {word: np.array(numbers, np.int64) for word, numbers in holders.items()},
        tuple(found[label] for label in labels),
        count,
    )


def label_scores(labels: PageLabels, query: Sequence[str]) -> LabelScores:
    """Score the labels of every page for a query.

    The idf of a term is over the pages whose labels hold it, as in `lexical_scores`; a term that no label
    holds counts like the rarest one.
    """
    similarity, coverage, contained = np.zeros((3, labels.count))
    shared, total = _shared_idf(labels, query)
    if total > 0:
        hit = np.flatnonzero(shared)
        pages, shared, weights = labels.pages[hit], shared[hit], labels.weights[hit]
        np.maximum.at(similarity, pages, shared / np.sqrt(total * weights))
        np.maximum.at(coverage, pages, shared / total)
        np.maximum.at(contained, pages, np.where(labels.several[hit], shared / weights, 0.0))
    return LabelScores(*(scores.astype(np.float32) for scores in (similarity, coverage, contained)))


def closest_label(labels: PageLabels, query: Sequence[str], page: int, least: float) -> str | None:
    """The label of a zero-based page that agrees best with a query, as printed.

    None where none has at least the similarity ``least`` (see `LabelScores`).
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
