"""What a retrieval system is, a named chain of components, and its rankings for many questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa

from finrag_pipeline.chunking.registry import ON_DEMAND, get_chunking
from finrag_pipeline.errors import Problem
from finrag_pipeline.retrieval.component import VECTORS, Component, Hit, Inputs, Query, Search, no_more
from finrag_pipeline.retrieval.queries import AsAsked
from finrag_pipeline.retrieval.spaces import Scope, Space
from finrag_pipeline.schemas import RETRIEVAL_RUNS
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint

SYSTEMS_VERSION = "6"
"""Changes with the code of the components and the order in which they are chained."""


@dataclass(frozen=True)
class Source:
    """Where a system comes from."""

    paper: str
    table: str
    row: str

    def __str__(self) -> str:
        return f"{self.paper}, {self.table}, row '{self.row}'"


@dataclass(frozen=True)
class RetrievalSystem:
    """A chain of components: query, then filter ⊃ select ⊃ rerank ⊃ pages ⊃ collapse ⊃ first stage.

    Attributes:
        name: identifier; the partition key of its runs.
        title: name for people.
        first: what ranks chunks: a first stage, or several fused.
        chunking: which chunks it ranks.
        kinds: kinds of chunks it ranks; all of the chunking when None.
        collapse: which chunk stands for a group of them, so that k results are k groups.
        query: what is searched for in place of the question.
        filter: what narrows the search before it.
        rerank: reorders the first candidates.
        select: keeps or drops the first candidates.
        pages: a learned ranking of pages that decides where chunks are searched or how they are ordered.
        encoder: name of the encoder; that of the settings when None.
        variant_of: system that this one is a variant of; decides nothing.
    """

    name: str
    title: str
    source: Source
    first: Component
    chunking: str = "fixed"
    kinds: tuple[str, ...] | None = None
    collapse: Component | None = None
    query: AsAsked = field(default_factory=AsAsked)
    filter: Component | None = None
    rerank: Component | None = None
    select: Component | None = None
    pages: Component | None = None
    encoder: str | None = None
    variant_of: str | None = None

    def components(self) -> tuple[Component, ...]:
        """Every component; what takes longest to get first, so that a problem names that."""
        steps = (self.pages, self.first, self.query, self.filter, self.rerank, self.select, self.collapse)
        return tuple(step for step in steps if step is not None)

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the learned models that it uses."""
        return tuple(name for component in self.components() for name in component.models)

    @property
    def embeds(self) -> bool:
        """Whether a question must be embedded."""
        return any(component.embeds for component in self.components())

    def reads(self) -> tuple[str, ...]:
        """Assets of which a filing must have its part for this system to search it; the chunks first."""
        chunking = get_chunking(self.chunking)
        named = (asset for component in self.components() for asset in component.reads)
        found = (chunking.index if asset == VECTORS else asset for asset in named)
        return tuple(dict.fromkeys((chunking.table, *found)))

    def settings(self, settings: Settings) -> Settings:
        """``settings`` with the encoder of this system."""
        if self.encoder is None or self.encoder == settings.encoder.name:
            return settings
        # A revision belongs to the name it was given with.
        encoder = settings.encoder.model_copy(update={"name": self.encoder, "revision": None})
        return settings.model_copy(update={"encoder": encoder})

    def problem(self, inputs: Inputs) -> Problem | None:
        """Why it cannot run here, for people; None when it can.

        A system with a problem is not run. It is never run with something else in its place.
        """
        found = (component.problem(inputs) for component in self.components())
        return next((problem for problem in found if problem), None) or self.not_made(inputs)

    def not_made(self, inputs: Inputs) -> Problem | None:
        """That filings lack what is made on demand; the ledger tells, so that no index is opened."""
        lake, filings = inputs.corpus.lake, set(inputs.corpus.filings)
        for asset in self.made_on_demand():
            if self.encoder is not None and asset == get_chunking(self.chunking).index:
                continue  # no asset makes the vectors of another encoder: the corpus does
            entries = lake.ledger_entries(asset)
            made = {e["partition"] for e in entries if e["outcome"] not in ("failed", "skipped")}
            if missing := filings - made:
                command = f"finrag index {self.name}"
                return Problem(f"{len(missing)} filings have no {asset}: run '{command}'.", command)
        return None

    def made_on_demand(self) -> tuple[str, ...]:
        """Those of the assets that it reads which are made when a system asks for them."""
        return tuple(asset for asset in self.reads() if asset in ON_DEMAND)

    def note(self, inputs: Inputs) -> str:
        """In what it differs here from what its name says; empty where it does not."""
        return "" if self.problem(inputs) else self.query.note(inputs)

    def fingerprint(self, inputs: Inputs) -> str:
        """Of everything that decides its rankings. Steps that it does not take leave no trace.

        Raises:
            ModelError: a model that it needs cannot be had.
        """
        corpus = inputs.corpus
        made_of = [
            (type(component).__name__, repr(component), component.fingerprint(inputs))
            for component in self.components()
        ]
        depth = corpus.settings.retrieval.depth
        return fingerprint(
            SYSTEMS_VERSION, self.name, self.chunking, self.kinds, made_of, depth, corpus.fingerprint
        )

    def learned_from(self, inputs: Inputs) -> frozenset[str]:
        """Questions of the benchmark that its models were trained on."""
        models = inputs.learned.models
        return frozenset().union(*(models[name].question_ids for name in self.models if name in models))

    def queries(self, questions: Sequence[str], inputs: Inputs) -> dict[str, Query]:
        """Questions as this system looks for them, by question; vectors are kept in the cache of embeddings.

        Raises:
            FinragError: the system needs passages and there are none.
        """
        return self.query.together(list(dict.fromkeys(questions)), inputs, self.embeds)

    def search(
        self,
        question: str | Query,
        inputs: Inputs,
        scope: Scope | None = None,
        depth: int | None = None,
    ) -> list[Hit]:
        """The chunks that this system ranks first for a question, or what `queries` made of it.

        The ranking is over the whole corpus and as long as the settings say, unless scope and depth are
        given.

        Raises:
            ModelError: the system needs a model that was not trained, or cannot be had.
        """
        if isinstance(question, str):
            question = self.query.one(question, inputs, self.embeds)
        search: Search = no_more
        for step in (self.first, self.collapse, self.pages, self.rerank, self.select, self.filter):
            if step is not None:
                search = partial(step.search, inner=search)
        return search(question, inputs, scope or Scope(), depth or inputs.corpus.settings.retrieval.depth)


