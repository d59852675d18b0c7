"""Pictures of pages: small ones for the report, kept in the lake, and one with cells and facts drawn."""

from __future__ import annotations

import io
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from finrag_pipeline.errors import FinragError
from finrag_pipeline.filings.intake import FilingSource, find_source, original_path
from finrag_pipeline.filings.originals import get_source
from finrag_pipeline.reporting import PICTURES_VERSION
from finrag_pipeline.storage.lake import Lake

if TYPE_CHECKING:
    from PIL.Image import Image

Box = tuple[float, float, float, float]
"""Left, upper, right and lower edge in points from the upper left corner of the page as shown."""
EDGES = ("x0", "y0", "x1", "y1")
"""Columns of a box."""

PageImages = Callable[[str, Iterable[int]], dict[int, bytes | str]]
"""`page_images` of a lake: takes a filing and pages."""

DPI = 110
FOLDER = "page_pictures"

_GREYS = (0, 48, 96, 144, 192, 224, 242, 255)  # closer where they are light: pale stripes of tables
_NEAREST_GREY = [min(_GREYS, key=lambda grey: abs(grey - value)) for value in range(256)]
_COLOURS = 48
_COLOURED = 12  # difference between the channels from which on a pixel has a colour
_COLOURED_SHARE = 0.002  # a coloured link or rule alone is drawn in grey
_SMALL = 1 / 20  # bytes per pixel: a full page of text takes less, one with a photograph more
_AT_ONCE = 16  # pages whose pixels are held together


def page_images(
    lake: Lake, filing: str, pages: Iterable[int], dpi: int = DPI, keep: bool = True
) -> dict[int, bytes | str]:
    """WebP picture of each zero-based page of a filing, or why there is none, in a sentence.

    Pictures are kept in the lake below ``page_pictures/`` if they are to be; the file is opened once for all
    that are not.
    """
    wanted = sorted(set(pages))
    try:
        source = find_source(lake, filing)
    except FinragError as error:  # a name that leaves the lake
        return dict.fromkeys(wanted, error.reason)
    if source is None:
        return dict.fromkeys(wanted, "The lake holds no original of this filing.")
    if source.source != "pdf":
        return dict.fromkeys(wanted, "This filing came as text; there is no picture of it.")
    kept = {page: lake.read_bytes(_picture_path(lake, source, page, dpi)) for page in wanted}
    found: dict[int, bytes | str] = {page: picture for page, picture in kept.items() if picture}
    if missing := [page for page in wanted if page not in found]:
        found |= _draw(lake, source, missing, dpi, keep)
    return {page: found[page] for page in wanted}


def _picture_path(lake: Lake, source: FilingSource, page: int, dpi: int) -> str:
    return lake.path(FOLDER, source.sha256[:32], f"{page + 1}-{dpi}-v{PICTURES_VERSION}.webp")


def _draw(lake: Lake, source: FilingSource, pages: list[int], dpi: int, keep: bool) -> dict[int, bytes | str]:
    from finrag_pipeline.filings.pdf import page_pictures

    found: dict[int, bytes | str] = {}
    try:
        with lake.local_copy(original_path(lake, source)) as path, ThreadPoolExecutor(os.cpu_count()) as pool:
            drawn = page_pictures(Path(path), pages, dpi)
            for start in range(0, len(pages), _AT_ONCE):
                some = pages[start : start + _AT_ONCE]
                # Pages are drawn in this thread; encoding leaves the interpreter to the others.
                encoded = pool.map(
                    lambda one: None if one is None else encode_picture(one), islice(drawn, len(some))
                )
                for page, picture in zip(some, encoded, strict=True):
                    if picture is None or page < 0:
                        found[page] = "The page cannot be drawn."
                        continue
                    found[page] = picture
                    if keep:
                        lake.write_bytes(_picture_path(lake, source, page, dpi), picture)
    except FinragError as error:
        return dict.fromkeys(pages, error.reason) | found
    except FileNotFoundError:
        return dict.fromkeys(pages, "The original of this filing is missing.")
    return found


def encode_picture(pixels: np.ndarray) -> bytes:
    """WebP of a page without loss, in few colours: 8 greys, or 48 colours where the page is coloured.

    Text in a palette is smaller than with lossy compression, and its edges stay sharp; a page of photographs,
    which does not fit a palette, is compressed with loss where that is smaller. ``pixels`` are RGB of shape
    (height, width, 3), uint8.
    """
    from PIL import Image

    picture = Image.fromarray(pixels, "RGB")
    # Whole channels at once are 20 times as fast as a maximum over axis 2.
    red, green, blue = np.moveaxis(pixels, 2, 0)
    brightest, darkest = np.maximum(np.maximum(red, green), blue), np.minimum(np.minimum(red, green), blue)
    if float(((brightest - darkest) > _COLOURED).mean()) <= _COLOURED_SHARE:
        return _webp(picture.convert("L").point(_NEAREST_GREY), lossless=True, quality=60)
    # White, most of a page, needs no search for its colour. An octree is faster, but loses pale stripes.
    inked, few = darkest < 255, np.full_like(pixels, 255)
    found = Image.fromarray(pixels[inked][None]).quantize(_COLOURS - 1, dither=Image.Dither.NONE)
    few[inked] = np.asarray(found.convert("RGB"))[0]
    palette = _webp(Image.fromarray(few), lossless=True, quality=60)
    if len(palette) <= _SMALL * darkest.size:
        return palette
    return min(palette, _webp(picture, lossless=False, quality=50), key=len)


