"""Pre-training on questions derived from filings: for each fold apart, without the filings that it tests.

It comes between the pre-training on other data and the questions of the benchmark. Its filings are those that
hard negatives may come from; the inner validation's filings choose its best epoch and are not learned from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finrag_pipeline.errors import BenchmarkError, ModelError
from finrag_pipeline.filings.company_names import same_company
from finrag_pipeline.page_scorer import SCORER_VERSION
from finrag_pipeline.page_scorer.cards import deciding, training_card
from finrag_pipeline.page_scorer.derived_questions import (
    DerivedQuestion,
    derived_questions,
    questions_fingerprint,
)
from finrag_pipeline.page_scorer.loop import Checkpoints, Progress
from finrag_pipeline.page_scorer.model import (
    base_fingerprint,
    base_length,
    kept_or_trained,
    load_model,
    local_folder,
)
from finrag_pipeline.page_scorer.pairs import Neighbourhood, Pair, Question, benchmark_pairs
from finrag_pipeline.page_scorer.pretraining import VALIDATION_QUESTIONS, pretraining_fingerprint
from finrag_pipeline.page_scorer.texts import PageTexts, pages_fingerprint
from finrag_pipeline.page_scorer.training import fit, loss_name
from finrag_pipeline.page_scorer.validation import Validation, pages_to_search
from finrag_pipeline.retrieval.leaks import check_no_leak
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

REMEDY = "Leave the tested filings out of those that questions are derived from."


def derived_folder(name: str) -> tuple[str, ...]:
    """Folder in the lake of the model with this fingerprint."""
    return ("models", "page_scorer_derived", name)


class DerivedPretraining:
    """What a page scorer learns from derived questions; known before anything is computed.

    Args:
        lake: holds filings, pages, profiles and facts.
        settings: of the run; ``page_scorer.derived`` is set.
        texts: pages.
        filings: that may be seen. Those of tested questions are left out whether or not they are among them.
        held: filings of the inner validation.
        tested: questions that the page scorer will be measured on.
        asked: texts of the benchmark's questions; a derived question that repeats one is dropped.
        by_company: leave out whatever is of a tested company, not only the tested filings.
    """

    def __init__(
        self,
        lake: Lake,
        settings: Settings,
        texts: PageTexts,
        filings: Collection[str],
        held: Collection[str],
        tested: Sequence[Question],
        asked: Collection[str] = (),
        by_company: bool = False,
    ) -> None:
        self._lake = lake
        self._settings = settings
        self._texts = texts
        self._tested = list(tested)
        self._asked = {_plain(text) for text in asked}
        hidden = {str(row["filing"]) for row in tested}
        self._companies = {str(row["company"]) for row in tested} if by_company else set()
        allowed = [filing for filing in sorted(set(filings) - hidden) if not self._is_of_tested(filing)]
        self.sources = [filing for filing in allowed if filing not in held]
        self.held = [filing for filing in allowed if filing in held]

    def _is_of_tested(self, filing: str) -> bool:
        """Whether a filing is of a company that must not be seen; of none unless ``by_company``."""
        if not self._companies:
            return False
        row = self._lake.read("filings", {"filing": filing}).to_pylist()[0]
        names = [name for name in (row["company"], row["declared_company"]) if name]
        return any(same_company(name, other, row["ticker"]) for name in names for other in self._companies)

    @cached_property
    def fingerprint(self) -> str:
        """What the model is made from: where it starts, filings, settings and seed."""
        scorer = self._settings.page_scorer
        return fingerprint(
            "page_scorer_derived",
            SCORER_VERSION,
            base_fingerprint(self._settings),
            base_length(self._settings),
            deciding(scorer),
            pretraining_fingerprint(self._settings) if scorer.pretraining else None,
            [scorer.derived, scorer.derived_epochs],
            [questions_fingerprint(self._lake, part) for part in (self.sources, self.held)],
            pages_fingerprint(self._lake, [*self.sources, *self.held]),
            sorted(self._asked),
            self._settings.seed,
        )

    def questions(self, filings: Sequence[str], count: int) -> list[DerivedQuestion]:
        """Derived questions on filings.

        Args:
            filings: to ask about.
            count: questions of each at most.
        """
        return [
            question
            for filing in filings
            for question in derived_questions(self._lake, filing, count, self._settings.seed)
            if _plain(question.question) not in self._asked
        ]

    def check(self, seen: Collection[str], what: str) -> None:
        """Refuse what has seen a tested filing, or with ``by_company`` a filing of a tested company.

        Raises:
            BenchmarkError: it has.
        """
        check_no_leak((), sorted(seen), self._tested, what, REMEDY)
        if shared := [filing for filing in sorted(seen) if self._is_of_tested(filing)]:
            raise BenchmarkError(
                f"{what} has seen filings of companies it is measured on: {shared[:3]}.", REMEDY
            )

    def trained(
        self, start: Path, what: str, progress: Progress | None = None
    ) -> tuple[Path, dict[str, Any]]:
        """Folder and card of the model; it is trained where the lake does not hold it.

        Args:
            start: folder of the model it starts from.
            what: the model, for people.
            progress: told how many steps are done.

        Raises:
            BenchmarkError: it has seen what it must not.
            ModelError: no question can be derived.
        """
        folder = derived_folder(self.fingerprint)
        seconds = self._settings.page_scorer.checkpoint_seconds
        checkpoints = Checkpoints(self._lake, self.fingerprint, seconds)
        card = kept_or_trained(
            self._lake, folder, checkpoints, lambda: self._train(start, what, checkpoints, progress)
        )
        self.check(card["filings"], what)
        return local_folder(self._lake, folder, card), card

    def _train(
        self, start: Path, what: str, checkpoints: Checkpoints, progress: Progress | None
    ) -> tuple[SentenceTransformer, dict[str, Any]]:
        scorer, seed = self._settings.page_scorer, self._settings.seed
        count = scorer.derived or 0
        questions = self.questions(self.sources, count)
        pairs = self._pairs(questions)
        if not pairs:
            raise ModelError(
                "No question can be derived from the filings.",
                "Materialise statement_facts and page_profiles, or unset FINRAG_PAGE_SCORER__DERIVED.",
            )
        seen = sorted({*self.held}.union(*(pair.seen for pair in pairs)))
        self.check(seen, what)  # before anything is spent on it
        model = load_model(start, base_length(self._settings))
        epochs = scorer.derived_epochs
        done = fit(model, pairs, self._validation(count), scorer, seed, epochs, checkpoints, progress)
        card = {
            **training_card(
                self._settings,
                scorer,
                SCORER_VERSION,
                loss_name(scorer),
                self.fingerprint,
                pairs,
                done,
                str(model.device.type),
            ),
            "questions": len(questions),
            "kinds": dict(sorted(Counter(question.kind for question in questions).items())),
            "filings": seen,
        }
        return model, card

    def _pairs(self, questions: Sequence[DerivedQuestion]) -> list[Pair]:
        around = Neighbourhood(self._lake, self._texts, self.sources)
        kinds = self._settings.page_scorer.negatives[:1]
        return benchmark_pairs([question.row() for question in questions], self._texts, kinds, around)

    def _validation(self, count: int) -> Validation | None:
        """Derived questions on the filings that are held out, about `VALIDATION_QUESTIONS` of them."""
        each = min(count, -(-VALIDATION_QUESTIONS // max(1, len(self.held))))
        rows = [question.row() for question in self.questions(self.held, each)]
        shown = self._settings.page_scorer.validation_pages
        pages = pages_to_search(rows, self._texts, shown, self._settings.seed)
        return Validation(rows, pages) if rows else None


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
