"""Context-aware chunks: prose under its headings, table rows with all their headers, whole tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from finrag_pipeline.chunking.fixed import check_overlap, splitter
from finrag_pipeline.chunking.pieces import Piece, cut, join_context
from finrag_pipeline.chunking.prose import Headings, heading_at, text_outside
from finrag_pipeline.chunking.table_chunks import TableCells, row_pieces, table_pieces, tables_of
from finrag_pipeline.embedding.tokens import TokenCounter
from finrag_pipeline.schemas import FILING_CHUNKS
from finrag_pipeline.settings import ContextualChunkSettings

if TYPE_CHECKING:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

_SHORTEST_PROSE = 20
"""Characters below which what is left of a page beside its tables (a page number) makes no chunk."""


def identity_line(filing: Mapping[str, Any]) -> str:
    """Who reports and on what: company, form and fiscal period of a row of ``filings``, as far as known."""
    year, quarter = filing.get("fiscal_year"), filing.get("fiscal_quarter")
    period = f"fiscal year {year}" if year else ""
    if year and quarter and filing.get("form") != "10-K":
        period = f"quarter {quarter} of fiscal year {year}"
    company = filing.get("company") or filing.get("declared_company") or ""
    return ", ".join(part for part in (company, filing.get("form") or "", period) if part)


def contextual_chunks(
    pages: pa.Table,
    page_tables: pa.Table,
    filing: Mapping[str, Any],
    settings: ContextualChunkSettings,
    tokens: TokenCounter,
) -> pa.Table:
    """Chunks of a filing with their context; no chunk spans two pages.

    Args:
        pages: rows of ``filing_pages`` (columns filing, page, text, needs_ocr, words).
        page_tables: rows of ``page_tables`` of the same filing.
        filing: its row of ``filings``.
        settings: length and overlap.
        tokens: counter of the encoder in use.

    Returns:
        Rows of ``contextual_chunks``: kinds text, table_row and table, by page.

    Raises:
        UsageError: the overlap is not smaller than the chunk.
    """
    check_overlap(settings.tokens, settings.overlap, "FINRAG_CONTEXTUAL_CHUNKS__OVERLAP")
    identity = identity_line(filing)
    tables: dict[int, list[TableCells]] = defaultdict(list)
    for table in tables_of(page_tables):
        tables[table.page].append(table)
    # Prose leaves an eighth of the chunk to its context; what is longer is cut once more.
    prose_splitter = splitter(settings.tokens - settings.tokens // 8, settings.overlap, tokens)
    section = Headings()
    pieces: list[Piece] = []
    rows = pages.select(["page", "text", "needs_ocr"]).to_pylist()
    words = pages["words"].combine_chunks() if pages.num_rows else None
    for place, row in enumerate(rows):
        if row["needs_ocr"] or not row["text"].strip():
            continue
        page, here = row["page"], tables[row["page"]]
        boxes = [box for table in here if (box := table.box)]
        text = row["text"]
        if boxes and words is not None and words[place].is_valid:
            text = text_outside(words[place].as_py(), boxes)
        before = section.section
        pieces.extend(_prose(page, text, identity, section, prose_splitter, settings.tokens, tokens))
        for table in here:
            pieces.extend(row_pieces(table, identity, before, settings.tokens, tokens))
            pieces.extend(table_pieces(table, identity, before, settings.tokens, tokens))
    return _as_table(pieces, filing["filing"], tokens)


def _prose(
    page: int,
    text: str,
    identity: str,
    section: Headings,
    prose_splitter: RecursiveCharacterTextSplitter,
    limit: int,
    tokens: TokenCounter,
) -> list[Piece]:
    marks = section.read(text)
    if len(text.strip()) < _SHORTEST_PROSE:
        return []
    pieces: list[Piece] = []
    position = 0
    for part in prose_splitter.split_text(text):
        position = max(position, text.find(part[:40], position))
        context = cut(join_context(identity, heading_at(marks, position)), limit // 4, tokens)[0]
        room = limit - tokens.count(f"{context}\n") - 1
        pieces.extend(Piece(page, "text", f"{context}\n{half}".strip()) for half in cut(part, room, tokens))
    return pieces


def _as_table(pieces: list[Piece], filing: str, tokens: TokenCounter) -> pa.Table:
    lengths = tokens.count_all([piece.text for piece in pieces])
    ordinals: dict[int, int] = defaultdict(int)
    rows = []
    for piece, length in zip(pieces, lengths, strict=True):
        ordinal = ordinals[piece.page]
        ordinals[piece.page] += 1
        rows.append(
            {
                "chunk_id": f"{filing}/p{piece.page}/x{ordinal}",
                "filing": filing,
                "page": piece.page,
                "ordinal": ordinal,
                "kind": piece.kind,
                "text": piece.text,
                "tokens": length,
            }
        )
    return pa.Table.from_pylist(rows, schema=FILING_CHUNKS)
