"""Page recall of a cross-encoder among likely pages: reading all pages of a filing would take too long."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from finrag_pipeline.rankers.page_scorer.pairs import Place, Question
from finrag_pipeline.rankers.page_scorer.texts import Pieces, flatten, page_scores
from finrag_pipeline.rankers.page_scorer.validation import Recall, recall
from finrag_pipeline.retrieval.bm25 import Bm25Index, build_bm25
from finrag_pipeline.retrieval.finance_tokens import finance_tokens

Score = Callable[[list[tuple[str, str]]], np.ndarray]
"""Scores of pairs of question and text, shape (pairs,)."""


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
