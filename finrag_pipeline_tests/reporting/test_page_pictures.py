from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from finrag_pipeline.filings import pdf
from finrag_pipeline.filings.intake import accept, find_source, original_path
from finrag_pipeline.reporting.page_pictures import (
    FACT,
    FOLDER,
    HEADER,
    TABLE,
    UNREADABLE,
    draw_page,
    encode_picture,
    page_images,
)
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline_tests.small_filings import annual_report, write_lines

NAME = "ALDER_2021_10K"


@pytest.fixture
def filled(lake: Lake, tmp_path: Path) -> Lake:
    accept(lake, annual_report(tmp_path / f"{NAME}.pdf", "Alder Corp", 2021))
    accept(lake, write_lines(tmp_path / "TEXT.jsonl", [{"doc": "TEXT", "page": 0, "text": "words"}]))
    return lake


def picture(data: bytes | str) -> np.ndarray:
    assert isinstance(data, bytes)
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def test_a_page_is_drawn_small_and_legible(filled: Lake) -> None:
    found = page_images(filled, NAME, [1])
    pixels = picture(found[1])
    assert pixels.shape == (1210, 935, 3)
    assert (pixels < 100).any() and (pixels > 240).mean() > 0.9, "black words on white"
    assert len(found[1]) < 40_000


def test_it_is_made_once_and_kept_by_contents(
    filled: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = page_images(filled, NAME, [0, 2])
    source = find_source(filled, NAME)
    assert source is not None
    assert len(filled.fs.find(filled.path(FOLDER, source.sha256[:32]))) == 2
    with monkeypatch.context() as patch:
        patch.setattr(pdf, "page_pictures", lambda *_: pytest.fail("drawn again"))
        assert page_images(filled, NAME, [2, 0]) == first
    # The same name with other contents is another picture.
    accept(filled, annual_report(tmp_path / f"{NAME}.pdf", "Other Corp", 2020))
    assert page_images(filled, NAME, [0])[0] != first[0]


def test_a_page_that_cannot_be_drawn_says_why_and_keeps_no_other_back(filled: Lake) -> None:
    found = page_images(filled, NAME, [0, 99, -1])
    assert isinstance(found[0], bytes)
    assert found[99] == found[-1] == "The page cannot be drawn."
    assert page_images(filled, "TEXT", [0]) == {0: "This filing came as text; there is no picture of it."}
    assert page_images(filled, "UNKNOWN", [4]) == {4: "The lake holds no original of this filing."}
    assert "not a path" in str(page_images(filled, "../../etc", [0])[0])


def test_a_missing_and_a_damaged_original(filled: Lake) -> None:
    source = find_source(filled, NAME)
    assert source is not None
    path = Path(original_path(filled, source))
    path.write_bytes(b"%PDF-1.4 nothing else")
    assert "is corrupt" in str(page_images(filled, NAME, [0])[0])
    shutil.rmtree(path.parent)
    assert isinstance(page_images(filled, NAME, [0])[0], str)


def test_colours_are_kept_where_there_are_any() -> None:
    page = np.full((200, 200, 3), 255, np.uint8)
    page[50:90, 50:90] = (0, 90, 200)
    blue = picture(encode_picture(page))[70, 70]
    assert blue[2] > blue[0] + 100
    page[50:90, 50:90] = (90, 90, 90)
    grey = picture(encode_picture(page))[70, 70]
    assert int(grey.max()) - int(grey.min()) <= 2


@pytest.mark.parametrize("coloured", [False, True])
def test_pale_stripes_stay_and_white_is_white(coloured: bool) -> None:
    page = np.full((200, 200, 3), 255, np.uint8)
    page[50:90] = 242
    page[100:110] = (0, 90, 200) if coloured else 0
    pixels = picture(encode_picture(page)).astype(int)
    assert (pixels[10] == 255).all()
    assert np.abs(pixels[70] - 242).max() <= 2


def test_a_photograph_is_compressed_with_loss() -> None:
    dots = np.random.default_rng(0).integers(0, 256, (20, 20, 3), dtype=np.uint8)
    photograph = np.asarray(Image.fromarray(dots).resize((400, 400), Image.Resampling.BICUBIC))
    assert b"VP8 " in encode_picture(photograph)[:16]
    assert b"VP8L" in encode_picture(np.full_like(photograph, (0, 90, 200)))[:16]


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
    return {picture.getpixel((x, y)) for x in range(200) for y in range(200)}


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
