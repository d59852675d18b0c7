"""Prose of a page: its text without its tables, and the headings it stands under."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from finrag_pipeline.tables.model import Box

_SECTION = re.compile(r"^(?:part\s+[ivx]+\b|item\s+\d+[a-c]?\b|note\s+\d+\b)", re.IGNORECASE)
_NUMBERED = re.compile(r"^\d{1,2}\.\s+(?=[A-Z])")
_LONGEST_HEADING = 110
_MARGIN = 1.0  # points by which a word may reach out of its table


def text_outside(words: Sequence[dict[str, Any]], boxes: Sequence[Box]) -> str:
    """Lines of a page's words (of ``filing_pages``) outside all boxes, in points; blocks stand apart."""
    outside = [word for word in words if not any(_inside(word, box) for box in boxes)]
    blocks = []
    for _, block in groupby(outside, itemgetter("block")):
        lines = groupby(block, itemgetter("line"))
        blocks.append("\n".join(" ".join(word["text"] for word in line) for _, line in lines))
    return "\n\n".join(blocks).strip()


def _inside(word: dict[str, Any], box: Box) -> bool:
    x, y = (word["x0"] + word["x1"]) / 2, (word["y0"] + word["y1"]) / 2
    x0, y0, x1, y1 = box
    return x0 - _MARGIN <= x <= x1 + _MARGIN and y0 - _MARGIN <= y <= y1 + _MARGIN


def is_heading(line: str) -> bool:
    """Whether a line reads like a heading: short, no sentence, begins with a capital or a section number."""
    line = line.strip()
    if not 3 < len(line) <= _LONGEST_HEADING or (line[-1] in ".,;:" and not _SECTION.match(line)):
        return False
    words = [word for word in re.findall(r"[^\W\d_]+", line) if len(word) > 3]
    if not words or sum(character.isdigit() for character in line) > len(line) // 4:
        return False
    if _SECTION.match(line):
        return True
    return all(word[0].isupper() for word in words)


class Headings:
    """The headings in force while pages are read in order."""

    def __init__(self) -> None:
        self.section = ""

    def read(self, text: str) -> list[tuple[int, str]]:
        """Positions in ``text`` from which on a context of headings holds; sections go on over pages."""
        marks = [(0, self.section)]
        position = 0
        for line in text.split("\n"):
            heading = line.strip()
            if is_heading(line) and (_SECTION.match(heading) or _NUMBERED.match(heading)):
                self.section = heading
                marks.append((position, heading))
            elif is_heading(line):
                marks.append((position, f"{self.section} | {heading}" if self.section else heading))
            position += len(line) + 1
        return marks


def heading_at(marks: Sequence[tuple[int, str]], position: int) -> str:
    """The context of headings that holds at ``position``."""
    return next((heading for start, heading in reversed(marks) if start <= position), "")
