"""Pages first: a ranking of pages decides where chunks are looked for, or in which order they are shown.

A learned ranker ranks them, or their sentence that is most like the question: dense retrieval that reads no
vectors of chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from finrag_pipeline.errors import LakeError, ModelError, Problem
from finrag_pipeline.resolver import RESOLVER_VERSION
from finrag_pipeline.retrieval.component import Component, Hit, Inputs, LearnedModel, Query, Search
from finrag_pipeline.retrieval.spaces import Scope
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.retrieval.corpus import Corpus

PAGE_PARTS = ("page_profiles", "page_sentences")
"""Tables that the page ranker compares questions with."""


@dataclass(frozen=True)
class PageHit:
    """A page of a ranking, as `Hit` is a chunk of one."""

    filing: str
    page: int
    score: float
    why: str


class PageRanker(LearnedModel, Protocol):
    """Ranks pages for a question."""

    def rank_pages(self, question: str, corpus: Corpus, scope: Scope, depth: int) -> list[PageHit]:
        """The first ``depth`` pages for a question, best first, no page twice.

        The search is restricted to the filings of the scope, and together with them to its pages, where they
        are given; single pages (``locations``) are not looked at.
        """


@dataclass(frozen=True)
class PageStage(Component):
    """A learned ranking of pages.

    Attributes:
        model: name of the ranker.
        made_of: names of the models that it is made of, where it is no model of its own.
    """

    model: str
    made_of: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """Its ranker."""
        return (self.model,)

    def problem(self, inputs: Inputs) -> Problem | None:
        """That the ranker was not trained."""
        if self.model in inputs.learned.models:
            return None
        wanted = [*self.made_of, self.model]
        return inputs.learned.missing(next(name for name in wanted if name not in inputs.learned.models))

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of the ranker."""
        ranker = inputs.learned.models.get(self.model)
        return ranker and ranker.fingerprint

    def ranked(self, query: Query, inputs: Inputs, scope: Scope, depth: int) -> list[PageHit]:
        """The first pages.

        Raises:
            ModelError: the ranker was not trained.
        """
        if problem := PageStage.problem(self, inputs):
            raise ModelError(problem, "Train it first, or choose another system: finrag systems.")
        ranker = cast(PageRanker, inputs.learned.models[self.model])
        return ranker.rank_pages(query.question, inputs.corpus, scope, depth)


@dataclass(frozen=True)
class InsidePages(PageStage):
    """Chunks are searched inside the first pages of the ranker.

    A filter before the search, as Kobeissi & Langlais describe it; their code drops chunks of other pages
    from a ranking of the whole corpus, which may leave fewer than k. Where the ranker knows no page of the
    scope, the scope stands.

    Attributes:
        pages: pages that are searched (P in the papers).
    """

    pages: int = 20

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of the ranker and the pages that it reads."""
        return [super().fingerprint(inputs), inputs.parts("filing_pages")]

    def search(self, query: Query, inputs: Inputs, scope: Scope, depth: int, inner: Search) -> list[Hit]:
        """Chunks of the first P pages alone."""
        pages = self.ranked(query, inputs, scope, self.pages)
        inside = scope.within_locations((page.filing, page.page) for page in pages[: self.pages])
        return inner(query, inputs, inside if inside.locations else scope, depth)


@dataclass(frozen=True)
class PageOrder(Component):
    """A ranking of pages, whose first places do not depend on how many are shown; sentences are compared."""

    def problem(self, inputs: Inputs) -> Problem | None:
        """Why the encoder cannot be had."""
        return inputs.corpus.encoder_problem()

    def shown(
        self, pages: Sequence[PageHit], query: Query, inputs: Inputs, scope: Scope, inner: Search
    ) -> list[Hit]:
        """Each page's best chunk, in the order of the pages; pages without a chunk are left out."""
        inside = scope.within_locations((page.filing, page.page) for page in pages)
        chunks = sum(len(inputs.corpus.page_chunks(*where)) for where in inside.locations or ())
        best: dict[tuple[str, int], Hit] = {}
        for hit in inner(query, inputs, inside, chunks) if chunks else ():
            best.setdefault((hit.filing, hit.page), hit)
        return [
            replace(best[page.filing, page.page], score=float(page.score), why=page.why)
            for page in pages
            if (page.filing, page.page) in best
        ]


