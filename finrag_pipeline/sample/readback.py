"""Reads finished PDFs back, so that gold evidence is literally what an extractor sees on the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.filings.pdf import read_pages
from finrag_pipeline.sample.typesetting import Place

_SLACK = 2.0  # points by which a line may stand out of the recorded box
_ALL_PAGES = 1_000


@dataclass(frozen=True)
class Passage:
    """A marked passage: its zero-based page and its text, which is a substring of the page's text."""

    page: int
    text: str


@dataclass(frozen=True)
class ReadBack:
    """A filing as an extractor sees it.

    Args:
        name: the filing.
        pages: text of each page.
        passages: marked passages; one that runs over two pages has two entries.
    """

    name: str
    pages: Sequence[str]
    passages: dict[str, list[Passage]]

    def find(self, mark: str, containing: str = "") -> Passage:
        """The one passage under ``mark`` whose text holds ``containing``.

        Raises:
            BenchmarkError: there is none, or more than one.
        """
        found = [p for p in self.passages.get(mark, []) if containing in p.text]
        if len(found) != 1:
            raise BenchmarkError(
                f"Sample filing {self.name} has {len(found)} passages '{mark}' with '{containing}', not one.",
                "Correct the mark in the sample's questions or documents.",
            )
        return found[0]


def read_back(path: Path, name: str, places: Iterable[Place]) -> ReadBack:
    """Extract the text of every page of the PDF at ``path`` and of its marked passages.

    The pipeline's own extraction is used, so that evidence agrees with it to the letter.

    Raises:
        BenchmarkError: a marked passage does not stand in one piece in the text of its page.
    """
    rows = read_pages(path, name, 0, _ALL_PAGES).select(["text", "words"]).to_pylist()
    passages: dict[str, list[Passage]] = {}
    for place in places:
        text = _passage(**rows[place.page], place=place)
        if text is None:
            raise BenchmarkError(
                f"Passage '{place.mark}' is not in one piece on page {place.page} of the sample filing "
                f"{name}.",
                "Set it apart from its neighbours in the sample's layout.",
            )
        passages.setdefault(place.mark, []).append(Passage(place.page, text))
    return ReadBack(name, [row["text"] for row in rows], passages)


def _passage(text: str, words: Sequence[Mapping[str, Any]], place: Place) -> str | None:
    """The lines of a page's ``text`` that stand in ``place``, or None if they do not follow one another."""
    middles: dict[tuple[int, int], float] = {}
    for word in words:
        middles.setdefault((word["block"], word["line"]), (word["y0"] + word["y1"]) / 2)
    lines = text.split("\n")
    printed = [i for i, line in enumerate(lines) if line.strip()]
    if len(printed) != len(middles):
        return None
    top, bottom = place.top - _SLACK, place.bottom + _SLACK
    inside = [k for k, middle in enumerate(middles.values()) if top <= middle <= bottom]
    if not inside or inside != list(range(inside[0], inside[-1] + 1)):
        return None
    return "\n".join(lines[printed[inside[0]] : printed[inside[-1]] + 1])
