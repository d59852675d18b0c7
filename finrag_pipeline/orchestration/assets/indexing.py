"""Indexing: vectors in LanceDB and the lexical index over the corpus."""

from finrag_pipeline.chunking.registry import CONTEXTUAL, FIXED, PARENT_CHILD, Chunking
from finrag_pipeline.errors import LakeError
from finrag_pipeline.orchestration.resources.settings import get_corpus
from finrag_pipeline.orchestration.steps import Part, Step, check, table_asset
from finrag_pipeline.retrieval.chunk_index import index_chunks, open_chunk_index, searchable_filings, to_index
from finrag_pipeline.storage.fingerprints import fingerprint


@table_asset(blocking_checks={"complete": "Every chunk has its vectors."})
def chunk_index(part: Part) -> Step:
    """Vectors of a filing's chunks in LanceDB, replaced in one version; embeddings come from the cache."""
    return _index(part, FIXED)


@table_asset(blocking_checks={"complete": "Every chunk has its vectors."})
def contextual_index(part: Part) -> Step:
    """Vectors of a filing's context-aware chunks in LanceDB, in a table of their own."""
    return _index(part, CONTEXTUAL)


@table_asset(blocking_checks={"complete": "Every child has its vectors."})
def parent_child_index(part: Part) -> Step:
    """Vectors of a filing's children in LanceDB; windows that other chunks share come from the cache."""
    return _index(part, PARENT_CHILD)


def _index(part: Part, chunking: Chunking) -> Step:
    encoder, key = part.run.encoder, part.key
    index = open_chunk_index(part.store, encoder, part.values, chunking)
    wanted = part.wanted()
    computed = 0

    def find() -> int | None:
        entry = part.store.ledger_entry(chunking.index, key)
        rows = index.count(key)
        return rows if entry and entry["fingerprint"] == wanted and entry["rows"] == rows and rows else None

    def make() -> int:
        nonlocal computed
        chunks = to_index(part.read(chunking.table), chunking)
        rows, computed = index_chunks(chunks, encoder, index, part.context.log.info)
        return rows

    step = part.made_or_found(find, make, wanted)
    found = index.count(key)
    step.checks = [check("complete", found == step.rows and found > 0, vectors=found, expected=step.rows)]
    step.metadata = {"vectors": found, "embedded": computed, "table": index.name}
    return step


@table_asset()
def bm25_index(part: Part) -> Step:
    """The BM25 index over every searchable filing, as `finrag search` uses it."""
    names = searchable_filings(part.store)
    if not names:
        raise LakeError("The lake holds no chunks.", "Ingest a filing first: finrag ingest FILE.")
    corpus = get_corpus(part.values, part.store, names)
    # Built and kept on first use, else read.
    wanted = fingerprint("bm25_index", corpus.fingerprint)
    step = part.made_or_found(lambda: None, lambda: corpus.bm25.documents, wanted)
    step.metadata = {"filings": len(names), "chunks": step.rows}
    return step
