"""The one contract of everything that a retrieval system is made of.

A component says what it reads of a filing (`Component.reads`), whether it can run here
(`Component.problem`), what decides its rankings (`Component.fingerprint`), and searches
(`Component.search`): a first stage by itself, any other one by what it does before or after the components
inside it. A system is a chain of them, as data (`systems`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from finrag_pipeline.errors import Problem
from finrag_pipeline.storage.fingerprints import fingerprint

if TYPE_CHECKING:
    import numpy as np

    from finrag_pipeline.retrieval.corpus import Corpus
    from finrag_pipeline.retrieval.spaces import Scope


@dataclass(frozen=True)
class Hit:
    """One chunk of a ranking: a higher score is better, pages are zero-based.

    ``why`` says for people what put it there; ``passage`` is the part of the chunk that matched best, when
    the retriever knows it.
    """

    chunk_id: str
    filing: str
    page: int
    score: float
    why: str
    passage: str | None = None


@dataclass(frozen=True)
class Query:
    """A question made ready.

    Attributes:
        question: as it was asked.
        text: what lexical and sparse retrievers look for.
        vectors: what the dense retriever looks for, each of shape (dimensions,); the rankings of several are
            fused. Empty when the system embeds nothing.
    """

    question: str
    text: str
    vectors: tuple[np.ndarray, ...] = ()


class LearnedModel(Protocol):
    """Something that was trained: a ranker of pages, the weights of a hybrid."""

    @property
    def fingerprint(self) -> str:
        """What decides its rankings: weights, features, code."""

    @property
    def question_ids(self) -> Sequence[str]:
        """Questions of the benchmark that it learned from."""


@dataclass(frozen=True)
class Learned:
    """What was trained without the questions of a fold.

    Nothing in retrieval trains. Whoever measures passes what was trained without the questions that are
    measured; whoever searches passes what was trained with all of them.

    Models have the name under which a component asks for them; what was not trained is missing. No fold is
    left out of production models.
    """

    models: Mapping[str, LearnedModel] = field(default_factory=lambda: MappingProxyType({}))
    fold: int | None = None

    def missing(self, what: str) -> Problem:
        """That there is no model ``what``, for people."""
        which = "for searching" if self.fold is None else f"without the questions of fold {self.fold}"
        command = "finrag run" if what == "page_ranker" else f"finrag train {what}"
        return Problem(f"No {what.replace('_', ' ')} was trained {which}.", command)

    @property
    def fingerprint(self) -> str:
        """Everything that was trained."""
        return fingerprint("learned", {name: self.models[name].fingerprint for name in sorted(self.models)})


NOTHING_LEARNED = Learned()


@dataclass(frozen=True)
class Inputs:
    """What a system works on: chunks with their indexes, what was trained, questions where they are known."""

    corpus: Corpus
    learned: Learned = NOTHING_LEARNED
    questions: frozenset[str] = frozenset()

    def parts(self, *tables: str) -> dict[str, dict[str, str | None]]:
        """Fingerprint of the part of each filing of the corpus, by table and filing."""
        lake, filings = self.corpus.lake, self.corpus.filings
        infos = {name: {filing: lake.info(name, {"filing": filing}) for filing in filings} for name in tables}
        return {
            table: {filing: info.fingerprint if info else None for filing, info in of_table.items()}
            for table, of_table in infos.items()
        }


Search = Callable[[Query, Inputs, "Scope", int], list[Hit]]
"""Ranks so many chunks inside a scope, best first."""


VECTORS = "vectors"
"""Stands in `Component.reads` for the vectors of the chunks that are ranked."""


@dataclass(frozen=True)
class Component:
    """A step of a retrieval system; its fields are its parameters."""

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the learned models that it uses."""
        return ()

    @property
    def embeds(self) -> bool:
        """Whether it compares vectors, so that a question must be embedded."""
        return False

    @property
    def reads(self) -> tuple[str, ...]:
        """Tables and `VECTORS` of which it reads a part of every filing, besides the chunks.

        Searches leave out filings of which one of them is missing.
        """
        return ()

    def problem(self, inputs: Inputs) -> Problem | None:
        """Why it cannot run here, for people; None when it can. Loads and fetches nothing."""
        return None

    def fingerprint(self, inputs: Inputs) -> Any:
        """What decides its rankings besides chunks and its parameters; plain values.

        Raises:
            ModelError: a model that it needs cannot be had.
        """
        return None

    def search(self, query: Query, inputs: Inputs, scope: Scope, depth: int, inner: Search) -> list[Hit]:
        """The first ``depth`` chunks inside ``scope``, best first, no chunk twice.

        ``inner`` are the components inside this one; a first stage has none (`no_more`).

        Raises:
            ModelError: a model that it needs was not trained, or cannot be had.
        """
        return inner(query, inputs, scope, depth)


def no_more(query: Query, inputs: Inputs, scope: Scope, depth: int) -> list[Hit]:
    """What is inside a first stage."""
    raise AssertionError("a first stage searches by itself")
