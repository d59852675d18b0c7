"""Retrieved passages, ordered and deduplicated within a budget: what a model or a reader is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from finrag_pipeline.retrieval.component import Hit

Order = Literal["best_first", "best_last", "filing"]

_SHORTEST_CUT = 200
"""Characters below which the rest of a passage is not worth showing."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrieved piece of a zero-based page; ``source`` identifies the chunk, or the page, to cite."""

    source: str
    filing: str
    page: int
    text: str

    @property
    def place(self) -> str:
        """Filing and page for people, who count pages from 1."""
        return f"{self.filing}, page {self.page + 1}"


def page_source(filing: str, page: int) -> str:
    """Identifier of a page as a source."""
    return f"{filing}#page={page}"


def read_page_source(source: str) -> tuple[str, int] | None:
    """Filing and zero-based page of a page's identifier; None for that of a chunk."""
    filing, mark, page = source.rpartition("#page=")
    return (filing, int(page)) if mark and page.isdecimal() else None


def passages_of(hits: Sequence[Hit], texts: Mapping[str, str]) -> list[Passage]:
    """Passages of a ranking by the texts of its chunks; those without a text are left out."""
    return [
        Passage(hit.chunk_id, hit.filing, hit.page, texts[hit.chunk_id])
        for hit in hits
        if texts.get(hit.chunk_id, "").strip()
    ]


def select_passages(
    passages: Sequence[Passage], count: int, characters: int, order: Order = "best_first"
) -> list[Passage]:
    """The passages that go into a prompt.

    Taken best first until there are ``count``, or so many characters of text; the one that no longer fits is
    cut at a space. Left out: a source given before, and a text of the same filing that stands whole in one
    taken before. The same words in two filings stay: which company says them matters. The order is
    ``best_first`` as retrieved, ``best_last`` with the best next to the question, or that of ``filing`` and
    page, as one would read.
    """
    taken: list[Passage] = []
    left = characters
    for passage in passages:
        if len(taken) == count or left <= 0:
            break
        if any(_says_nothing_new(passage, other) for other in taken):
            continue
        text = passage.text
        if len(text) > left:
            if left < _SHORTEST_CUT and taken:
                break
            cut = text[:left]
            text = cut.rsplit(None, 1)[0] if len(cut.split()) > 1 else cut
        taken.append(replace(passage, text=text))
        left -= len(text)
    if order == "best_last":
        return taken[::-1]
    if order == "filing":
        return sorted(taken, key=lambda one: (one.filing, one.page))
    return taken


def _says_nothing_new(passage: Passage, other: Passage) -> bool:
    if passage.source == other.source:
        return True
    text, known = (" ".join(one.text.split()) for one in (passage, other))
    return passage.filing == other.filing and text in known
