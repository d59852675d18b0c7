"""How a column of a table is declared."""

from __future__ import annotations

import pyarrow as pa


def column(name: str, kind: pa.DataType, doc: str, nullable: bool = False) -> pa.Field:
    """A column with its description; ``nullable`` when a value may be missing."""
    return pa.field(name, kind, nullable=nullable, metadata={"doc": doc})


def struct(**kinds: pa.DataType) -> pa.DataType:
    """A struct of fields that are all there."""
    return pa.struct([pa.field(name, kind, nullable=False) for name, kind in kinds.items()])
