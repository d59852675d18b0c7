"""What is searched for: the question, its expansion, or hypothetical passages in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.system import RetrievalSystem


@dataclass(frozen=True)
class Query:
    """A question made ready.

    Attributes:
        question: as it was asked.
        text: what lexical and sparse retrievers look for.
        vectors: what the dense retriever looks for, each of shape (dimensions,); the rankings of several are
            fused. Empty when the system does not embed anything.
        of_question: the vector is that of the question itself.
    """

    question: str
    text: str
    vectors: tuple[np.ndarray, ...] = ()
    of_question: bool = False


def query_text(system: RetrievalSystem, question: str) -> str:
    """The text that ``system`` looks for: the question, or its expansion."""
    if system.query != "expansion":
        return question
    from finrag_pipeline.retrieval.query_expansion import expand_query

    return expand_query(question)


def query_vectors(
    system: RetrievalSystem, questions: Sequence[str], corpus: Corpus
) -> dict[str, tuple[np.ndarray, ...]]:
    """Vectors that ``system`` looks for, by question; they are kept in the cache of embeddings.

    Raises:
        FinragError: the system needs passages and there are none.
    """
    if not system.needs_encoder() or not questions:
        return {}
    if system.needs_passages():
        _embed_together(system, questions, corpus)
        return {question: _passage_vectors(system, question, corpus) for question in questions}
    vectors = corpus.encoder.embed_queries([query_text(system, question) for question in questions])
    return {question: (vector,) for question, vector in zip(questions, vectors, strict=True)}


def make_query(
    system: RetrievalSystem, question: str, corpus: Corpus, vectors: tuple[np.ndarray, ...] | None = None
) -> Query:
    """``question`` as ``system`` looks for it.

    Args:
        system: decides what is looked for.
        question: the question.
        corpus: its encoder embeds what is not at hand.
        vectors: as from `query_vectors`, when they are at hand.
    """
    text = query_text(system, question)
    if vectors is None:
        vectors = ()
        if system.needs_passages():
            vectors = _passage_vectors(system, question, corpus)
        elif system.needs_encoder():
            vectors = (corpus.encoder.embed_query(text),)
    return Query(question, text, vectors, system.query is None)


def _embed_together(system: RetrievalSystem, questions: Sequence[str], corpus: Corpus) -> None:
    """Bring the vectors of all passages into the cache at once: one by one, each would be a file."""
    passages = [text for question in questions for text in _passages(system, question, corpus)]
    corpus.encoder.embed([window for text in passages for window in corpus.encoder.windows(text)])
    if system.query == "multi_hyde_fused":
        corpus.encoder.embed_queries(questions)


def _passages(system: RetrievalSystem, question: str, corpus: Corpus) -> Sequence[str]:
    count = 1 if system.query == "hyde" else corpus.settings.hyde.passages
    return corpus.tools.passages.passages(question, count)


def _passage_vectors(system: RetrievalSystem, question: str, corpus: Corpus) -> tuple[np.ndarray, ...]:
    from finrag_pipeline.retrieval.hyde import hyde_vector

    passages = _passages(system, question, corpus)
    if system.query != "multi_hyde_fused":
        return (hyde_vector(corpus.encoder, passages),)
    question_vector = corpus.encoder.embed_queries([question])[0]
    return (question_vector, *(hyde_vector(corpus.encoder, [passage]) for passage in passages))
