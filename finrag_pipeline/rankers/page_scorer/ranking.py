"""Ranking pages by the cosine of question and page under a trained page scorer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.rankers.page_scorer import SCORER_VERSION
from finrag_pipeline.rankers.page_scorer.model import local_folder
from finrag_pipeline.rankers.page_scorer.pairs import Place, Question
from finrag_pipeline.rankers.page_scorer.texts import UNSEEN, PageTexts, flatten, page_scores
from finrag_pipeline.rankers.page_scorer.validation import CUTOFF, Recall, recall
from finrag_pipeline.retrieval.page_stage import PageHit
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.retrieval.corpus import Corpus


class PageScorerRanker:
    """Ranks pages by a trained page scorer; vectors of pages are kept in the lake by text and model.

    Args:
        lake: holds pages, the model, and the vectors.
        settings: backend and arithmetic of the encoder.
        folder: of the model in the lake.
        card: of the model; says how it reads pages.
    """

    def __init__(self, lake: Lake, settings: Settings, folder: tuple[str, ...], card: dict[str, Any]) -> None:
        self._lake = lake
        self._settings = settings
        self._folder = folder
        self.card = card
        self._pages: dict[str, tuple[np.ndarray, np.ndarray, int]] = {}
        self._asked: tuple[str, np.ndarray] | None = None

    @property
    def fingerprint(self) -> str:
        """What decides its rankings: weights, the texts of pages it reads, arithmetic."""
        read = [self.card[name] for name in ("text", "max_characters", "max_tokens")]
        precision = self.encoder.running.precision
        return fingerprint("page_scorer", SCORER_VERSION, self.card["weights_sha256"], read, precision)

    @cached_property
    def encoder(self) -> Encoder:
        """The trained model as an encoder, on the backend of the settings."""
        folder = local_folder(self._lake, self._folder, self.card)
        update = {"name": str(folder), "revision": None}
        return Encoder(self._settings.encoder.model_copy(update=update), self._lake)

    @cached_property
    def _texts(self) -> PageTexts:
        read = {name: self.card[name] for name in ("text", "max_characters")}
        scorer = self._settings.page_scorer.model_copy(update=read)
        return PageTexts(self._lake, scorer, self.encoder.settings, self.card["max_tokens"])

    def _load(self, filings: Sequence[str]) -> None:
        """Vectors of the pages of filings, those that are missing in one go."""
        new = [filing for filing in filings if filing not in self._pages]
        if not new:
            return
        flat = {filing: flatten(self._texts.pages(filing)) for filing in new}
        vectors = self.encoder.embed([text for texts, _ in flat.values() for text in texts])
        start = 0
        for filing, (texts, owners) in flat.items():
            count = len(self._texts.pages(filing))
            self._pages[filing] = (vectors[start : start + len(texts)], owners, count)
            start += len(texts)

    def _vector(self, question: str) -> np.ndarray:
        if self._asked is None or self._asked[0] != question:  # asked again for each search space
            self._asked = (question, self.encoder.embed_query(question))
        return self._asked[1]

    def rank(
        self,
        question: str,
        filings: Sequence[str],
        pages: Sequence[int] | None = None,
        depth: int | None = None,
    ) -> list[tuple[Place, float]]:
        """Pages of filings with their cosine, best first; equal ones by filing and page.

        Args:
            question: the question.
            filings: to search.
            pages: zero-based pages to restrict the search to; all when None.
            depth: pages at most; all when None.
        """
        names = sorted(set(filings))
        if not names:
            return []
        self._load(names)
        vector = self._vector(question)
        allowed = None if pages is None else frozenset(pages)
        places: list[Place] = []
        scores = []
        for filing in names:
            vectors, owners, count = self._pages[filing]
            found = page_scores(vectors @ vector if len(vectors) else np.empty(0), owners, count)
            kept = [page for page in range(count) if allowed is None or page in allowed]
            places += [(filing, page) for page in kept]
            scores.append(found[kept])
        flat = np.concatenate(scores)
        order = np.argsort(-flat, kind="stable")[:depth]
        return [(places[n], float(flat[n])) for n in order]

    @property
    def question_ids(self) -> Sequence[str]:
        """Questions of the benchmark that it learned from."""
        return list(self.card["question_ids"])

    def rank_pages(
        self,
        question: str,
        corpus: Corpus,
        filings: Sequence[str] | None,
        pages: Sequence[int] | None,
        depth: int,
        vector: np.ndarray | None = None,
    ) -> list[PageHit]:
        """The first ``depth`` pages for a question among all pages of the corpus or of a restriction.

        Args:
            question: the question.
            corpus: where to search.
            filings: filings to restrict the search to; the whole corpus when None.
            pages: zero-based pages to restrict it to, together with ``filings``.
            depth: how many pages at most.
            vector: of another encoder; not used.
        """
        names = corpus.filings if filings is None else sorted(set(filings) & set(corpus.filings))
        chosen = pages if filings is not None else None
        return [
            PageHit(filing, page, score, _why(score))
            for (filing, page), score in self.rank(question, names, chosen, depth)
        ]

    def recall(self, questions: Sequence[Question], filings: Sequence[str]) -> Recall | None:
        """Page recall on questions among all pages of ``filings``; None without questions."""
        if not questions:
            return None
        ranked = [[place for place, _ in self.rank(row["question"], filings)] for row in questions]
        gold = [{(row["filing"], page) for page in row["gold_pages"]} for row in questions]
        return recall(ranked, gold, CUTOFF)


def _why(score: float) -> str:
    return f"page scorer: cosine {score:.2f}" if score > UNSEEN else "page scorer: no text on the page"
