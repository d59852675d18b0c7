"""Fixtures that several test folders share. Nothing here reaches the network."""

from __future__ import annotations

import gc
import os

# Before anything imports what reads them once. Tiny matrices are slower on several threads, and where two
# processes share two cores, threads of linear algebra spin while they wait for each other.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from finrag_pipeline.embedding import encoder
from finrag_pipeline.embedding.backends import Embedder
from finrag_pipeline.settings import ChunkSettings, EncoderSettings, Settings
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.indexed_lake import IndexedLake, write_indexed_lake
from finrag_pipeline_tests.profiled_lake import add_profiles
from finrag_pipeline_tests.tiny_encoder import write_tiny_encoder

FIRST = ("test_end_to_end.py", "test_bad_source.py")
"""What makes the sample run that others wait for, and what takes longest without it, at the same time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests first, so that no worker is left with one of them when the others are done.

    Those that read the sample run come last of these, so that no worker waits for it.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    shared = {"sample_lake", "sample_copy"}
    waits = {item.path for item in items if not shared.isdisjoint(dir(getattr(item, "module", None)))}
    order = {name: number for number, name in enumerate(FIRST)}

    def place(item: pytest.Item) -> tuple[bool, int, bool]:
        return item.path not in slow, order.get(item.path.name, len(FIRST)), item.path in waits

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """What is imported stays: looking through it for garbage is a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


@pytest.fixture(scope="session", autouse=True)
def encoder_loaded_once() -> Iterator[None]:
    """The usual encoder, which every lake would load anew."""
    load, kept = encoder.load_embedder, dict[object, Embedder]()

    def load_once(settings: EncoderSettings, converted: Path, texts: Callable[[], list[str]]) -> Embedder:
        if settings.name != EncoderSettings().name:
            return load(settings, converted, texts)
        key = settings.model_dump_json(), converted
        return kept.get(key) or kept.setdefault(key, load(settings, converted, texts))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoder, "load_embedder", load_once)
        yield


@pytest.fixture(scope="module")
def unrendered() -> Iterator[None]:
    """Figures are drawn and not made pictures of, where no test looks at one: a sixth of a run of few filings."""

    def print_figure(canvas: FigureCanvasAgg, stream: BinaryIO, **options: object) -> None:
        stream.write(b"not rendered")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FigureCanvasAgg, "print_figure", print_figure)
        yield


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """An empty lake."""
    return Lake(tmp_path / "lake")


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a sentence-transformers model with random weights and a window of 32 tokens."""
    return write_tiny_encoder(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture(scope="session")
def tiny_encoder_settings(tiny_model: Path) -> EncoderSettings:
    """Settings of the tiny encoder on PyTorch."""
    return EncoderSettings(name=str(tiny_model), backend="torch")


@pytest.fixture
def settings(tmp_path: Path, tiny_encoder_settings: EncoderSettings) -> Settings:
    """Settings of a lake of its own, with the tiny encoder and short chunks."""
    return Settings(
        lake=str(tmp_path / "lake"),
        encoder=tiny_encoder_settings,
        chunks=ChunkSettings(tokens=64, overlap=16),
        workers=1,
    )


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory, tiny_encoder_settings: EncoderSettings) -> IndexedLake:
    """A lake of a few filings, indexed with the tiny encoder, no ranker; tests may add to it, and change nothing."""
    settings = Settings(
        lake=str(tmp_path_factory.mktemp("indexed") / "lake"),
        encoder=tiny_encoder_settings,
        chunks=ChunkSettings(tokens=64, overlap=16),
        workers=1,
    )
    found = write_indexed_lake(settings)
    add_profiles(found)
    return found
