"""Parts of a page's text that hold one table each: its labels, its numbers, the headers of its columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from finrag_pipeline.tables.page_text.labels import clues
from finrag_pipeline.tables.page_text.lines import Line, Number

_BARE = re.compile(r"\d{1,3}|\(\d\)")
_MARK = re.compile(r"[(\[]?\w{1,2}[)\]](?:\s*[(\[]?\w{1,2}[)\]])*|\W+")
_WITH_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_LEAST_NUMBERS, _LEAST_RUNS = 4, 4


@dataclass(slots=True)
class Region:
    """What may be one table.

    Attributes:
        labels: lines that may label its rows, in order.
        numbers: in the order of the text.
        headers: period and year lines, in order.
        units: lines that tell the units.
        rows: lines that hold label and numbers.
        notes: other lines, for captions and footnotes.
    """

    labels: list[Line] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)
    headers: list[Line] = field(default_factory=list)
    units: list[Line] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def add(self, line: Line) -> None:
        """Take in a line."""
        self.lines.append(line)
        if line.kind == "label":
            self.labels.append(line)
        elif line.kind == "numbers":
            self.numbers += line.numbers
        elif line.kind in ("year", "period"):
            self.headers.append(line)
        elif line.kind == "units":
            self.units.append(line)

    def join(self, other: Region) -> None:
        """Take in the lines of a region that comes later."""
        for line in other.lines:
            self.add(line)


def find_regions(lines: Sequence[Line], page: int) -> list[Region]:
    """Regions of a page in order, parted by paragraphs, and where a table's numbers are complete."""
    lines = _stacked_years(_without_page_number(_without_marks(lines), page))
    parts: list[Region] = [Region()]
    for line in lines:
        if line.kind == "prose":
            parts.append(Region())
        else:
            parts[-1].add(line)
    merged: list[Region] = []
    for part in parts:
        waiting = bool(merged) and bool(merged[-1].labels) and not merged[-1].numbers
        if waiting and not any(feasible(part, count) for count in column_counts(part)):
            merged[-1].join(part)
        elif part.lines:
            merged.append(part)
    return [region for part in merged for region in _split(part)]


def column_counts(region: Region) -> list[int]:
    """How many columns the headers tell of, likeliest first; empty if they tell nothing."""
    years = [number.text for line in region.headers if line.kind == "year" for number in line.numbers]
    dates = sum(len(dates_of(line.text)) for line in region.headers if line.kind == "period")
    counts = [len(years), dates, len(years) + dates, len(set(years))] if years else [dates]
    return [count for count in dict.fromkeys(counts) if 0 < count <= 12]


def dates_of(text: str) -> list[str]:
    """Headers of single columns in a period line: parts with one year each, set apart by white space."""
    parts = re.split(r"\s{2,}", text.strip())
    return parts if all(len(_WITH_YEAR.findall(part)) == 1 for part in parts) else []


def feasible(region: Region, columns: int) -> bool:
    """Whether the numbers fill the columns with no more rows than labels, and labels enough."""
    rows, rest = divmod(len(region.numbers), columns)
    if rest or not rows:
        return False
    found = [clues(label.text) for label in region.labels if not clues(label.text).title]
    needed = sum(one.skip >= 4.0 for one in found)
    return needed * 0.8 <= rows <= len(found) + 1


def _split(part: Region) -> list[Region]:
    """Tables that follow one another: a new one begins with labels after numbers that were complete."""
    if _alternates(part):
        return [part]
    found, region = [], Region()
    before = ""
    for line in part.lines:
        if line.kind == "label" and before == "numbers" and len(region.numbers) >= _LEAST_NUMBERS:
            counts = column_counts(region)
            if any(feasible(region, count) for count in counts):
                found.append(region)
                region = Region()
        region.add(line)
        if line.kind in ("label", "numbers"):
            before = line.kind
    found.append(region)
    tables: list[Region] = []
    for one in found:
        if tables and len(one.numbers) < _LEAST_NUMBERS and one.labels == []:
            tables[-1].join(one)
        else:
            tables.append(one)
    return [one for one in tables if len(one.numbers) >= _LEAST_NUMBERS or _rows(one)]


def _alternates(part: Region) -> bool:
    """Whether numbers follow single labels throughout, so that their rows are told by the order alone."""
    kinds = [line.kind for line in part.lines if line.kind in ("label", "numbers")]
    runs = sum(before == "label" and kind == "numbers" for before, kind in pairwise(kinds))
    return runs >= _LEAST_RUNS and len(part.labels) <= 2 * runs


def _rows(region: Region) -> bool:
    return sum(line.kind == "row" for line in region.lines) >= 2


def _without_marks(lines: Sequence[Line]) -> list[Line]:
    """Without footnote marks: small numbers in blocks of their own between labels."""
    marks = [
        bool(_MARK.fullmatch(line.text))
        if line.kind == "label"
        else line.kind == "numbers"
        and len(line.numbers) == 1
        and bool(_BARE.fullmatch(line.text))
        and abs(line.numbers[0].value or 0.0) < 10
        for line in lines
    ]
    kinds = [line.kind for line, mark in zip(lines, marks, strict=True) if not mark]
    kept: list[Line] = []
    passed = 0
    for line, mark in zip(lines, marks, strict=True):
        if not mark:
            passed += 1
            kept.append(line)
            continue
        # What stands before and after it, other marks aside.
        around = kinds[max(0, passed - 1) : passed + 1]
        if line.kind == "numbers" and not all(kind in ("label", "prose", "note") for kind in around):
            kept.append(line)
    return kept


def _without_page_number(lines: list[Line], page: int) -> list[Line]:
    """Without the number that the page is printed with, where it can be told from the others."""
    candidates = [
        place
        for place, line in enumerate(lines)
        if line.kind == "numbers"
        and re.fullmatch(r"\d{1,3}", line.text)
        and -12 <= int(line.text) - (page + 1) <= 4
        and not any(other.block == line.block for near, other in enumerate(lines) if abs(near - place) == 1)
    ]
    if not candidates:
        return lines

    def oddness(place: int) -> tuple[bool, int, int]:
        around = [lines[near].kind for near in (place - 1, place + 1) if 0 <= near < len(lines)]
        # First the end of the text, then a place away from other numbers, then the nearest to the page's own.
        return (
            len(around) == 2,
            around.count("numbers"),
            abs(int(lines[place].text) - (page + 1)),
        )

    drop = min(candidates, key=oddness)
    if oddness(drop)[1] == 2:
        return lines  # among other numbers: it may be one of them
    return [line for place, line in enumerate(lines) if place != drop]


def _stacked_years(lines: list[Line]) -> list[Line]:
    """With three years or more in one block as labels of rows."""
    blocks: dict[int, list[int]] = {}
    for place, line in enumerate(lines):
        blocks.setdefault(line.block, []).append(place)
    changed = list(lines)
    for places in blocks.values():
        years = [place for place in places if lines[place].kind == "year" and len(lines[place].numbers) == 1]
        if len(years) >= 3 and all(lines[place].kind in ("year", "label") for place in places):
            for place in years:
                changed[place] = replace(lines[place], kind="label", numbers=())
    return changed
