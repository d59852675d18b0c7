"""The trained reranker: a cross-encoder that orders the first pages of a page ranker anew.

It is trained on the pairs and hard negatives of the page scorer by binary cross-entropy, the gold page of
a question 1 and its hard negatives 0: Nogueira & Cho (2019), "Passage Re-ranking with BERT"; the loss is that
of sentence-transformers.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from finrag_pipeline.errors import ModelError
from finrag_pipeline.rankers import RERANKER_TRAINING_VERSION
from finrag_pipeline.rankers.card import KeptModel
from finrag_pipeline.rankers.loop import Batch, Run, bf16_on_gpu
from finrag_pipeline.rankers.pairs import Pair, Place, Question, draw_rows
from finrag_pipeline.rankers.recipe import FineTuning
from finrag_pipeline.rankers.texts import flatten, page_scores
from finrag_pipeline.rankers.validation import CandidatePages, Recall, gold_places, likely_pieces, recall
from finrag_pipeline.reranking.cross_encoder import CrossEncoderReranker
from finrag_pipeline.retrieval.fusion import reciprocal_rank_fusion
from finrag_pipeline.retrieval.page_stage import PageHit, PageRanker
from finrag_pipeline.settings import RerankerSettings, RerankerTrainingSettings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.torch_models import first_line, quiet_libraries, torch_device

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

    from finrag_pipeline.retrieval.corpus import Corpus
    from finrag_pipeline.retrieval.spaces import Scope

VARIABLE = "FINRAG_RERANKER_TRAINING__BASE"


def load_cross_encoder(folder: Path, length: int, seed: int) -> CrossEncoder:
    """A cross-encoder with one output for training, on a GPU where there is one.

    An encoder gets a fresh output on its backbone, the same for the same seed. Only safetensors are read and
    no code in the folder is run. Question and text together are cut at ``length`` tokens.

    Raises:
        ModelError: it cannot be loaded, or has several outputs.
    """
    quiet_libraries()
    import torch
    from sentence_transformers import CrossEncoder

    # That an encoder is made a cross-encoder is what is wanted here, and no warning.
    logging.getLogger("sentence_transformers.base.model").setLevel(logging.ERROR)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        try:
            return CrossEncoder(
                str(folder),
                num_labels=1,
                max_length=length,
                device=torch_device(),
                activation_fn=torch.nn.Identity(),
                local_files_only=True,
                trust_remote_code=False,
                model_kwargs={"use_safetensors": True},
            )
        except Exception as error:  # the library raises nothing narrower
            raise ModelError(
                f"The model in {folder} cannot be trained as a cross-encoder: {first_line(error)}.",
                f"Choose an encoder, or a cross-encoder with one output: {VARIABLE}.",
            ) from error


def score_pairs(model: CrossEncoder, pairs: Sequence[tuple[str, str]], batch_size: int) -> np.ndarray:
    """Output of the model for pairs of question and text, before any sigmoid; shape (pairs,), float32."""
    if not pairs:
        return np.empty(0, np.float32)
    with bf16_on_gpu(model):
        scores = model.predict(list(pairs), batch_size=batch_size, show_progress_bar=False)
    return np.asarray(scores, np.float32)


class CrossEncoderRun(Run):
    """A cross-encoder learns to say yes to a gold page, and no to pages easily mistaken for it."""

    variable = "FINRAG_RERANKER_TRAINING__LEARNING_RATE"

    def prepare(self) -> None:
        """Binary cross-entropy, and likely pages of the validation filings."""
        from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss

        how = self.settings.validation_pages, self.settings.windows
        self._pages = CandidatePages(*self.validation, *how) if self.validation else None
        self._loss = BinaryCrossEntropyLoss(self.model)

    @staticmethod
    def batches(pairs: Sequence[Pair], size: int, seed: int, epoch: int) -> list[Batch]:
        """The batches of an epoch, in an order and with negatives of their own."""
        rows = draw_rows(pairs, seed, epoch)
        order = np.random.default_rng((seed, epoch, len(rows))).permutation(len(rows)).tolist()
        return [[rows[n] for n in order[start : start + size]] for start in range(0, len(rows), size)]

    def backward(self, batch: Batch) -> float:
        """Loss of rows of question, positive and negatives."""
        import torch

        labelled = [
            (" ".join(question.split()), text, float(place == 0))
            for question, *texts in batch
            for place, text in enumerate(texts)
        ]
        questions, texts, labels = (list(column) for column in zip(*labelled, strict=True))
        with bf16_on_gpu(self.model):
            loss = self._loss([questions, texts], torch.tensor(labels, device=self.model.device))
        loss.backward()
        return float(loss.detach())

    def measured(self) -> Recall:
        """Page recall among the candidates of the validation questions."""
        assert self._pages is not None
        size = self.settings.prediction_batch_size
        return self._pages.measure(lambda pairs: score_pairs(self.model, pairs, size))


class RerankerRecipe(FineTuning):
    """One reranker. Pairs, hard negatives, inner split and leak check are those of the page scorer."""

    kind = "reranker"
    version = RERANKER_TRAINING_VERSION
    run = CrossEncoderRun
    pretraining_questions = 100
    loss = "binary cross-entropy"

    @property
    def training(self) -> RerankerTrainingSettings:
        """Settings of the training."""
        return self.settings.reranker_training

    @property
    def text_tokens(self) -> int:
        """Tokens of a pair that a text may take; the question needs the others."""
        return self.length - min(self.training.question_tokens, self.length // 2)

    @property
    def read(self) -> dict[str, Any]:
        """What the card says of how pages are read, besides the length of a pair."""
        return {"text_tokens": self.text_tokens, "windows": self.training.windows}

    def load(self, folder: Path) -> CrossEncoder:
        """The model of a folder, to be trained."""
        return load_cross_encoder(folder, self.length, self.settings.seed)

    def tested(self, card: dict[str, Any]) -> Recall | None:
        """Page recall on the tested questions among likely pages of their filings; None without any."""
        return TrainedReranker(self.lake, self.settings, self.folder, card).recall(self.unseen)


class TrainedReranker(KeptModel):
    """A cross-encoder of the lake; its scores are kept there by question, text and model."""

    @property
    def fingerprint(self) -> str:
        """What decides its scores: weights, and the texts of pages that it reads."""
        names = ("text", "max_characters", "max_tokens", "text_tokens", "windows")
        read = [self.card[name] for name in names]
        return fingerprint("reranker", RERANKER_TRAINING_VERSION, self.card["weights_sha256"], read)

    @cached_property
    def _model(self) -> CrossEncoderReranker:
        how = RerankerSettings(
            name=self._as_encoder.name,
            max_length=self.card["max_tokens"],
            batch_size=self.settings.reranker_training.prediction_batch_size,
        )
        return CrossEncoderReranker(how, self.lake)

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
        pages = {str(row["filing"]): self._texts.pages(str(row["filing"])) for row in questions}
        count, ranked = self.settings.reranker_training.validation_pages, []
        candidates = CandidatePages(questions, pages, count, self.card["windows"]).candidates
        for row, places in zip(questions, candidates, strict=True):
            scores = self.scores(str(row["question"]), places)
            ranked.append([places[n] for n in np.argsort(-scores, kind="stable")])
        return recall(ranked, gold_places(questions))


@dataclass(frozen=True, eq=False)
class RerankedPages:
    """A page ranker whose first N pages are ordered anew, by both orders together.

    Reciprocal rank fusion of the order of the page ranker and that of the cross-encoder. Its constant k is
    small: with k = 1, the first page of either order is among the first four of the fused one, whatever the
    other order says. So a cross-encoder that has learned nothing cannot bury the page that the ranker is
    surest of. Pages after the first N keep their places.
    """

    ranker: PageRanker
    reranker: TrainedReranker
    pages: int
    k: int

    @property
    def fingerprint(self) -> str:
        """What decides its rankings: both models, N and k."""
        return fingerprint(
            "reranked pages", self.ranker.fingerprint, self.reranker.fingerprint, self.pages, self.k
        )

    @property
    def question_ids(self) -> Sequence[str]:
        """Questions of the benchmark that either model learned from."""
        return list(dict.fromkeys([*self.ranker.question_ids, *self.reranker.question_ids]))

    def rank_pages(self, question: str, corpus: Corpus, scope: Scope, depth: int) -> list[PageHit]:
        """The first ``depth`` pages for a question, best first; see `PageRanker.rank_pages`."""
        hits = self.ranker.rank_pages(question, corpus, scope, max(depth, self.pages))
        head = hits[: self.pages]
        scores = self.reranker.scores(question, [(hit.filing, hit.page) for hit in head])
        order = np.argsort(-scores, kind="stable").tolist()
        fused = reciprocal_rank_fusion([range(len(head)), order], self.k)
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
        return [*ordered, *hits[self.pages :]][:depth]