def _webp(picture: Image, lossless: bool, quality: int) -> bytes:
    target = io.BytesIO()
    picture.convert("RGB").save(target, "WEBP", lossless=lossless, quality=quality, method=4)
    return target.getvalue()


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

    Cells of ``page_tables`` without a box are left out; beside that of a fact stands its concept.
    """
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.open(io.BytesIO(png)).convert("RGB")
    layer = Image.new("RGBA", picture.size, (0, 0, 0, 0))
    draw = ImageDraw.Draw(layer)
    font = ImageFont.load_default(size=max(7, dpi / 14))
    colours = {"headers": HEADER, "numbers": NUMBER, "unreadable": UNREADABLE}

    def pixels(box: Box) -> Box:
        x0, y0, x1, y1 = (edge * dpi / POINTS_PER_INCH for edge in box)
        return x0, y0, x1, y1

    for cell in cells:
        box, kind = box_of(cell), cell_layer(cell)
        if box and kind:
            fill = (*HEADER, _FILL) if kind == "headers" else None
            draw.rectangle(pixels(box), outline=(*colours[kind], 255), fill=fill)
    for number, outline in table_outlines(cells).items():
        x0, y0, x1, y1 = pixels(outline)
        draw.rectangle((x0 - 3, y0 - 3, x1 + 3, y1 + 3), outline=(*TABLE, 255), width=2)
        draw.text((x0 - 3, y0 - 3 - dpi / 8), f"table {number}", fill=(*TABLE, 255), font=font)
    named: set[tuple[int, int, str]] = set()
    for fact in sorted(facts, key=lambda fact: fact["column"]):
        if not (found := box_of(fact)):
            continue
        x0, _, _, y1 = drawn = pixels(found)
        draw.rectangle(drawn, outline=(*FACT, 255), width=2)
        # Once a row, left of its first value, where statements leave room.
        row = (fact["table"], fact["row"], fact["concept"])
        if fact["concept"] and row not in named:
            named.add(row)
            draw.text((x0 - 4, y1), fact["concept"], fill=(*FACT, 255), font=font, anchor="rd")
    picture.paste(layer, mask=layer.getchannel("A"))
    target = io.BytesIO()
    # A palette makes a page of text a third of its size.
    picture.quantize(64).save(target, "PNG")
    return target.getvalue()


def marked_part(lake: Lake, filing: str, page: int, boxes: Sequence[Box]) -> bytes | None:
    """PNG of the strip of a zero-based page that holds ``boxes``, marked; None where there is no picture."""
    from PIL import Image, ImageDraw

    kept = page_images(lake, filing, [page])[page]
    if isinstance(kept, str):
        return None
    picture = Image.open(io.BytesIO(kept)).convert("RGB")
    scale = DPI / POINTS_PER_INCH
    draw = ImageDraw.Draw(picture)
    for x0, y0, x1, y1 in boxes:
        edges = (x0 - 2) * scale, (y0 - 2) * scale, (x1 + 2) * scale, (y1 + 2) * scale
        draw.rectangle(edges, outline=UNREADABLE, width=2)
    _, top, _, bottom = around(boxes)
    above, below = int((top - _AROUND) * scale), int((bottom + _AROUND) * scale)
    part = picture.crop((0, max(0, above), picture.width, min(picture.height, below)))
    target = io.BytesIO()
    part.quantize(64).save(target, "PNG")
    return target.getvalue()


_AROUND = 48  # points of a page that are shown above and below what is marked


def box_of(row: Mapping[str, Any]) -> Box | None:
    """Box of a word, cell or fact; None where it has none."""
    x0, y0, x1, y1 = (row[edge] for edge in EDGES)
    return None if None in (x0, y0, x1, y1) else (x0, y0, x1, y1)


def cell_layer(cell: Mapping[str, Any]) -> str | None:
    """``headers``, ``numbers`` or ``unreadable`` (a number without a value); None for any other cell."""
    if cell["header"]:
        return "headers"
    if cell["kind"] not in ("number", "missing"):
        return None
    return "unreadable" if cell["value"] is None and cell["reason"] else "numbers"


def around(boxes: Iterable[Box | None]) -> Box:
    """The box around one box or more."""
    x0, y0, x1, y1 = zip(*filter(None, boxes), strict=True)
    return min(x0), min(y0), max(x1), max(y1)


def table_outlines(cells: Iterable[Mapping[str, Any]]) -> dict[int, Box]:
    """Box around all cells of each table, by its number on the page."""
    found: dict[int, list[Box]] = defaultdict(list)
    for cell in cells:
        if box := box_of(cell):
            found[cell["table"]].append(box)
    return {number: around(boxes) for number, boxes in sorted(found.items())}
