"""Parents and children: small chunks that are searched, and the larger ones around them that are returned.

Kobeissi & Langlais search children of 512 tokens with 64 of overlap and return their parents. The papers'
text gives parents of 1024 tokens with 256 of overlap, the published code 2048 with 256; the code made the
figures, so it is followed. No chunk spans two pages.
"""

from __future__ import annotations

import pyarrow as pa

from finrag_pipeline.chunking.fixed import CHUNKING_VERSION, chunk_pages
from finrag_pipeline.embedding.tokens import TokenCounter
from finrag_pipeline.schemas import FILING_CHUNKS
from finrag_pipeline.settings import ChunkSettings

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
    """Parents of every page, each followed by its children.

    Args:
        pages: rows of ``filing_pages`` of one filing (columns filing, page, text, needs_ocr).
        tokens: counter of the encoder in use.
        parents: length and overlap of the parents.
        children: length and overlap of the children.

    Returns:
        Rows of ``filing_chunks`` of the kinds parent and child. Pages without usable text yield none.

    Raises:
        UsageError: an overlap is not smaller than its chunk.
    """
    large = chunk_pages(pages, parents, tokens)
    # A parent is split as a page is: its position stands for the number of the page.
    as_pages = pa.table(
        {
            "filing": large["filing"],
            "page": pa.array(range(large.num_rows), pa.int32()),
            "text": large["text"],
            "needs_ocr": pa.array([False] * large.num_rows),
        }
    )
    small: dict[int, list[dict[str, object]]] = {}
    for row in chunk_pages(as_pages, children, tokens).to_pylist():
        small.setdefault(row["page"], []).append(row)
    rows: list[dict[str, object]] = []
    ordinal: dict[int, int] = {}
    for place, row in enumerate(large.to_pylist()):
        page = row["page"]
        parent_id = f"{row['filing']}/p{page}/parent{row['ordinal']}"
        members = [{**row, "chunk_id": parent_id, "kind": PARENT}]
        members += [
            {
                **row,
                "chunk_id": f"{parent_id}/child{n}",
                "kind": CHILD,
                "text": c["text"],
                "tokens": c["tokens"],
            }
            for n, c in enumerate(small.get(place, []))
        ]
        for member in members:
            rows.append({**member, "ordinal": ordinal.setdefault(page, 0)})
            ordinal[page] += 1
    return pa.Table.from_pylist(rows, schema=FILING_CHUNKS)
