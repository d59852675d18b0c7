"""The Arrow schema of every table in the lake, with a description (shape, unit) per column: ``tables.toml``.

Tables are checked against these on write; the same descriptions appear in the Dagster UI and in
``docs/where-is-my-data.md``.
"""

from __future__ import annotations

import pyarrow as pa

from finrag_pipeline.errors import LakeError
from finrag_pipeline.schemas.catalogue import DECLARED, INDEX_FILING, made_by

PER_FILING = made_by(INDEX_FILING)
"""What is made of every filing, in the order in which it is made."""


def _struct(optional: str = "", **kinds: pa.DataType) -> pa.DataType:
    """A struct whose fields are all there, but for ``optional``."""
    return pa.struct([pa.field(name, kind, nullable=name == optional) for name, kind in kinds.items()])


WORD = _struct(
    **dict.fromkeys(("x0", "y0", "x1", "y1"), pa.float32()),
    text=pa.string(),
    **dict.fromkeys(("block", "line", "word"), pa.int32()),
)
_KINDS: dict[str, pa.DataType] = {
    "string": pa.string(),
    "bool": pa.bool_(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float16": pa.float16(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "date": pa.date32(),
    "time": pa.timestamp("us", tz="UTC"),
    "word": WORD,
    "evidence": _struct(filing=pa.string(), page=pa.int32(), text=pa.string()),
    "statement": _struct(statement=pa.string(), scope=pa.string(), facts=pa.int32()),
    "concept": _struct("fiscal_year", concept=pa.string(), fiscal_year=pa.int32(), scope=pa.string()),
}


def _column(name: str, kind: str, doc: str) -> pa.Field:
    plain = kind.removesuffix("?")
    named = _KINDS[plain.strip("[]")]
    type_ = pa.list_(named) if plain.startswith("[") else named
    return pa.field(name, type_, nullable=plain != kind, metadata={"doc": doc})


TABLES = {
    name: pa.schema(
        [_column(column, *about) for column, about in DECLARED[said.get("like", name)]["columns"].items()]
    )
    for name, said in DECLARED.items()
    if "columns" in said or "like" in said
}
"""Schema of each table, by name."""


def __getattr__(name: str) -> pa.Schema:
    """The schema of a table by its name in capitals: ``schemas.FILINGS`` is that of ``filings``."""
    if name.lower() not in TABLES:
        raise AttributeError(f"There is no table '{name.lower()}' in tables.toml.")
    return TABLES[name.lower()]


def column_docs(schema: pa.Schema) -> dict[str, str]:
    """Description of each column of ``schema``, in order."""
    return {field.name: (field.metadata or {}).get(b"doc", b"").decode() for field in schema}


def conform(table: pa.Table, name: str) -> pa.Table:
    """Return ``table`` with exactly the declared columns, order and types of the table ``name``.

    Raises:
        LakeError: a column is missing, unexpected, of another type, or null where that is not allowed.
    """
    schema = TABLES[name]
    missing = [c for c in schema.names if c not in table.column_names]
    unexpected = [c for c in table.column_names if c not in schema.names]
    repeated = sorted({c for c in table.column_names if table.column_names.count(c) > 1})
    if missing or unexpected or repeated:
        found = {"missing": missing, "unexpected": unexpected, "repeated": repeated}
        raise LakeError(
            f"Table '{name}' does not fit its schema: "
            + ", ".join(f"{what} {columns}" for what, columns in found.items() if columns)
            + ".",
            "Declare the columns in finrag_pipeline/schemas.",
        )
    for field in schema:
        kind = table.schema.field(field.name).type
        # A cast would turn 7 into '7' and '7' into 7 without a word.
        if not pa.types.is_null(kind) and _is_text(kind) != _is_text(field.type):
            raise LakeError(
                f"Column '{field.name}' of table '{name}' is {kind}, not {field.type}.",
                "Check the producing asset.",
            )
    try:
        table = table.select(schema.names).cast(schema)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise LakeError(
            f"Table '{name}' does not fit its schema: {error}.", "Check the producing asset."
        ) from error
    for field in schema:
        if not field.nullable and table[field.name].null_count:
            raise LakeError(
                f"Column '{field.name}' of table '{name}' holds nulls.", "Check the producing asset."
            )
    return table


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
