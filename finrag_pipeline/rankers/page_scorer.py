"""The learned page scorer: a bi-encoder trained on pairs of question and gold page, ranking pages by cosine.

Kobeissi & Langlais rank all pages of the corpus by it and search for chunks inside the first P of them. It is
trained by Multiple Negatives Ranking loss (Henderson et al. 2017), as sentence-transformers implements it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from finrag_pipeline.embedding.backends import load_sentence_transformer
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.embedding.model_files import encoder_fingerprint
from finrag_pipeline.rankers import SCORER_VERSION
from finrag_pipeline.rankers.card import KeptModel
from finrag_pipeline.rankers.loop import Batch, Run, bf16_on_gpu
from finrag_pipeline.rankers.pairs import Pair, Place, Question, draw_rows
from finrag_pipeline.rankers.recipe import FineTuning
from finrag_pipeline.rankers.texts import UNSEEN, flatten, page_scores
from finrag_pipeline.rankers.validation import AllPages, PagesOf, Recall, gold_places, recall, sampled
from finrag_pipeline.retrieval.page_stage import PageHit
from finrag_pipeline.settings import EncoderSettings, PageScorerSettings
from finrag_pipeline.storage.fingerprints import fingerprint

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from finrag_pipeline.retrieval.corpus import Corpus
    from finrag_pipeline.retrieval.spaces import Scope

EMBED_BATCH = 64
"""Texts per forward pass where nothing is learned."""


def load_bi_encoder(folder: Path, length: int) -> SentenceTransformer:
    """A sentence-transformers model for training that cuts at ``length`` tokens, on a GPU where there is one.

    Only safetensors are read and no code in the folder is run.

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


class BiEncoderRun(Run):
    """A bi-encoder learns to tell the gold page of a question from the other texts of the batch."""

    variable = "FINRAG_PAGE_SCORER__LEARNING_RATE"

    def prepare(self) -> None:
        """Multiple Negatives Ranking loss, and all pages of the validation filings."""
        from sentence_transformers.sentence_transformer import losses

        self._pages = AllPages(*self.validation) if self.validation else None
        self._mini_batch = self.settings.mini_batch_size
        self._loss: Any = (
            losses.CachedMultipleNegativesRankingLoss(self.model, mini_batch_size=self._mini_batch)
            if self._mini_batch
            else losses.MultipleNegativesRankingLoss(self.model)
        )

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
        from sentence_transformers.util import batch_to_device

        columns = [list(column) for column in zip(*batch, strict=True)]
        features = [batch_to_device(self.model.preprocess(column), self.model.device) for column in columns]
        with bf16_on_gpu(self.model):
            loss = self._loss(features, torch.empty(0))
            if self._mini_batch:
                loss.backward()  # cached gradients: texts are embedded once more, in the same arithmetic
        if not self._mini_batch:
            loss.backward()
        return float(loss.detach())

    def measured(self) -> Recall:
        """Page recall among all pages of the validation filings."""
        assert self._pages is not None
        return self._pages.measure(lambda texts: embed_texts(self.model, texts))


class PageScorerRecipe(FineTuning):
    """One page scorer."""

    kind = "page_scorer"
    version = SCORER_VERSION
    run = BiEncoderRun
    pretraining_questions = 300

    @property
    def training(self) -> PageScorerSettings:
        """Settings of the training."""
        return self.settings.page_scorer

    @property
    def loss(self) -> str:
        """Name of the loss, for cards."""
        return ("cached " if self.training.mini_batch_size else "") + "multiple negatives ranking"

    def load(self, folder: Path) -> SentenceTransformer:
        """The model of a folder, to be trained."""
        return load_bi_encoder(folder, self.length)

    def pages_to_search(self, questions: Sequence[Question]) -> PagesOf:
        """Pages of the filings of validation questions, by filing; of long filings some are drawn."""
        gold: dict[str, set[int]] = {}
        for filing, page in chain.from_iterable(gold_places(questions)):
            gold.setdefault(filing, set()).add(page)
        count, seed = self.training.validation_pages, self.settings.seed
        return {name: sampled(self._texts.pages(name), gold[name], count, seed) for name in sorted(gold)}

    def tested(self, card: dict[str, Any]) -> Recall | None:
        """Page recall on the tested questions among all pages of the corpus; None without any."""
        scorer = PageScorerRanker(self.lake, self.settings, self.folder, card)
        return scorer.recall(self.unseen, self.filings)


