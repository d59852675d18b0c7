"""Page recall of a model on validation questions: what decides when the training stops.

A bi-encoder is asked for all pages of the filings, a cross-encoder for likely ones: reading all of a filing
with every question would take too long.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from finrag_pipeline.rankers.pairs import Place, Question
from finrag_pipeline.rankers.texts import PageTexts, Pieces, flatten, page_scores
from finrag_pipeline.retrieval.bm25 import Bm25Index, build_bm25, finance_tokens

CUTOFF = 5
"""Pages that page recall looks at."""

Embed = Callable[[list[str]], np.ndarray]
"""Unit-length vectors of texts, shape (texts, dimensions)."""

Score = Callable[[list[tuple[str, str]]], np.ndarray]
"""Scores of pairs of question and text, shape (pairs,)."""


@dataclass(frozen=True)
class Recall:
    """How well a model finds gold pages.

    Attributes:
        page_rec: mean share of the gold pages among the first `CUTOFF` pages.
        mrr: mean reciprocal rank of the first gold page; tells models of equal recall apart.
    """

    page_rec: float
    mrr: float

    def better_than(self, other: Recall) -> bool:
        """Whether it is strictly better: by page recall, then by reciprocal rank."""
        return (self.page_rec, self.mrr) > (other.page_rec, other.mrr)


def recall(ranked: Sequence[Sequence[Place]], gold: Sequence[set[Place]], cutoff: int = CUTOFF) -> Recall:
    """Page recall and reciprocal rank of rankings.

    Args:
        ranked: pages of each question, best first.
        gold: gold pages of each question, never empty.
        cutoff: pages that page recall looks at.
    """
    shares, ranks = [], []
    for pages, wanted in zip(ranked, gold, strict=True):
        shares.append(len(wanted & set(pages[:cutoff])) / len(wanted))
        first = next((rank for rank, page in enumerate(pages, start=1) if page in wanted), None)
        ranks.append(1 / first if first else 0.0)
    return Recall(float(np.mean(shares)), float(np.mean(ranks)))


def sampled(pages: Sequence[Pieces], gold: Collection[int], count: int | None, seed: int) -> list[Pieces]:
    """``pages`` with all but ``count`` drawn ones blank; gold pages always stay, and so do page numbers."""
    if count is None:
        return list(pages)
    order = np.random.default_rng(seed).permutation(len(pages)).tolist()
    kept = set(sorted(order, key=lambda page: page not in gold)[: max(count, len(gold))])
    return [pieces if page in kept else () for page, pieces in enumerate(pages)]


def pages_to_search(
    questions: Sequence[Question], texts: PageTexts, count: int | None, seed: int
) -> dict[str, list[Pieces]]:
    """Pages of the filings of validation questions, by filing.

    Args:
        questions: rows of ``benchmark_questions``.
        texts: pages.
        count: pages of each filing, as in `sampled`.
        seed: of the draw.
    """
    gold: dict[str, set[int]] = {}
    for row in questions:
        gold.setdefault(str(row["filing"]), set()).update(row["gold_pages"])
    return {filing: sampled(texts.pages(filing), gold[filing], count, seed) for filing in sorted(gold)}


class AllPages:
    """Questions, and all pages of their filings to find the gold pages among.

    Args:
        questions: rows of ``benchmark_questions``, one at least.
        pages: pieces of each page of their filings, by filing.
    """

    def __init__(self, questions: Sequence[Question], pages: Mapping[str, Sequence[Pieces]]) -> None:
        self._questions = [str(question["question"]) for question in questions]
        self._gold = [
            {(str(question["filing"]), int(page)) for page in question["gold_pages"]}
            for question in questions
        ]
        self._places = [(filing, page) for filing in sorted(pages) for page in range(len(pages[filing]))]
        self._texts, self._owners = flatten([pages[filing][page] for filing, page in self._places])

    def measure(self, embed: Embed) -> Recall:
        """Page recall of a model.

        Args:
            embed: the model.
        """
        vectors = embed(self._texts)
        ranked = []
        for question in embed(self._questions):
            scores = page_scores(vectors @ question, self._owners, len(self._places))
            ranked.append([self._places[n] for n in np.argsort(-scores, kind="stable")])
        return recall(ranked, self._gold)


class CandidatePages:
    """Questions, each with the pages of its filing that BM25 finds best; gold pages always stay among them.

    Args:
        questions: rows of ``benchmark_questions``, one at least.
        pages: pieces of each page of their filings, by filing.
        count: candidates of a question; more where it has more gold pages.
        windows: pieces of a page that are read.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        pages: Mapping[str, Sequence[Pieces]],
        count: int,
        windows: int,
    ) -> None:
        self._gold: list[set[Place]] = []
        self._places: list[list[Place]] = []
        self._owners: list[np.ndarray] = []
        self._pairs: list[tuple[str, str]] = []
        indexes: dict[str, Bm25Index] = {}
        for question in questions:
            filing, text = str(question["filing"]), str(question["question"])
            if filing not in indexes:
                indexes[filing] = build_bm25(" ".join(pieces) for pieces in pages[filing])
            gold = {int(page) for page in question["gold_pages"]}
            chosen = _candidates(indexes[filing].scores(text), pages[filing], gold, count)
            pieces, owners = flatten([likely_pieces(pages[filing][page], text, windows) for page in chosen])
            self._gold.append({(filing, page) for page in gold})
            self._places.append([(filing, page) for page in chosen])
            self._owners.append(owners)
            # One line, as a reranker that searches is asked.
            self._pairs += [(" ".join(text.split()), piece) for piece in pieces]

    @property
    def candidates(self) -> list[list[Place]]:
        """Pages of each question, best by BM25 first."""
        return self._places

    def measure(self, score: Score) -> Recall:
        """Page recall and reciprocal rank of a model among the candidates.

        Args:
            score: the model.
        """
        scores = score(self._pairs)
        ranked, start = [], 0
        for places, owners in zip(self._places, self._owners, strict=True):
            found = page_scores(scores[start : start + len(owners)], owners, len(places), -np.inf)
            ranked.append([places[n] for n in np.argsort(-found, kind="stable")])
            start += len(owners)
        return recall(ranked, self._gold)


def likely_pieces(pieces: Pieces, question: str, count: int) -> Pieces:
    """The ``count`` pieces of a page that share most distinct tokens with a question, best first."""
    asked = set(finance_tokens(question))
    # Stable: of equals the earlier ones.
    return tuple(sorted(pieces, key=lambda piece: -len(asked.intersection(finance_tokens(piece))))[:count])


def _candidates(scores: np.ndarray, pages: Sequence[Pieces], gold: set[int], count: int) -> list[int]:
    """Pages with text, best first: gold pages, and others up to ``count`` together."""
    order = [page for page in np.argsort(-scores, kind="stable").tolist() if pages[page]]
    kept = sorted(order, key=lambda page: page not in gold)[: max(count, len(gold))]
    return [page for page in order if page in set(kept)]
