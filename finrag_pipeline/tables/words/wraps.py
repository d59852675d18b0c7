"""Numbers that are part of a text: '31' under 'December', '2 Years' among the choices of a vote."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from finrag_pipeline.tables.words.lexicon import calls_for_number
from finrag_pipeline.tables.words.rows import Line, Segment
from finrag_pipeline.tables.words.tokens import DASH, NUMBER, TEXT

_SMALL = re.compile(r"\d{1,2},?")
_CHOICE = re.compile(r"(?:every )?(one|two|three|four|five|[1-5]) years?", re.I)
_COUNTED = ("one", "two", "three", "four", "five")


def settle_wrapped_numbers(lines: Sequence[Line]) -> None:
    """Mark as text, in place, each small number that completes the text above it."""
    for above, line in pairwise(lines):
        for place, segment in enumerate(line.segments):
            small = segment.kind == NUMBER and segment.words == 1 and _SMALL.fullmatch(segment.text)
            if small and line.y0 - above.y1 < 0.8 * line.height and _completes(segment, above):
                line.segments[place] = segment._replace(kind=TEXT)


def settle_choices(lines: Sequence[Line]) -> None:
    """Mark as text, in place, spans of time that head columns: '1 Year', '2 Years', '3 Years', 'Abstain'.

    No figure stands beside them, and each is one year longer than the one before.
    """
    for line in lines:
        found = [_CHOICE.fullmatch(segment.text) for segment in line.segments]
        years = [match[1].lower() for match in found if match]
        if len(years) < 2:
            continue
        counts = [int(year) if year.isdigit() else _COUNTED.index(year) + 1 for year in years]
        rising = all(b == a + 1 for a, b in pairwise(counts))
        others = [s for s, match in zip(line.segments, found, strict=True) if not match]
        if rising and not any(s.kind in (NUMBER, DASH) for s in others):
            line.segments = [s._replace(kind=TEXT) if s.is_value else s for s in line.segments]


def _completes(segment: Segment, above: Line) -> bool:
    return any(
        s.kind == TEXT and s.x0 < segment.x1 and segment.x0 < s.x1 and calls_for_number(s.text)
        for s in above.segments
    )
