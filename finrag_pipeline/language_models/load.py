"""The language model that the settings describe, its completions kept in the lake.

One small JSON file per completion, by what was asked of which model, written in one step. A file that is
damaged or holds the answer to something else is a miss.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from finrag_pipeline.errors import ModelError, Problem
from finrag_pipeline.language_models.endpoint import EndpointModel
from finrag_pipeline.language_models.local import VARIABLE, LocalModel
from finrag_pipeline.language_models.protocol import Completion, LanguageModel, Request
from finrag_pipeline.settings import LanguageModelSettings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.model_folders import model_problem

FOLDER = "completions"

_COMPLETION = TypeAdapter(Completion)


class CachedLanguageModel:
    """A language model that is asked nothing twice, by its fingerprint and all of the request.

    An answer without a seed is kept like all others: ask with seeds to have different ones.
    """

    def __init__(self, model: LanguageModel, lake: Lake) -> None:
        self.name = model.name
        self._model = model
        self._lake = lake

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the model."""
        return self._model.fingerprint

    def complete(self, request: Request) -> Completion:
        """The kept answer, or a new one that is then kept.

        Raises:
            ModelError: the model gives no usable answer; nothing is kept then.
        """
        asked = request.as_json()
        key = fingerprint(self.fingerprint, asked)
        path = self._lake.path(FOLDER, self.fingerprint, key[:2], f"{key}.json")
        if kept := _kept(self._lake.read_json(path), asked):
            return kept
        completion = self._model.complete(request)
        if not (completion.text.strip() or completion.tool_calls):
            raise ModelError(f"{self.name} answered with no text.", "Ask again, or choose another model.")
        self._lake.write_json(path, {"request": asked, "completion": asdict(completion)})
        return completion


def _kept(entry: Any, asked: dict[str, Any]) -> Completion | None:
    if not isinstance(entry, dict) or entry.get("request") != asked:
        return None
    try:
        completion = _COMPLETION.validate_python(entry.get("completion"))
    except ValidationError:
        return None
    return replace(completion, cached=True) if completion.text.strip() or completion.tool_calls else None


def load_language_model(settings: LanguageModelSettings, lake: Lake) -> LanguageModel | None:
    """The language model, its answers kept in the lake; None when the settings name none.

    Cheap: weights are loaded and endpoints are asked with the first answer that is not in the lake.

    Raises:
        ModelError: the endpoint has no usable address.
    """
    match settings.kind:
        case "none":
            return None
        case "endpoint":
            return CachedLanguageModel(EndpointModel(settings), lake)
        case "local":
            return CachedLanguageModel(LocalModel(settings), lake)


ENDPOINT = "export FINRAG_LANGUAGE_MODEL__BASE_URL=http://localhost:8000/v1"
"""The line that sets up a language model: any OpenAI-compatible server."""


def language_model_problem(settings: LanguageModelSettings) -> Problem | None:
    """Why no language model can answer here; None when one is set up. Asks no endpoint and loads nothing."""
    match settings.kind:
        case "none":
            return Problem("No language model is set up (FINRAG_LANGUAGE_MODEL__KIND).", ENDPOINT)
        case "endpoint":
            told = "The endpoint has no address (FINRAG_LANGUAGE_MODEL__BASE_URL)."
            return None if settings.base_url else Problem(told, ENDPOINT)
        case "local":
            return model_problem(settings.name, settings.revision, VARIABLE)
