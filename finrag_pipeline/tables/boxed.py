"""From boxes of cells to tables: what the detectors have in common that find cells by lines or by sight."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from finrag_pipeline.tables.model import Box, Cell, PageWords, Table, around

_OPENING = re.compile(r"(?:US|C|A|HK|NZ|S)?[$€£¥]|[(]|[$€£¥][(]")
_CLOSING = re.compile(r"[)]?[%)x]")
_NUMBER = re.compile(r"[$€£¥(\s]*(?:[\d.,]*\d|[—–-])[)%\s]*")
_UNITS = re.compile(r"[(\[].*[)\]]?")
_PERIOD = re.compile(r"(?i)(?:as of|at|for the|year|years|three|six|nine|twelve|fiscal)\b.*")
_CAPTION_LENGTH = 160


@dataclass(frozen=True, slots=True)
class Slot:
    """A place of a grid on the page: a cell before its words are known."""

    row: int
    column: int
    box: Box
    row_span: int = 1
    column_span: int = 1
    header: bool = False


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of words of a page."""

    box: Box
    text: str


def text_lines(words: PageWords) -> list[TextLine]:
    """Lines of a page as the extractor cut them, from top to bottom."""
    if not words.words:
        return []
    starts = np.flatnonzero(
        np.r_[True, (words.blocks[1:] != words.blocks[:-1]) | (words.lines[1:] != words.lines[:-1])]
    )
    lines = []
    for start, stop in zip(starts, [*starts[1:], len(words.words)], strict=True):
        lines.append(TextLine(_around(words.boxes[start:stop]), " ".join(words.words[start:stop])))
    return sorted(lines, key=lambda line: (round(line.box.y0), line.box.x0))


def table_of_slots(
    slots: Sequence[Slot],
    words: PageWords,
    detector: str,
    box: Box,
    header_rows: int,
    score: float = 1.0,
) -> Table | None:
    """The table of a grid of slots: each word goes to the smallest slot that holds its centre.

    Currency signs, per cent signs and closing parentheses in slots of their own join their numbers; rows
    and columns left without text are dropped. None where no slot holds a word.
    """
    cells = _with_signs(_filled(slots, words))
    if not cells:
        return None
    rows, columns = _kept(cells, "row"), _kept(cells, "column")
    row_of, column_of = (
        {old: new for new, old in enumerate(rows)},
        {old: new for new, old in enumerate(columns)},
    )
    cells = [
        replace(
            cell,
            row=row_of[cell.row],
            column=column_of[cell.column],
            row_span=sum(cell.row <= row < cell.row + cell.row_span for row in rows),
            column_span=sum(cell.column <= column < cell.column + cell.column_span for column in columns),
        )
        for cell in cells
    ]
    caption, above, below = surroundings(box, text_lines(words))
    return Table(
        page=words.page,
        detector=detector,
        box=box,
        rows=len(rows),
        columns=len(columns),
        cells=tuple(sorted(cells, key=lambda cell: (cell.row, cell.column))),
        header_rows=sum(row < header_rows for row in rows),
        levels=_levels(cells, len(rows)),
        caption=caption,
        above=above,
        below=below,
        score=score,
    )


def _filled(slots: Sequence[Slot], words: PageWords) -> list[Cell]:
    if not slots or not words.words:
        return []
    edges = np.array([slot.box for slot in slots], np.float64)
    centres = (words.boxes[:, :2] + words.boxes[:, 2:]) / 2
    inside = (centres[:, None, :] >= edges[None, :, :2]).all(2) & (
        centres[:, None, :] < edges[None, :, 2:]
    ).all(2)
    areas = np.prod(edges[:, 2:] - edges[:, :2], axis=1)
    choice = np.where(inside, areas[None, :], np.inf).argmin(1)
    choice[~inside.any(1)] = -1
    cells = []
    for place, slot in enumerate(slots):
        held = np.flatnonzero(choice == place)
        if len(held):
            held = in_reading_order(held, words.boxes)
            cells.append(
                Cell(
                    slot.row,
                    slot.column,
                    _around(words.boxes[held]),
                    " ".join(words.words[word] for word in held),
                    slot.row_span,
                    slot.column_span,
                    slot.header,
                )
            )
    return cells


