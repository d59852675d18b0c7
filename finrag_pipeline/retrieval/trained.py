"""What systems learn: rankers of pages and the weight of a hybrid, each learned without some questions.

Nothing here trains. Whoever measures passes what was trained without the questions of the fold that is
measured; whoever searches passes what was trained with all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from finrag_pipeline.retrieval.system import RetrievalSystem
from finrag_pipeline.storage.fingerprints import fingerprint

if TYPE_CHECKING:
    from finrag_pipeline.retrieval.corpus import Corpus


@dataclass(frozen=True)
class PageHit:
    """A page of a ranking.

    Attributes:
        filing: its filing.
        page: zero-based.
        score: of the ranker; higher is better.
        why: what put it there, for people.
    """

    filing: str
    page: int
    score: float
    why: str


class PageRanker(Protocol):
    """Ranks pages for a question."""

    @property
    def fingerprint(self) -> str:
        """What decides its rankings: weights, features, code."""

    @property
    def question_ids(self) -> Sequence[str]:
        """Questions of the benchmark that it learned from."""

    def rank_pages(
        self,
        question: str,
        corpus: Corpus,
        filings: Sequence[str] | None,
        pages: Sequence[int] | None,
        depth: int,
        vector: np.ndarray | None = None,
    ) -> list[PageHit]:
        """The first ``depth`` pages for a question, best first, no page twice.

        Args:
            question: the question.
            corpus: where to search.
            filings: filings to restrict the search to; the whole corpus when None.
            pages: zero-based pages to restrict it to, together with ``filings``.
            depth: how many pages at most.
            vector: embedding of the question by the encoder of the corpus, when it is at hand.
        """


@dataclass(frozen=True)
class Trained:
    """What was trained without the questions of a fold.

    Attributes:
        fold: the fold left out; None for production models, trained with every question.
        alphas: weight of the dense score in ``hybrid_alpha`` by search space.
        page_scorer: the learned page scorer.
        page_ranker: the page ranker of ``finrag``.
        page_reranker: the same with its first pages in the order of a trained cross-encoder as well.
    """

    fold: int | None = None
    alphas: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    page_scorer: PageRanker | None = None
    page_ranker: PageRanker | None = None
    page_reranker: PageRanker | None = None

    def ranker(self, system: RetrievalSystem) -> PageRanker | None:
        """The page ranker that ``system`` asks for; None where it asks for none or none was trained."""
        match system.page_stage:
            case "page_scorer":
                return self.page_scorer
            case "page_ranker":
                return self.page_ranker
            case "page_reranker":
                return self.page_reranker
            case None:
                return None

    def learned_from(self, system: RetrievalSystem, question_ids: Iterable[str]) -> list[str]:
        """Those of the questions that the ranker of ``system`` was trained on, in their order."""
        ranker = self.ranker(system)
        known = frozenset(ranker.question_ids if ranker is not None else ())
        return [question for question in question_ids if question in known]

    def problem(self, system: RetrievalSystem) -> str | None:
        """What ``system`` needs and was not trained, for people; None when nothing is missing."""
        if system.page_stage is not None and self.ranker(system) is None:
            which = "for searching" if self.fold is None else f"without the questions of fold {self.fold}"
            missing = system.page_stage.replace("_", " ")
            if system.page_stage == "page_reranker":  # without pages there is nothing to order anew
                missing = "reranker" if self.page_ranker else "page ranker"
            return f"No {missing} was trained {which}."
        if system.fusion == "alpha" and not self.alphas:
            return "The weight of the hybrid was not tuned: materialise hybrid_alpha_sweep."
        return None

    def used_by(self, system: RetrievalSystem) -> dict[str, Any]:
        """What of this decides the rankings of ``system``; empty for a system that learns nothing."""
        used: dict[str, Any] = {}
        if system.fusion == "alpha":
            used["alphas"] = dict(sorted(self.alphas.items()))
        ranker = self.ranker(system)
        if ranker is not None:
            used[str(system.page_stage)] = ranker.fingerprint
        return used

    @property
    def fingerprint(self) -> str:
        """Everything that was trained."""
        found = (self.page_scorer, self.page_ranker, self.page_reranker)
        rankers = [ranker and ranker.fingerprint for ranker in found]
        return fingerprint("trained", dict(sorted(self.alphas.items())), rankers)


UNTRAINED = Trained()
"""Nothing was trained."""
