"""Training the page ranker on a benchmark's questions, never on those of the fold it is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any, Self

import numpy as np

from finrag_pipeline.errors import LakeError
from finrag_pipeline.rankers.loop import Progress
from finrag_pipeline.rankers.page_ranker import PROFILES_VERSION, RANKER_VERSION
from finrag_pipeline.rankers.page_ranker.candidates import read_candidates
from finrag_pipeline.rankers.page_ranker.library import PageLibrary
from finrag_pipeline.rankers.page_ranker.model import Example, RankingModel, load_model, train_model
from finrag_pipeline.rankers.page_ranker.question_encoder import Encode, encoder_version
from finrag_pipeline.rankers.pairs import Question
from finrag_pipeline.rankers.recipe import Recipe
from finrag_pipeline.resolver import RESOLVER_VERSION
from finrag_pipeline.resolver.resolver import Resolver
from finrag_pipeline.storage.fingerprints import fingerprint


def page_examples(
    questions: Sequence[Question],
    encode: Encode,
    library: PageLibrary,
    resolver: Resolver,
    known: Sequence[str],
) -> list[Example]:
    """Candidate pages of questions with their labels, see `read_candidates`.

    The gold filing is among the candidates where the resolver misses it, too.
    """
    examples = []
    for question in questions:
        candidates = read_candidates(
            question["question"], encode, library, resolver, known, also=[question["filing"]]
        )
        of_filing = np.array([filing == question["filing"] for filing in candidates.filings], bool)
        examples.append(Example(candidates, of_filing & np.isin(candidates.pages, question["gold_pages"])))
    return examples


def card_of(questions: Sequence[Question], made_from: str) -> dict[str, Any]:
    """What the card of a page ranker with a fingerprint says of what it was trained on."""
    return {
        "made_from": made_from,
        "version": RANKER_VERSION,
        "question_ids": [question["question_id"] for question in questions],
        "filings": sorted({question["filing"] for question in questions}),
    }


@dataclass(frozen=True)
class Examples:
    """Candidate pages of questions, computed once for all folds of a run.

    The resolver is made when the first model is trained; ``known`` are the filings of the corpus.
    """

    questions: Sequence[Question]
    library: PageLibrary
    encode: Encode
    resolver: Callable[[], Resolver]
    known: Sequence[str]

    @cached_property
    def _found(self) -> dict[str, Example]:
        # What is read of a filing is not kept for long.
        questions = sorted(self.questions, key=itemgetter("filing"))
        found = page_examples(questions, self.encode, self.library, self.resolver(), self.known)
        ids = [str(question["question_id"]) for question in questions]
        return dict(zip(ids, found, strict=True))

    def of(self, questions: Sequence[Question]) -> list[Example]:
        """Those of some of the questions, in their order."""
        return [self._found[str(question["question_id"])] for question in questions]


@dataclass(eq=False)
class PageRankerRecipe(Recipe):
    """One page ranker, trained on ``examples`` of the learned questions at least.

    Filings that are tested are candidates all the same: their pages are nobody's label.
    """

    kind = "page_ranker"

    examples: Examples = field(kw_only=True)
    _model: RankingModel | None = field(default=None, init=False)

    @cached_property
    def fingerprint(self) -> str:
        """What it is made from: questions and gold pages, pages of the corpus, code and seed."""
        asked = [
            (row["question_id"], row["question"], row["filing"], sorted(row["gold_pages"]))
            for row in self.learned
        ]
        versions = (RANKER_VERSION, PROFILES_VERSION, RESOLVER_VERSION, encoder_version())
        pages = self.examples.library.fingerprint(self.filings)
        return fingerprint("page_ranker", versions, asked, pages, self.settings.seed)

    @classmethod
    def part_fingerprint(cls, recipes: Sequence[Self]) -> str:
        """That of the one model: the registry finds it by its part."""
        (recipe,) = recipes
        return recipe.fingerprint

    def kept(self) -> dict[str, Any] | None:
        """Card of the model; None where the lake does not hold it undamaged."""
        try:
            self._model = self._model or load_model(self.lake, self.folder)
        except LakeError:
            return None
        return self._model.card if self._model else None

    def _made(self, what: str, progress: Progress | None) -> dict[str, Any]:
        told = card_of(self.learned, self.fingerprint)
        self._check(told, what)  # before anything is spent on it
        self._model = train_model(self.examples.of(self.learned), self.settings.seed, told)
        self._model.save(self.lake, self.folder)
        return self._model.card

    def rows(self, card: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The share of the gain that each feature brings, largest first."""
        assert self._model is not None, "it has a card"
        return [{"feature": name, "gain": gain} for name, gain in self._model.importance().items()]
