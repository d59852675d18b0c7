"""Named chunkings: ways to cut a filing that every retrieval system can run on."""

from __future__ import annotations

from dataclasses import dataclass

from finrag_pipeline.errors import UsageError
from finrag_pipeline.schemas.catalogue import INDEX_ON_DEMAND, made_by


@dataclass(frozen=True)
class Chunking:
    """One way to cut filings.

    Attributes:
        table: table of the lake that holds its chunks, one part per filing, in the columns of
            ``filing_chunks``.
        index: asset that holds the vectors of its chunks.
        kinds: kinds of chunks it makes.
        indexed: kinds that get vectors; all of them when None.
    """

    name: str
    table: str
    index: str
    kinds: tuple[str, ...]
    indexed: tuple[str, ...] | None = None

    @property
    def made_on_demand(self) -> tuple[str, ...]:
        """Its assets that are made when a system asks for them, in the order in which they are made."""
        return tuple(asset for asset in (self.table, self.index) if asset in ON_DEMAND)


# Windows of 1024 tokens, overlap 128: Kobeissi & Langlais, section 4.
FIXED = Chunking("fixed", "filing_chunks", "chunk_index", ("text",))
# Text, table rows and tables with their context, 512 tokens, overlap 50: Mixpeek technical guide, section 4.
CONTEXTUAL = Chunking("contextual", "contextual_chunks", "contextual_index", ("text", "table_row", "table"))
# Parents of 2048 tokens, overlap 256, found by children of 512 tokens, overlap 64: Kobeissi & Langlais,
# section 4, sizes of their published code.
PARENT_CHILD = Chunking(
    "parent_child", "parent_child_chunks", "parent_child_index", ("parent", "child"), indexed=("child",)
)

CHUNKINGS: dict[str, Chunking] = {chunking.name: chunking for chunking in (FIXED, CONTEXTUAL, PARENT_CHILD)}
ON_DEMAND = made_by(INDEX_ON_DEMAND)
"""What only some systems read: made by 'finrag index', and by 'finrag run' for what it measures."""


def get_chunking(name: str) -> Chunking:
    """The chunking called ``name``.

    Raises:
        UsageError: there is none.
    """
    if name not in CHUNKINGS:
        raise UsageError(f"There is no chunking '{name}'.", f"Choose one of: {', '.join(CHUNKINGS)}.")
    return CHUNKINGS[name]
