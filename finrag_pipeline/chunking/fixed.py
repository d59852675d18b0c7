"""Fixed-size chunks within a page, and children of such chunks (Kobeissi & Langlais, section 4).

Chunks have 1024 tokens with 128 of overlap. The splitter is langchain's recursive one with the papers'
separators; token counts are those of the encoder's own tokenizer. Children of 512 tokens with 64 of overlap
are searched, and their parents returned: the papers' text gives parents of 1024 tokens with 256 of overlap,
the published code 2048 with 256; the code made the figures, so it is followed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from finrag_pipeline.embedding.tokens import TokenCounter
from finrag_pipeline.errors import UsageError
from finrag_pipeline.schemas import FILING_CHUNKS
from finrag_pipeline.settings import ChunkSettings

if TYPE_CHECKING:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

CHUNKING_VERSION = "1"
SEPARATORS = ["\n\n", "\n", ". ", " ", ""]


def chunk_pages(pages: pa.Table, settings: ChunkSettings, tokens: TokenCounter) -> pa.Table:
    """Split every page into chunks of at most ``settings.tokens`` tokens; no chunk spans two pages.

    ``pages`` are rows of ``filing_pages`` (columns filing, page, text, needs_ocr).

    Returns:
        Rows of ``filing_chunks``. Pages without text, or with unusable text, yield none.

    Raises:
        UsageError: the overlap is not smaller than the chunk.
    """
    rows = pages.select(["filing", "page", "text", "needs_ocr"]).to_pylist()
    usable = (row for row in rows if not row["needs_ocr"] and row["text"].strip())
    return _split([(row["filing"], row["page"], row["text"]) for row in usable], settings, tokens)


def _split(texts: Sequence[tuple[str, int, str]], settings: ChunkSettings, tokens: TokenCounter) -> pa.Table:
    """Rows of ``filing_chunks`` of texts (filing, page, text)."""
    check_overlap(settings.tokens, settings.overlap, "FINRAG_CHUNKS__OVERLAP")
    lengths = tokens.count_all([text for _, _, text in texts])
    pieces = []
    for (filing, page, text), length in zip(texts, lengths, strict=True):
        parts = [text.strip()]
        if length > settings.tokens:
            # Token counts do not add up exactly when pieces are joined; the limit must hold all the same.
            whole = splitter(settings.tokens, settings.overlap, tokens).split_text(text)
            parts = [part for piece in whole for part in _cut(piece, settings.tokens, tokens)]
        pieces += [(filing, page, "text", part) for part in parts]
    return as_chunks(pieces, "c", tokens)


def as_chunks(pieces: Sequence[tuple[str, int, str, str]], letter: str, tokens: TokenCounter) -> pa.Table:
    """Rows of ``filing_chunks`` of pieces (filing, page, kind, text), numbered within their page.

    ``letter`` stands before that number in the identifiers, as in ``F/p3/c0``.
    """
    lengths = tokens.count_all([text for *_, text in pieces])
    ordinals: Counter[tuple[str, int]] = Counter()
    rows = []
    for (filing, page, kind, text), length in zip(pieces, lengths, strict=True):
        ordinal = ordinals[filing, page]
        ordinals[filing, page] += 1
        chunk_id = f"{filing}/p{page}/{letter}{ordinal}"
        rows.append((chunk_id, filing, page, ordinal, kind, text, length))
    return pa.Table.from_pylist(
        [dict(zip(FILING_CHUNKS.names, row, strict=True)) for row in rows], schema=FILING_CHUNKS
    )


def _cut(text: str, limit: int, tokens: TokenCounter) -> list[str]:
    if tokens.count(text) <= limit:
        return [text]
    middle = max(1, tokens.spans(text)[limit - 1][0])
    head, tail = text[:middle].strip(), text[middle:].strip()
    return [part for half in (head, tail) if half and half != text for part in _cut(half, limit, tokens)]


def check_overlap(size: int, overlap: int, variable: str) -> None:
    """Refuse an overlap that leaves nothing new for the next chunk.

    ``variable`` of the environment sets the overlap.

    Raises:
        UsageError: the overlap is not smaller than the chunk.
    """
    if overlap >= size:
        raise UsageError(
            f"The overlap ({overlap}) is not smaller than the chunk ({size} tokens).", f"Lower {variable}."
        )


@lru_cache(maxsize=4)
def splitter(size: int, overlap: int, tokens: TokenCounter) -> RecursiveCharacterTextSplitter:
    """The splitter into pieces of about ``size`` tokens at paragraphs, lines, sentences, then words."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    return RecursiveCharacterTextSplitter(
        separators=SEPARATORS,
        chunk_size=size,
        chunk_overlap=overlap,
        length_function=tokens.count,
        keep_separator="end",
        strip_whitespace=True,
    )


PARENT_CHILD_VERSION = f"1.{CHUNKING_VERSION}"
PARENTS = ChunkSettings(tokens=2048, overlap=256)
CHILDREN = ChunkSettings(tokens=512, overlap=64)
PARENT, CHILD = "parent", "child"


def parent_of(child_id: str) -> str:
    """Identifier of the parent of a child: ``F/p3/parent0/child2`` gives ``F/p3/parent0``."""
    return child_id.rsplit("/", 1)[0]


def parent_child_chunks(
    pages: pa.Table,
    tokens: TokenCounter,
    parents: ChunkSettings = PARENTS,
    children: ChunkSettings = CHILDREN,
) -> pa.Table:
    """Parents of every page of one filing, each followed by its children.

    ``pages`` are as for `chunk_pages`; pages without usable text yield none.

    Returns:
        Rows of ``filing_chunks`` of the kinds parent and child.

    Raises:
        UsageError: an overlap is not smaller than its chunk.
    """
    large = chunk_pages(pages, parents, tokens).to_pylist()
    # A parent is split as a page is: its position stands for the number of the page.
    as_pages = [(row["filing"], place, row["text"]) for place, row in enumerate(large)]
    small: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in _split(as_pages, children, tokens).to_pylist():
        small[row["page"]].append(row)
    rows: list[dict[str, Any]] = []
    ordinals: Counter[int] = Counter()
    for place, row in enumerate(large):
        parent_id = f"{row['filing']}/p{row['page']}/parent{row['ordinal']}"
        family = [{"chunk_id": parent_id, "kind": PARENT}]
        for n, child in enumerate(small[place]):
            known = {"text": child["text"], "tokens": child["tokens"]}
            family.append({"chunk_id": f"{parent_id}/child{n}", "kind": CHILD, **known})
        for member in family:
            rows.append({**row, **member, "ordinal": ordinals[row["page"]]})
            ordinals[row["page"]] += 1
    return pa.Table.from_pylist(rows, schema=FILING_CHUNKS)
