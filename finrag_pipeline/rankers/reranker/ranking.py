"""The first pages of a page ranker, ordered anew by a trained cross-encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from finrag_pipeline.rankers.page_scorer.model import base_encoder, local_folder
from finrag_pipeline.rankers.page_scorer.pairs import Place, Question
from finrag_pipeline.rankers.page_scorer.texts import PageTexts, flatten, page_scores
from finrag_pipeline.rankers.page_scorer.validation import Recall
from finrag_pipeline.rankers.reranker import RERANKER_TRAINING_VERSION
from finrag_pipeline.rankers.reranker.validation import CandidatePages, likely_pieces
from finrag_pipeline.reranking.cross_encoder import CrossEncoderReranker
from finrag_pipeline.retrieval.fusion import reciprocal_rank_fusion
from finrag_pipeline.retrieval.page_stage import PageHit, PageRanker
from finrag_pipeline.settings import RerankerSettings, Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.retrieval.corpus import Corpus


class TrainedReranker:
    """A cross-encoder of the lake; its scores are kept there by question, text and model.

    Args:
        lake: holds pages, the model, and the scores.
        settings: how many pairs it reads at a time.
        folder: of the model in the lake.
        card: of the model; says how it reads pages.
    """

    def __init__(self, lake: Lake, settings: Settings, folder: tuple[str, ...], card: dict[str, Any]) -> None:
        self._lake = lake
        self._settings = settings
        self._folder = folder
        self.card = card

    @property
    def fingerprint(self) -> str:
        """What decides its scores: weights, and the texts of pages that it reads."""
        read = [
            self.card[name] for name in ("text", "max_characters", "max_tokens", "text_tokens", "windows")
        ]
        return fingerprint("reranker", RERANKER_TRAINING_VERSION, self.card["weights_sha256"], read)

    @property
    def question_ids(self) -> Sequence[str]:
        """Questions of the benchmark that it learned from."""
        return list(self.card["question_ids"])

    @cached_property
    def _model(self) -> CrossEncoderReranker:
        how = RerankerSettings(
            name=str(local_folder(self._lake, self._folder, self.card)),
            max_length=self.card["max_tokens"],
            batch_size=self._settings.reranker_training.prediction_batch_size,
        )
        return CrossEncoderReranker(how, self._lake)

    @cached_property
    def _texts(self) -> PageTexts:
        read = {name: self.card[name] for name in ("text", "max_characters")}
        training = self._settings.reranker_training.model_copy(update=read)
        # Windows are counted by the tokenizer that the model was saved with.
        folder = str(local_folder(self._lake, self._folder, self.card))
        base = base_encoder(self._settings).model_copy(update={"name": folder, "revision": None})
        return PageTexts(self._lake, training, base, self.card["text_tokens"])

    def scores(self, question: str, places: Sequence[Place]) -> np.ndarray:
        """Score of each page, that of its best window; shape (pages,), float32; -inf without text.

        Raises:
            ModelError: the model cannot be loaded, or its scores are no numbers.
        """
        read = [self._texts.pages(filing)[page] for filing, page in places]
        pieces, owners = flatten([likely_pieces(page, question, self.card["windows"]) for page in read])
        return page_scores(self._model.score(question, pieces), owners, len(places), -np.inf)

    def recall(self, questions: Sequence[Question]) -> Recall | None:
        """Page recall on questions, among the best pages of their filings by BM25; None without questions."""
        if not questions:
            return None
        filings = {str(row["filing"]) for row in questions}
        pages = {filing: self._texts.pages(filing) for filing in filings}
        count = self._settings.reranker_training.validation_pages

        def score(pairs: list[tuple[str, str]]) -> np.ndarray:
            asked: dict[str, list[int]] = {}
            for place, (question, _) in enumerate(pairs):
                asked.setdefault(question, []).append(place)
            found = np.empty(len(pairs), np.float32)
            for question, places in asked.items():
                found[places] = self._model.score(question, [pairs[place][1] for place in places])
            return found

        return CandidatePages(questions, pages, count, self.card["windows"]).measure(score)


class ScoresPages(Protocol):
    """Scores pages for a question, reading both together."""

    @property
    def fingerprint(self) -> str:
        """What decides its scores."""

    @property
    def question_ids(self) -> Sequence[str]:
        """Questions of the benchmark that it learned from."""

    def scores(self, question: str, places: Sequence[Place]) -> np.ndarray:
        """One score per page, higher is better, shape (pages,)."""


class RerankedPages:
    """A page ranker whose first N pages are ordered anew, by both orders together.

    Reciprocal rank fusion of the order of the page ranker and that of the cross-encoder. Its constant k is
    small: with k = 1, the first page of either order is among the first four of the fused one, whatever the
    other order says. So a cross-encoder that has learned nothing cannot bury the page that the ranker is
    surest of. Pages after the first N keep their places.

    Args:
        ranker: ranks pages.
        reranker: reads question and page together.
        pages: N.
        k: constant of the fusion.
    """

    def __init__(self, ranker: PageRanker, reranker: ScoresPages, pages: int, k: int) -> None:
        self._ranker = ranker
        self._reranker = reranker
        self._pages = pages
        self._k = k

    @property
    def fingerprint(self) -> str:
        """What decides its rankings: both models, N and k."""
        return fingerprint(
            "reranked pages", self._ranker.fingerprint, self._reranker.fingerprint, self._pages, self._k
        )

    @property
    def question_ids(self) -> Sequence[str]:
        """Questions of the benchmark that either model learned from."""
        return list(dict.fromkeys([*self._ranker.question_ids, *self._reranker.question_ids]))

    def rank_pages(
        self,
        question: str,
        corpus: Corpus,
        filings: Sequence[str] | None,
        pages: Sequence[int] | None,
        depth: int,
        vector: np.ndarray | None = None,
    ) -> list[PageHit]:
        """The first ``depth`` pages for a question, best first; see `PageRanker.rank_pages`."""
        hits = self._ranker.rank_pages(question, corpus, filings, pages, max(depth, self._pages), vector)
        head = hits[: self._pages]
        scores = self._reranker.scores(question, [(hit.filing, hit.page) for hit in head])
        order = np.argsort(-scores, kind="stable").tolist()
        fused = reciprocal_rank_fusion([range(len(head)), order], self._k)
        rank_of = {place: rank for rank, place in enumerate(order, start=1)}
        ordered = [
            # A page takes the score of its new place, so that scores fall along the ranking.
            replace(
                head[place],
                score=head[rank].score,
                why=f"{head[place].why}; rank {place + 1} of the page ranker, "
                f"{rank_of[place]} of the cross-encoder ({scores[place]:.2f})",
            )
            for rank, (place, _) in enumerate(fused)
        ]
        return [*ordered, *hits[self._pages :]][:depth]
