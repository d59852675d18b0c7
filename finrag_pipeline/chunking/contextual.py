"""Context-aware chunks: prose under its headings, table rows with all their headers, whole tables.

After the Mixpeek technical guide, section 4 (innovation 2): caption | scale | every header level | row. The
row's own headings and the filing's identity are added, so that a chunk can be understood alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from finrag_pipeline.chunking.fixed import check_overlap, splitter
from finrag_pipeline.chunking.prose import Headings, heading_at, text_outside
from finrag_pipeline.embedding.tokens import TokenCounter
from finrag_pipeline.schemas import FILING_CHUNKS
from finrag_pipeline.settings import ContextualChunkSettings

if TYPE_CHECKING:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

_CONTEXT_SHARE = 2
"""Context takes at most one part in so many of a piece; the rest is content."""


@dataclass(frozen=True)
class Piece:
    """A chunk before it has a number.

    Attributes:
        page: zero-based.
        kind: text, table_row or table.
        text: context and content.
    """

    page: int
    kind: str
    text: str


def join_context(*parts: str) -> str:
    """The parts that say something, none twice in a row, joined by bars."""
    kept: list[str] = []
    for part in parts:
        part = " ".join(part.split())
        if part and (not kept or part.lower() != kept[-1].lower()):
            kept.append(part)
    return " | ".join(kept)


def fit(context: str, parts: Sequence[str], separator: str, limit: int, tokens: TokenCounter) -> list[str]:
    """Texts of at most ``limit`` tokens: as many ``parts`` each as go in, after the context.

    Args:
        context: stands first in every text; cut where it would take more than half of it.
        parts: content, in order; one that is too long alone is cut between words.
        separator: between context and parts. Counted with each part.
        limit: tokens.
        tokens: counter of the encoder in use.
    """
    whole = separator.join([context, *parts] if context else parts)
    if tokens.count(whole) <= limit:
        return [whole]
    context = cut(context, limit // _CONTEXT_SHARE, tokens)[0] if context else ""
    budget = limit - (tokens.count(context + separator) if context else 0)
    pieces = [piece for part in parts for piece in cut(part, budget, tokens)]
    lengths = tokens.count_all([piece + separator for piece in pieces])
    texts: list[str] = []
    held: list[str] = []
    used = 0
    for piece, length in zip(pieces, lengths, strict=True):
        if held and used + length > budget:
            texts.append(separator.join([context, *held] if context else held))
            held, used = [], 0
        held.append(piece)
        used += length
    if held:
        texts.append(separator.join([context, *held] if context else held))
    return texts


def cut(text: str, limit: int, tokens: TokenCounter) -> list[str]:
    """Parts of ``text`` of at most ``limit`` tokens, cut between words where there are any."""
    spans = tokens.spans(text)
    if len(spans) <= limit:
        return [text]
    end = spans[limit - 1][1]
    space = text.rfind(" ", 0, end + 1)
    end = space if space > end // 2 else end
    head, tail = text[:end].strip(), text[end:].strip()
    if not head or not tail:
        return [text]
    # A word cut inside may have more tokens in two parts than in one.
    heads = [head] if tokens.count(head) <= limit else cut(head, max(1, limit - 1), tokens)
    return [*heads, *cut(tail, limit, tokens)]


_COLUMNS = (
    "page", "table", "caption", "row", "column", "text", "header", "row_label", "row_path", "column_path",
    "unit", "scale_source", "x0", "y0", "x1", "y1",
)  # fmt: skip


@dataclass(frozen=True)
class TableCells:
    """The cells of one table, as dictionaries with the columns of ``page_tables``."""

    page: int
    caption: str
    scale: str
    cells: list[dict[str, Any]]

    @property
    def box(self) -> tuple[float, float, float, float] | None:
        """Around all cells, in points; None where the page came as text."""
        boxes = [[c["x0"], c["y0"], c["x1"], c["y1"]] for c in self.cells]
        if not boxes or any(edge is None for box in boxes for edge in box):
            return None
        x0, y0, x1, y1 = zip(*boxes, strict=True)
        return min(x0), min(y0), max(x1), max(y1)

    def rows(self) -> list[list[dict[str, Any]]]:
        """Body cells by row, each row by column."""
        rows: dict[int, list[dict[str, Any]]] = defaultdict(list)
        for cell in self.cells:
            if not cell["header"]:
                rows[cell["row"]].append(cell)
        return [sorted(rows[row], key=lambda cell: cell["column"]) for row in sorted(rows)]


def tables_of(page_tables: pa.Table) -> list[TableCells]:
    """The tables of a filing, in order.

    Args:
        page_tables: rows of ``page_tables`` of one filing.
    """
    grouped: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for cell in page_tables.select(_COLUMNS).to_pylist():
        grouped[cell["page"], cell["table"]].append(cell)
    found = []
    for (page, _), cells in sorted(grouped.items()):
        # Of money alone: the per cent columns of a table say nothing of its scale.
        sources = Counter(c["scale_source"] for c in cells if c["unit"] == "currency" and c["scale_source"])
        # 'units line: (in millions)': where it was found is of no use to a reader of the chunk.
        scale = sources.most_common(1)[0][0].partition(": ")[2] if sources else ""
        found.append(TableCells(page, cells[0]["caption"] or "", scale.strip(" ()"), cells))
    return found


def row_pieces(
    table: TableCells, identity: str, section: str, limit: int, tokens: TokenCounter
) -> list[Piece]:
    """One piece per body row that has a cell besides its label."""
    pieces: list[Piece] = []
    for row in table.rows():
        values = [cell for cell in row if cell["text"] != cell["row_label"] or cell["column"] > 0]
        values = [cell for cell in values if cell["column"] > 0] or values[1:]
        if not values:
            continue
        path = " > ".join(row[0]["row_path"]) or (row[0]["row_label"] or "")
        context = join_context(identity, section, table.caption, table.scale, path)
        parts = [_with_header(cell) for cell in values]
        pieces.extend(
            Piece(table.page, "table_row", text) for text in fit(context, parts, " | ", limit, tokens)
        )
    return pieces


def _with_header(cell: dict[str, Any]) -> str:
    header = " ".join(cell["column_path"])
    return f"{header}: {cell['text']}" if header else str(cell["text"])


def table_pieces(
    table: TableCells, identity: str, section: str, limit: int, tokens: TokenCounter
) -> list[Piece]:
    """The table as Markdown; a long one in several pieces, each with the context and the column headers."""
    rows = table.rows()
    if not rows:
        return []
    columns = sorted({cell["column"] for row in rows for cell in row})
    headers = _headers(table.cells, columns)
    context = join_context(identity, section, table.caption, table.scale)
    head = (
        f"{context}\n{_markdown(headers)}\n{_markdown(['---'] * len(columns))}" if any(headers) else context
    )
    lines = []
    for row in rows:
        texts = {cell["column"]: cell["text"] for cell in row}
        lines.append(_markdown([texts.get(column, "") for column in columns]))
    return [Piece(table.page, "table", text) for text in fit(head, lines, "\n", limit, tokens)]


def _headers(cells: Sequence[dict[str, Any]], columns: Sequence[int]) -> list[str]:
    paths: dict[int, str] = {}
    for cell in cells:
        if not cell["header"] and cell["column_path"]:
            paths.setdefault(cell["column"], " ".join(cell["column_path"]))
    return [paths.get(column, "") for column in columns]


def _markdown(texts: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "/") for text in texts) + " |"


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
    for position, row in enumerate(rows):
        if row["needs_ocr"] or not row["text"].strip():
            continue
        page, here = row["page"], tables[row["page"]]
        boxes = [box for table in here if (box := table.box)]
        text = row["text"]
        if boxes and words is not None and words[position].is_valid:
            text = text_outside(words[position].as_py(), boxes)
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
        budget = limit - tokens.count(f"{context}\n") - 1
        pieces.extend(Piece(page, "text", f"{context}\n{half}".strip()) for half in cut(part, budget, tokens))
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
