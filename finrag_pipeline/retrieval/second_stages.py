"""What orders, thins out or groups the first candidates of a ranking.

Document selection is the last step of Kim et al., "Optimizing Retrieval Strategies for Financial Question
Answering Documents in Retrieval-Augmented Generation Systems" (2503.15191): the ten best documents are shown
with the question, and a language model answers one letter for each.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from finrag_pipeline.chunking.fixed import CHILD, parent_of
from finrag_pipeline.errors import Problem
from finrag_pipeline.language_models.fencing import NOTICE, fenced
from finrag_pipeline.language_models.protocol import LanguageModel, Message, Request
from finrag_pipeline.reranking.cross_encoder import CrossEncoderReranker, load_reranker
from finrag_pipeline.retrieval.component import Component, Hit, Inputs, Query, Search
from finrag_pipeline.retrieval.queries import language_model, model_problem
from finrag_pipeline.retrieval.spaces import Scope

SELECTION_VERSION = "1"
"""Changes with the prompt or the reading of the reply."""

LONGEST = 4000
"""Characters of a document that are shown."""

_SYSTEM = (
    "You choose the documents from which a financial question can be answered. Judge each document by "
    "itself: T when it holds a figure, a statement or a fact that the answer needs, F when it does not. "
    "A document about another company or another period than the question asks for is F. When in doubt, T."
)
_TASK = (
    "Question: {question}\n\n"
    "There are {count} documents above. Reply with exactly {count} letters, T or F, one for each document "
    "in the order of their numbers, separated by spaces. Write nothing else."
)
_REPLY = re.compile(r"[TF](?:[\s,]*[TF])*")


def select_documents(model: LanguageModel, question: str, texts: Sequence[str]) -> tuple[int, ...] | None:
    """Positions of the documents that a model keeps.

    None where the reply is of no use: it is not one letter for each document, or all are F.

    Raises:
        ModelError: the model gives no answer at all.
    """
    request = Request(selection_messages(question, texts), 0.0, 4 * len(texts) + 8, seed=0)
    verdicts = read_verdicts(model.complete(request).text, len(texts)) or ()
    return tuple(position for position, keep in enumerate(verdicts) if keep) or None


def selection_messages(question: str, texts: Sequence[str]) -> list[Message]:
    """The prompt: documents between fences, then the question and the form of the reply."""
    documents, mark = fenced(texts, LONGEST)
    task = _TASK.format(question=" ".join(question.split()), count=len(texts))
    return [
        Message("system", f"{_SYSTEM} {NOTICE.format(mark=mark)}"),
        Message("user", f"{documents}\n\n{task}"),
    ]


def read_verdicts(reply: str, count: int) -> list[bool] | None:
    """One verdict per document; None unless the reply is exactly ``count`` letters T or F.

    White space and commas may stand between the letters, and one full stop at the end.
    """
    reply = reply.strip().removesuffix(".")
    if not _REPLY.fullmatch(reply):
        return None
    letters = [letter for letter in reply if letter in "TF"]
    return [letter == "T" for letter in letters] if len(letters) == count else None


_MOST_CHUNKS = 6400
"""Chunks ranked at most to find enough distinct pages or parents."""


@dataclass(frozen=True)
class CrossEncoder(Component):
    """The first N in the order of a cross-encoder, which reads question and chunk together.

    The others follow in their order, each a step of one below the lowest score, so that the ranking stays
    one.

    Attributes:
        model: hub name or folder; that of the settings when None.
        depth: candidates that are read (N in the papers); as many as the settings say when None.
    """

    model: str | None = None
    depth: int | None = None

    def _depth(self, inputs: Inputs) -> int:
        return self.depth or inputs.corpus.settings.reranker.candidates

    def _reranker(self, inputs: Inputs) -> CrossEncoderReranker:
        corpus, settings = inputs.corpus, inputs.corpus.settings.reranker
        return corpus.once(("reranker", self.model), lambda: load_reranker(self.model, settings, corpus.lake))

    def problem(self, inputs: Inputs) -> Problem | None:
        """Why its weights cannot be had."""
        return inputs.corpus.once(("problem of reranker", self.model), self._reranker(inputs).problem)

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of the weights, and how many candidates they order."""
        return [self._reranker(inputs).fingerprint, self._depth(inputs)]

    def search(self, query: Query, inputs: Inputs, scope: Scope, depth: int, inner: Search) -> list[Hit]:
        """The candidates in their new order."""
        # However few are asked for, all N are read.
        read = self._depth(inputs)
        hits = inner(query, inputs, scope, max(depth, read))
        head, tail = hits[:read], hits[read:]
        if not head:
            return hits
        texts = [inputs.corpus.text(hit.chunk_id) for hit in head]
        scores = self._reranker(inputs).score(query.question, texts)
        ranked = [
            replace(
                head[n], score=float(scores[n]), why=f"cross-encoder {scores[n]:.2f}, before rank {n + 1}"
            )
            for n in np.argsort(-np.asarray(scores), kind="stable").tolist()
        ]
        last = ranked[-1].score
        below = [replace(hit, score=last - position) for position, hit in enumerate(tail, start=1)]
        return [*ranked, *below][:depth]


