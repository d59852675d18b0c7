"""A page as a question shows it: its picture with boxes over it, or its text with the evidence marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from finrag_pipeline.reporting.explorer_data import ShownPage
from finrag_pipeline.reporting.explorer_evidence import Box
from finrag_pipeline.reporting.explorer_pages import PageContent

_LONGEST_TEXT = 20_000
_ROOM = 1.5  # points between a word and the box around it


def sheet_view(shown: ShownPage, content: PageContent, picture: str | None, anchor: str) -> dict[str, Any]:
    """What the template shows of a page.

    Args:
        shown: why it is shown, and what is marked on it.
        content: what was read from it.
        picture: path from the folder of the report, beginning with ``pages/``; or why there is no picture.
        anchor: its identifier on the page.
    """
    filing, page = shown.place
    path = picture if picture and picture.startswith("pages/") else None
    problem = content.problem or (picture if picture and not path and content.source == "pdf" else None)
    size = (content.width, content.height) if content.width and content.height else None
    return {
        "filing": filing,
        "number": page + 1,
        "anchor": anchor,
        "roles": shown.roles,
        "problem": problem,
        "picture": path if size else None,
        "width": round(size[0]) if size else None,
        "height": round(size[1]) if size else None,
        "layers": [
            {"name": name, "path": outline(boxes, room)}
            for name, boxes, room in (
                ("tables", content.tables, 3.0),
                ("headers", content.headers, 0.0),
                ("numbers", content.numbers, 0.0),
                ("unreadable", content.unreadable, 0.0),
                ("evidence", shown.evidence, _ROOM),
            )
            if boxes
        ],
        "facts": [
            {"box": _rectangle(box, 0.5), "name": f"{name}: {printed}"}
            for box, name, printed in content.facts
        ],
        "used": outline(shown.used, 2.5) if shown.used else None,
        "counts": _counts(shown, content),
        "parts": text_parts(content.text, shown.spans) if not (path and size) else [],
    }


def outline(boxes: Iterable[Box], room: float = 0.0) -> str:
    """Rectangles as one SVG path, in points rounded to a tenth."""
    parts = []
    for x0, y0, x1, y1 in boxes:
        left, top, right, bottom = (_short(edge) for edge in (x0 - room, y0 - room, x1 + room, y1 + room))
        parts.append(f"M{left} {top}H{right}V{bottom}H{left}Z")
    return "".join(parts)


def text_parts(text: str, spans: Sequence[tuple[int, int]]) -> list[tuple[str, bool]]:
    """A text in pieces, each with whether it is marked; a very long one ends early."""
    parts: list[tuple[str, bool]] = []
    shown = text[:_LONGEST_TEXT]
    start = 0
    for begin, end in spans:
        if begin >= len(shown):
            break
        parts += [(shown[start:begin], False), (shown[begin:end], True)]
        start = end
    parts.append((shown[start:], False))
    if len(text) > len(shown):
        parts.append((f" … ({len(text) - len(shown):,} more characters)", False))
    return [part for part in parts if part[0]]


def _rectangle(box: Box, room: float) -> dict[str, str]:
    x0, y0, x1, y1 = box
    return {
        "x": _short(x0 - room),
        "y": _short(y0 - room),
        "width": _short(x1 - x0 + 2 * room),
        "height": _short(y1 - y0 + 2 * room),
    }


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _counts(shown: ShownPage, content: PageContent) -> str:
    """``1 table, 99 facts, evidence on 40 lines``; empty where nothing was read."""
    parts = [
        _plural(len(content.tables), "table"),
        _plural(len(content.facts), "fact"),
        _plural(len(shown.used), "cell used in the calculation", "cells used in the calculation"),
        _plural(
            len(shown.evidence) or len(shown.spans),
            "marked passage of evidence",
            "marked passages of evidence",
        ),
    ]
    return ", ".join(part for part in parts if part)


def _plural(count: int, one: str, many: str | None = None) -> str:
    return "" if not count else f"{count:,} {one if count == 1 else many or one + 's'}"
