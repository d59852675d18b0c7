"""From a benchmark's questions to a model: what it learns from, how, and what it may not see."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from finrag_pipeline.embedding.model_files import encoder_fingerprint, model_folder
from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.rankers.card import (
    Folder,
    check_no_leak,
    kept_card,
    kept_folder,
    leak_remedy,
    load_card,
    local_folder,
    save_model,
)
from finrag_pipeline.rankers.clean_rows import clean_files, drawn_rows, read_clean_rows, split_rows
from finrag_pipeline.rankers.loop import Checkpoints, Progress, Run, fit
from finrag_pipeline.rankers.pairs import Neighbourhood, Pair, Question, benchmark_pairs, split_inner
from finrag_pipeline.rankers.texts import PageTexts, pages_fingerprint
from finrag_pipeline.rankers.validation import PagesOf, Recall
from finrag_pipeline.settings import EncoderSettings, Settings, TrainingSettings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.torch_models import read_config, usable_length

Policy = Literal["document", "company"]

# They decide nothing about the weights, or stand in fingerprints in another form.
_APART = {
    *("base", "revision", "policies", "pretraining", "pretraining_epochs", "pretraining_rows"),
    *("checkpoint_seconds", "pages", "fusion_k", "prediction_batch_size"),
}


@dataclass(eq=False)
class Recipe(ABC):
    """One model of a kind, for what is tested: known before anything is computed.

    Attributes:
        learned: rows of ``benchmark_questions`` to learn from, one at least.
        unseen: rows that it will be measured on; neither they nor their filings are learned from.
        filings: filings of the corpus.
        policy: what the folds keep apart.
    """

    kind: ClassVar[str]
    """Asset, its table, and folder below ``models``."""

    lake: Lake
    settings: Settings
    learned: Sequence[Question]
    unseen: Sequence[Question]
    filings: Sequence[str]
    policy: Policy = "document"

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """What the model is made from."""

    @classmethod
    @abstractmethod
    def part_fingerprint(cls, recipes: Sequence[Self]) -> str:
        """What the part of the table that is told of these models, those of a fold, is made from."""

    @abstractmethod
    def kept(self) -> dict[str, Any] | None:
        """Card of the model; None where the lake does not hold it undamaged."""

    @abstractmethod
    def _made(self, what: str, progress: Progress | None) -> dict[str, Any]:
        """Train and keep the model; its card."""

    @abstractmethod
    def rows(self, card: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Rows of the table that is told of the model with this card."""

    @property
    def folder(self) -> Folder:
        """Folder in the lake of the model."""
        return kept_folder(self.kind, self.fingerprint)

    def trained(self, what: str, progress: Progress | None = None) -> dict[str, Any]:
        """Card of the model, ``what`` for people; it is trained where the lake does not hold it.

        Raises:
            BenchmarkError: it has seen what it is to be measured on.
            ModelError: the base is not to be had, or there is nothing to learn from.
        """
        card = self.kept() or self._made(what, progress)
        self._check(card, what)
        return card

    def _check(self, card: Mapping[str, Any], what: str) -> None:
        check_no_leak(card, self.unseen, what, self.kind)
        if self.policy == "company":
            seen, tested = ({str(row["company"]) for row in rows} for rows in (self.learned, self.unseen))
            if shared := sorted(seen & tested)[:3]:
                raise BenchmarkError(
                    f"{what} was trained on companies it is measured on: {shared}.", leak_remedy(self.kind)
                )


