"""Chunking: from pages to the pieces of text that retrievers rank."""

from collections import Counter
from typing import Any

import dagster as dg
import pyarrow as pa

from finrag_pipeline.chunking.fixed import chunk_pages
from finrag_pipeline.chunking.parent_child import PARENTS
from finrag_pipeline.chunking.parent_child import parent_child_chunks as make_parent_child_chunks
from finrag_pipeline.errors import LakeError
from finrag_pipeline.orchestration.assets.ingestion import filing_pages
from finrag_pipeline.orchestration.assets.tables import filing_row, page_tables, part_fingerprint
from finrag_pipeline.orchestration.automation import on_changed_data
from finrag_pipeline.orchestration.fingerprints import (
    chunks_fingerprint,
    contextual_fingerprint,
    parent_child_fingerprint,
)
from finrag_pipeline.orchestration.partitions import filings_partitions
from finrag_pipeline.orchestration.resources.settings import LakeResource, SettingsResource, get_encoder
from finrag_pipeline.orchestration.steps import (
    DATA_ENGINEERING,
    Step,
    check,
    each_partition,
    part_step,
    result,
    table_asset,
)

CHECKS = {"within_token_limit": "No chunk exceeds the limit.", "not_empty": "At least one chunk."}


def _measured(lengths: list[int], limit: int) -> tuple[list[dg.AssetCheckResult], dict[str, Any]]:
    """Results of those checks for chunks of these lengths in tokens, and the counts to show."""
    longest = max(lengths, default=0)
    checks = [
        check("within_token_limit", longest <= limit, longest=longest, limit=limit),
        check("not_empty", bool(lengths), chunks=len(lengths)),
    ]
    return checks, {"chunks": len(lengths), "longest_chunk_tokens": longest}


@table_asset(
    filing_pages,
    group="chunking",
    partitions=filings_partitions,
    owner=DATA_ENGINEERING,
    automation=on_changed_data(),
    blocking_checks=CHECKS,
)
def filing_chunks(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """Chunks of 1024 tokens with 128 of overlap within a page, counted with the encoder's tokenizer."""
    store, values = lake.open(), settings.get()
    tokens = get_encoder(values, store).tokens

    def work(key: str) -> Step:
        partition = {"filing": key}
        info = store.info("filing_pages", partition)
        if info is None:
            raise LakeError(f"The lake holds no pages of '{key}'.", "Materialise filing_pages first.")

        def make() -> pa.Table:
            pages = store.read("filing_pages", partition, ["filing", "page", "text", "needs_ocr"])
            return chunk_pages(pages, values.chunks, tokens)

        wanted = chunks_fingerprint(info.fingerprint, values)
        step = part_step(store, "filing_chunks", key, partition, wanted, make, context.run.run_id)
        lengths = store.read("filing_chunks", partition, ["tokens"])["tokens"].to_pylist()
        step.checks, step.metadata = _measured(lengths, values.chunks.tokens)
        return step

    return result(each_partition(context, store, work))


@table_asset(
    filing_pages,
    page_tables,
    group="chunking",
    partitions=filings_partitions,
    owner=DATA_ENGINEERING,
    blocking_checks=CHECKS,
)
def contextual_chunks(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """Prose under its headings, table rows with all their headers, whole tables: 512 tokens with context.

    Made for a sweep that needs them, not every night.
    """
    store, values = lake.open(), settings.get()
    tokens = get_encoder(values, store).tokens

    def work(key: str) -> Step:
        partition = {"filing": key}
        row = filing_row(store, key)
        pages, tables = (part_fingerprint(store, asset, key) for asset in ("filing_pages", "page_tables"))

        def make() -> pa.Table:
            from finrag_pipeline.chunking.contextual import contextual_chunks as make_contextual_chunks

            return make_contextual_chunks(
                store.read("filing_pages", partition, ["filing", "page", "text", "needs_ocr", "words"]),
                store.read("page_tables", partition),
                row,
                values.contextual_chunks,
                tokens,
            )

        wanted = contextual_fingerprint(pages, tables, row, values)
        step = part_step(store, "contextual_chunks", key, partition, wanted, make, context.run.run_id)
        chunks = store.read("contextual_chunks", partition, ["kind", "tokens"])
        step.checks, measured = _measured(chunks["tokens"].to_pylist(), values.contextual_chunks.tokens)
        step.metadata = {**measured, **Counter(chunks["kind"].to_pylist())}
        return step

    return result(each_partition(context, store, work))


@table_asset(
    filing_pages,
    group="chunking",
    partitions=filings_partitions,
    owner=DATA_ENGINEERING,
    table="filing_chunks",
    blocking_checks=CHECKS,
)
def parent_child_chunks(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """Parents of 2048 tokens and their children of 512; made for a sweep that needs them, not every night."""
    store, values = lake.open(), settings.get()
    tokens = get_encoder(values, store).tokens

    def work(key: str) -> Step:
        partition = {"filing": key}
        wanted = parent_child_fingerprint(part_fingerprint(store, "filing_pages", key), values)

        def make() -> pa.Table:
            pages = store.read("filing_pages", partition, ["filing", "page", "text", "needs_ocr"])
            return make_parent_child_chunks(pages, tokens)

        run_id = context.run.run_id
        step = part_step(
            store, "parent_child_chunks", key, partition, wanted, make, run_id, schema="filing_chunks"
        )
        chunks = store.read("parent_child_chunks", partition, ["kind", "tokens"])
        step.checks, measured = _measured(chunks["tokens"].to_pylist(), PARENTS.tokens)
        step.metadata = {**measured, **Counter(chunks["kind"].to_pylist())}
        return step

    return result(each_partition(context, store, work))
