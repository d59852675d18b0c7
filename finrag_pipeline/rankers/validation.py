"""Page recall of a model on validation questions: what decides when the training stops.

A bi-encoder is asked for all pages of the filings, a cross-encoder for likely ones: reading all of a filing
with every question would take too long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from finrag_pipeline.rankers.pairs import Place, Question
from finrag_pipeline.rankers.texts import Pieces, flatten, page_scores
from finrag_pipeline.retrieval.bm25 import Bm25Index, build_bm25, finance_tokens

CUTOFF = 5
"""Pages that page recall looks at."""

PagesOf = Mapping[str, Sequence[Pieces]]
"""Pieces of each page of some filings, by filing."""


@dataclass(frozen=True, order=True)
class Recall:
    """How well a model finds gold pages; compared by page recall, then by reciprocal rank.

    Attributes:
        page_rec: mean share of the gold pages among the first `CUTOFF` pages.
        mrr: mean reciprocal rank of the first gold page; tells models of equal recall apart.
    """

    page_rec: float
    mrr: float


def recall(ranked: Sequence[Sequence[Place]], gold: Sequence[set[Place]]) -> Recall:
    """Page recall and reciprocal rank of the pages of each question, best first; no gold pages are empty."""
    shares, ranks = [], []
    for pages, wanted in zip(ranked, gold, strict=True):
        shares.append(len(wanted & set(pages[:CUTOFF])) / len(wanted))
        ranks.append(next((1 / rank for rank, page in enumerate(pages, start=1) if page in wanted), 0.0))
    return Recall(float(np.mean(shares)), float(np.mean(ranks)))


def gold_places(questions: Sequence[Question]) -> list[set[Place]]:
    """The gold pages of each question."""
    return [{(str(row["filing"]), int(page)) for page in row["gold_pages"]} for row in questions]


def sampled(pages: Sequence[Pieces], gold: Collection[int], count: int | None, seed: int) -> list[Pieces]:
    """``pages`` with all but ``count`` drawn ones blank; gold pages always stay, and so do page numbers."""
    if count is None:
        return list(pages)
    order = np.random.default_rng(seed).permutation(len(pages)).tolist()
    kept = set(sorted(order, key=lambda page: page not in gold)[: max(count, len(gold))])
    return [pieces if page in kept else () for page, pieces in enumerate(pages)]


class AllPages:
    """Questions, one at least, and all pages of their filings to find the gold pages among."""

    def __init__(self, questions: Sequence[Question], pages: PagesOf) -> None:
        self._questions = [str(question["question"]) for question in questions]
        self._gold = gold_places(questions)
        self._places = [(filing, page) for filing in sorted(pages) for page in range(len(pages[filing]))]
        self._texts, self._owners = flatten([pages[filing][page] for filing, page in self._places])

    def measure(self, embed: Callable[[list[str]], np.ndarray]) -> Recall:
        """Page recall of a model, which makes unit-length vectors of texts, shape (texts, dimensions)."""
        vectors = embed(self._texts)
        ranked = []
        for question in embed(self._questions):
            scores = page_scores(vectors @ question, self._owners, len(self._places))
            ranked.append([self._places[n] for n in np.argsort(-scores, kind="stable")])
        return recall(ranked, self._gold)


class CandidatePages:
    """Questions, each with the ``count`` pages of its filing that BM25 finds best.

    Gold pages always stay among them. So many ``windows`` of a page are read.
    """

    def __init__(self, questions: Sequence[Question], pages: PagesOf, count: int, windows: int) -> None:
        self._gold = gold_places(questions)
        self.candidates: list[list[Place]] = []
        """Pages of each question, best by BM25 first."""
        self._owners: list[np.ndarray] = []
        self._pairs: list[tuple[str, str]] = []
        indexes: dict[str, Bm25Index] = {}
        for question in questions:
            filing, text = str(question["filing"]), str(question["question"])
            if filing not in indexes:
                indexes[filing] = build_bm25(" ".join(pieces) for pieces in pages[filing])
            gold = {int(page) for page in question["gold_pages"]}
            best = np.argsort(-indexes[filing].scores(text), kind="stable").tolist()
            best = [page for page in best if pages[filing][page]]
            kept = set(sorted(best, key=lambda page: page not in gold)[: max(count, len(gold))])
            chosen = [page for page in best if page in kept]
            pieces, owners = flatten([likely_pieces(pages[filing][page], text, windows) for page in chosen])
            self.candidates.append([(filing, page) for page in chosen])
            self._owners.append(owners)
            # One line, as a reranker that searches is asked.
            self._pairs += [(" ".join(text.split()), piece) for piece in pieces]

    def measure(self, score: Callable[[list[tuple[str, str]]], np.ndarray]) -> Recall:
        """Page recall of a model, which scores pairs of question and text, shape (pairs,)."""
        scores = score(self._pairs)
        ranked, start = [], 0
        for places, owners in zip(self.candidates, self._owners, strict=True):
            found = page_scores(scores[start : start + len(owners)], owners, len(places), -np.inf)
            ranked.append([places[n] for n in np.argsort(-found, kind="stable")])
            start += len(owners)
        return recall(ranked, self._gold)


def likely_pieces(pieces: Pieces, question: str, count: int) -> Pieces:
    """The ``count`` pieces of a page that share most distinct tokens with a question, best first."""
    asked = set(finance_tokens(question))
    # Stable: of equals the earlier ones.
    return tuple(sorted(pieces, key=lambda piece: -len(asked.intersection(finance_tokens(piece))))[:count])
