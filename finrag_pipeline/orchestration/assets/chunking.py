"""Chunking: from pages to the pieces of text that retrievers rank."""

from collections import Counter

import pyarrow as pa

from finrag_pipeline.chunking.fixed import chunk_pages
from finrag_pipeline.chunking.parent_child import PARENTS
from finrag_pipeline.chunking.parent_child import parent_child_chunks as make_parent_child_chunks
from finrag_pipeline.orchestration.steps import Part, Step, check, table_asset

CHECKS = {"within_token_limit": "No chunk exceeds the limit.", "not_empty": "At least one chunk."}
_PAGES = ("filing", "page", "text", "needs_ocr")


def _measured(part: Part, step: Step, limit: int) -> Step:
    """``step`` with the results of those checks, and the counts to show."""
    chunks = part.read(columns=["kind", "tokens"])
    lengths = chunks["tokens"].to_pylist()
    longest = max(lengths, default=0)
    step.checks = [
        check("within_token_limit", longest <= limit, longest=longest, limit=limit),
        check("not_empty", bool(lengths), chunks=len(lengths)),
    ]
    kinds = Counter(chunks["kind"].to_pylist())
    step.metadata = {"chunks": len(lengths), "longest_chunk_tokens": longest, **kinds}
    return step


@table_asset(blocking_checks=CHECKS)
def filing_chunks(part: Part) -> Step:
    """Chunks of 1024 tokens with 128 of overlap within a page, counted with the encoder's tokenizer."""
    settings, tokens = part.values.chunks, part.run.encoder.tokens
    step = part.made(lambda: chunk_pages(part.read("filing_pages", _PAGES), settings, tokens))
    return _measured(part, step, settings.tokens)


@table_asset(blocking_checks=CHECKS)
def contextual_chunks(part: Part) -> Step:
    """Prose under its headings, table rows with all their headers, whole tables: 512 tokens with context.

    Made for a sweep that needs them, not every night.
    """
    settings, tokens = part.values.contextual_chunks, part.run.encoder.tokens

    def make() -> pa.Table:
        from finrag_pipeline.chunking.contextual import contextual_chunks as make_contextual_chunks

        pages, tables = part.read("filing_pages", (*_PAGES, "words")), part.read("page_tables")
        return make_contextual_chunks(pages, tables, part.filing, settings, tokens)

    return _measured(part, part.made(make), settings.tokens)


@table_asset(blocking_checks=CHECKS)
def parent_child_chunks(part: Part) -> Step:
    """Parents of 2048 tokens and their children of 512; made for a sweep that needs them, not every night."""
    tokens = part.run.encoder.tokens
    step = part.made(lambda: make_parent_child_chunks(part.read("filing_pages", _PAGES), tokens))
    return _measured(part, step, PARENTS.tokens)
