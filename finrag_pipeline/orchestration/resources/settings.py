"""Settings, lake, engine and encoder as Dagster resources.

What is costly (worker processes, encoder weights, loaded corpora) is kept per process, so that runs
that share a process share it.
"""

from functools import lru_cache
from typing import Any

import dagster as dg

from finrag_pipeline.chunking.registry import FIXED, get_chunking
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.engine import LocalEngine
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.systems import RetrievalSystem
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake


class SettingsResource(dg.ConfigurableResource):
    """All settings; the values are shown with every run."""

    values: dict[str, Any]

    def get(self) -> Settings:
        """The settings."""
        return Settings.model_validate(self.values)


class LakeResource(dg.ConfigurableResource):
    """The lake."""

    root: str

    def open(self) -> Lake:
        """The lake under ``root``."""
        return Lake(self.root)


class EngineResource(dg.ConfigurableResource):
    """Worker processes for heavy steps."""

    workers: int
    timeout: float

    def open(self) -> LocalEngine:
        """The engine of this process."""
        return _engine(self.workers, self.timeout)


@lru_cache(maxsize=2)
def _engine(workers: int, timeout: float) -> LocalEngine:
    return LocalEngine(workers, timeout)


@lru_cache(maxsize=2)
def _encoder(root: str, encoder_json: str) -> Encoder:
    from finrag_pipeline.settings import EncoderSettings

    return Encoder(EncoderSettings.model_validate_json(encoder_json), Lake(root))


def get_encoder(settings: Settings, lake: Lake) -> Encoder:
    """The encoder of this process for these settings."""
    return _encoder(lake.root if lake.is_local else lake.uri(), settings.encoder.model_dump_json())


_corpora: dict[tuple[str, str, str, str], Corpus] = {}


def get_corpus(
    settings: Settings, lake: Lake, filings: tuple[str, ...], system: RetrievalSystem | None = None
) -> Corpus:
    """The corpus over ``filings`` that ``system`` searches; loaded once per process and state of the lake."""
    chunking = get_chunking(system.chunking) if system else FIXED
    kinds = system.kinds if system else None
    corpus = Corpus(lake, filings, settings, get_encoder(settings, lake), chunking, kinds)
    key = (lake.root, settings.model_dump_json(), chunking.name, corpus.fingerprint)
    if key not in _corpora:
        _corpora.clear()  # one corpus at a time bounds the memory
        _corpora[key] = corpus
    return _corpora[key]
