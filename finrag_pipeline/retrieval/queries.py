"""What is searched for: the question, its expansion, or hypothetical passages in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from finrag_pipeline.errors import FinragError, ModelError, Problem
from finrag_pipeline.retrieval.component import Component, Inputs, Query

if TYPE_CHECKING:
    import numpy as np

    from finrag_pipeline.language_models.protocol import LanguageModel
    from finrag_pipeline.retrieval.corpus import Corpus
    from finrag_pipeline.retrieval.hyde import PassageSource


@dataclass(frozen=True)
class AsAsked(Component):
    """The question itself."""

    def text(self, question: str) -> str:
        """What lexical and sparse retrievers look for."""
        return question

    def one(self, question: str, inputs: Inputs, embeds: bool, vector: np.ndarray | None = None) -> Query:
        """A question made ready.

        Args:
            question: the question.
            inputs: its encoder embeds.
            embeds: whether vectors are looked for at all.
            vector: what to look for, when it is at hand.
        """
        vectors: tuple[np.ndarray, ...] = ()
        if vector is not None:
            vectors = (vector,)
        elif embeds:
            vectors = self.vectors(question, inputs)
        return Query(question, self.text(question), vectors, type(self) is AsAsked)

    def vectors(self, question: str, inputs: Inputs) -> tuple[np.ndarray, ...]:
        """Vectors to look for, each of shape (dimensions,)."""
        return (inputs.corpus.encoder.embed_query(self.text(question)),)

    def together(self, questions: Sequence[str], inputs: Inputs, embeds: bool) -> dict[str, Query]:
        """Many questions, embedded at once: kept one by one, each would be a file of the cache."""
        if not embeds or not questions:
            return {question: self.one(question, inputs, False) for question in questions}
        vectors = inputs.corpus.encoder.embed_queries([self.text(question) for question in questions])
        return {
            question: self.one(question, inputs, embeds, vector)
            for question, vector in zip(questions, vectors, strict=True)
        }


@dataclass(frozen=True)
class Expanded(AsAsked):
    """The question with its acronyms and short periods spelled out behind it."""

    def text(self, question: str) -> str:
        """The question, followed by what its short forms stand for."""
        from finrag_pipeline.retrieval.query_expansion import expand_query

        return expand_query(question)

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of the lexicon and the rules."""
        from finrag_pipeline.retrieval.query_expansion import EXPANSION_VERSION

        return EXPANSION_VERSION


@dataclass(frozen=True)
class Passages(AsAsked):
    """Hypothetical passages in place of the question's vector.

    Attributes:
        single: one passage (HyDE); else as many as the settings say, and the mean of their vectors.
        fused: the rankings of the question and of each passage are fused instead.
    """

    single: bool = False
    fused: bool = False

    def problem(self, inputs: Inputs) -> Problem | None:
        """Why some question has no passages."""
        from finrag_pipeline.language_models.load import ENDPOINT, language_model_problem
        from finrag_pipeline.retrieval.hyde import RecordedPassages

        try:
            source = passage_source(inputs.corpus)
        except FinragError as error:
            return Problem(str(error), ENDPOINT)
        if isinstance(source, RecordedPassages):
            missing = sum(source.find(question) is None for question in inputs.questions)
            found = f"{missing} of {len(inputs.questions)} questions have no recorded passages."
            return Problem(found, f"export FINRAG_HYDE__SOURCE=generated && {ENDPOINT}") if missing else None
        return language_model_problem(inputs.corpus.settings.language_model)

    def note(self, inputs: Inputs) -> str:
        """Where fewer passages were recorded than the settings ask for."""
        from finrag_pipeline.retrieval.hyde import RecordedPassages

        source, wanted = passage_source(inputs.corpus), inputs.corpus.settings.hyde.passages
        if self.single or not isinstance(source, RecordedPassages) or source.most >= wanted:
            return ""
        return f"{source.most} recorded passages in place of {wanted}"

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of the passages' source, and how many are taken."""
        settings = inputs.corpus.settings
        k = settings.retrieval.rrf_k if self.fused else None
        return [passage_source(inputs.corpus).fingerprint, settings.hyde.passages, k]

    def passages(self, question: str, inputs: Inputs) -> Sequence[str]:
        """The passages of a question."""
        count = 1 if self.single else inputs.corpus.settings.hyde.passages
        return passage_source(inputs.corpus).passages(question, count)

    def vectors(self, question: str, inputs: Inputs) -> tuple[np.ndarray, ...]:
        """The mean of the passages' vectors; or the question's and each passage's."""
        from finrag_pipeline.retrieval.hyde import hyde_vector

        encoder, passages = inputs.corpus.encoder, self.passages(question, inputs)
        if not self.fused:
            return (hyde_vector(encoder, passages),)
        return (encoder.embed_queries([question])[0], *(hyde_vector(encoder, [one]) for one in passages))

    def together(self, questions: Sequence[str], inputs: Inputs, embeds: bool) -> dict[str, Query]:
        """All passages are embedded at once."""
        if embeds and questions:
            encoder = inputs.corpus.encoder
            passages = [text for question in questions for text in self.passages(question, inputs)]
            encoder.embed([window for text in passages for window in encoder.windows(text)])
            if self.fused:
                encoder.embed_queries(questions)
        return {question: self.one(question, inputs, embeds) for question in questions}


def passage_source(corpus: Corpus) -> PassageSource:
    """Where hypothetical passages come from.

    Raises:
        ModelError: there are neither recorded ones nor a language model.
    """

    def load() -> PassageSource:
        from finrag_pipeline.retrieval.hyde import load_passages

        how = corpus.settings.language_model
        model = None if how.kind == "none" else language_model(corpus)
        source = load_passages(corpus.settings.hyde, model, how.max_concurrency)
        if source is None:
            raise ModelError(
                "There are neither recorded passages nor a language model.",
                "Set FINRAG_HYDE__RECORDED to a file, or FINRAG_LANGUAGE_MODEL__KIND.",
            )
        return source

    return corpus.once("passages", load)


def language_model(corpus: Corpus) -> LanguageModel:
    """The language model of the settings.

    Raises:
        ModelError: none is set up.
    """

    def load() -> LanguageModel:
        from finrag_pipeline.language_models.load import load_language_model

        model = load_language_model(corpus.settings.language_model, corpus.lake)
        if model is None:
            raise ModelError("No language model is set up.", "Set FINRAG_LANGUAGE_MODEL__KIND.")
        return model

    return corpus.once("language_model", load)
