"""Teaches the encoder of questions that the page ranker ships; ``benchmarks.page_ranker`` asks for it.

It learns to put a question nearer to the best sentence of a page that answers it than to those of other
pages: of the same filing, and where FinQA and TAT-QA have few of a filing, of others too. Sentences keep
their vectors, so only questions go through the network: adapters of rank 16 on the upper four layers of the
default encoder (Hu et al., LoRA, 2021), four minutes on one core.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from rich.progress import track
from tokenizers import Tokenizer
from torch import nn
from transformers import AutoModel

from benchmarks.adapters import adapt, adapter_arrays, take_step
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.embedding.model_files import MINILM, model_folder
from finrag_pipeline.rankers.clean_rows import read_clean_rows
from finrag_pipeline.rankers.page_ranker.page_sentences import pieces
from finrag_pipeline.rankers.page_ranker.question_encoder import MOST_TOKENS

SEED = 0
BATCH, RATE = 32, 5e-4
SHARE, TIMES = 0.4, 2
"""Share of the questions of FinQA and TAT-QA that are seen, and how often each other question is."""

_TEMPERATURE = 0.05
_STAYS = 1.0
"""Weight of the distance to the question as the encoder puts it without adapters."""

_NO_SENTENCE = -0.2
"""Similarity of a page without sentences."""

_OF_FILING, _OF_OTHERS = 25, 10
"""Pages that a page of FinQA or TAT-QA is told from."""


@dataclass(frozen=True)
class Lesson:
    """A question among the pages of a filing.

    Attributes:
        question: as asked.
        vectors: of the sentences, shape (sentences, dimensions).
        pages: of the sentences, shape (sentences,).
        gold: pages that answer it.
    """

    question: str
    vectors: np.ndarray
    pages: np.ndarray
    gold: Sequence[int]


@dataclass(frozen=True)
class CleanLessons:
    """Questions of FinQA and TAT-QA, vectors of the sentences of their pages, and the filings of these."""

    asked: Sequence[tuple[str, str]]
    vectors: Mapping[str, np.ndarray]
    of_filing: Mapping[str, Sequence[str]]
    filing_of: Mapping[str, str]

    def lessons(self, rng: random.Random) -> Iterator[Lesson]:
        """Some of the questions, each among pages of its filing and others drawn anew."""
        every = list(self.vectors)
        for question, page in rng.sample(self.asked, round(SHARE * len(self.asked))):
            filing = self.filing_of[page]
            others = [one for one in rng.sample(every, _OF_OTHERS) if self.filing_of[one] != filing]
            same = [one for one in self.of_filing[filing] if one != page]
            chosen = [page, *same[:_OF_FILING], *others]
            found = [self.vectors[one] for one in chosen]
            pages = np.repeat(np.arange(len(found)), [len(vectors) for vectors in found])
            yield Lesson(question, np.concatenate(found), pages, (0,))


def clean_lessons(folder: Path, encoder: Encoder, companies: Collection[str]) -> CleanLessons:
    """Questions that share nothing with FinanceBench, below ``folder``, without those on some companies.

    ``companies`` are the first parts of the names of filings, such as their tickers.
    """
    clean = read_clean_rows(folder)
    clean = clean.without(
        {one for one in clean.filing_of.values() if re.split("[/_]", one)[0].lower() in companies}
    )
    cut = {page: pieces(text) for page, text in clean.pages.items()}
    texts = sorted({piece for own in cut.values() for piece in own}, key=len)
    steps = track(range(0, len(texts), 1000), "sentences of FinQA and TAT-QA")
    found = [encoder.embedder.embed(texts[start : start + 1000]) for start in steps]
    places = {text: place for place, text in enumerate(texts)}
    every = np.concatenate(found)
    vectors = {page: every[[places[piece] for piece in own]] for page, own in cut.items() if own}
    of_filing = defaultdict(list)
    for page in vectors:
        of_filing[clean.filing_of[page]].append(page)
    asked = [(row.question, row.page_id) for row in clean.rows if row.page_id in vectors]
    return CleanLessons(asked, vectors, of_filing, clean.filing_of)


def teach(lessons: Sequence[Lesson], clean: CleanLessons) -> dict[str, np.ndarray]:
    """Adapters as they are shipped."""
    torch.manual_seed(SEED)
    rng = random.Random(SEED)
    folder = model_folder(MINILM)
    plain, taught = (
        AutoModel.from_pretrained(folder, use_safetensors=True, trust_remote_code=False) for _ in range(2)
    )
    adapt(taught)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MOST_TOKENS)
    tokenizer.enable_padding()
    chosen = [*clean.lessons(rng), *[one for one in lessons for _ in range(TIMES)]]
    rng.shuffle(chosen)
    learned = [value for value in taught.parameters() if value.requires_grad]
    optimiser = torch.optim.AdamW(learned, lr=RATE, weight_decay=0.01)
    starts = range(0, len(chosen), BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, RATE, total_steps=len(starts) + 1, pct_start=0.1
    )
    for start in track(starts, "encoder of questions"):
        batch = chosen[start : start + BATCH]
        read = tokenizer.encode_batch([one.question for one in batch])
        ids, mask = (torch.tensor([getattr(one, name) for one in read]) for name in ("ids", "attention_mask"))
        found = embed(taught.train(), ids, mask)
        with torch.no_grad():
            before = embed(plain.eval(), ids, mask)
        losses = [loss_of(vector, one) for vector, one in zip(found, batch, strict=True)]
        loss = torch.stack(losses).mean() + _STAYS * (1 - (found * before).sum(1)).mean()
        take_step(optimiser, loss)
        schedule.step()
    return adapter_arrays(taught)


def embed(model: nn.Module, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Unit-length mean states, shape (questions, dimensions)."""
    states, real = model(input_ids=ids, attention_mask=mask).last_hidden_state, mask[..., None].float()
    return nn.functional.normalize((states * real).sum(1) / real.sum(1), dim=-1)


def loss_of(vector: torch.Tensor, lesson: Lesson) -> torch.Tensor:
    """−ln of the share of the pages that answer, in a softmax over pages by their best sentences."""
    similar = torch.from_numpy(lesson.vectors.astype(np.float32)) @ vector
    pages = torch.from_numpy(lesson.pages.astype(np.int64))
    count = max(int(lesson.pages.max(initial=0)), *lesson.gold) + 1
    best = torch.full((count,), _NO_SENTENCE).scatter_reduce(0, pages, similar, "amax")
    return -torch.logsumexp(torch.log_softmax(best / _TEMPERATURE, 0)[list(lesson.gold)], 0)
