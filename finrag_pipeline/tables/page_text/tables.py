"""From solved rows to the table that all detectors give."""

from __future__ import annotations

import re
from collections.abc import Sequence

from finrag_pipeline.tables.model import Box, Cell, Table
from finrag_pipeline.tables.page_text.labels import best_title, clues
from finrag_pipeline.tables.page_text.lines import Line
from finrag_pipeline.tables.page_text.regions import Region, dates_of
from finrag_pipeline.tables.page_text.solve import Solved, SolvedRow

NOWHERE = Box(0.0, 0.0, 0.0, 0.0)
_SPANNING = re.compile(r"(?i)(?:for the )?(?:fiscal )?years?,?(?: ended| ending)?|(?:as )?(?:of|at)")
_WITH_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def build_table(region: Region, solved: Solved, page: int, detector: str) -> Table | None:
    """The table of a region, or None where no row has numbers that can be told."""
    if sum(bool(row.numbers) for row in solved.rows) < 2:
        return None
    filled = [place for place, row in enumerate(solved.rows) if row.numbers or row.unclear]
    first = filled[0]
    while (
        first
        and clues(solved.rows[first - 1].label.text).skip <= 0.5
        and not _is_title(solved.rows[first - 1])
    ):
        first -= 1
    rows = solved.rows[first : filled[-1] + 1]
    headers = _headers(region.headers, solved.columns)
    cells = [
        Cell(row, column, NOWHERE, text, 1, span, header=True)
        for row, header in enumerate(headers)
        for column, text, span in header
    ]
    top = len(headers)
    for place, row in enumerate(rows, top):
        cells.append(Cell(place, 0, NOWHERE, _label(row)))
        cells += [
            Cell(place, column, NOWHERE, number.text)
            for column, number in enumerate(row.numbers, 1)
            if number is not None
        ]
    above = _above(region, solved.rows[:first])
    problems = [
        f"'{_label(row)}': the text does not tell which numbers are its own." for row in rows if row.unclear
    ]
    clear = 1 - len(problems) / len(filled)
    return Table(
        page=page,
        detector=detector,
        box=NOWHERE,
        rows=top + len(rows),
        columns=solved.columns + 1,
        cells=tuple(cells),
        header_rows=top,
        levels=(*([0] * top), *_levels(rows)),
        caption=best_title(above),
        above=above,
        below=tuple(line.text for line in region.lines if line.kind == "note")[:4],
        score=round(clear / (1.0 + max(0.0, solved.cost)), 3),
        problems=tuple(problems),
    )


def _label(row: SolvedRow) -> str:
    text = row.label.text
    if row.label.kind == "row":
        # The numbers end the line; the label is what comes before them.
        for number in reversed(row.label.numbers):
            text = text[: text.rindex(number.text)].rstrip()
        text = text.rstrip("$€£¥ ")
    return " ".join(text.split())


def _is_title(row: SolvedRow) -> bool:
    return clues(row.label.text).title


def _above(region: Region, before: Sequence[SolvedRow]) -> tuple[str, ...]:
    """Titles and units, in the order of the text: the lines before the rows, and units anywhere."""
    kept = {row.label.line: row.label.text for row in before}
    kept.update({line.line: line.text for line in region.units})
    # Titles may come after the labels in the text.
    kept.update({line.line: line.text for line in region.labels if clues(line.text).title})
    return tuple(text for _, text in sorted(kept.items()))[-8:]


def _headers(lines: Sequence[Line], columns: int) -> list[list[tuple[int, str, int]]]:
    """Header rows as (column, text, span): what spans the columns, then what stands over each."""
    singles, spanning = [], []
    held: list[Line] = []
    for line in lines:
        if held and held[-1].block != line.block:
            spanning.append(" ".join(one.text for one in held))
            held = []
        if line.kind == "year":
            dates = [one for one in held if not _SPANNING.fullmatch(one.text.rstrip(","))]
            spanning += [one.text for one in held if one not in dates]
            prefix = " ".join(one.text for one in dates)
            held = []
            singles += [f"{prefix} {number.text}".strip() for number in line.numbers]
        elif dates_of(line.text) and not held:
            singles += dates_of(line.text)
        elif _WITH_YEAR.search(line.text) and not dates_of(line.text):
            continue  # several years in one phrase: a title
        else:
            held.append(line)
    if held:
        spanning.append(" ".join(one.text for one in held))
    rows = []
    if spanning and columns % len(spanning) == 0:
        width = columns // len(spanning)
        rows.append([(1 + place * width, text, width) for place, text in enumerate(spanning)])
    elif spanning:
        rows.append([(1, " ".join(dict.fromkeys(spanning)), columns)])
    if len(singles) == columns:
        rows.append([(column, text, 1) for column, text in enumerate(singles, 1)])
    return rows


def _levels(rows: Sequence[SolvedRow]) -> list[int]:
    """Indentation that the headings imply: rows under a heading are one deeper, its total closes it."""
    levels = []
    depth = 0
    open_heading = False
    for row in rows:
        clue = clues(_label(row))
        if not row.numbers and not row.unclear and clue.skip <= 0.5:
            levels.append(0)
            open_heading = True
            depth = 1
        elif clue.total and open_heading:
            levels.append(0)
            depth, open_heading = 0, False
        else:
            levels.append(depth)
    return levels
