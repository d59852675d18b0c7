"""Which part of the report a page belongs to: front matter, MD&A, selected data, statements or notes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from finrag_pipeline.statements.page_evidence import squeezed

_HEADINGS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "summary",
        re.compile(
            r"^(?:part[iv]{1,3})?item6[a-z]?(?:selected)|^selected(?:consolidated|historical)*financialdata$"
        ),
    ),
    (
        "mdna",
        re.compile(
            r"^(?:part[iv]{1,3})?item[27]managementsdiscussion|^managementsdiscussionandanalysis(?:$|offinancialcondition)"
        ),
    ),
    (
        "statements",
        re.compile(
            r"^(?:part[iv]{1,3})?item[18]?(?:consolidated|condensed)?financialstatements"
            r"|^reportofindependentregistered"
        ),
    ),
    (
        "note",
        re.compile(r"^notes?to(?:the)?(?:unaudited|condensed|consolidated|interim)*financialstatements"),
    ),
    (
        "other",
        re.compile(
            r"^(?:part[iv]{1,3})?item(?:9|15|16|1a|4)[abc]?[a-z]{4,}|^exhibitindex|^partiv|^signatures$"
        ),
    ),
)
_ITEM = re.compile(r"^item\d|^part[iv]", re.IGNORECASE)
_HEAD_LINES = 12
_CONTENTS_ITEMS = 6
_DIGITS_TOO = re.compile(r"[^a-z0-9]+")


def page_sections(texts: Sequence[str]) -> list[str]:
    """Section of each page: front, summary, mdna, statements, note or other.

    A heading near the top of a page opens a section, which lasts to the next heading; running heads repeat
    it. Pages that list many items (tables of contents) open none.
    """
    sections = []
    current = "front"
    for text in texts:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        items = sum(bool(_ITEM.match(line)) for line in lines)
        if items < _CONTENTS_ITEMS:
            for place, line in enumerate(lines[: 3 * _HEAD_LINES]):
                if len(line) > 130:
                    continue
                letters = _DIGITS_TOO.sub("", line.lower())
                name = next((name for name, pattern in _HEADINGS if pattern.search(letters)), None)
                # 'Item 7.' may stand on a line of its own before its name.
                if name is None and re.fullmatch(r"item\d[a-c]?", letters) and place + 1 < len(lines):
                    letters += squeezed(lines[place + 1])
                    name = next((name for name, pattern in _HEADINGS if pattern.search(letters)), None)
                if name:
                    current = name
                    break
        sections.append(current)
    return sections