class FineTuning(Recipe):
    """One fine-tuned transformer. Filings that are tested give no hard negatives either.

    Where it is set, clean rows of other data are learned from first, once for all folds.
    """

    version: ClassVar[str]
    run: ClassVar[type[Run]]
    pretraining_questions: ClassVar[int]
    """Questions, about, on which the pre-training is validated."""
    withheld: frozenset[str] = frozenset()
    """Keys (`clean_rows.text_key`) of pages that are measured: clean rows of their filings are left out."""

    @property
    @abstractmethod
    def training(self) -> TrainingSettings:
        """Settings of the training."""

    @property
    @abstractmethod
    def loss(self) -> str:
        """Name of the loss, for cards."""

    @abstractmethod
    def load(self, folder: Path) -> Any:
        """The model of a folder, to be trained."""

    @abstractmethod
    def tested(self, card: dict[str, Any]) -> Recall | None:
        """Page recall of the model with this card on the tested questions; None without any."""

    @cached_property
    def base(self) -> EncoderSettings:
        """The model that training starts from, as the settings of an encoder."""
        encoder, training = self.settings.encoder, self.training
        if training.base is None:
            return encoder
        return encoder.model_copy(update={"name": training.base, "revision": training.revision})

    @cached_property
    def length(self) -> int:
        """Tokens of an input that the model reads, special ones included.

        Raises:
            ModelError: the base is not to be had.
        """
        config = read_config(model_folder(self.base.name, self.base.revision))
        return usable_length(config, self.training.max_tokens)

    @property
    def text_tokens(self) -> int:
        """Longest text of a page, special tokens included."""
        return self.length

    @property
    def read(self) -> dict[str, Any]:
        """What the card says of how pages are read, besides their length."""
        return {}

    def pages_to_search(self, questions: Sequence[Question]) -> PagesOf:
        """Pages of the filings of validation questions, by filing."""
        return {name: self._texts.pages(name) for name in sorted({str(row["filing"]) for row in questions})}

    @cached_property
    def _asked(self) -> list[Question]:
        """Questions to learn from, in an order of their own."""
        return sorted(self.learned, key=lambda row: str(row["question_id"]))

    @cached_property
    def _seen(self) -> list[str]:
        """Filings that may be learned from."""
        return sorted(set(self.filings) - {row["filing"] for row in self.unseen})

    @cached_property
    def _texts(self) -> PageTexts:
        return PageTexts(self.lake, self.training, self.base, self.text_tokens)

    @cached_property
    def _base_fingerprint(self) -> str:
        """Weights and tokenizer of the base, whatever arithmetic the encoder runs at."""
        return encoder_fingerprint(self.base.model_copy(update={"precision": "fp32"}))

    @cached_property
    def _made_of(self) -> list[Any]:
        """What every model of these settings is made from."""
        return [self.version, self._base_fingerprint, self.length, self._deciding]

    @property
    def _deciding(self) -> dict[str, Any]:
        """The settings that decide what a training makes of a base and of pairs."""
        return self.training.model_dump(mode="json", exclude=_APART)

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
            for row in self._asked
        ]
        profiles = [self.lake.info("page_profiles", {"filing": filing}) for filing in self._seen]
        return fingerprint(
            self.kind,
            *self._made_of,
            self.pretraining_fingerprint if self.training.pretraining else None,
            asked,
            self.policy,
            pages_fingerprint(self.lake, self._seen),
            [part.fingerprint if part else None for part in profiles],
            self.settings.seed,
        )

    @classmethod
    def part_fingerprint(cls, recipes: Sequence[Self]) -> str:
        """The models, and the pages that they are measured on."""
        made_from = [recipe.fingerprint for recipe in recipes]
        pages = pages_fingerprint(recipes[0].lake, recipes[0].filings)
        return fingerprint(cls.kind, cls.version, made_from, pages)

    @cached_property
    def pretraining_fingerprint(self) -> str:
        """What the pre-trained model is made from: base, files of the clean rows, settings and seed."""
        return fingerprint(
            f"{self.kind}_pretraining",
            *self._made_of,
            [self.training.pretraining_epochs, self.training.pretraining_rows],
            clean_files(Path(self.training.pretraining or "")),
            self.settings.seed,
            *([sorted(self.withheld)] if self.withheld else []),
        )

    @property
    def pretraining_folder(self) -> Folder:
        """Folder in the lake of the pre-trained model."""
        return kept_folder(f"{self.kind}_pretraining", self.pretraining_fingerprint)

    def start(self, progress: Progress | None = None) -> Path:
        """Folder of the model that training starts from: the base, or what it has learned from clean rows.

        Raises:
            BenchmarkError: the clean rows cannot be read.
            ModelError: the base is not to be had.
        """
        training, seed = self.training, self.settings.seed
        start = model_folder(self.base.name, self.base.revision)
        if training.pretraining is None:
            return start
        folder = self.pretraining_folder
        card = kept_card(self.lake, folder)
        if card is None:
            usable = read_clean_rows(Path(training.pretraining)).apart_from(self.withheld)
            clean = drawn_rows(usable, training.pretraining_rows, seed)
            negatives = min(1, len(training.negatives))
            pairs, questions, pages = split_rows(
                clean, self._texts, negatives, seed, self.pretraining_questions
            )
            told = {"skipped": dict(clean.skipped), "questions": len(clean.rows)}
            epochs = training.pretraining_epochs
            card = self._fitted(folder, start, pairs, questions, pages, epochs, told, progress)
        return local_folder(self.lake, folder, card)

    def kept(self) -> dict[str, Any] | None:
        """Card of the model; None where the lake does not hold it undamaged."""
        return kept_card(self.lake, self.folder)

    def _made(self, what: str, progress: Progress | None) -> dict[str, Any]:
        by = "filing" if self.policy == "document" else "company"
        learned, validating = split_inner(self._asked, self.training.validation_share, self.settings.seed, by)
        held = {str(row["filing"]) for row in validating}
        around = Neighbourhood(self.lake, self._texts, set(self._seen) - held)
        pairs = benchmark_pairs(learned, self._texts, self.training.negatives, around)
        told: dict[str, Any] = {
            "policy": self.policy,
            "question_ids": [str(row["question_id"]) for row in self._asked],
            "filings": sorted(held.union(*(pair.seen for pair in pairs))),
            "validation_question_ids": [str(row["question_id"]) for row in validating],
        }
        # Before anything is spent on it; negatives and validation questions count as well.
        self._check(told, what)
        start = self.start(progress)
        told["pretrained"] = start.name if self.training.pretraining else None
        pages, epochs = self.pages_to_search(validating), self.training.epochs
        return self._fitted(self.folder, start, pairs, validating, pages, epochs, told, progress)

    def _fitted(
        self,
        folder: Folder,
        start: Path,
        pairs: Sequence[Pair],
        questions: Sequence[Question],
        pages: PagesOf,
        epochs: int,
        told: dict[str, Any],
        progress: Progress | None,
    ) -> dict[str, Any]:
        """Train a model that starts from one in the folder ``start``, keep it in ``folder``; its card.

        The card says ``told``, besides where the model comes from and how its training went, whose state is
        forgotten once the model is kept. ``questions`` on ``pages`` of their filings are the validation.
        """
        training, seed = self.training, self.settings.seed
        checkpoints = Checkpoints(self.lake, folder[2], training.checkpoint_seconds, folder[1])
        validation = (questions, pages) if questions else None
        model = self.load(start)
        done = fit(self.run, model, pairs, validation, training, seed, epochs, checkpoints, progress)
        card = {
            "made_from": folder[2],
            "version": self.version,
            "base": self.base.name,
            "base_fingerprint": self._base_fingerprint,
            "data_hash": fingerprint([(pair.question, pair.positive, pair.negatives) for pair in pairs]),
            "pairs": len(pairs),
            "seed": seed,
            "text": training.text,
            "max_characters": training.max_characters,
            "max_tokens": self.length,
            **self.read,
            "hyper_parameters": self._deciding,
            "loss": self.loss,
            "arithmetic": "bf16" if model.device.type == "cuda" else "fp32",
            "libraries": {
                name: version_of(name) for name in ("sentence-transformers", "torch", "transformers")
            },
            "curve": done.curve,
            "best_epoch": done.best_epoch,
            "steps": done.steps,
            **told,
        }
        save_model(model, self.lake, folder, card)
        checkpoints.clear()
        kept = load_card(self.lake, folder)
        assert kept is not None, "its card was just written"
        return kept

    def rows(self, card: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Each epoch; the chosen one with the page recall on the tested questions."""
        tested = self.tested(dict(card))
        told = {"policy": self.policy, "model": self.fingerprint}
        found = []
        for epoch in card["curve"]:
            chosen = epoch["epoch"] == card["best_epoch"]
            recall = tested.page_rec if chosen and tested else None
            found.append({**told, **epoch, "chosen": chosen, "tested_page_rec": recall})
        return found


def pretrained(
    kind: type[FineTuning],
    lake: Lake,
    settings: Settings,
    withheld: Collection[str],
    train: bool = True,
    progress: Progress | None = None,
) -> Path | None:
    """Folder of a model of a kind that has learned from clean rows alone (``pretraining`` of its settings).

    Pages with the keys ``withheld`` (`clean_rows.text_key`) will be measured. None where the lake does not
    hold it and it is not to be trained.

    Raises:
        BenchmarkError: the clean rows cannot be read.
        ModelError: the base is not to be had.
    """
    recipe = kind(lake, settings, (), (), ())
    recipe.withheld = frozenset(withheld)
    if not train and kept_card(lake, recipe.pretraining_folder) is None:
        return None
    return recipe.start(progress)
