"""From a benchmark's questions to a page scorer: what it learns from, how, and what it may not see."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

from finrag_pipeline.errors import BenchmarkError, LakeError
from finrag_pipeline.page_scorer import SCORER_VERSION
from finrag_pipeline.page_scorer.cards import deciding, training_card
from finrag_pipeline.page_scorer.model import (
    base_encoder,
    base_fingerprint,
    base_length,
    load_card,
    load_model,
    save_scorer,
)
from finrag_pipeline.page_scorer.pairs import Neighbourhood, Question, benchmark_pairs, split_inner
from finrag_pipeline.page_scorer.pretraining import pretrained_start, pretraining_fingerprint
from finrag_pipeline.page_scorer.texts import PageTexts, Pieces, pages_fingerprint
from finrag_pipeline.page_scorer.training import Checkpoints, Progress, fit
from finrag_pipeline.page_scorer.validation import Validation, sampled
from finrag_pipeline.retrieval.leaks import check_no_leak
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

Policy = Literal["document", "company"]
REMEDY = "Materialise folds, then page_scorer, again."


def scorer_folder(name: str) -> tuple[str, ...]:
    """Folder in the lake of the page scorer with this fingerprint."""
    return ("models", "page_scorer", name)


class Recipe:
    """One page scorer: known before anything is computed.

    Args:
        lake: holds pages, profiles and the models.
        settings: of the run.
        learned: rows of ``benchmark_questions`` to learn from, one at least.
        tested: rows that it will be measured on; neither they nor their filings are seen.
        filings: filings of the corpus, where hard negatives may come from.
        policy: what the inner validation keeps apart, as the folds do.
    """

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

    @cached_property
    def _texts(self) -> PageTexts:
        return PageTexts(
            self._lake, self._settings.page_scorer, base_encoder(self._settings), base_length(self._settings)
        )

    @cached_property
    def fingerprint(self) -> str:
        """What the page scorer is made from: base, questions, pages, settings and seed."""
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
        scorer = self._settings.page_scorer
        return fingerprint(
            "page_scorer",
            SCORER_VERSION,
            base_fingerprint(self._settings),
            base_length(self._settings),
            deciding(scorer),
            pretraining_fingerprint(self._settings) if scorer.pretraining else None,
            asked,
            self._policy,
            pages_fingerprint(self._lake, self._filings),
            [part.fingerprint if part else None for part in profiles],
            self._settings.seed,
        )

    @property
    def folder(self) -> tuple[str, ...]:
        """Folder in the lake of the page scorer."""
        return scorer_folder(self.fingerprint)

    def kept(self) -> dict[str, Any] | None:
        """Card of the page scorer; None where the lake does not hold it undamaged."""
        try:
            return load_card(self._lake, self.folder)
        except LakeError:
            return None

    def trained(self, what: str, progress: Progress | None = None) -> dict[str, Any]:
        """Card of the page scorer; it is trained where the lake does not hold it.

        Args:
            what: the model, for people.
            progress: told how many steps are done.

        Raises:
            BenchmarkError: it has seen what it is to be measured on.
            ModelError: the base is not to be had, or there is nothing to learn from.
        """
        card = self.kept()
        if card is None:
            self._train(what, progress)
            card = load_card(self._lake, self.folder)
        assert card is not None, "its card was just written"
        self._check(card["question_ids"], card["filings"], what)
        return card

    def _check(self, ids: Sequence[str], filings: Sequence[str], what: str) -> None:
        check_no_leak(ids, filings, self._tested, what, REMEDY)
        if self._policy == "company":
            companies = {str(row["company"]) for row in self._learned}
            if shared := sorted(companies & {str(row["company"]) for row in self._tested}):
                raise BenchmarkError(
                    f"{what} was trained on companies it is measured on: {shared[:3]}.", REMEDY
                )

    def _validation_pages(self, validating: Sequence[Question]) -> dict[str, list[Pieces]]:
        gold: dict[str, set[int]] = {}
        for row in validating:
            gold.setdefault(str(row["filing"]), set()).update(row["gold_pages"])
        count, seed = self._settings.page_scorer.validation_pages, self._settings.seed
        return {
            filing: sampled(self._texts.pages(filing), gold[filing], count, seed) for filing in sorted(gold)
        }

    def _train(self, what: str, progress: Progress | None) -> None:
        scorer, seed = self._settings.page_scorer, self._settings.seed
        by = "filing" if self._policy == "document" else "company"
        training, validating = split_inner(self._learned, scorer.validation_share, seed, by)
        held = {str(row["filing"]) for row in validating}
        around = Neighbourhood(self._lake, self._texts, set(self._filings) - held)
        pairs = benchmark_pairs(training, self._texts, scorer.negatives, around)
        ids = [str(row["question_id"]) for row in self._learned]
        seen = sorted(held.union(*(pair.seen for pair in pairs)))
        # Before anything is spent on it; negatives and validation questions count as well.
        self._check(ids, seen, what)
        validation = Validation(validating, self._validation_pages(validating)) if validating else None
        start = pretrained_start(self._lake, self._settings, progress)
        model = load_model(start, base_length(self._settings))
        checkpoints = Checkpoints(self._lake, self.fingerprint, scorer.checkpoint_seconds)
        done = fit(model, pairs, validation, scorer, seed, scorer.epochs, checkpoints, progress)
        card = {
            **training_card(self._settings, self.fingerprint, pairs, done, str(model.device.type)),
            "policy": self._policy,
            "pretrained": start.name if scorer.pretraining else None,
            "question_ids": ids,
            "filings": seen,
            "validation_question_ids": [str(row["question_id"]) for row in validating],
        }
        save_scorer(model, self._lake, self.folder, card)
        checkpoints.clear()
