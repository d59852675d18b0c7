"""Indexing: vectors in LanceDB and the lexical index over the corpus."""

import dagster as dg

from finrag_pipeline.chunking.registry import CONTEXTUAL, FIXED, PARENT_CHILD, Chunking
from finrag_pipeline.embedding.encoder import Encoder
from finrag_pipeline.errors import LakeError
from finrag_pipeline.orchestration.assets.chunking import (
    contextual_chunks,
    filing_chunks,
    parent_child_chunks,
)
from finrag_pipeline.orchestration.automation import on_corpus_change
from finrag_pipeline.orchestration.fingerprints import index_fingerprint
from finrag_pipeline.orchestration.partitions import filings_partitions
from finrag_pipeline.orchestration.pools import VECTORS
from finrag_pipeline.orchestration.resources.settings import (
    LakeResource,
    SettingsResource,
    get_corpus,
    get_encoder,
)
from finrag_pipeline.orchestration.steps import (
    DATA_ENGINEERING,
    Step,
    check,
    each_partition,
    failure,
    fresh_or_made,
    result,
    table_asset,
)
from finrag_pipeline.retrieval.chunk_index import (
    index_chunks,
    open_chunk_index,
    searchable_filings,
    to_index,
)
from finrag_pipeline.settings import Settings
from finrag_pipeline.storage.fingerprints import fingerprint
from finrag_pipeline.storage.lake import Lake


@table_asset(
    filing_chunks,
    group="indexing",
    partitions=filings_partitions,
    kinds={"python", "lancedb"},
    owner=DATA_ENGINEERING,
    table=None,
    blocking_checks={"complete": "Every chunk has its vectors."},
    pool=VECTORS,
)
def chunk_index(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """Vectors of a filing's chunks in LanceDB, replaced in one version; embeddings come from the cache."""
    return _index(context, settings.get(), lake.open(), FIXED)


@table_asset(
    contextual_chunks,
    group="indexing",
    partitions=filings_partitions,
    kinds={"python", "lancedb"},
    owner=DATA_ENGINEERING,
    table=None,
    blocking_checks={"complete": "Every chunk has its vectors."},
    pool=VECTORS,
)
def contextual_index(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """Vectors of a filing's context-aware chunks in LanceDB, in a table of their own."""
    return _index(context, settings.get(), lake.open(), CONTEXTUAL)


@table_asset(
    parent_child_chunks,
    group="indexing",
    partitions=filings_partitions,
    kinds={"python", "lancedb"},
    owner=DATA_ENGINEERING,
    table=None,
    blocking_checks={"complete": "Every child has its vectors."},
    pool=VECTORS,
)
def parent_child_index(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """Vectors of a filing's children in LanceDB; windows that other chunks share come from the cache."""
    return _index(context, settings.get(), lake.open(), PARENT_CHILD)


def _index(
    context: dg.AssetExecutionContext, values: Settings, store: Lake, chunking: Chunking
) -> dg.MaterializeResult:
    asset = chunking.index
    encoder: Encoder = get_encoder(values, store)
    index = open_chunk_index(store, encoder, values, chunking)

    def work(key: str) -> Step:
        partition = {"filing": key}
        info = store.info(chunking.table, partition)
        if info is None:
            raise LakeError(f"The lake holds no chunks of '{key}'.", f"Materialise {chunking.table} first.")
        wanted = index_fingerprint(info.fingerprint, encoder)
        computed = 0

        def find() -> int | None:
            entry = store.ledger_entry(asset, key)
            rows = index.count(key)
            return (
                rows if entry and entry["fingerprint"] == wanted and entry["rows"] == rows and rows else None
            )

        def make() -> int:
            nonlocal computed
            chunks = to_index(store.read(chunking.table, partition), chunking)
            rows, computed = index_chunks(chunks, encoder, index, context.log.info)
            return rows

        step = fresh_or_made(store, asset, key, wanted, find, make, context.run.run_id)
        found = index.count(key)
        step.checks = [check("complete", found == step.rows and found > 0, vectors=found, expected=step.rows)]
        step.metadata = {"vectors": found, "embedded": computed, "table": index.name}
        return step

    return result(each_partition(context, store, work))


@table_asset(
    filing_chunks,
    group="indexing",
    kinds={"python", "numpy"},
    owner=DATA_ENGINEERING,
    table=None,
    automation=on_corpus_change(),
)
def bm25_index(
    context: dg.AssetExecutionContext, settings: SettingsResource, lake: LakeResource
) -> dg.MaterializeResult:
    """The BM25 index over every searchable filing, as `finrag search` uses it."""
    store, values = lake.open(), settings.get()
    names = searchable_filings(store)
    if not names:
        error = LakeError("The lake holds no chunks.", "Ingest a filing first: finrag ingest FILE.")
        raise failure({"bm25_index": error})
    corpus = get_corpus(values, store, names)
    index = corpus.bm25  # built and kept on first use, else read
    step = Step("", fingerprint("bm25_index", corpus.fingerprint), index.documents, 0.0, False)
    store.record(
        "bm25_index",
        "",
        "materialised",
        fingerprint=step.fingerprint,
        rows=step.rows,
        run_id=context.run.run_id,
    )
    return result([step], filings=len(names), chunks=index.documents)