@dataclass(frozen=True)
class LanguageModelSelection(Component):
    """Those of the first ``depth`` that a language model keeps, in their order; nothing after them.

    What is dropped is gone, as in Kim et al.: the ranking may be shorter than was asked for. Where the
    model's reply cannot be read, or would drop all, all of them stay.
    """

    depth: int = 10

    def problem(self, inputs: Inputs) -> Problem | None:
        """Why there is no language model."""
        return model_problem(inputs.corpus)

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of model and prompt."""
        return [language_model(inputs.corpus).fingerprint, SELECTION_VERSION]

    def search(self, query: Query, inputs: Inputs, scope: Scope, depth: int, inner: Search) -> list[Hit]:
        """The candidates that stay."""
        head = inner(query, inputs, scope, max(depth, self.depth))[: self.depth]
        if not head:
            return head
        texts = [inputs.corpus.text(hit.chunk_id) for hit in head]
        kept = select_documents(language_model(inputs.corpus), query.question, texts)
        outcome = "selected" if kept else "not selected: the reply was of no use"
        return [replace(head[n], why=f"{head[n].why}, {outcome}") for n in kept or range(len(head))][:depth]


@dataclass(frozen=True)
class BestOfPage(Component):
    """The best chunk of each page stands for it."""

    def group(self, hit: Hit) -> Hashable:
        """What a chunk belongs to."""
        return hit.filing, hit.page

    def search(self, query: Query, inputs: Inputs, scope: Scope, depth: int, inner: Search) -> list[Hit]:
        """One chunk per group; more are ranked until ``depth`` groups are found or no chunk is left."""
        wanted = 4 * depth
        while True:
            hits = inner(query, inputs, scope, wanted)
            best: dict[Hashable, Hit] = {}
            for hit in hits:
                best.setdefault(self.group(hit), hit)
            if len(best) >= depth or len(hits) < wanted or wanted >= _MOST_CHUNKS:
                return list(best.values())[:depth]
            wanted *= 2


@dataclass(frozen=True)
class BestChild(BestOfPage):
    """Children are searched; their parents are returned by the score of the best child, the passage."""

    def group(self, hit: Hit) -> Hashable:
        """The parent."""
        return parent_of(hit.chunk_id)

    def search(self, query: Query, inputs: Inputs, scope: Scope, depth: int, inner: Search) -> list[Hit]:
        """Parents, each with its best child."""
        among = replace(inputs, corpus=inputs.corpus.of_kinds((CHILD,)))
        children = super().search(query, among, scope, depth, inner)
        return [
            replace(hit, chunk_id=parent_of(hit.chunk_id), why=f"best child: {hit.why}") for hit in children
        ]
