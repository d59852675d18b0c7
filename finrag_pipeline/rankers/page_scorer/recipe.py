"""From a benchmark's questions to a page scorer: what it learns from, how, and what it may not see."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.rankers.page_scorer import SCORER_VERSION
from finrag_pipeline.rankers.page_scorer.cards import deciding, training_card
from finrag_pipeline.rankers.page_scorer.loop import Checkpoints, Progress
from finrag_pipeline.rankers.page_scorer.model import (
    base_encoder,
    base_fingerprint,
    base_length,
    kept_card,
    kept_or_trained,
    load_model,
)
from finrag_pipeline.rankers.page_scorer.pairs import (
    Neighbourhood,
    Pair,
    Question,
    benchmark_pairs,
    split_inner,
)
from finrag_pipeline.rankers.page_scorer.pretraining import pretrained_start, pretraining_fingerprint
from finrag_pipeline.rankers.page_scorer.texts import PageTexts, pages_fingerprint
from finrag_pipeline.rankers.page_scorer.training import fit, loss_name
from finrag_pipeline.rankers.page_scorer.validation import Validation, pages_to_search
from finrag_pipeline.retrieval.leaks import check_no_leak
from finrag_pipeline.settings import Settings, TrainingSettings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

Policy = Literal["document", "company"]


def remedy(kind: str) -> str:
    """What people can do when a model of this kind has seen what it is measured on."""
    return f"Materialise folds, then {kind}, again."


def scorer_folder(name: str, kind: str = "page_scorer") -> tuple[str, ...]:
    """Folder in the lake of the trained model with this fingerprint."""
    return ("models", kind, name)


class Recipe:
    """One page scorer, or another model of that kind: known before anything is computed.

    Args:
        lake: holds pages, profiles and the models.
        settings: of the run.
        learned: rows of ``benchmark_questions`` to learn from, one at least.
        tested: rows that it will be measured on; neither they nor their filings are seen.
        filings: filings of the corpus, where hard negatives may come from.
        policy: what the inner validation keeps apart, as the folds do.
    """

    kind: ClassVar[str] = "page_scorer"
    """Asset, and folder below ``models``."""
    version: ClassVar[str] = SCORER_VERSION

    def __init__(
        self,
        lake: Lake,
        settings: Settings,
        learned: Sequence[Question],
        tested: Sequence[Question],
        filings: Sequence[str],
        policy: Policy = "document",
    ) -> None:
        self._lake = lake
        self._settings = settings
        self._learned = sorted(learned, key=lambda row: str(row["question_id"]))
        self._tested = list(tested)
        self._policy = policy
        hidden = {row["filing"] for row in tested}
        self._filings = sorted(set(filings) - hidden)

    @property
    def _training(self) -> TrainingSettings:
        return self._settings.page_scorer

    def _pretraining(self) -> str:
        return pretraining_fingerprint(self._settings)

    @property
    def _window(self) -> int:
        """Tokens of a text of a page, special tokens included."""
        return base_length(self._settings, self._training)

    @cached_property
    def _texts(self) -> PageTexts:
        base = base_encoder(self._settings, self._training)
        return PageTexts(self._lake, self._training, base, self._window)

    @cached_property
    def _split(self) -> tuple[list[Question], list[Question]]:
        """Questions to learn from, and those of the inner validation."""
        by = "filing" if self._policy == "document" else "company"
        return split_inner(self._learned, self._training.validation_share, self._settings.seed, by)

    @cached_property
    def fingerprint(self) -> str:
        """What the model is made from: base, questions, pages, settings and seed."""
        asked = [
            (
                row["question_id"],
                row["question"],
                row["filing"],
                sorted(row["gold_pages"]),
                [(entry["page"], entry["text"]) for entry in row.get("evidence") or ()],
            )
            for row in self._learned
        ]
        profiles = [self._lake.info("page_profiles", {"filing": filing}) for filing in self._filings]
        training = self._training
        return fingerprint(
            self.kind,
            self.version,
            base_fingerprint(self._settings, training),
            base_length(self._settings, training),
            deciding(training),
            self._pretraining() if training.pretraining else None,
            asked,
            self._policy,
            pages_fingerprint(self._lake, self._filings),
            [part.fingerprint if part else None for part in profiles],
            self._settings.seed,
        )

    @property
    def folder(self) -> tuple[str, ...]:
        """Folder in the lake of the model."""
        return scorer_folder(self.fingerprint, self.kind)

    def kept(self) -> dict[str, Any] | None:
        """Card of the model; None where the lake does not hold it undamaged."""
        return kept_card(self._lake, self.folder)

    def trained(self, what: str, progress: Progress | None = None) -> dict[str, Any]:
        """Card of the model; it is trained where the lake does not hold it.

        Args:
            what: the model, for people.
            progress: told how many steps are done.

        Raises:
            BenchmarkError: it has seen what it is to be measured on.
            ModelError: the base is not to be had, or there is nothing to learn from.
        """
        seconds = self._training.checkpoint_seconds
        checkpoints = Checkpoints(self._lake, self.fingerprint, seconds, self.kind)
        card = kept_or_trained(
            self._lake, self.folder, checkpoints, lambda: self._train(what, checkpoints, progress)
        )
        self._check(card["question_ids"], card["filings"], what)
        return card

    def _check(self, ids: Sequence[str], filings: Sequence[str], what: str) -> None:
        check_no_leak(ids, filings, self._tested, what, remedy(self.kind))
        if self._policy == "company":
            companies = {str(row["company"]) for row in self._learned}
            if shared := sorted(companies & {str(row["company"]) for row in self._tested}):
                raise BenchmarkError(
                    f"{what} was trained on companies it is measured on: {shared[:3]}.", remedy(self.kind)
                )

    def _train(
        self, what: str, checkpoints: Checkpoints, progress: Progress | None
    ) -> tuple[Any, dict[str, Any]]:
        training = self._training
        learned, validating = self._split
        held = {str(row["filing"]) for row in validating}
        around = Neighbourhood(self._lake, self._texts, set(self._filings) - held)
        pairs = benchmark_pairs(learned, self._texts, training.negatives, around)
        ids = [str(row["question_id"]) for row in self._learned]
        seen = sorted(held.union(*(pair.seen for pair in pairs)))
        # Before anything is spent on it; negatives and validation questions count as well.
        self._check(ids, seen, what)
        model, told = self._fitted(pairs, validating, checkpoints, progress)
        return model, {
            **told,
            "policy": self._policy,
            "question_ids": ids,
            "filings": seen,
            "validation_question_ids": [str(row["question_id"]) for row in validating],
        }

    def _fitted(
        self,
        pairs: list[Pair],
        validating: Sequence[Question],
        checkpoints: Checkpoints,
        progress: Progress | None,
    ) -> tuple[Any, dict[str, Any]]:
        """The trained model, and where it comes from."""
        scorer, settings = self._settings.page_scorer, self._settings
        pages = pages_to_search(validating, self._texts, scorer.validation_pages, settings.seed)
        validation = Validation(validating, pages) if validating else None
        start = pretrained_start(self._lake, settings, progress)
        pretrained = start.name if scorer.pretraining else None
        model = load_model(start, base_length(settings))
        done = fit(model, pairs, validation, scorer, settings.seed, scorer.epochs, checkpoints, progress)
        card = training_card(
            settings,
            scorer,
            self.version,
            loss_name(scorer),
            self.fingerprint,
            pairs,
            done,
            str(model.device.type),
        )
        return model, {**card, "pretrained": pretrained}
