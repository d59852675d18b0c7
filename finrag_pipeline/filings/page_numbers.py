"""Page numbers as printed: found in the first and last lines of pages, and by the sequence that they form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_HEAD, _FOOT = 3, 4
"""Lines at the head and the foot of a page among which its number is looked for."""
_NEAR = 4
"""Pages to both sides whose numbers must go on in step."""
_MOST = 2000
_NUMBER = r"(?P<prefix>[A-Z]{1,2}-)?(?P<number>\d{1,4})"
_ROMAN = r"(?P<roman>[ivxl]{1,6})"
_ALONE = re.compile(
    rf"[-–—\s]*(?:page\s+)?(?:(?i:{_ROMAN})|{_NUMBER})(?:\s+of\s+\d+)?[-–—.\s]*", re.IGNORECASE
)
_BEHIND = re.compile(rf".*[\s|•·.–—-](?:{_ROMAN}|{_NUMBER})\.?")
_BEFORE = re.compile(rf"{_NUMBER}[\s|•·–—]\s*\D.*")
_ROMAN_SERIES = "roman"
_ROMANS = {"i": 1, "v": 5, "x": 10, "l": 50}


class _Candidate(NamedTuple):
    label: str
    series: tuple[str, int]
    """Prefix, and number less the index of the page: the same for all pages that are counted on."""
    sure: float
    """How much its own line says for it: 1 where it can hardly be anything else."""


def printed_numbers(pages: Sequence[Sequence[str]]) -> list[str | None]:
    """The page number that each page prints, such as ``17``, ``F-3`` or ``iv``; None where it prints none.

    A single page between two that count on has the number between theirs. ``pages`` are the lines of each
    page in order.
    """
    found = [list(_candidates(lines, page)) for page, lines in enumerate(pages)]
    chosen: list[_Candidate | None] = []
    for page, candidates in enumerate(found):
        around = [*found[max(0, page - _NEAR) : page], *found[page + 1 : page + _NEAR + 1]]
        near = Counter(series for others in around for series in {one.series for one in others})
        best = max(candidates, key=lambda one: near[one.series] + one.sure, default=None)
        chosen.append(best if best and near[best.series] + best.sure >= 1 else None)
    for page in range(1, len(pages) - 1):
        before, after = chosen[page - 1], chosen[page + 1]
        if chosen[page] is None and before and after and before.series == after.series:
            # The one page between 8 and 10.
            prefix, offset = before.series
            if prefix != _ROMAN_SERIES:
                chosen[page] = _Candidate(f"{prefix}{offset + page}", before.series, 0)
    return [one.label if one else None for one in chosen]


def _candidates(lines: Sequence[str], page: int) -> Iterator[_Candidate]:
    """What may be the number of a page, the likeliest first: at its foot, then at its head."""
    shown = [line.strip() for line in lines if line.strip()]
    for place, line in enumerate([*reversed(shown[-_FOOT:]), *shown[:_HEAD]]):
        for pattern in (_ALONE, _BEHIND, _BEFORE):
            if not (match := pattern.fullmatch(line)):
                continue
            alone, groups = pattern is _ALONE, match.groupdict()
            sure = 0.5 * (alone + ((alone and place == 0 and not groups["number"]) or bool(groups["prefix"])))
            if roman := groups.get("roman"):
                yield _Candidate(roman, (_ROMAN_SERIES, _roman(roman.lower()) - page), sure)
            elif int(groups["number"]) <= _MOST:
                prefix = (groups["prefix"] or "").upper()
                yield _Candidate(
                    f"{prefix}{int(groups['number'])}", (prefix, int(groups["number"]) - page), sure
                )


def _roman(text: str) -> int:
    values = [_ROMANS[letter] for letter in text]
    return sum(-one if one < after else one for one, after in zip(values, [*values[1:], 0], strict=True))
