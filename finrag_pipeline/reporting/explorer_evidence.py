"""Where a gold passage stands on its page: the words of the page that repeat it.

The passages of a benchmark were copied out of the pages by another reader, with other line breaks and another
order of table cells. So runs of words and single lines are matched, wherever they stand, instead of the
passage as a whole.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect
from collections.abc import Hashable, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby, pairwise
from typing import Any

Box = tuple[float, float, float, float]
"""Left, upper, right and lower edge in points from the upper left corner of the page as shown."""

RUN = 3
"""Words in a row that must be the same; all of them for a passage that is shorter."""
_SHORTEST = 4  # a run without any figure that is shorter is chance, in a passage long enough to do without it
_PASSES = 4  # runs in another order than the page's are found from the second pass on
_GAP = 2  # words between two runs that are marked with them
_SHORTEST_NUMBER = 3  # digits of a number that is marked where it stands alone on its line
_WORD = re.compile(r"\S+")


def fold(word: str) -> str:
    """A word without case, accents' form, signs and separators: ``$5,363`` and ``5363`` are one."""
    return "".join(c for c in unicodedata.normalize("NFKC", word).casefold() if c.isalnum())


def marked_words(words: Sequence[str], lines: Sequence[Hashable], passages: Sequence[str]) -> list[bool]:
    """Which words of a page repeat any of the passages: in runs, or as a whole line.

    Args:
        words: words of the page, in reading order.
        lines: identifier of the line of each word.
        passages: gold passages of this page.

    Returns:
        One value per word.
    """
    kept = [(place, folded) for place, word in enumerate(words) if (folded := fold(word))]
    tokens = [folded for _, folded in kept]
    found = [False] * len(tokens)
    for passage in passages:
        wanted = [folded for word in _WORD.findall(passage) if (folded := fold(word))]
        hit = _tiles(tokens, wanted)
        _close_gaps(hit)
        if len(wanted) >= 2 * _SHORTEST:
            _drop_chance(hit, tokens)
        found = [old or new for old, new in zip(found, hit, strict=True)]
    found = [old or new for old, new in zip(found, _whole_lines(kept, lines, passages), strict=True)]
    marks = [False] * len(words)
    for (place, _), value in zip(kept, found, strict=True):
        marks[place] = value
    for (before, _), (after, _) in pairwise(kept):
        if marks[before] and marks[after]:  # signs between two marked words belong to them
            marks[before:after] = [True] * (after - before)
    return marks


def marked_boxes(words: Sequence[Mapping[str, Any]], passages: Sequence[str]) -> list[Box]:
    """Boxes around the words of a page that repeat the passages, one for each run on a line.

    Args:
        words: as in ``filing_pages``, with edges in points, ``text``, ``block`` and ``line``.
        passages: gold passages of this page.
    """
    lines = [(word["block"], word["line"]) for word in words]
    marks = marked_words([word["text"] for word in words], lines, passages)
    boxes: list[Box] = []
    before: tuple[int, int] | None = None
    for word, mark in zip(words, marks, strict=True):
        line = (word["block"], word["line"]) if mark else None
        if line is not None:
            box = (word["x0"], word["y0"], word["x1"], word["y1"])
            if line == before:
                box = _around(boxes.pop(), box)
            boxes.append(box)
        before = line
    return boxes


def marked_spans(text: str, passages: Sequence[str]) -> list[tuple[int, int]]:
    """Start and end of the stretches of a text that repeat the passages."""
    found = list(_WORD.finditer(text))
    ends = [place for place, character in enumerate(text) if character == "\n"]
    lines = [bisect(ends, word.start()) for word in found]
    marks = marked_words([word.group() for word in found], lines, passages)
    spans: list[tuple[int, int]] = []
    before = False
    for word, mark in zip(found, marks, strict=True):
        if mark:
            start = spans.pop()[0] if before else word.start()
            spans.append((start, word.end()))
        before = mark
    return spans


def _around(first: Box, second: Box) -> Box:
    return (
        min(first[0], second[0]),
        min(first[1], second[1]),
        max(first[2], second[2]),
        max(first[3], second[3]),
    )


def _tiles(tokens: Sequence[str], wanted: Sequence[str]) -> list[bool]:
    """Tokens of a page that are covered by runs of a passage, each word of the passage used once.

    Greedy string tiling (Wise, 1993, "String similarity via greedy string tiling and running Karp-Rabin
    matching"): the longest runs first, then those that are left, in whatever order they stand.
    """
    page: list[Hashable] = list(tokens)
    passage: list[Hashable] = list(wanted)
    hit = [False] * len(tokens)
    least = min(RUN, len(wanted))
    for _ in range(_PASSES if least else 0):
        blocks = SequenceMatcher(None, passage, page, autojunk=False).get_matching_blocks()
        found = [block for block in blocks if block.size >= least]
        if not found:
            break
        for block in found:
            hit[block.b : block.b + block.size] = [True] * block.size
            for step in range(block.size):  # what is used up is like nothing else
                passage[block.a + step], page[block.b + step] = ("passage", block.a + step), None
    return hit


def _whole_lines(
    kept: Sequence[tuple[int, str]], lines: Sequence[Hashable], passages: Sequence[str]
) -> list[bool]:
    """Words of lines that are lines of a passage too: of two words or more, or a number."""
    wanted = {
        tuple(folded for word in _WORD.findall(line) if (folded := fold(word)))
        for passage in passages
        for line in passage.splitlines()
    }
    hit: list[bool] = []
    for _, group in groupby(kept, key=lambda item: lines[item[0]]):
        tokens = tuple(folded for _, folded in group)
        number = len(tokens) == 1 and tokens[0].isdecimal() and len(tokens[0]) >= _SHORTEST_NUMBER
        hit += [tokens in wanted and (len(tokens) > 1 or number)] * len(tokens)
    return hit


def _close_gaps(hit: list[bool]) -> None:
    marked = [place for place, value in enumerate(hit) if value]
    for before, after in pairwise(marked):
        if after - before <= _GAP + 1:
            hit[before:after] = [True] * (after - before)


def _drop_chance(hit: list[bool], tokens: Sequence[str]) -> None:
    start = 0
    while start < len(hit):
        end = start
        while end < len(hit) and hit[end]:
            end += 1
        run = tokens[start:end]
        if run and len(run) < _SHORTEST and not any(c.isdigit() for token in run for c in token):
            hit[start:end] = [False] * (end - start)
        start = max(end, start + 1)