def run_system(
    system: RetrievalSystem,
    inputs: Inputs,
    questions: Iterable[dict[str, Any]],
    spaces: Sequence[Space] = tuple(Space),
) -> pa.Table:
    """Rankings of ``system`` for every question in every space, as rows of ``retrieval_runs``.

    Of the questions, rows of ``benchmark_questions``, gold filing and pages are used for the oracle spaces
    alone. ``inputs`` must have been learned without them.

    Raises:
        ModelError: the system needs a model that was not trained, or cannot be had.
    """
    questions = list(questions)
    queries = system.queries([question["question"] for question in questions], inputs)
    found: dict[tuple[Space, int], list[Hit]] = {}
    # One filing after the other: what is read of one is not kept for long.
    for number, question in sorted(enumerate(questions), key=lambda one: one[1]["filing"]):
        for space in spaces:
            scope = space.scope(question["filing"], question["gold_pages"])
            found[space, number] = system.search(queries[question["question"]], inputs, scope)
    rows = [
        {
            "system": system.name,
            "space": space.value,
            "question_id": question["question_id"],
            "rank": place,
            "chunk_id": hit.chunk_id,
            "filing": hit.filing,
            "page": hit.page,
            "score": hit.score,
        }
        for space in spaces
        for number, question in enumerate(questions)
        for place, hit in enumerate(found[space, number], start=1)
    ]
    return pa.Table.from_pylist(rows, schema=RETRIEVAL_RUNS)
