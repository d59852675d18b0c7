"""A page as a picture with its tables, cells, column headers and facts drawn on it."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from finrag_pipeline.filings.intake import get_source, original_path
from finrag_pipeline.storage.lake import Lake

POINTS_PER_INCH = 72
TABLE, HEADER, NUMBER, UNREADABLE, FACT = (
    (31, 119, 180), (148, 103, 189), (120, 120, 120), (214, 39, 40), (23, 130, 59),
)  # fmt: skip
_FILL = 36  # opacity of a filled header, of 255


def page_picture(
    lake: Lake,
    filing: str,
    page: int,
    cells: Sequence[Mapping[str, Any]],
    facts: Sequence[Mapping[str, Any]],
    dpi: int,
) -> bytes | None:
    """`draw_page` for a page of a filing of the lake; None for a filing that came as page text.

    Raises:
        FilingError: the page cannot be drawn.
    """
    from finrag_pipeline.filings.pdf import render_page

    source = get_source(lake, filing)
    if source.source != "pdf":
        return None
    with lake.local_copy(original_path(lake, source)) as path:
        return draw_page(render_page(path, page, dpi), dpi, cells, facts)


def draw_page(
    png: bytes, dpi: int, cells: Sequence[Mapping[str, Any]], facts: Sequence[Mapping[str, Any]]
) -> bytes:
    """PNG of the page with boxes: tables blue, headers violet, numbers grey, unreadable red, facts green.

    Args:
        png: picture of the page.
        dpi: its resolution.
        cells: rows of ``page_tables`` on this page; those without boxes are left out.
        facts: rows of ``statement_facts`` on this page; the concept stands beside the box.
    """
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.open(io.BytesIO(png)).convert("RGB")
    layer = Image.new("RGBA", picture.size, (0, 0, 0, 0))
    draw = ImageDraw.Draw(layer)
    font = ImageFont.load_default(size=max(7, dpi / 14))
    tables: dict[int, list[tuple[float, float, float, float]]] = defaultdict(list)
    for cell in cells:
        box = _pixels(cell, dpi)
        if box is None:
            continue
        tables[cell["table"]].append(box)
        if cell["header"]:
            draw.rectangle(box, outline=(*HEADER, 255), fill=(*HEADER, _FILL))
        elif cell["kind"] in ("number", "missing"):
            colour = UNREADABLE if cell["value"] is None and cell["reason"] else NUMBER
            draw.rectangle(box, outline=(*colour, 255))
    for number, boxes in sorted(tables.items()):
        x0, y0, x1, y1 = zip(*boxes, strict=True)
        around = (min(x0) - 3, min(y0) - 3, max(x1) + 3, max(y1) + 3)
        draw.rectangle(around, outline=(*TABLE, 255), width=2)
        draw.text((around[0], around[1] - dpi / 8), f"table {number}", fill=(*TABLE, 255), font=font)
    named: set[tuple[int, int, str]] = set()
    for fact in sorted(facts, key=lambda fact: fact["column"]):
        box = _pixels(fact, dpi)
        if box is None:
            continue
        draw.rectangle(box, outline=(*FACT, 255), width=2)
        # Once a row, left of its first value, where statements leave room.
        row = (fact["table"], fact["row"], fact["concept"])
        if fact["concept"] and row not in named:
            named.add(row)
            draw.text((box[0] - 4, box[3]), fact["concept"], fill=(*FACT, 255), font=font, anchor="rd")
    picture.paste(layer, mask=layer.getchannel("A"))
    target = io.BytesIO()
    # A palette makes a page of text a third of its size.
    picture.quantize(64).save(target, "PNG")
    return target.getvalue()


def _pixels(row: Mapping[str, Any], dpi: int) -> tuple[float, float, float, float] | None:
    edges = [row[name] for name in ("x0", "y0", "x1", "y1")]
    if any(edge is None for edge in edges):
        return None
    x0, y0, x1, y1 = (edge * dpi / POINTS_PER_INCH for edge in edges)
    return x0, y0, x1, y1
