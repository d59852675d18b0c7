from __future__ import annotations

import pytest

from finrag_pipeline_tests.indexed_lake import IndexedLake
from finrag_pipeline_tests.profiled_lake import shared_profiled_lake


@pytest.fixture(scope="session")
def profiled(indexed: IndexedLake, tmp_path_factory: pytest.TempPathFactory) -> IndexedLake:
    """A lake of a few filings with everything that the page ranker reads, and no ranker; for reading only."""
    return shared_profiled_lake(indexed, tmp_path_factory)
