"""From boxes of cells to tables: what the detectors have in common that find cells by lines or by sight."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from finrag_pipeline.tables.model import Cell, PageWords, Table, around
from finrag_pipeline.tables.words.body import levels
from finrag_pipeline.tables.words.captions import caption_of, texts_above, texts_below
from finrag_pipeline.tables.words.rows import group_lines, segment_lines, usable_words

_OPENING = re.compile(r"(?:US|C|A|HK|NZ|S)?[$€£¥]|[(]|[$€£¥][(]")
_CLOSING = re.compile(r"[)]?[%)x]")
_NUMBER = re.compile(r"[$€£¥(\s]*(?:[\d.,]*\d|[—–-])[)%\s]*")


def table_of_slots(slots: Sequence[Cell], words: PageWords, detector: str, header_rows: int) -> Table | None:
    """The table of a grid of slots, cells without text: each word goes to the smallest that holds its centre.

    Currency signs, per cent signs and closing parentheses in slots of their own join their numbers; rows
    and columns left without text are dropped. None where no slot holds a word.
    """
    cells = _with_signs(_filled(slots, words))
    if not cells:
        return None
    box = around([slot.box for slot in slots])
    rows, columns = (sorted({getattr(cell, axis) for cell in cells}) for axis in ("row", "column"))
    firsts: list[float | None] = [None] * len(rows)
    moved = []
    for cell in cells:
        row, column = rows.index(cell.row), columns.index(cell.column)
        row_span = bisect_left(rows, cell.row + cell.row_span) - row
        column_span = bisect_left(columns, cell.column + cell.column_span) - column
        moved.append(replace(cell, row=row, column=column, row_span=row_span, column_span=column_span))
        if not (column or cell.header):
            firsts[row] = cell.box.x0
    lines = segment_lines(words, usable_words(words))
    centres = [line.centre for line in lines]
    start = min(bisect_left(centres, box.y0), len(lines) - 1)
    return Table(
        page=words.page,
        detector=detector,
        box=box,
        rows=len(rows),
        columns=len(columns),
        cells=tuple(moved),
        header_rows=bisect_left(rows, header_rows),
        levels=levels(firsts),
        caption=caption_of(lines, start, 0, words.height),
        above=texts_above(lines, start, 0, words.height),
        below=texts_below(lines, max(bisect_left(centres, box.y1), 1), len(lines), words.height),
    )


def _filled(slots: Sequence[Cell], words: PageWords) -> list[Cell]:
    if not slots or not words.words:
        return []
    edges = np.array([slot.box for slot in slots], np.float64)
    centres = (words.boxes[:, :2] + words.boxes[:, 2:]) / 2
    inside = (centres[:, None, :] >= edges[None, :, :2]).all(2) & (
        centres[:, None, :] < edges[None, :, 2:]
    ).all(2)
    areas = np.prod(edges[:, 2:] - edges[:, :2], axis=1)
    choice = np.where(inside, areas[None, :], np.inf).argmin(1)
    choice[~np.any(inside, axis=1)] = -1
    cells = []
    for place, slot in enumerate(slots):
        held = np.flatnonzero(choice == place)
        if len(held):
            ordered = [int(held[word]) for line in group_lines(words.boxes[held]) for word in line]
            text = " ".join(words.words[word] for word in ordered)
            cells.append(replace(slot, box=around(words.boxes[held].tolist()), text=text))
    return cells


def _with_signs(cells: Sequence[Cell]) -> list[Cell]:
    """Cells in order, in which a sign that stands alone is part of its number."""
    joined: list[Cell] = []
    for cell in sorted(cells, key=lambda cell: (cell.row, cell.column)):
        last = joined[-1] if joined and joined[-1].row == cell.row else None
        if last is not None:
            box = around([last.box, cell.box])
            opens = not last.header and _OPENING.fullmatch(last.text)
            if opens and _NUMBER.fullmatch(cell.text):
                joined[-1] = replace(cell, box=box, text=f"{last.text} {cell.text}")
                continue
            if _CLOSING.fullmatch(cell.text) and _NUMBER.fullmatch(last.text):
                joined[-1] = replace(last, box=box, text=last.text + cell.text)
                continue
        joined.append(cell)
    return joined
