"""Stand-ins for trained models and for models that no test can load: what they do can be said in a line."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from finrag_pipeline.language_models.protocol import Completion, Message, Request
from finrag_pipeline.retrieval.component import Hit, Inputs, Learned, Query
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.page_stage import PageHit
from finrag_pipeline.retrieval.spaces import Scope
from finrag_pipeline.retrieval.system import RetrievalSystem
from finrag_pipeline_tests.indexed_lake import IndexedLake


@dataclass
class FixedPages:
    """Ranks the pages it was given, in their order, as far as the space allows them."""

    order: Sequence[tuple[str, int]]
    fingerprint: str = "fixed pages"
    asked: list[tuple[Any, ...]] = field(default_factory=list)
    question_ids: Sequence[str] = ()

    def rank_pages(self, question: str, corpus: Corpus, scope: Scope, depth: int) -> list[PageHit]:
        """The pages, best first."""
        filings, pages = scope.filings, scope.pages
        self.asked.append((question, filings, pages, depth))
        allowed = [
            (filing, page)
            for filing, page in self.order
            if (filings is None or filing in filings) and (pages is None or page in pages)
        ]
        return [
            PageHit(filing, page, 1.0 / place, f"page rank {place}")
            for place, (filing, page) in enumerate(allowed[:depth], start=1)
        ]


@dataclass
class ScoredBy:
    """A reranker whose score is a function of question and text."""

    rule: Callable[[str, str], float]
    name: str = "stand-in"
    fingerprint: str = "stand-in"
    asked: list[tuple[str, int]] = field(default_factory=list)

    def score(self, question: str, texts: Sequence[str]) -> np.ndarray:
        """One score per text."""
        self.asked.append((question, len(texts)))
        return np.array([self.rule(question, text) for text in texts], np.float32)


@dataclass
class Written:
    """A source of passages that writes them by a rule."""

    rule: Callable[[str, int], str]
    name: str = "stand-in"
    fingerprint: str = "written"

    def passages(self, question: str, count: int) -> tuple[str, ...]:
        """``count`` passages."""
        return tuple(self.rule(question, place) for place in range(count))


@dataclass
class Replies:
    """A language model with one reply."""

    reply: str
    name: str = "stand-in"
    fingerprint: str = "replies"
    asked: list[Sequence[Message]] = field(default_factory=list)

    def complete(self, request: Request) -> Completion:
        """The reply."""
        self.asked.append(request.messages)
        return Completion(self.reply, self.name, None, None, 0.0, False, "stop")


def corpus_of(indexed: IndexedLake, tools: dict[str, Any] | None = None, **options: Any) -> Corpus:
    """The corpus of the indexed lake with ``tools`` in place of those it would load."""
    corpus = Corpus(indexed.lake, indexed.filings, indexed.settings, indexed.encoder, **options)
    for name, tool in (tools or {}).items():
        give(corpus, name, tool)
    return corpus


def give(corpus: Corpus, name: Hashable, tool: Any) -> None:
    """Let the components over ``corpus`` find ``tool`` where they would load it."""
    if name == "rerankers":
        for model, reranker in tool.items():
            give(corpus, ("reranker", model), reranker)
    else:
        key = (name, corpus.filings) if name in ("resolver", "statement_pages") else name
        assert corpus.once(key, lambda: tool) is tool, "it was loaded before"


def rank(
    system: RetrievalSystem,
    question: str | Query,
    corpus: Corpus,
    filings: Sequence[str] | None = None,
    pages: Sequence[int] | None = None,
    depth: int | None = None,
    learned: Learned | None = None,
) -> list[Hit]:
    """What ``system`` ranks first in these filings and pages."""
    inputs = Inputs(corpus, learned or Learned())
    scope = Scope(None if filings is None else tuple(filings), None if pages is None else tuple(pages))
    return system.search(question, inputs, scope, depth)


def resolver(*filings: str, years: tuple[int, ...] = ()) -> Any:
    """A resolver that allows these filings whatever is asked; none for no filter."""
    periods = [SimpleNamespace(fiscal_year=year) for year in years]

    def resolve(question: str) -> SimpleNamespace:
        return SimpleNamespace(
            question=question,
            allowed=lambda most=3: filings[:most] or None,
            periods=periods,
            companies=("alder",) if filings else (),
            filings=[SimpleNamespace(filing=filing) for filing in filings],
        )

    return SimpleNamespace(resolve=resolve)


def ids(hits: Sequence[Hit]) -> list[str]:
    """Chunks of a ranking."""
    return [hit.chunk_id for hit in hits]
