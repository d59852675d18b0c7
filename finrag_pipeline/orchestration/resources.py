"""Settings and lake as Dagster resources, engine and encoder of a process.

What is costly (worker processes, encoder weights, loaded corpora) is kept per process, so that runs
that share a process share it.
"""

from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
from pydantic import PrivateAttr

from finrag_pipeline.chunking.registry import get_chunking
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.engine import Engine
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.second_stages import CrossEncoder
from finrag_pipeline.retrieval.system import RetrievalSystem
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from finrag_pipeline.resolver.resolver import Resolver


class SettingsResource(dg.ConfigurableResource):
    """All settings; the values are shown with every run."""

    values: dict[str, Any]
    _read: Settings | None = PrivateAttr(None)

    def get(self) -> Settings:
        """The settings, read once for all steps of a run: that takes as long as a step of a cached part."""
        self._read = self._read or Settings.model_validate(self.values)
        return self._read


class LakeResource(dg.ConfigurableResource):
    """The lake."""

    root: str

    def open(self) -> Lake:
        """The lake under ``root``."""
        return Lake(self.root)


_engine = lru_cache(maxsize=2)(Engine)


def get_engine(settings: Settings) -> Engine:
    """The worker processes of this process for these settings."""
    return _engine(settings.workers, settings.page_timeout, settings.worker_memory)


@lru_cache(maxsize=2)
def _encoder(root: str, encoder_json: str) -> Encoder:
    from finrag_pipeline.settings import EncoderSettings

    return Encoder(EncoderSettings.model_validate_json(encoder_json), Lake(root))


def get_encoder(settings: Settings, lake: Lake) -> Encoder:
    """The encoder of this process for these settings."""
    return _encoder(lake.root if lake.is_local else lake.uri(), settings.encoder.model_dump_json())


class Corpora:
    """What the runs of one process search: look-ups and models loaded once, and one loaded corpus at a time.

    What is kept gives way when settings, parts of the lake or local files of models have changed.
    """

    def __init__(self) -> None:
        self._shared: tuple[Hashable, dict[Hashable, Any]] = (None, {})
        self._corpus: tuple[Hashable, Corpus] | None = None

    def corpus(
        self, settings: Settings, lake: Lake, filings: tuple[str, ...], system: RetrievalSystem | None = None
    ) -> Corpus:
        """The corpus over ``filings`` that ``system`` searches."""
        corpus = self._unloaded(settings, lake, filings, system)
        key = (self._shared[0], corpus.chunking.name, corpus.fingerprint)
        if self._corpus is None or self._corpus[0] != key:
            self._corpus = key, corpus
        return self._corpus[1]

    def resolver(self, settings: Settings, lake: Lake, filings: tuple[str, ...]) -> "Resolver":
        """The resolver over ``filings``."""
        return self._unloaded(settings, lake, filings, None).resolver

    def _unloaded(
        self, settings: Settings, lake: Lake, filings: tuple[str, ...], system: RetrievalSystem | None
    ) -> Corpus:
        settings = system.settings(settings) if system else settings
        reranker = system.rerank.model if system and isinstance(system.rerank, CrossEncoder) else None
        key = (lake.root, settings.model_dump_json(), _state(settings, lake, filings, reranker))
        if self._shared[0] != key:
            self._shared = key, {}
        return make_corpus(settings, lake, filings, system, self._shared[1])


def make_corpus(
    settings: Settings,
    lake: Lake,
    filings: tuple[str, ...],
    system: RetrievalSystem | None,
    shared: dict[Hashable, Any],
) -> Corpus:
    """The corpus over ``filings`` that ``system`` searches, of which nothing is loaded yet."""
    if system is None:
        return Corpus(lake, filings, settings, get_encoder(settings, lake), shared=shared)
    settings, chunking = system.settings(settings), get_chunking(system.chunking)
    encoder, own = get_encoder(settings, lake), system.encoder is not None
    return Corpus(lake, filings, settings, encoder, chunking, system.kinds, shared, index_missing=own)


def _state(settings: Settings, lake: Lake, filings: tuple[str, ...], reranker: str | None) -> str:
    """What look-ups and models were read from: parts of tables, and local files that may be written again."""
    tables = ("filings", "filing_pages", "statement_facts")
    parts = [lake.info(table, {"filing": filing}) for table in tables for filing in filings]
    models = (settings.splade.name, settings.language_model.name, settings.reranker.name)
    files = [_state_of_files(name) for name in (settings.hyde.recorded, *models, reranker) if name]
    return fingerprint(filings, [part.fingerprint if part else None for part in parts], files)


def _state_of_files(name: str) -> list[tuple[str, int, int]]:
    """Name, size and time of a local file, or of the weights in a local folder; empty for names on a hub."""
    path = Path(name).expanduser()
    files = sorted(path.glob("*.safetensors")) if path.is_dir() else [path] if path.is_file() else []
    return [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files]
