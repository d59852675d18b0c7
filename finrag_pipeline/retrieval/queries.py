"""What is searched for: the question, its expansion, or hypothetical passages in its place (HyDE).

As in Kobeissi & Langlais: a passage h that a language model imagines as the answer is embedded by the encoder
of the chunks and takes the place of the question, E(h) instead of E(q); Multi-HyDE takes the mean of four,
(1/4) Σ E(h_i). The question's own vector does **not** join the mean there, unlike in Gao et al. 2023
("Precise Zero-Shot Dense Retrieval without Relevance Labels"). The code published with the paper does
neither: it searches with the question and with each passage and fuses the rankings (``multi_hyde_fused``).

Figures in the passages are invented: they serve the search and are never evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import TypeAdapter, ValidationError

from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.embedding.tokens import pool_windows
from finrag_pipeline.errors import FinragError, ModelError, Problem
from finrag_pipeline.language_models.load import ENDPOINT, language_model_problem, load_language_model
from finrag_pipeline.language_models.parallel import complete_all
from finrag_pipeline.language_models.protocol import LanguageModel, Message, Request
from finrag_pipeline.retrieval.component import Component, Inputs, Query
from finrag_pipeline.retrieval.query_expansion import EXPANSION_VERSION, expand_query, keywords
from finrag_pipeline.settings import HydeSettings
from finrag_pipeline.storage.fingerprints import fingerprint

if TYPE_CHECKING:
    from finrag_pipeline.retrieval.corpus import Corpus

PROMPT_VERSION = "1"

_SYSTEM = (
    "You write passages as they stand in the annual reports, quarterly reports and releases of companies."
)
_TASK = (
    "Write one short passage that could stand in a filing and that answers the question below. Use the "
    "words, line items and periods that such a filing would use, and plausible figures where figures are "
    "asked for. Write the passage only: no introduction, no comment, no heading.\n\nQuestion: {question}"
)
_VARIABLE = "FINRAG_HYDE__RECORDED"


def _folded(text: str) -> str:
    return " ".join(text.split())


def _replies(model: LanguageModel, requests: list[Request], workers: int) -> list[str]:
    """Texts of the replies, ``workers`` requests at a time; raises the first ModelError among them."""
    texts = []
    for reply in complete_all(model, requests, workers):
        if isinstance(reply, ModelError):
            raise reply
        texts.append(reply.text)
    return texts


class GeneratedPassages:
    """Passages by a language model, which keeps them; passage i is sampled with seed base + i.

    ``workers`` requests are made at a time.
    """

    def __init__(self, model: LanguageModel, settings: HydeSettings, workers: int = 1) -> None:
        self._model = model
        self._settings = settings
        self._workers = workers

    @property
    def fingerprint(self) -> str:
        """Of model, prompt, temperature, length and seed."""
        how = self._settings
        prompt = [PROMPT_VERSION, _SYSTEM, _TASK]
        return fingerprint(
            "generated", self._model.fingerprint, prompt, how.temperature, how.max_tokens, how.seed
        )

    def passages(self, question: str, count: int) -> tuple[str, ...]:
        """``count`` passages.

        Raises:
            ModelError: one of them cannot be had.
        """
        how, task = self._settings, _TASK.format(question=_folded(question))
        messages = (Message("system", _SYSTEM), Message("user", task))
        seeds = range(how.seed, how.seed + count)
        requests = [Request(messages, how.temperature, how.max_tokens, seed) for seed in seeds]
        return tuple(text.strip() for text in _replies(self._model, requests, self._workers))


class RecordedPassages:
    """Passages from a JSON file: ``{question: [passage, …]}``, matched after folding white space.

    Raises:
        ModelError: the file is missing or holds something else.
    """

    def __init__(self, path: Path) -> None:
        remedy = f"Set {_VARIABLE} to a JSON file of the form {{question: [passage, …]}}."
        try:
            entries = TypeAdapter(dict[str, list[str]]).validate_json(path.read_bytes(), strict=True)
        except OSError as error:
            raise ModelError(
                f"The recorded passages {path} cannot be read: {error.strerror}.", remedy
            ) from error
        except ValidationError as error:
            (first, *_) = error.errors()
            told = f"The recorded passages {path} are no JSON of lists of texts by question: {first['msg']}."
            raise ModelError(told, remedy) from error
        self._path = path
        self._passages: dict[str, tuple[str, ...]] = {}
        for question, texts in entries.items():
            usable = tuple(text.strip() for text in texts if text.strip())
            if usable and self._passages.setdefault(_folded(question), usable) != usable:
                raise ModelError(
                    f"{path} holds the question '{_folded(question)[:80]}' twice.", "Leave one of them."
                )

    @property
    def fingerprint(self) -> str:
        """Of the contents."""
        return fingerprint("recorded", self._passages)

    @property
    def most(self) -> int:
        """Passages of the question that has most: Multi-HyDE with more than these falls short of its name."""
        return max((len(texts) for texts in self._passages.values()), default=0)

    def find(self, question: str) -> tuple[str, ...] | None:
        """All passages of a question; None when none were recorded."""
        return self._passages.get(_folded(question))

    def passages(self, question: str, count: int) -> tuple[str, ...]:
        """The first ``count`` passages, or as many as were recorded.

        Raises:
            ModelError: none were recorded for this question.
        """
        found = self.find(question)
        if found is None:
            raise ModelError(
                f"No passages were recorded for the question '{_folded(question)[:80]}'.",
                f"Add them to {self._path.name}, or set up a language model.",
            )
        return found[:count]


PassageSource = GeneratedPassages | RecordedPassages


def hyde_vector(encoder: Encoder, passages: Sequence[str]) -> np.ndarray:
    """The vector to search with: mean of the passages' vectors, of unit length again; shape (dimensions,).

    The question's own vector is not part of it (Kobeissi & Langlais; see the head of this module). Passages
    are encoded as chunks are: one longer than the encoder's window is the normalised mean of its windows.

    Raises:
        ModelError: there are no passages, or their vectors cancel out.
    """
    if not passages:
        raise ModelError("There are no passages to search with.", "Give at least one.")
    windows = [encoder.windows(passage) for passage in passages]
    vectors = encoder.embed([window for part in windows for window in part])
    mean = pool_windows(vectors, [len(part) for part in windows]).mean(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(mean))
    if length < 1e-6:
        raise ModelError("The vectors of the passages cancel out.", "Give other passages.")
    return (mean / length).astype(np.float32)


@dataclass(frozen=True)
class AsAsked(Component):
    """The question itself."""

    def note(self, inputs: Inputs) -> str:
        """In what it differs here from what its name says; empty where it does not."""
        return ""

    def text(self, question: str, inputs: Inputs) -> str:
        """What lexical and sparse retrievers look for."""
        return question

    def vectors(self, question: str, inputs: Inputs) -> tuple[np.ndarray, ...]:
        """Vectors to look for, each of shape (dimensions,)."""
        return (inputs.corpus.encoder.embed_query(self.text(question, inputs)),)

    def one(self, question: str, inputs: Inputs, embeds: bool) -> Query:
        """A question made ready."""
        vectors = self.vectors(question, inputs) if embeds else ()
        return Query(question, self.text(question, inputs), vectors)

    def together(self, questions: Sequence[str], inputs: Inputs, embeds: bool) -> dict[str, Query]:
        """Many questions, embedded at once: kept one by one, each would be a file of the cache."""
        ready = {question: self.one(question, inputs, False) for question in questions}
        if embeds and ready:
            vectors = inputs.corpus.encoder.embed_queries([query.text for query in ready.values()])
            pairs = zip(ready.items(), vectors, strict=True)
            ready = {question: replace(query, vectors=(vector,)) for (question, query), vector in pairs}
        return ready


@dataclass(frozen=True)
class Expanded(AsAsked):
    """The question with its acronyms and short periods spelled out after it."""

    def text(self, question: str, inputs: Inputs) -> str:
        """The question, followed by what its short forms stand for."""
        return expand_query(question)

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of the lexicon and the rules."""
        return EXPANSION_VERSION


