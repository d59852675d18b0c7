"""Read JSON Lines files written by others: every fault is located by file and line, none stops the rest."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from finrag_pipeline.errors import BenchmarkError

_T = TypeVar("_T")

_KINDS = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
}
_INT32 = range(-(2**31), 2**31)


class FieldError(ValueError):
    """A field of a record is missing or of the wrong type; the message names the field."""


def problem_text(file: Path, line: int | Sequence[int], reason: str, remedy: str) -> str:
    """One line for people: file, line or lines, what is wrong, what to do."""
    numbers = [line] if isinstance(line, int) else list(line)
    where = ("line " if len(numbers) == 1 else "lines ") + ", ".join(map(str, numbers))
    return f"{file.name}, {where}: {reason.rstrip('.')}. {remedy}"


def read_objects(file: Path) -> tuple[list[tuple[int, dict[str, Any]]], list[str]]:
    """Read a JSON Lines file of objects.

    A byte-order mark in front of UTF-8 text is harmless and skipped; ``.gz`` is unpacked.

    Returns:
        ``(line number from 1, object)`` for every good line, and a problem for every other; blank lines are
        neither.

    Raises:
        BenchmarkError: the file cannot be opened, is not UTF-8, or holds one JSON array.
    """
    try:
        data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise BenchmarkError(
            f"The benchmark file '{file}' cannot be read: {reason}.",
            "Check the path and its permissions.",
        ) from error
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BenchmarkError(
            f"The benchmark file '{file}' begins with the byte-order mark of UTF-16 or UTF-32.",
            "Save it as UTF-8.",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BenchmarkError(
            f"The benchmark file '{file}' is not UTF-8 text: byte 0x{data[error.start]:02x} on line {line}.",
            "Save it as UTF-8.",
        ) from error
    if text.lstrip().startswith("["):
        raise BenchmarkError(
            f"The benchmark file '{file}' is one JSON array, not JSON Lines.",
            "Write one object per line (for example with: jq -c '.[]').",
        )
    objects: list[tuple[int, dict[str, Any]]] = []
    problems: list[str] = []
    # str.splitlines would also cut at U+2028 and other separators that JSON allows inside strings.
    for number, raw in enumerate(text.split("\n"), start=1):
        if not raw.strip():
            continue
        try:
            record = json.loads(raw)
        except (ValueError, RecursionError) as error:
            reason = f"broken JSON ({error})"
            problems.append(problem_text(file, number, reason, "The line is left out; repair or delete it."))
            continue
        if isinstance(record, dict):
            objects.append((number, record))
        else:
            reason = f"{_kind(record)} where an object is expected"
            problems.append(problem_text(file, number, reason, "The line is left out; repair or delete it."))
    return objects, problems


def string(record: dict[str, Any], field: str, blank: bool = False) -> str:
    """Text of a field.

    Raises:
        FieldError: it is missing, null, no string, empty (unless ``blank``), or not valid Unicode.
    """
    value = record.get(field)
    if value is None:
        raise FieldError(f"field '{field}' is missing")
    if not isinstance(value, str):
        raise FieldError(f"field '{field}' is {_kind(value)}, not a string")
    if not blank and not value.strip():
        raise FieldError(f"field '{field}' is empty")
    try:
        value.encode()
    except UnicodeEncodeError:  # JSON can escape half of a surrogate pair; no UTF-8 column can hold it.
        raise FieldError(f"field '{field}' holds an unpaired surrogate") from None
    return value


def integer(record: dict[str, Any], field: str) -> int:
    """Whole number of a field; 0 and negative numbers are values, not absence.

    Raises:
        FieldError: it is missing, null, not a whole number, or does not fit 32 bits.
    """
    value = record.get(field)
    if value is None:
        raise FieldError(f"field '{field}' is missing")
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError(f"field '{field}' is {_kind(value)}, not a whole number")
    if value not in _INT32:
        raise FieldError(f"field '{field}' is too large")
    return value


def optional(
    record: dict[str, Any], field: str, read: Callable[[dict[str, Any], str], _T]
) -> tuple[_T | None, str | None]:
    """Value of a field that may be absent, null or empty, and what is wrong with it otherwise."""
    value = record.get(field)
    if value is None or value == "":
        return None, None
    try:
        return read(record, field), None
    except FieldError as error:
        return None, str(error)


def _kind(value: Any) -> str:
    if isinstance(value, float):
        return f"the number {value}"
    return "null" if value is None else _KINDS[type(value)]
