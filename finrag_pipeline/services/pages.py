"""Pages of filings to look at: text and size, a picture, and what is marked on it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

import pyarrow.compute as pc

from finrag_pipeline.errors import UsageError
from finrag_pipeline.filings.originals import get_source
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.reporting.explorer_pages import (
    Place,
    marked_boxes,
    marked_spans,
    sheet_view,
    text_parts,
)
from finrag_pipeline.reporting.page_pictures import DPI, Box, around, box_of, page_images
from finrag_pipeline.services.filings import require_page
from finrag_pipeline.storage.lake import Lake

_THUMBNAIL_DPI = 36
_SIZED = ["page", "width", "height", "words"]


def page_image(lake: Lake, filing: str, label: int, small: bool = False) -> bytes:
    """WebP picture of page ``label``, counted from 1; nothing is written to the lake.

    Raises:
        UsageError: there is no such filing or page, or no picture of it.
    """
    filing, page = require_page(lake, filing, label)
    found = page_images(lake, filing, [page], _THUMBNAIL_DPI if small else DPI, keep=False)[page]
    if isinstance(found, str):
        raise UsageError(found, "Read its text.")
    return found


def page_view(
    lake: Lake,
    filing: str,
    label: int,
    boxes: Sequence[Box] = (),
    passages: Sequence[str] = (),
    question: str = "",
    cell: str = "",
) -> dict[str, Any]:
    """What ``page_content`` of ``proof.html.jinja`` shows of page ``label``, counted from 1.

    Marked are cells by their ``boxes``, or by the identifier of a fact on a page of HTML, ``passages``, and
    words of a ``question``. Besides what `sheet_view` gives: ``html``, where the service has a page of HTML;
    ``text`` in parts, each with whether it is marked; and ``last``, how many pages the filing has.

    Raises:
        UsageError: there is no such filing or page.
        LakeError: its pages have not been made.
    """
    filing, number = require_page(lake, filing, label)
    pages = lake.read("filing_pages", {"filing": filing}, [*_SIZED, "text"])
    page = pages.filter(pc.equal(pages["page"], number)).to_pylist()[0]
    source, text, words = get_source(lake, filing).source, page["text"], page["words"] or ()
    spans = marked_spans(text, passages) or matching_spans(text, question)
    shown = {
        "place": (filing, number),
        "roles": (),
        "used": boxes,
        "evidence": marked_boxes(words, passages),
        "spans": spans,
    }
    layers = {"words": _word_boxes(words, question)}
    content = page | {"source": source, "problem": None, "layers": layers}
    picture = picture_path(filing, label) if source == "pdf" else None
    view = sheet_view(shown, content, picture, "sheet")
    html = f"{_path(filing, label)}.html" + (f"?{urlencode({'cell': cell})}" if cell else "")
    view["html"] = html if source == "html" else None
    return view | {"text": text_parts(text, spans), "last": pages.num_rows}


def matching_spans(text: str, question: str) -> list[tuple[int, int]]:
    """Start and end of the words of a text that are words of a question."""
    words = list(re.finditer(r"\S+", text))
    hits = _matching((word.group() for word in words), question)
    return [word.span() for word, hit in zip(words, hits, strict=True) if hit]


def picture_path(filing: str, label: int, small: bool = False) -> str:
    """Where the service has the picture of a page, from its root."""
    return f"{_path(filing, label)}.webp" + ("?small=true" if small else "")


def _path(filing: str, label: int) -> str:
    return f"pages/{quote(filing, safe='')}/{label}"


def hits_on_pages(
    lake: Lake, results: Iterable[Mapping[str, Any]], question: str
) -> dict[Place, dict[str, Any]]:
    """Where words of a question stand on the pages of search results.

    Returns:
        By place ``width`` and ``height`` of the page in points and ``boxes``; nothing of filings that came as
        text, whose pages have no size.
    """
    return {
        place: page | {"boxes": _word_boxes(page["words"] or (), question)}
        for place, page in _sized(lake, results)
        if page["width"] and page["height"]
    }


def with_boxes(lake: Lake, found: Sequence[Mapping[str, Any]], passage: str) -> list[dict[str, Any]]:
    """What was found on pages, each with the ``box`` around its ``passage``; None where it has none."""
    pages = dict(_sized(lake, found))
    shown = []
    for one in found:
        boxes = marked_boxes(pages[one["filing"], one["page"]]["words"] or (), [one[passage]])
        shown.append({**one, "box": around(boxes) if boxes else None})
    return shown


def _sized(lake: Lake, found: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Size and words of the pages on which something was found."""
    by_filing: dict[str, set[int]] = {}
    for one in found:
        by_filing.setdefault(one["filing"], set()).add(one["page"])
    for filing, numbers in by_filing.items():
        pages = lake.read("filing_pages", {"filing": filing}, _SIZED)
        for page in pages.filter(pc.field("page").isin(numbers)).to_pylist():
            yield (filing, page["page"]), page


def _matching(words: Iterable[str], question: str) -> list[bool]:
    """Which words are words of the question, whatever their endings; words without a meaning are not."""
    wanted = set(terms(question))
    return [bool(wanted) and not wanted.isdisjoint(terms(word)) for word in words]


def _word_boxes(words: Sequence[Mapping[str, Any]], question: str) -> list[Box]:
    hits = _matching((word["text"] for word in words), question)
    return [box for word, hit in zip(words, hits, strict=True) if hit and (box := box_of(word))]
