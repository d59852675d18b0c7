"""The service over the indexed lake, in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from finrag_pipeline.serving.app import create_app
from finrag_pipeline.serving.service import Limits, SearchService
from finrag_pipeline_tests.indexed_lake import IndexedLake


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
