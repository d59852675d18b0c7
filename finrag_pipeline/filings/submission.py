"""Submissions: the documents of a filing in one file, as EDGAR keeps them, one after the other.

https://www.sec.gov/info/edgar/specifications describes the marks: a line each for the type, number and name
of a document, then its text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

EXHIBITS = re.compile(r"EX-(?:13(?:\.\d+)?|99(?:\.0?1)?)")
"""Types of exhibits that are read: the annual report to which a 10-K may leave its statements, the release
that an 8-K furnishes."""

_DOCUMENT = re.compile(r"<DOCUMENT>(.*?)<TEXT>(.*?)(?:</TEXT>|\Z)", re.DOTALL | re.IGNORECASE)
_TYPE = re.compile(r"<TYPE>\s*([^\s<]+)", re.IGNORECASE)
_ATTACHED = re.compile(r"\s*<(?:PDF|XML|XBRL)>|\s*begin \d{3} ", re.IGNORECASE)


class Document(NamedTuple):
    """A document of a submission; ``kind`` is its type, such as ``8-K`` or ``EX-99.1``."""

    kind: str
    text: str


def documents(text: str) -> list[Document]:
    """The main document of a submission and its `EXHIBITS`; a text without marks is one of no type."""
    if "<TEXT>" not in text[: 1 << 16].upper():
        return [Document("", text)]
    found: list[Document] = []
    for head, body in _DOCUMENT.findall(text):
        kind = named[1].upper() if (named := _TYPE.search(head)) else ""
        # The main document comes first.
        if not _ATTACHED.match(body) and (not found or EXHIBITS.fullmatch(kind)):
            found.append(Document(kind, body.strip()))
    return found or [Document("", text)]
