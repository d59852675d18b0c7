"""Labels of tables: is one row, column or table of a page called what the question asks for?

All labels of a page in one bag tell pages of many small words from others; a single label that says just what
is asked, "Finished goods", tells where the number stands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from finrag_pipeline.page_ranker.terms import terms

LONGEST_LABEL = 160
"""Characters of a label that are read: longer ones are prose in a table."""


@dataclass(frozen=True)
class PageLabels:
    """Labels of the pages of a filing.

    Attributes:
        pages: page of each label; shape (labels,).
        weights: idf of all terms of each label together; shape (labels,).
        several: whether a label has more than one term; shape (labels,).
        idf: of each term.
        labels: labels that hold each term, ascending.
        count: number of pages.
    """

    pages: np.ndarray
    weights: np.ndarray
    several: np.ndarray
    idf: dict[str, float]
    labels: dict[str, np.ndarray]
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


def read_labels(cells: Iterable[Mapping[str, Any]], count: int) -> PageLabels:
    """Labels, headers and captions of the tables of a filing.

    Args:
        cells: rows of ``page_tables`` (page, caption, kind, text).
        count: number of pages.
    """
    texts: dict[tuple[int, str], None] = {}
    for cell in cells:
        if cell["kind"] in ("label", "header"):
            texts[cell["page"], cell["text"][:LONGEST_LABEL]] = None
        if cell["caption"]:
            texts[cell["page"], cell["caption"][:LONGEST_LABEL]] = None
    found = {(page, tuple(dict.fromkeys(terms(text)))): None for page, text in texts}
    return page_labels([(page, words) for page, words in found if words], count)


def page_labels(labels: Sequence[tuple[int, Sequence[str]]], count: int) -> PageLabels:
    """Arrange labels.

    Args:
        labels: page and distinct terms of each, none without terms.
        count: number of pages.
    """
    holders: dict[str, list[int]] = defaultdict(list)
    on_pages: dict[str, set[int]] = defaultdict(set)
    for number, (page, words) in enumerate(labels):
        for word in words:
            holders[word].append(number)
            on_pages[word].add(page)
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
        count,
    )


def label_scores(labels: PageLabels, query: Sequence[str]) -> LabelScores:
    """Score the labels of every page for a query.

    The idf of a term is over the pages whose labels hold it, as in `lexical_scores`; a term that no label
    holds counts like the rarest one.
    """
    wanted = dict.fromkeys(query)
    similarity, coverage, contained = np.zeros((3, labels.count))
    rarest = max(labels.idf.values(), default=0.0)
    total = sum(labels.idf.get(word, rarest) for word in wanted)
    if total > 0:
        shared = np.zeros(len(labels.pages))
        for word in wanted:
            if word in labels.idf:
                shared[labels.labels[word]] += labels.idf[word]
        hit = np.flatnonzero(shared)
        pages, shared, weights = labels.pages[hit], shared[hit], labels.weights[hit]
        np.maximum.at(similarity, pages, shared / np.sqrt(total * weights))
        np.maximum.at(coverage, pages, shared / total)
        np.maximum.at(contained, pages, np.where(labels.several[hit], shared / weights, 0.0))
    return LabelScores(*(scores.astype(np.float32) for scores in (similarity, coverage, contained)))
