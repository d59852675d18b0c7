"""A cheap look at the state of the lake: has anything changed that a search reads?"""

from __future__ import annotations

from collections.abc import Iterator

from finrag_pipeline.chunking.registry import CHUNKINGS
from finrag_pipeline.rankers.registry import ALPHA_SWEEP, PAGE_RANKER, RERANKER
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake

SEARCHED_TABLES = (
    "filings",
    "filing_pages",
    *(chunking.table for chunking in CHUNKINGS.values()),
    "page_profiles",
    "page_sentences",
    "statement_facts",
    "page_scorer",
    PAGE_RANKER,
    RERANKER,
    ALPHA_SWEEP,
)
"""Tables whose parts decide what a search finds."""

_TIMES = ("mtime", "LastModified", "last_modified", "ETag", "etag", "created")
"""Keys under which file systems keep what changes with a file, best first."""


def lake_state(lake: Lake) -> str:
    """A hash of names, sizes and times of what a search reads; another one when something was written.

    Parts are written under another name and renamed, and only when their contents change. So listings
    suffice, and nothing is opened: for 1,000 parts it takes some tens of milliseconds on a local lake.
    """
    return fingerprint(sorted([*_parts(lake), *_vector_versions(lake)]))


def _parts(lake: Lake) -> Iterator[str]:
    for table in SEARCHED_TABLES:
        base = lake.path("parquet", table)
        if not lake.fs.exists(base):
            continue
        for path, info in lake.fs.find(base, detail=True).items():
            if path.endswith(".parquet"):
                time = next((info[key] for key in _TIMES if info.get(key)), "")
                yield f"{path}|{info.get('size')}|{time}"


def _vector_versions(lake: Lake) -> Iterator[str]:
    """Names of the manifests of all LanceDB tables: one per version."""
    base = lake.path("lance")
    if not lake.fs.exists(base):
        return
    for table in lake.fs.ls(base, detail=False):
        versions = f"{table}/_versions"
        if lake.fs.exists(versions):
            yield from lake.fs.ls(versions, detail=False)