@dataclass(eq=False)
class PageScorerRanker(KeptModel):
    """Ranks pages by a trained page scorer; vectors of pages are kept in the lake by text and model."""

    _pages: dict[str, tuple[np.ndarray, np.ndarray, int]] = field(init=False, default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """What decides its rankings: weights, the texts of pages it reads, arithmetic."""
        read = [self.card[name] for name in ("text", "max_characters", "max_tokens")]
        precision = self.encoder.running.precision
        return fingerprint("page_scorer", SCORER_VERSION, self.card["weights_sha256"], read, precision)

    @cached_property
    def encoder(self) -> Encoder:
        """The trained model as an encoder, on the backend of the settings."""
        return Encoder(self._as_encoder, self.lake)

    @cached_property
    def _vector(self) -> Callable[[str], np.ndarray]:
        """Vector of a question, which is asked again for each search space."""
        return lru_cache(1)(self.encoder.embed_query)

    def _load(self, filings: Sequence[str]) -> None:
        """Vectors of the pages of filings, those that are missing in one go."""
        flat = {name: flatten(self._texts.pages(name)) for name in filings if name not in self._pages}
        if not flat:
            return
        vectors = self.encoder.embed([text for texts, _ in flat.values() for text in texts])
        ends = np.cumsum([len(texts) for texts, _ in flat.values()])
        for (filing, (_, owners)), part in zip(flat.items(), np.split(vectors, ends[:-1]), strict=True):
            self._pages[filing] = (part, owners, len(self._texts.pages(filing)))

    def rank(
        self,
        question: str,
        filings: Sequence[str],
        pages: Sequence[int] | None = None,
        depth: int | None = None,
    ) -> list[tuple[Place, float]]:
        """``depth`` pages of filings with their cosine, best first; equal ones by filing and page.

        The search is restricted to zero-based ``pages``; all count when None.
        """
        names = sorted(set(filings))
        if not names:
            return []
        self._load(names)
        vector = self._vector(question)
        allowed = None if pages is None else frozenset(pages)
        scored: list[tuple[Place, float]] = []
        for filing in names:
            vectors, owners, count = self._pages[filing]
            cosines = vectors @ vector if len(vectors) else np.empty(0)
            found = page_scores(cosines, owners, count).tolist()
            scored += [
                ((filing, page), score)
                for page, score in enumerate(found)
                if allowed is None or page in allowed
            ]
        return sorted(scored, key=lambda one: -one[1])[:depth]

    def rank_pages(self, question: str, corpus: Corpus, scope: Scope, depth: int) -> list[PageHit]:
        """See `PageRanker.rank_pages`."""
        among = corpus.filings if scope.filings is None else set(scope.filings) & set(corpus.filings)
        pages = None if scope.filings is None else scope.pages
        return [
            PageHit(filing, page, score, f"page scorer: cosine {score:.2f}")
            if score > UNSEEN
            else PageHit(filing, page, score, "page scorer: no text on the page")
            for (filing, page), score in self.rank(question, sorted(among), pages, depth)
        ]

    def recall(self, questions: Sequence[Question], filings: Sequence[str]) -> Recall | None:
        """Page recall on questions among all pages of ``filings``; None without questions."""
        if not questions:
            return None
        ranked = [[place for place, _ in self.rank(row["question"], filings)] for row in questions]
        return recall(ranked, gold_places(questions))