@dataclass(frozen=True)
class PagesInOrder(PageStage, PageOrder):
    """Pages in the order of the ranker, each shown by its best chunk; pages without a chunk are left out."""

    reads = PAGE_PARTS

    def problem(self, inputs: Inputs) -> Problem | None:
        """That the ranker was not trained, or that filings have no profiles for it to read."""
        if problem := PageStage.problem(self, inputs) or PageOrder.problem(self, inputs):
            return problem
        parts = [inputs.corpus.lake.partitions(table) for table in PAGE_PARTS]
        profiled = set.intersection(*({keys["filing"] for keys in part} for part in parts))
        missing = len(set(inputs.corpus.filings) - profiled)
        told = f"{missing} filings have no page profiles: run 'finrag run'."
        return Problem(told) if missing else None

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of the ranker, the resolver and what features are made of; profiles stand for tables and facts."""
        tables = inputs.parts("filings", "filing_pages", *PAGE_PARTS)
        return [super().fingerprint(inputs), RESOLVER_VERSION, tables]

    def search(self, query: Query, inputs: Inputs, scope: Scope, depth: int, inner: Search) -> list[Hit]:
        """The best chunk of each of the ranker's pages, in the order of the pages."""
        return self.shown(self.ranked(query, inputs, scope, depth), query, inputs, scope, inner)


def sentence_vectors(lake: Lake, filing: str) -> tuple[np.ndarray, np.ndarray]:
    """Pages of the sentences of a filing, shape (sentences,), and their vectors, (sentences, dimensions).

    The vectors are float16, as they are kept: in full they take twice the memory.

    Raises:
        LakeError: the filing has no sentences.
    """
    keys = {"filing": filing}
    if lake.info("page_sentences", keys) is None:
        raise LakeError(f"'{filing}' has no sentences of pages.", "Materialise page_sentences.")
    rows = lake.read("page_sentences", keys, ["page", "vector"])
    flat = rows["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False).copy()
    vectors = flat.reshape(rows.num_rows, -1) if rows.num_rows else flat[:, None]
    return rows["page"].to_numpy(), vectors


def cosines(vectors: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Cosines of unit-length vectors, (sentences, dimensions), with one; shape (sentences,), float32."""
    return np.asarray(vectors.astype(np.float32) @ vector.astype(np.float32))


@dataclass(frozen=True)
class PagesBySentence(PageOrder):
    """Pages in the order of their best sentence, each shown by its best chunk."""

    reads = ("page_sentences",)
    embeds = True

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of the sentences; their encoder is part of that."""
        return inputs.parts("page_sentences")

    def search(self, query: Query, inputs: Inputs, scope: Scope, depth: int, inner: Search) -> list[Hit]:
        """The best chunk of each of the first pages."""
        corpus, vector = inputs.corpus, query.vectors[0]
        filings = set(corpus.filings if scope.filings is None else scope.filings) & set(corpus.filings)
        if scope.locations is not None:
            filings &= {filing for filing, _ in scope.locations}
        found: list[PageHit] = []
        for filing in sorted(filings):
            pages, vectors = corpus.once(
                ("sentences", filing), partial(sentence_vectors, corpus.lake, filing)
            )
            best: dict[int, float] = {}
            scores = cosines(vectors, vector) if len(pages) else pages
            for page, score in zip(pages.tolist(), scores.tolist(), strict=True):
                best[page] = max(score, best.get(page, -np.inf))
            found += [
                PageHit(where, page, best[page], f"sentence {best[page]:.2f}")
                for where, page in scope.within_locations((filing, page) for page in best).locations or ()
            ]
        found.sort(key=lambda page: (-page.score, page.filing, page.page))
        return self.shown(found[:depth], query, inputs, scope, inner)
