"""Submissions: the documents of a filing in one file, as EDGAR keeps them, one after the other."""

from __future__ import annotations

import datetime as dt
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from finrag_pipeline.errors import FilingError, refused

EXHIBITS = re.compile(r"EX-(?:13(?:\.\d+)?|99(?:\.0?1)?)")
"""Exhibits that are read: the annual report to which a 10-K may leave its statements, and releases."""

_DOCUMENT = re.compile(rb"<DOCUMENT>(.*?)<TEXT>(.*?)(?:</TEXT>|\Z)", re.DOTALL | re.IGNORECASE)
_TYPE = re.compile(rb"<TYPE>\s*([^\s<]+)", re.IGNORECASE)
_FILED = re.compile(rb"^FILED AS OF DATE:\s*(\d{8})\b", re.MULTILINE)
_ATTACHED = re.compile(rb"\s*(?:<(?:PDF|XML|XBRL)>|begin \d{3} )", re.IGNORECASE)
_INLINE = re.compile(
    rb"\s*<XBRL>(?=\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<html\b)", re.DOTALL | re.IGNORECASE
)
"""What stands before a document in inline XBRL, which is no attachment."""


class Document(NamedTuple):
    """A document of a filing; ``kind`` is the type of an exhibit, None for the main document."""

    kind: str | None
    data: bytes


def read_file(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        FilingError: it cannot be opened.
    """
    with refused(FilingError, f"{path.name} cannot be opened", "Check that the file exists and is readable."):
        return path.read_bytes()


def documents(data: bytes) -> list[Document]:
    """The main document in a file and those of its exhibits that are `EXHIBITS`."""
    found: list[Document] = []
    for head, body in _DOCUMENT.findall(data):
        kind = named[1].decode("ascii", "replace").upper() if (named := _TYPE.search(head)) else ""
        body = _INLINE.sub(b"", body, count=1)
        # The main document comes first; its type is the form.
        if not _ATTACHED.match(body) and (not found or EXHIBITS.fullmatch(kind)):
            found.append(Document(kind if found else None, body.strip()))
    return found or [Document(None, data)]


def day_filed(data: bytes) -> dt.date | None:
    """The day on which a submission was filed, as its header says; None of a file that is none."""
    header, is_submission, _ = data.partition(b"<DOCUMENT>")
    if is_submission and (said := _FILED.search(header)):
        with suppress(ValueError):
            return dt.datetime.strptime(said[1].decode(), "%Y%m%d").date()
    return None
