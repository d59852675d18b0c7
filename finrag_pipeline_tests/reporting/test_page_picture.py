from __future__ import annotations

import io
from typing import Any

from PIL import Image

from finrag_pipeline.reporting.page_pictures import FACT, HEADER, TABLE, UNREADABLE, draw_page

DPI = 72


def _blank() -> bytes:
    target = io.BytesIO()
    Image.new("RGB", (200, 200), "white").save(target, "PNG")
    return target.getvalue()


def _cell(x: float, y: float, **other: Any) -> dict[str, Any]:
    cell = {"table": 0, "x0": x, "y0": y, "x1": x + 40, "y1": y + 12, "header": False, "kind": "number",
            "value": 1.0, "reason": None}  # fmt: skip
    return {**cell, **other}


def _colours(png: bytes) -> set[tuple[int, ...]]:
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    return {picture.getpixel((x, y)) for x in range(200) for y in range(200)}  # type: ignore[misc]


def _has(png: bytes, colour: tuple[int, int, int]) -> bool:
    return any(max(abs(a - b) for a, b in zip(found, colour, strict=True)) < 12 for found in _colours(png))


def test_each_thing_has_its_colour() -> None:
    cells = [
        _cell(20, 20, header=True, kind="header"),
        _cell(20, 60),
        _cell(20, 90, value=None, reason="unreadable characters"),
    ]
    plain = draw_page(_blank(), DPI, cells, [])
    assert _has(plain, TABLE)
    assert _has(plain, HEADER)
    assert _has(plain, UNREADABLE)
    assert not _has(plain, FACT)
    fact = {"x0": 20, "y0": 60, "x1": 60, "y1": 72, "concept": "Assets", "table": 0, "row": 1, "column": 1}
    assert _has(draw_page(_blank(), DPI, cells, [fact]), FACT)


def test_cells_without_boxes_are_left_out() -> None:
    nowhere = dict.fromkeys(("x0", "y0", "x1", "y1"))
    assert _colours(draw_page(_blank(), DPI, [{**_cell(0, 0), **nowhere}], [])) == {(255, 255, 255)}


def test_points_become_pixels_at_the_resolution() -> None:
    twice = draw_page(_blank(), 144, [_cell(20, 20)], [])
    picture = Image.open(io.BytesIO(twice)).convert("RGB")
    assert picture.getpixel((40, 50)) != (255, 255, 255), "left edge of the cell at 20 points is pixel 40"
