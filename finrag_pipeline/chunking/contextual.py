"""Context-aware chunks: prose under its headings, table rows with all their headers, whole tables.

After the Mixpeek technical guide, section 4 (innovation 2): caption | scale | every header level | row. The
row's own headings and the filing's identity are added, so that a chunk can be understood alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa

from finrag_pipeline.chunking.fixed import as_chunks, check_overlap, splitter
from finrag_pipeline.chunking.prose import Headings, heading_at, text_outside
from finrag_pipeline.embedding.tokens import TokenCounter
from finrag_pipeline.settings import ContextualChunkSettings
from finrag_pipeline.tables.model import Box, around

_CONTEXT_SHARE = 2
"""Context takes at most one part in so many of a piece; the rest is content."""


Piece = tuple[int, str, str]
"""A chunk before it has a number: zero-based page, kind (text, table_row or table), context and content."""


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

    The context is cut where it would take more than half of a text, a part that is too long alone between
    words; the separator is counted with each part.
    """
    whole = separator.join([context, *parts] if context else parts)
    if tokens.count(whole) <= limit:
        return [whole]
    context = cut(context, limit // _CONTEXT_SHARE, tokens)[0] if context else ""
    budget = limit - (tokens.count(context + separator) if context else 0)
    pieces = [piece for part in parts for piece in cut(part, budget, tokens)]
    texts: list[list[str]] = [[]]
    used = 0
    for piece, length in zip(pieces, tokens.count_all([piece + separator for piece in pieces]), strict=True):
        if texts[-1] and used + length > budget:
            texts.append([])
            used = 0
        texts[-1].append(piece)
        used += length
    return [separator.join([context, *held] if context else held) for held in texts if held]


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
class _Table:
    """One table: its cells have the columns of ``page_tables`` named above."""

    page: int
    caption: str
    scale: str
    cells: list[dict[str, Any]]

    def box(self) -> Box | None:
        """Around all cells, in points; None where the page came as text."""
        edges = [itemgetter("x0", "y0", "x1", "y1")(cell) for cell in self.cells]
        return None if any(None in cell for cell in edges) else around(edges)

    def rows(self) -> list[list[dict[str, Any]]]:
        """Body cells by row, each row by column."""
        body = sorted((cell for cell in self.cells if not cell["header"]), key=itemgetter("row", "column"))
        return [list(row) for _, row in groupby(body, itemgetter("row"))]


def _tables_of(page_tables: pa.Table) -> dict[int, list[_Table]]:
    """The tables of a filing by page, in order."""
    grouped: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    for cell in page_tables.select(_COLUMNS).to_pylist():
        grouped[cell["page"], cell["table"]].append(cell)
    found: dict[int, list[_Table]] = defaultdict(list)
    for (page, _), cells in sorted(grouped.items()):
        # Of money alone: the per cent columns of a table say nothing of its scale.
        sources = Counter(c["scale_source"] for c in cells if c["unit"] == "currency" and c["scale_source"])
        # 'units line: (in millions)': where it was found is of no use to a reader of the chunk.
        scale = sources.most_common(1)[0][0].partition(": ")[2] if sources else ""
        found[page].append(_Table(page, cells[0]["caption"] or "", scale.strip(" ()"), cells))
    return found


def _table_pieces(
    table: _Table, identity: str, section: str, limit: int, tokens: TokenCounter
) -> Iterator[Piece]:
    """One piece per body row that has a cell besides its label; then the table as Markdown.

    A long table comes in several pieces, each with the context and the column headers.
    """
    rows = table.rows()
    for row in rows:
        values = [cell for cell in row if cell["column"] > 0]
        path = " > ".join(row[0]["row_path"]) or (row[0]["row_label"] or "")
        context = join_context(identity, section, table.caption, table.scale, path)
        headers = (" ".join(cell["column_path"]) for cell in values)
        parts = [
            f"{head}: {c['text']}" if head else c["text"] for head, c in zip(headers, values, strict=True)
        ]
        for text in fit(context, parts, " | ", limit, tokens) if values else ():
            yield table.page, "table_row", text
    if not rows:
        return
    columns = sorted({cell["column"] for row in rows for cell in row})
    paths: dict[int, str] = {}
    for cell in table.cells:
        if not cell["header"] and cell["column_path"]:
            paths.setdefault(cell["column"], " ".join(cell["column_path"]))
    head = join_context(identity, section, table.caption, table.scale)
    if any(column in paths for column in columns):
        head += f"\n{_markdown(columns, paths)}\n| {' | '.join(['---'] * len(columns))} |"
    lines = [_markdown(columns, {cell["column"]: cell["text"] for cell in row}) for row in rows]
    for text in fit(head, lines, "\n", limit, tokens):
        yield table.page, "table", text


def _markdown(columns: Sequence[int], texts: Mapping[int, str]) -> str:
    return "| " + " | ".join(texts.get(column, "").replace("|", "/") for column in columns) + " |"


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

    Made from its rows of ``filing_pages`` and ``page_tables`` and its row of ``filings``.

    Returns:
        Rows of ``contextual_chunks``: kinds text, table_row and table, by page.

    Raises:
        UsageError: the overlap is not smaller than the chunk.
    """
    check_overlap(settings.tokens, settings.overlap, "FINRAG_CONTEXTUAL_CHUNKS__OVERLAP")
    identity = identity_line(filing)
    tables = _tables_of(page_tables)
    # Prose leaves an eighth of the chunk to its context; what is longer is cut once more.
    prose_splitter = splitter(settings.tokens - settings.tokens // 8, settings.overlap, tokens)
    section = Headings()
    pieces: list[Piece] = []
    words = pages["words"].combine_chunks() if pages.num_rows else None
    for position, row in enumerate(pages.select(["page", "text", "needs_ocr"]).to_pylist()):
        if row["needs_ocr"] or not row["text"].strip():
            continue
        page, text = row["page"], row["text"]
        boxes = [box for table in tables[page] if (box := table.box())]
        if boxes and words is not None and words[position].is_valid:
            text = text_outside(words[position].as_py(), boxes)
        before = section.section
        marks = section.read(text)
        place = 0
        for part in prose_splitter.split_text(text) if len(text.strip()) >= _SHORTEST_PROSE else ():
            place = max(place, text.find(part[:40], place))
            context = cut(join_context(identity, heading_at(marks, place)), settings.tokens // 4, tokens)[0]
            budget = settings.tokens - tokens.count(f"{context}\n") - 1
            pieces += [(page, "text", f"{context}\n{half}".strip()) for half in cut(part, budget, tokens)]
        for table in tables[page]:
            pieces += _table_pieces(table, identity, before, settings.tokens, tokens)
    name = str(filing["filing"])
    return as_chunks([(name, page, kind, text) for page, kind, text in pieces], "x", tokens)