@dataclass(frozen=True)
class Keywords(Expanded):
    """The words of the question that carry what is asked; no language model takes part."""

    def text(self, question: str, inputs: Inputs) -> str:
        """Its content words and numbers; the question where there are none."""
        return keywords(question)


WRITTEN_VERSION = "1"
"""Changes with any word of the prompts."""

_ASKED_FOR = {
    "expansion": "Write one sentence that says in other words what is asked for: spell out abbreviations, "
    "and name the line items, statements and synonyms that a filing would print.",
    "keywords": "Name its keywords: company, period, line items and the words that a filing would print for "
    "them, separated by commas.",
}
_LONGEST_REPLY = 128


@dataclass(frozen=True)
class Rewritten(AsAsked):
    """The question, followed by what a language model adds to it (Kim et al., pre-retrieval).

    Attributes:
        what: ``expansion``: other words for what is asked; ``keywords``: its key terms.
    """

    what: Literal["expansion", "keywords"] = "expansion"

    def problem(self, inputs: Inputs) -> Problem | None:
        """Why there is no language model."""
        return model_problem(inputs.corpus)

    def fingerprint(self, inputs: Inputs) -> Any:
        """Of model and prompt."""
        return [language_model(inputs.corpus).fingerprint, WRITTEN_VERSION]

    def text(self, question: str, inputs: Inputs) -> str:
        """The question and the model's reply."""
        return self._written([question], inputs)[question]

    def together(self, questions: Sequence[str], inputs: Inputs, embeds: bool) -> dict[str, Query]:
        """All questions are put to the model at once; its replies are kept."""
        self._written(questions, inputs)
        return super().together(questions, inputs, embeds)

    def _written(self, questions: Sequence[str], inputs: Inputs) -> dict[str, str]:
        corpus = inputs.corpus
        known: dict[str, str] = corpus.once(("written queries", self.what), dict)
        if missing := [question for question in questions if question not in known]:
            task = f"{_ASKED_FOR[self.what]} Reply with that alone and give no answer.\n\nQuestion: "
            messages = [(Message("user", task + _folded(question)),) for question in missing]
            requests = [Request(message, 0.0, _LONGEST_REPLY, 0) for message in messages]
            workers = corpus.settings.language_model.max_concurrency
            texts = _replies(language_model(corpus), requests, workers)
            known |= {q: f"{q} {_folded(text)}" for q, text in zip(missing, texts, strict=True)}
        return known


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
        try:
            source = passage_source(inputs.corpus)
        except FinragError as error:
            return Problem(str(error), ENDPOINT)
        if isinstance(source, RecordedPassages):
            missing = sum(source.find(question) is None for question in inputs.questions)
            found = f"{missing} of {len(inputs.questions)} questions have no recorded passages."
            return Problem(found, f"export FINRAG_HYDE__SOURCE=generated && {ENDPOINT}") if missing else None
        return model_problem(inputs.corpus)

    def note(self, inputs: Inputs) -> str:
        """Where fewer passages were recorded than the settings ask for."""
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
        settings, how = corpus.settings.hyde, corpus.settings.language_model
        if settings.recorded and settings.source != "generated":
            return RecordedPassages(Path(settings.recorded).expanduser())
        if settings.source == "recorded" or how.kind == "none":
            raise ModelError(
                "There are neither recorded passages nor a language model.",
                "Set FINRAG_HYDE__RECORDED to a file, or FINRAG_LANGUAGE_MODEL__KIND.",
            )
        return GeneratedPassages(language_model(corpus), settings, how.max_concurrency)

    return corpus.once("passages", load)


def model_problem(corpus: Corpus) -> Problem | None:
    """Why there is no language model; None where there is one. It is looked up once."""
    settings = corpus.settings.language_model
    return corpus.once("problem of language_model", lambda: language_model_problem(settings))


def language_model(corpus: Corpus) -> LanguageModel:
    """The language model of the settings.

    Raises:
        ModelError: none is set up.
    """

    def load() -> LanguageModel:
        model = load_language_model(corpus.settings.language_model, corpus.lake)
        if model is None:
            raise ModelError("No language model is set up.", "Set FINRAG_LANGUAGE_MODEL__KIND.")
        return model

    return corpus.once("language_model", load)
