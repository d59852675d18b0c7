"""Numbers that are the second line of a text, such as '31' under 'December'."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from finrag_pipeline.tables.words.lexicon import calls_for_number
from finrag_pipeline.tables.words.rows import Line, Segment
from finrag_pipeline.tables.words.tokens import NUMBER, TEXT

_SMALL = re.compile(r"\d{1,2},?")


def settle_wrapped_numbers(lines: Sequence[Line]) -> None:
    """Mark as text, in place, each small number that completes the text above it."""
    for above, line in pairwise(lines):
        for place, segment in enumerate(line.segments):
            small = segment.kind == NUMBER and segment.words == 1 and _SMALL.fullmatch(segment.text)
            if small and line.y0 - above.y1 < 0.8 * line.height and _completes(segment, above):
                line.segments[place] = segment._replace(kind=TEXT)


def _completes(segment: Segment, above: Line) -> bool:
    return any(
        s.kind == TEXT and s.x0 < segment.x1 and segment.x0 < s.x1 and calls_for_number(s.text)
        for s in above.segments
    )
