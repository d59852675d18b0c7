"""Which filings are stale: compares the lake with the fingerprints its parts should have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from finrag_pipeline.chunking.fixed import CHUNKING_VERSION
from finrag_pipeline.chunking.parent_child import PARENT_CHILD_VERSION
from finrag_pipeline.chunking.registry import FIXED, PARENT_CHILD, Chunking
from finrag_pipeline.evaluation.retrieval_metrics import METRICS_VERSION
from finrag_pipeline.evaluation.summary import SUMMARY_VERSION
from finrag_pipeline.filings.intake import FilingSource
from finrag_pipeline.orchestration.fingerprints import (
    chunks_fingerprint,
    contextual_fingerprint,
    facts_fingerprint,
    filings_fingerprint,
    index_fingerprint,
    pages_fingerprint,
    parent_child_fingerprint,
    profiles_fingerprint,
    sentences_fingerprint,
    tables_fingerprint,
)
from finrag_pipeline.orchestration.resources.settings import get_encoder
from finrag_pipeline.rankers.page_ranker import PROFILES_VERSION, RANKER_VERSION, SENTENCES_VERSION
from finrag_pipeline.reporting import REPORT_VERSION
from finrag_pipeline.resolver import RESOLVER_VERSION
from finrag_pipeline.retrieval.alpha import ALPHA_VERSION
from finrag_pipeline.retrieval.bm25 import BM25_VERSION
from finrag_pipeline.retrieval.chunk_index import open_chunk_index
from finrag_pipeline.retrieval.systems import SYSTEMS_VERSION
from finrag_pipeline.schemas import PER_FILING
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    import dagster as dg


def stale_filings(
    lake: Lake, settings: Settings, sources: Sequence[FilingSource], instance: dg.DagsterInstance
) -> list[str]:
    """Filings of which some asset is missing, made from something else, or unknown to the instance."""
    import dagster as dg

    encoder = get_encoder(settings, lake)
    rows = {row["filing"]: row for row in lake.read_all("filings").to_pylist()}
    materialised = [instance.get_materialized_partitions(dg.AssetKey(name)) for name in PER_FILING]
    stale = []
    for source in sources:
        key = source.filing
        partition = {"filing": key}
        pages = pages_fingerprint(source)
        if key not in rows:
            stale.append(key)
            continue
        tables = tables_fingerprint(pages, rows[key], settings)
        wanted = {
            "filings": filings_fingerprint(source),
            "filing_pages": pages,
            "filing_chunks": chunks_fingerprint(pages, settings),
            "page_tables": tables,
            "statement_facts": facts_fingerprint(tables, rows[key]),
        }
        parts = {name: wanted[name] for name in ("filing_pages", "page_tables", "statement_facts")}
        wanted["page_profiles"] = profiles_fingerprint(parts, rows[key])
        wanted["page_sentences"] = sentences_fingerprint(pages, encoder)
        fresh = (
            all(key in known for known in materialised)
            # A worse version was refused: with the sound one at hand again, the note goes.
            and (lake.ledger_entry("filings", key) or {}).get("outcome") != "failed"
            and all(
                (info := lake.info(asset, partition)) and info.fingerprint == fp
                for asset, fp in wanted.items()
            )
        )
        if not fresh:
            stale.append(key)
    return stale


def stale_on_demand(
    lake: Lake, settings: Settings, chunking: Chunking, filings: Sequence[str], embedded: bool = True
) -> list[str]:
    """Filings whose chunks, or their vectors, are missing or made from something else.

    Args:
        lake: of the filings.
        settings: of the run.
        chunking: of the chunks.
        filings: looked at.
        embedded: whether vectors are wanted; the chunks alone when False.
    """
    encoder = get_encoder(settings, lake)
    vectors = open_chunk_index(lake, encoder, settings, chunking).count_by_filing() if embedded else None
    rows = {row["filing"]: row for row in lake.read_all("filings", only={"filing": filings}).to_pylist()}
    stale = []
    for filing in filings:
        pages, tables = (lake.info(name, {"filing": filing}) for name in ("filing_pages", "page_tables"))
        wanted = None
        if pages and chunking == FIXED:
            wanted = chunks_fingerprint(pages.fingerprint, settings)
        elif pages and chunking == PARENT_CHILD:
            wanted = parent_child_fingerprint(pages.fingerprint, settings)
        elif pages and tables:
            wanted = contextual_fingerprint(pages.fingerprint, tables.fingerprint, rows[filing], settings)
        chunks = lake.info(chunking.table, {"filing": filing})
        entry = lake.ledger_entry(chunking.index, filing) or {}
        fresh = (
            wanted is not None
            and chunks is not None
            and chunks.fingerprint == wanted
            and (
                vectors is None
                or (
                    entry.get("fingerprint") == index_fingerprint(wanted, encoder)
                    and entry.get("rows") == vectors[filing] > 0
                )
            )
        )
        if not fresh:
            stale.append(filing)
    return stale


def code_state() -> list[str]:
    """Versions of the code that turns chunks into published results."""
    return [
        CHUNKING_VERSION,
        PARENT_CHILD_VERSION,
        BM25_VERSION,
        ALPHA_VERSION,
        SYSTEMS_VERSION,
        PROFILES_VERSION,
        SENTENCES_VERSION,
        RANKER_VERSION,
        RESOLVER_VERSION,
        METRICS_VERSION,
        SUMMARY_VERSION,
        REPORT_VERSION,
    ]
