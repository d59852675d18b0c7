"""Pictures of pages for the report: small WebP files, made once and kept in the lake by their contents."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from finrag_pipeline.errors import FinragError
from finrag_pipeline.filings.intake import FilingSource, find_source, original_path
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
