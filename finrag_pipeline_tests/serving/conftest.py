"""The service over the indexed lake, in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from finrag_pipeline.serving.app import create_app
from finrag_pipeline.serving.service import Limits, SearchService
from finrag_pipeline.settings import ChunkSettings, EncoderSettings, Settings
from finrag_pipeline_tests.indexed_lake import IndexedLake, write_indexed_lake
from finrag_pipeline_tests.profiled_lake import add_profiles
from finrag_pipeline_tests.tiny_encoder import write_tiny_static


@pytest.fixture(scope="session")
def static_lake(tmp_path_factory: pytest.TempPathFactory) -> IndexedLake:
    """An indexed lake of a static encoder: a process that serves it need not load PyTorch."""
    folder = tmp_path_factory.mktemp("static")
    settings = Settings(
        lake=str(folder / "lake"),
        encoder=EncoderSettings(name=str(write_tiny_static(folder / "encoder"))),
        chunks=ChunkSettings(tokens=64, overlap=16),
        workers=1,
    )
    found = write_indexed_lake(settings)
    add_profiles(found)
    return found


@pytest.fixture(scope="module")
def service(indexed: IndexedLake) -> SearchService:
    """A service that has loaded the lake."""
    service = SearchService(indexed.settings, Limits(seconds=300))
    assert service.refresh()
    return service


@pytest.fixture(scope="module")
def client(service: SearchService) -> Iterator[TestClient]:
    """Asks the service; what the service does not expect is a 500, as it is for other programs."""
    with TestClient(create_app(service), raise_server_exceptions=False) as client:
        yield client
