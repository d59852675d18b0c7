"""Pictures of pages: small ones for the report, kept in the lake, and one with cells and facts drawn."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from finrag_pipeline.errors import FinragError
from finrag_pipeline.filings.intake import FilingSource, find_source, original_path
from finrag_pipeline.filings.originals import get_source
from finrag_pipeline.reporting import PICTURES_VERSION
from finrag_pipeline.storage.lake import Lake

DPI = 110
FOLDER = "page_pictures"

_GREYS = 8
_COLOURS = 48
_COLOURED = 12  # difference between the channels from which on a pixel has a colour
_COLOURED_SHARE = 0.002  # a coloured link or rule alone is drawn in grey


class PageImages:
    """Makes and keeps pictures of pages of the lake's filings.

    Args:
        lake: holds the originals, and the pictures below ``page_pictures/``.
        dpi: resolution.
    """

    def __init__(self, lake: Lake, dpi: int = DPI) -> None:
        self._lake = lake
        self._dpi = dpi

    def get(self, filing: str, pages: Iterable[int]) -> dict[int, bytes | str]:
        """WebP picture of each page, or why there is none, in a sentence.

        Pages that are not kept yet are drawn, with the file opened once.

        Args:
            filing: identifier.
            pages: zero-based.
        """
        wanted = sorted(set(pages))
        try:
            source = find_source(self._lake, filing)
        except FinragError as error:  # a name that leaves the lake
            return dict.fromkeys(wanted, error.reason)
        if source is None:
            return dict.fromkeys(wanted, "The lake holds no original of this filing.")
        if source.source != "pdf":
            return dict.fromkeys(wanted, "This filing came as text; there is no picture of it.")
        found: dict[int, bytes | str] = {}
        for page in wanted:
            kept = self._lake.read_bytes(self._path(source, page))
            if kept:
                found[page] = kept
        missing = [page for page in wanted if page not in found]
        if missing:
            found |= self._draw(source, missing)
        return {page: found[page] for page in wanted}

    def _path(self, source: FilingSource, page: int) -> str:
        return self._lake.path(FOLDER, source.sha256[:32], f"{page + 1}-{self._dpi}-v{PICTURES_VERSION}.webp")

    def _draw(self, source: FilingSource, pages: list[int]) -> dict[int, bytes | str]:
        from finrag_pipeline.filings.pdf import page_pictures

        found: dict[int, bytes | str] = {}
        try:
            with self._lake.local_copy(original_path(self._lake, source)) as path:
                for page, pixels in zip(pages, page_pictures(Path(path), pages, self._dpi), strict=True):
                    if pixels is None or page < 0:
                        found[page] = "The page cannot be drawn."
                        continue
                    found[page] = encoded = encode_picture(pixels)
                    self._lake.write_bytes(self._path(source, page), encoded)
        except FinragError as error:
            return found | {page: error.reason for page in pages if page not in found}
        except FileNotFoundError:
            return dict.fromkeys(pages, "The original of this filing is missing.")
        return found


def encode_picture(pixels: np.ndarray) -> bytes:
    """WebP of a page without loss, in few colours: 8 greys, or 48 colours where the page is coloured.

    Text in a palette is smaller than with lossy compression, and its edges stay sharp; a page of photographs,
    which does not fit a palette, is compressed with loss where that is smaller.

    Args:
        pixels: RGB, shape (height, width, 3), uint8.
    """
    from PIL import Image

    picture = Image.fromarray(pixels, "RGB")
    red, green, blue = np.moveaxis(
        pixels, 2, 0
    )  # whole channels at once are 20 times as fast as a maximum over axis 2
    brightest, darkest = np.maximum(np.maximum(red, green), blue), np.minimum(np.minimum(red, green), blue)
    coloured = (brightest - darkest) > _COLOURED
    if float(coloured.mean()) <= _COLOURED_SHARE:
        return _webp(picture.convert("L").quantize(_GREYS).convert("RGB"), lossless=True)
    palette = _webp(picture.quantize(_COLOURS, dither=Image.Dither.NONE).convert("RGB"), lossless=True)
    lossy = _webp(picture, lossless=False)
    return min(palette, lossy, key=len)


def _webp(picture: object, lossless: bool) -> bytes:
    from PIL import Image

    assert isinstance(picture, Image.Image)
    target = io.BytesIO()
    picture.save(target, "WEBP", lossless=lossless, quality=60 if lossless else 50, method=4)
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
