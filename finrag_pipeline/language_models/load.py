"""The language model that the settings describe."""

from __future__ import annotations

from finrag_pipeline.errors import Problem
from finrag_pipeline.language_models.cache import CachedLanguageModel
from finrag_pipeline.language_models.endpoint import EndpointModel
from finrag_pipeline.language_models.local import VARIABLE, LocalModel
from finrag_pipeline.language_models.protocol import LanguageModel
from finrag_pipeline.settings import LanguageModelSettings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.model_folders import model_problem


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
