"""Reads finished PDFs back, so that gold evidence is literally what an extractor sees on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from finrag_pipeline.errors import BenchmarkError
from finrag_pipeline.sample.typesetting import Place, Typeset

_SLACK = 2.0  # points by which a line may stand out of the recorded box


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


def read_back(name: str, document: Typeset) -> ReadBack:
    """Extract the text of every page of ``document`` and of its marked passages.

    Raises:
        BenchmarkError: a marked passage does not stand in one piece in the text of its page.
    """
    import pymupdf

    passages: dict[str, list[Passage]] = {}
    with pymupdf.open(stream=document.pdf, filetype="pdf") as pdf:
        pages = [page.get_text("text") for page in pdf]
        lines = [_lines(page.get_text("dict", flags=pymupdf.TEXTFLAGS_TEXT)) for page in pdf]
    for place in document.places:
        text = _between(lines[place.page], place)
        if not text or text not in pages[place.page]:
            raise BenchmarkError(
                f"Passage '{place.mark}' is not in one piece on page {place.page} of the sample filing {name}.",
                "Set it apart from its neighbours in the sample's layout.",
            )
        passages.setdefault(place.mark, []).append(Passage(place.page, text))
    return ReadBack(name, pages, passages)


def _lines(content: dict) -> list[tuple[float, str]]:
    """Vertical middle and text of each line, in the order of the page's text."""
    return [
        ((line["bbox"][1] + line["bbox"][3]) / 2, "".join(span["text"] for span in line["spans"]))
        for block in content["blocks"]
        for line in block.get("lines", ())
    ]


def _between(lines: Sequence[tuple[float, str]], place: Place) -> str:
    inside = [text for middle, text in lines if place.top - _SLACK <= middle <= place.bottom + _SLACK]
    return "\n".join(inside)
