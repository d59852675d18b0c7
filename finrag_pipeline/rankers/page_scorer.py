"""The learned page scorer: a bi-encoder trained on pairs of question and gold page, ranking pages by cosine.

Kobeissi & Langlais rank all pages of the corpus by it and search for chunks inside the first P of them. It is
trained by Multiple Negatives Ranking loss (Henderson et al. 2017), as sentence-transformers implements it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from finrag_pipeline.embedding.backends import load_sentence_transformer
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.embedding.model_files import encoder_fingerprint
from finrag_pipeline.rankers import SCORER_VERSION
from finrag_pipeline.rankers.card import Folder, KeptModel
from finrag_pipeline.rankers.loop import Batch, Run, bf16_on_gpu
from finrag_pipeline.rankers.pairs import Pair, Place, Question, draw_rows
from finrag_pipeline.rankers.recipe import FineTuning, base_length
from finrag_pipeline.rankers.texts import UNSEEN, PageTexts, Pieces, flatten, page_scores
from finrag_pipeline.rankers.validation import CUTOFF, AllPages, Recall, pages_to_search, recall
from finrag_pipeline.retrieval.page_stage import PageHit
from finrag_pipeline.settings import EncoderSettings, PageScorerSettings, Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from finrag_pipeline.retrieval.corpus import Corpus

EMBED_BATCH = 64
"""Texts per forward pass where nothing is learned."""


def load_bi_encoder(folder: Path, length: int) -> SentenceTransformer:
    """A sentence-transformers model for training, on a GPU where there is one.

    Args:
        folder: of the model; only safetensors are read and no code in it is run.
        length: longest input in tokens.

    Raises:
        ModelError: it cannot be loaded.
    """
    encoder_fingerprint(EncoderSettings(name=str(folder)))  # raises where weights are pickles only
    model = load_sentence_transformer(folder)
    model.max_seq_length = length
    return model


def embed_texts(model: SentenceTransformer, texts: Iterable[str]) -> np.ndarray:
    """Unit-length float32 vectors of texts, shape (texts, dimensions); longer ones are cut."""
    with bf16_on_gpu(model):
        vectors = model.encode(
            list(texts), batch_size=EMBED_BATCH, normalize_embeddings=True, show_progress_bar=False
        )
    return np.asarray(vectors, np.float32)


class _Rows:
    """Rows as the sampler of sentence-transformers reads a data set."""

    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        self._rows = rows
        self.column_names = [str(n) for n in range(len(rows[0]))]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, str]:
        return dict(zip(self.column_names, self._rows[index], strict=True))


class BiEncoderRun(Run[AllPages]):
    """A bi-encoder learns to tell the gold page of a question from the other texts of the batch."""

    variable = "FINRAG_PAGE_SCORER__LEARNING_RATE"

    def __init__(
        self,
        model: SentenceTransformer,
        settings: PageScorerSettings,
        total: int,
        validation: AllPages | None,
    ) -> None:
        super().__init__(model, settings, total, validation)
        self._cached = settings.mini_batch_size is not None
        self._loss = _loss(model, settings)

    @staticmethod
    def batches(pairs: Sequence[Pair], size: int, seed: int, epoch: int) -> list[Batch]:
        """The batches of an epoch; no text stands twice in one: it would be its own negative."""
        import torch
        from sentence_transformers.base.sampler import NoDuplicatesBatchSampler

        rows = draw_rows(pairs, seed, epoch)
        data: Any = _Rows(rows)
        sampler = NoDuplicatesBatchSampler(
            data, size, drop_last=False, generator=torch.Generator(), seed=seed
        )
        sampler.set_epoch(epoch)
        found = [[rows[index] for index in batch] for batch in sampler]
        # A question alone has nothing to be told apart from, unless it brings its own negatives.
        return [batch for batch in found if len(batch) > 1 or len(batch[0]) > 2]

    def backward(self, batch: Batch) -> float:
        """Loss of rows of question, positive and negatives."""
        import torch

        columns = [list(column) for column in zip(*batch, strict=True)]
        features = [self.moved(self.model.preprocess(column)) for column in columns]
        with bf16_on_gpu(self.model):
            loss = self._loss(features, torch.empty(0))
            if self._cached:
                loss.backward()  # cached gradients: texts are embedded once more, in the same arithmetic
        if not self._cached:
            loss.backward()
        return float(loss.detach())

    def measured(self, validation: AllPages) -> Recall:
        """Page recall among all pages of the validation filings."""
        return validation.measure(lambda texts: embed_texts(self.model, texts))


def _loss(model: SentenceTransformer, settings: PageScorerSettings) -> Any:
    from sentence_transformers.sentence_transformer.losses import (
        CachedMultipleNegativesRankingLoss,
        MultipleNegativesRankingLoss,
    )

    if settings.mini_batch_size:
        return CachedMultipleNegativesRankingLoss(model, mini_batch_size=settings.mini_batch_size)
    return MultipleNegativesRankingLoss(model)


class PageScorerRecipe(FineTuning):
    """One page scorer."""

    kind = "page_scorer"
    version = SCORER_VERSION
    run = BiEncoderRun
    pretraining_questions = 300

    @property
    def training(self) -> PageScorerSettings:
        """Settings of the training."""
        return self._settings.page_scorer

    @property
    def loss(self) -> str:
        """Name of the loss, for cards."""
        return ("cached " if self.training.mini_batch_size else "") + "multiple negatives ranking"

    def load(self, folder: Path) -> SentenceTransformer:
        """The model of a folder, to be trained."""
        return load_bi_encoder(folder, base_length(self._settings, self.training))

    def pages_to_search(self, questions: Sequence[Question]) -> dict[str, Sequence[Pieces]]:
        """Pages of the filings of validation questions, by filing; of long filings some are drawn."""
        count = self.training.validation_pages
        return dict(pages_to_search(questions, self._texts, count, self._settings.seed))

    def validation(self, questions: Sequence[Question], pages: Mapping[str, Sequence[Pieces]]) -> AllPages:
        """All of the pages."""
        return AllPages(questions, pages)

    def tested(self, card: dict[str, Any]) -> Recall | None:
        """Page recall on the tested questions among all pages of the corpus; None without any."""
        scorer = PageScorerRanker(self._lake, self._settings, self.folder, card)
        return scorer.recall(self._tested, self._filings)


class PageScorerRanker(KeptModel):
    """Ranks pages by a trained page scorer; vectors of pages are kept in the lake by text and model.

    Args:
        lake: holds pages, the model, and the vectors.
        settings: backend and arithmetic of the encoder.
        folder: of the model in the lake.
        card: of the model; says how it reads pages.
    """

    def __init__(self, lake: Lake, settings: Settings, folder: Folder, card: dict[str, Any]) -> None:
        super().__init__(lake, settings, folder, card)
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
        return Encoder(self._as_encoder, self._lake)

    @cached_property
    def _texts(self) -> PageTexts:
        return self._read_as(self._settings.page_scorer, self.card["max_tokens"])

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

    def rank_pages(
        self,
        question: str,
        corpus: Corpus,
        filings: Sequence[str] | None,
        pages: Sequence[int] | None,
        depth: int,
        vector: np.ndarray | None = None,
    ) -> list[PageHit]:
        """See `PageRanker.rank_pages`; ``vector`` is of another encoder, and not used."""
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
