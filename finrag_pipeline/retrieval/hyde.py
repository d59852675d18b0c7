"""HyDE and Multi-HyDE: search with passages that a language model imagines as the answer.

As in Kobeissi & Langlais: a hypothetical passage h is embedded by the encoder of the chunks and takes the
place of the question, E(h) instead of E(q); Multi-HyDE takes the mean of four, (1/4) Σ E(h_i). The
question's own vector does **not** join the mean there, unlike in Gao et al. 2023 ("Precise Zero-Shot Dense
Retrieval without Relevance Labels"), where it does. The code published with the paper does neither: it
searches with the question and with each passage and fuses the rankings (the system ``multi_hyde_fused``).

Figures in the passages are invented: they serve the search and are never evidence.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.embedding.windows import mean_pool
from finrag_pipeline.errors import ModelError
from finrag_pipeline.language_models.parallel import Request, complete_all
from finrag_pipeline.language_models.protocol import Completion, LanguageModel, Message
from finrag_pipeline.settings import HydeSettings
from finrag_pipeline.storage.fingerprints import fingerprint

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


class PassageSource(Protocol):
    """Where hypothetical passages come from."""

    @property
    def name(self) -> str:
        """Name for people."""
        ...

    @property
    def fingerprint(self) -> str:
        """Hash of everything that decides the passages of a question."""
        ...

    def passages(self, question: str, count: int) -> tuple[str, ...]:
        """Up to ``count`` passages of a question, at least one, always the same ones.

        Raises:
            ModelError: there are none.
        """
        ...


class GeneratedPassages:
    """Passages by a language model; passage i is sampled with seed base + i.

    Args:
        model: writes them, and keeps them.
        settings: temperature, length and seed.
        workers: requests at a time.
    """

    def __init__(self, model: LanguageModel, settings: HydeSettings, workers: int = 1) -> None:
        self._model = model
        self._settings = settings
        self._workers = workers
        self.completions: list[Completion] = []
        """Every answer so far, for what they took."""

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._model.name

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
        how = self._settings
        messages = tuple(passage_messages(question))
        requests = [
            Request(messages, how.temperature, how.max_tokens, how.seed + place) for place in range(count)
        ]
        answers = complete_all(self._model, requests, self._workers)
        for answer in answers:
            if isinstance(answer, ModelError):
                raise answer
        written = [answer for answer in answers if isinstance(answer, Completion)]
        self.completions.extend(written)
        return tuple(answer.text.strip() for answer in written)


def passage_messages(question: str) -> list[Message]:
    """The prompt for one passage."""
    return [Message("system", _SYSTEM), Message("user", _TASK.format(question=" ".join(question.split())))]


class RecordedPassages:
    """Passages from a file: ``{question: [passage, …]}``.

    Questions are matched after folding their white space.

    Args:
        path: the JSON file.

    Raises:
        ModelError: the file is missing or holds something else.
    """

    def __init__(self, path: Path) -> None:
        remedy = f"Set {_VARIABLE} to a JSON file of the form {{question: [passage, …]}}."
        try:
            entries = json.loads(path.read_text("utf-8"))
        except OSError as error:
            raise ModelError(
                f"The recorded passages {path} cannot be read: {error.strerror}.", remedy
            ) from error
        except ValueError as error:
            raise ModelError(f"The recorded passages {path} are no JSON ({error}).", remedy) from error
        if not isinstance(entries, dict) or not all(_is_list_of_texts(value) for value in entries.values()):
            raise ModelError(f"The recorded passages {path} are no lists of texts by question.", remedy)
        self._path = path
        self._passages: dict[str, tuple[str, ...]] = {}
        for question, texts in entries.items():
            usable = tuple(text.strip() for text in texts if text.strip())
            if usable and self._passages.setdefault(_folded(question), usable) != usable:
                raise ModelError(
                    f"{path} holds the question '{_folded(question)[:80]}' twice.", "Leave one of them."
                )

    @property
    def name(self) -> str:
        """Name of the file."""
        return self._path.name

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


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _folded(text: str) -> str:
    return " ".join(text.split())


def load_passages(
    settings: HydeSettings, model: LanguageModel | None, workers: int = 1
) -> PassageSource | None:
    """The source of passages that the settings name; None when there is none.

    Args:
        settings: which source, and how passages are written.
        model: for generated passages; None when there is no language model.
        workers: requests to the model at a time.

    Raises:
        ModelError: the recorded passages cannot be read.
    """
    recorded = settings.source != "generated" and settings.recorded
    if recorded:
        return RecordedPassages(Path(recorded).expanduser())
    if settings.source == "recorded" or model is None:
        return None
    return GeneratedPassages(model, settings, workers)


def passage_vectors(encoder: Encoder, passages: Sequence[str]) -> np.ndarray:
    """Unit vectors of passages as chunks are encoded, shape (passages, dimensions), float32.

    A passage longer than the encoder's window is the normalised mean of its windows. Vectors are kept.
    """
    windows = [encoder.windows(passage) for passage in passages]
    vectors = encoder.embed([window for part in windows for window in part])
    ends = np.cumsum([len(part) for part in windows])
    return np.stack(
        [mean_pool(vectors[end - len(part) : end]) for part, end in zip(windows, ends, strict=True)]
    )


def hyde_vector(encoder: Encoder, passages: Sequence[str]) -> np.ndarray:
    """The vector to search with: mean of the passages' vectors, of unit length again; shape (dimensions,).

    The question's own vector is not part of it (Kobeissi & Langlais; see the head of this module).

    Raises:
        ModelError: there are no passages, or their vectors cancel out.
    """
    if not passages:
        raise ModelError("There are no passages to search with.", "Give at least one.")
    mean = passage_vectors(encoder, passages).mean(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(mean))
    if length < 1e-6:
        raise ModelError("The vectors of the passages cancel out.", "Give other passages.")
    return (mean / length).astype(np.float32)
