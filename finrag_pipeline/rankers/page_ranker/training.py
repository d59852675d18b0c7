"""Training the page ranker on a benchmark's questions, never on those of the fold it is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from finrag_pipeline.errors import LakeError
from finrag_pipeline.rankers.page_ranker import PROFILES_VERSION, RANKER_VERSION
from finrag_pipeline.rankers.page_ranker.candidates import Encode, read_candidates
from finrag_pipeline.rankers.page_ranker.library import PageLibrary
from finrag_pipeline.rankers.page_ranker.model import Example, RankingModel, load_model, train_model
from finrag_pipeline.resolver import RESOLVER_VERSION
from finrag_pipeline.resolver.resolver import Resolver
from finrag_pipeline.retrieval.leaks import check_no_leak as check_no_leak
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

Question = Mapping[str, Any]


def page_examples(
    questions: Sequence[Question],
    encode: Encode,
    library: PageLibrary,
    resolver: Resolver,
    known: Sequence[str],
    progress: Callable[[int, int], object] | None = None,
) -> list[Example]:
    """Candidate pages of questions with their labels.

    Args:
        questions: rows of ``benchmark_questions``.
        encode: embeds questions.
        library: pages of the filings.
        resolver: reads which filings are meant; the gold filing is added where it misses it.
        known: filings of the corpus.
        progress: told how many of how many are done.
    """
    examples = []
    for number, question in enumerate(questions):
        candidates = read_candidates(
            question["question"], encode, library, resolver, known, also=[question["filing"]]
        )
        gold = set(question["gold_pages"])
        relevant = np.array(
            [
                filing == question["filing"] and page in gold
                for filing, page in zip(candidates.filings, candidates.pages.tolist(), strict=True)
            ]
        )
        examples.append(Example(candidates, relevant))
        if progress:
            progress(number + 1, len(questions))
    return examples


def training_fingerprint(
    questions: Sequence[Question], library: PageLibrary, known: Sequence[str], seed: int
) -> str:
    """What a page ranker is made from: questions and gold pages, pages of the corpus, code and seed."""
    asked = [
        (question["question_id"], question["question"], question["filing"], sorted(question["gold_pages"]))
        for question in questions
    ]
    versions = (RANKER_VERSION, PROFILES_VERSION, RESOLVER_VERSION)
    return fingerprint("page_ranker", versions, asked, library.fingerprint(known), seed)


def train_page_ranker(
    questions: Sequence[Question], examples: Sequence[Example], seed: int, wanted: str
) -> RankingModel:
    """A page ranker with a card that says what it was trained on.

    Args:
        questions: rows of ``benchmark_questions``.
        examples: of the same questions, in the same order.
        seed: of the training.
        wanted: its `training_fingerprint`.
    """
    card = {
        "made_from": wanted,
        "version": RANKER_VERSION,
        "question_ids": [question["question_id"] for question in questions],
        "filings": sorted({question["filing"] for question in questions}),
    }
    return train_model(examples, seed, card)


def model_folder(wanted: str) -> tuple[str, ...]:
    """Folder in the lake of the model with this fingerprint."""
    return ("models", "page_ranker", wanted)


def keep_model(model: RankingModel, lake: Lake, wanted: str) -> None:
    """Write a model into the lake."""
    model.save(lake, model_folder(wanted))


def is_kept(lake: Lake, wanted: str) -> bool:
    """Whether the lake holds the model with this fingerprint undamaged."""
    try:
        return load_model(lake, model_folder(wanted)) is not None
    except LakeError:
        return False
