"""Plain-text filings, as the SEC took them before HTML: pages, and words where they stand on the line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from finrag_pipeline.errors import FilingError
from finrag_pipeline.filings.html import decode
from finrag_pipeline.filings.submission import documents, read_file

_PAGE = re.compile(r"^[ \t]*<PAGE>.*$|\f", re.MULTILINE | re.IGNORECASE)
_TAG = re.compile(r"</?(?:TABLE|CAPTION|S|C|FN|F\d+|R|TEXT|PRE)>", re.IGNORECASE)
_WORD = re.compile(r"\S+")
_WIDTH, _HEIGHT = 6.0, 12.0
"""Points that a character takes in type of one width, and a line."""
_LONGEST_PAGE = 120
"""Lines after which a page without a break ends at the next empty line."""


def read_plain_text(path: Path) -> list[dict[str, Any]]:
    """Pages of a plain-text filing: ``text``, ``width`` and ``height`` in points, and ``words`` with boxes.

    Of the SEC's full submissions the main document is read, then exhibits that hold a release or an annual
    report: ``part`` names them, and is None in the main document.

    Raises:
        FilingError: the file cannot be opened, or holds no text.
    """
    found = [
        {**_page(lines), "part": document.kind}
        for document in documents(read_file(path))
        for lines in _pages(decode(document.data))
        if any(lines)
    ]
    if not found:
        raise FilingError(f"{path.name} holds no text.", "Download the filing again.")
    return found


def _pages(text: str) -> Iterator[list[str]]:
    for part in _PAGE.split(text):
        lines = [
            _TAG.sub(lambda tag: " " * len(tag[0]), line).expandtabs().rstrip() for line in part.splitlines()
        ]
        start = 0
        for place, line in enumerate(lines):
            if not line and place - start >= _LONGEST_PAGE:
                yield lines[start:place]
                start = place
        yield lines[start:]


def _page(lines: list[str]) -> dict[str, Any]:
    words: list[dict[str, Any]] = []
    block = line_of_block = 0
    for number, line in enumerate(lines):
        if not line:
            block, line_of_block = block + 1, 0
            continue
        for place, match in enumerate(_WORD.finditer(line)):
            words.append(
                {
                    "x0": match.start() * _WIDTH,
                    "y0": number * _HEIGHT + 1,
                    "x1": match.end() * _WIDTH,
                    "y1": (number + 1) * _HEIGHT - 1,
                    "text": match[0],
                    "block": block,
                    "line": line_of_block,
                    "word": place,
                }
            )
        line_of_block += 1
    width = max(map(len, lines)) * _WIDTH
    text = "\n".join(line.strip() for line in lines if line)
    return {"text": text, "words": words, "width": width, "height": len(lines) * _HEIGHT, "rotation": 0}
