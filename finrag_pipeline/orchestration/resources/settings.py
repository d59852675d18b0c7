"""Settings, lake, engine and encoder as Dagster resources.

What is costly (worker processes, encoder weights, loaded corpora) is kept per process, so that runs
that share a process share it.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any

import dagster as dg

from finrag_pipeline.chunking.registry import FIXED, get_chunking
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.engine import LocalEngine
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.system import RetrievalSystem
from finrag_pipeline.retrieval.toolbox import Toolbox
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
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


_corpora: dict[tuple[str, str, str, str, str], Corpus] = {}
_toolboxes: dict[tuple[str, str, str], Toolbox] = {}


def get_corpus(
    settings: Settings, lake: Lake, filings: tuple[str, ...], system: RetrievalSystem | None = None
) -> Corpus:
    """The corpus over ``filings`` that ``system`` searches; loaded once per process and state of the lake."""
    chunking = get_chunking(system.chunking) if system else FIXED
    kinds = system.kinds if system else None
    settings = system.settings(settings) if system else settings
    reranker = system.rerank if system else None
    values, state = settings.model_dump_json(), _state(settings, lake, filings, reranker)
    tools = get_toolbox(settings, lake, filings, reranker)
    encoder = get_encoder(settings, lake)
    other = system is not None and system.encoder is not None
    corpus = Corpus(lake, filings, settings, encoder, chunking, kinds, tools, index_missing=other)
    key = (lake.root, values, chunking.name, corpus.fingerprint, state)
    if key not in _corpora:
        _corpora.clear()  # one corpus at a time bounds the memory
        _corpora[key] = corpus
    return _corpora[key]


def get_toolbox(
    settings: Settings, lake: Lake, filings: tuple[str, ...], reranker: str | None = None
) -> Toolbox:
    """Look-ups over ``filings``, and models; loaded once per process and state of the lake and the models.

    Args:
        settings: which models.
        lake: holds the tables.
        filings: filings of the corpus.
        reranker: a reranker that will be asked for by name.
    """
    key = (lake.root, settings.model_dump_json(), _state(settings, lake, filings, reranker))
    if key not in _toolboxes:
        _toolboxes.clear()
        _toolboxes[key] = Toolbox(lake, filings, settings)
    return _toolboxes[key]


def _state(settings: Settings, lake: Lake, filings: tuple[str, ...], reranker: str | None) -> str:
    """What look-ups and models were read from: parts of tables, and local files that may be written anew."""
    tables = ("filings", "filing_pages", "statement_facts")
    parts = [lake.info(table, {"filing": filing}) for table in tables for filing in filings]
    named = (
        settings.hyde.recorded,
        settings.splade.name,
        settings.language_model.name,
        settings.reranker.name,
        reranker,
    )
    files = [_state_of_files(name) for name in named if name]
    return fingerprint(filings, [part.fingerprint if part else None for part in parts], files)


def _state_of_files(name: str) -> list[tuple[str, int, int]]:
    """Name, size and time of a local file, or of the weights in a local folder; empty for names on a hub."""
    path = Path(name).expanduser()
    files = sorted(path.glob("*.safetensors")) if path.is_dir() else [path] if path.is_file() else []
    return [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
