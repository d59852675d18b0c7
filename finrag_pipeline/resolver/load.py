"""The resolver over filings of a lake."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from finrag_pipeline.resolver.resolver import Resolver
from finrag_pipeline.storage.lake import Lake


def load_resolver(
    lake: Lake, filings: Collection[str], rows: Iterable[Mapping[str, Any]] | None = None
) -> Resolver:
    """The resolver over those of ``filings`` that the lake has rows of.

    Args:
        lake: holds ``filings`` and ``filing_pages``.
        filings: names of filings.
        rows: all rows of ``filings``, where they were read already.
    """
    if rows is None:
        rows = lake.read_all("filings", only={"filing": filings}).to_pylist()
    wanted = set(filings)
    return Resolver([row for row in rows if row["filing"] in wanted], _covers(lake, filings))


def _covers(lake: Lake, filings: Collection[str]) -> dict[str, str]:
    """Text of the first page of each filing."""
    covers: dict[str, str] = {}
    known = {keys["filing"] for keys in lake.partitions("filing_pages")}
    for filing in known & set(filings):
        first = lake.read("filing_pages", {"filing": filing}, ["page", "text"], first=1).to_pylist()
        if first and first[0]["page"] == 0:
            covers[filing] = first[0]["text"]
    return covers