def in_reading_order(held: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Indices of words line by line from the top, each from the left."""
    middles = (boxes[held, 1] + boxes[held, 3]) / 2
    heights = boxes[held, 3] - boxes[held, 1]
    order = np.argsort(middles, kind="stable")
    gaps = np.diff(middles[order]) > 0.5 * np.maximum(heights[order][1:], 1e-6)
    line = np.zeros(len(held), int)
    line[order[1:]] = np.cumsum(gaps)
    return held[np.lexsort((boxes[held, 0], line))]


def _with_signs(cells: list[Cell]) -> list[Cell]:
    """Cells in which a sign that stands alone is part of its number."""
    by_row: dict[int, list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.row, cell.column)):
        by_row.setdefault(cell.row, []).append(cell)
    joined = []
    for row in by_row.values():
        kept: list[Cell] = []
        opening: Cell | None = None
        for cell in row:
            if opening is not None:
                if _NUMBER.fullmatch(cell.text):
                    cell = replace(
                        cell, box=around([opening.box, cell.box]), text=f"{opening.text} {cell.text}"
                    )
                else:
                    kept.append(opening)
                opening = None
            if not cell.header and _OPENING.fullmatch(cell.text):
                opening = cell
            elif kept and _CLOSING.fullmatch(cell.text) and _NUMBER.fullmatch(kept[-1].text):
                kept[-1] = replace(
                    kept[-1], box=around([kept[-1].box, cell.box]), text=kept[-1].text + cell.text
                )
            else:
                kept.append(cell)
        joined += [*kept, *([opening] if opening is not None else [])]
    return joined


def _kept(cells: Sequence[Cell], axis: str) -> list[int]:
    """Rows or columns in which some cell begins."""
    return sorted({getattr(cell, axis) for cell in cells})


def _levels(cells: Sequence[Cell], rows: int) -> tuple[int, ...]:
    """Indentation of the labels in column 0, as ranks of their left edges (3 points apart at least)."""
    lefts = {cell.row: cell.box.x0 for cell in cells if cell.column == 0 and not cell.header}
    ranks: dict[float, int] = {}
    last, rank = None, -1
    for left in sorted(set(lefts.values())):
        if last is None or left - last > 3:
            rank, last = rank + 1, left
        ranks[left] = min(rank, 5)
    return tuple(ranks[lefts[row]] if row in lefts else 0 for row in range(rows))


def surroundings(
    box: Box, lines: Sequence[TextLine], reach: float = 90.0
) -> tuple[str | None, tuple[str, ...], tuple[str, ...]]:
    """Caption, lines above and lines below a table, within ``reach`` points and over or under it."""
    near = [line for line in lines if line.box.x1 > box.x0 and line.box.x0 < box.x1]
    above: list[TextLine] = []
    edge = box.y0
    for line in sorted(near, key=lambda line: -line.box.y1):
        if line.box.y0 + line.box.y1 >= 2 * box.y0:
            continue
        if box.y0 - line.box.y0 > reach or edge - line.box.y1 > 36 or len(above) == 8:
            break
        above.append(line)
        edge = line.box.y0
    below = [line for line in near if line.box.y0 + line.box.y1 > 2 * box.y1 and line.box.y1 < box.y1 + 60][
        :4
    ]
    caption = next((line.text for line in above if is_caption(line.text)), None)
    return caption, tuple(line.text for line in reversed(above)), tuple(line.text for line in below)


def is_caption(text: str) -> bool:
    """Whether a line can be the title of a table: words, but no sentence, units line, period or number."""
    return (
        len(text) <= _CAPTION_LENGTH
        and sum(letter.isalpha() for letter in text) >= 4
        and not text.rstrip().endswith((".", ";", ","))
        and not _UNITS.fullmatch(text.strip())
        and not _PERIOD.match(text.strip())
    )


def _around(boxes: np.ndarray) -> Box:
    (x0, y0), (x1, y1) = boxes[:, :2].min(0), boxes[:, 2:].max(0)
    return Box(float(x0), float(y0), float(x1), float(y1))
