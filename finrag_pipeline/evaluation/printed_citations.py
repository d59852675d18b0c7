"""Whether what an answer cites is printed where it says: held against the words of the page itself.

That a calculation cites a page that was retrieved says nothing: it cites what it read. Here the page is read
anew, by the boxes of its words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.answering.passages import read_page_source
from finrag_pipeline.storage.lake import Lake

_CHUNK_SOURCE = re.compile(r"(?P<filing>.+)/p(?P<page>\d+)/[^/]+")
_ROOM = 1.0  # points between a word and the edge of its cell
_FILINGS_KEPT = 8  # answers to one question cite the same filings


def place_of(source: str) -> tuple[str, int] | None:
    """Filing and zero-based page of a cited page or chunk; None for an identifier that names neither."""
    if page := read_page_source(source):
        return page
    found = _CHUNK_SOURCE.fullmatch(source)
    return (found["filing"], int(found["page"])) if found else None


class PrintedPages:
    """Text and words of the pages of filings.

    Args:
        lake: holds ``filing_pages``; of a filing that it does not hold nothing is printed.
    """

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._filing = lru_cache(maxsize=_FILINGS_KEPT)(self._read)
        self._page = lru_cache(maxsize=64)(self._find)

    def _read(self, filing: str) -> pa.Table | None:
        keys = {"filing": filing}
        known = self._lake.info("filing_pages", keys) is not None
        return self._lake.read("filing_pages", keys, ["page", "text", "words"]) if known else None

    def _find(self, filing: str, page: int) -> Mapping[str, Any]:
        table = self._filing(filing)
        rows = table.filter(pc.equal(table["page"], page)).to_pylist() if table is not None else []
        return rows[0] if rows else {"text": "", "words": []}

    def says(self, filing: str, page: int, sentence: str) -> bool:
        """Whether a sentence stands on a page, line breaks, hyphens and signs aside."""
        wanted = _folded(sentence)
        return bool(wanted) and wanted in _folded(self._page(filing, page)["text"])

    def shows(self, filing: str, page: int, box: list[float] | None, printed: str) -> bool | None:
        """Whether a number is all that a box of a page holds; None for a page that came without boxes.

        Args:
            filing: its filing.
            page: zero-based page.
            box: left, upper, right and lower edge in points from the upper left corner.
            printed: the number as it was cited.
        """
        words = self._page(filing, page)["words"]
        if box is None or not words:
            return None
        left, upper, right, lower = (
            edge + room for edge, room in zip(box, (-_ROOM, -_ROOM, _ROOM, _ROOM), strict=True)
        )
        inside = (
            word["text"]
            for word in words
            if left <= (word["x0"] + word["x1"]) / 2 <= right
            and upper <= (word["y0"] + word["y1"]) / 2 <= lower
        )
        return _digits("".join(inside)) == _digits(printed) != ""


def printed_citations(row: Mapping[str, Any], pages: PrintedPages) -> Iterator[bool]:
    """For each cell and each quoted sentence that an answer cites, whether it is printed there.

    A number must be all that the words inside its cell's box say, a sentence must stand on one of its pages.
    What cannot be looked up (a page without boxes, words that are no quote) is left out.

    Args:
        row: as ``schemas.ANSWERS``.
        pages: of the filings.
    """
    if row["abstained"]:  # which has nothing to cite
        return
    derivation = json.loads(row["derivation"]) if row["derivation"] else {}
    for one in derivation.get("inputs", ()):
        found = pages.shows(one["filing"], one["page"], one["box"], one["printed"])
        if found is not None:
            yield found
    for sentence in json.loads(row["citations"]) if row["citations"] else ():
        places = [place for source in sentence["sources"] if (place := place_of(source))]
        if places and f"“{sentence['text']}”" in row["answer"]:
            yield any(pages.says(*place, sentence["text"]) for place in places)


def _folded(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _digits(text: str) -> str:
    """Digits with their point, without what marks currency, sign and thousands."""
    return re.sub(r"[^\d.]", "", text).strip(".")
