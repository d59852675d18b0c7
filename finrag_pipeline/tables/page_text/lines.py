"""What each line of a page's text is: numbers, a period, units, a note, or words that may label a row.

Extractors that follow the layout (pdfminer is the common one) write a table as blocks parted by blank
lines: a block of labels, then each column's numbers as blocks of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

_ATOM = re.compile(
    r"""\s*(?:
      (?P<sign>(?:US|C|A|HK|NZ|S|R)?[$]|[€£¥])(?!\s*[(]?[-\d.—–])
    | (?P<number>(?:(?:US|C|A|HK|NZ|S|R)?[$]|[€£¥])?\s*[(]?\s?(?:(?:US|C)?[$]|[€£¥])?\s?[-−–]?
        (?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)\s?[)]?\s?%?\s?[)]?)(?![\w/,])
    | (?P<dash>(?:(?:US|C)?[$]|[€£¥])?\s?(?:—|–|-|--)\s?%?)(?=\s|$|[$€£¥])
    | (?P<missing>N/A|n/a|NM|nm|N/M|n/m|[*]{1,2})(?=\s|$)
    )""",
    re.VERBOSE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
# fmt: off
_MONTHS = [
    "january", "february", "march", "april", "may", "june", "july", "august",
    "september", "october", "november", "december", "jan", "feb", "mar", "apr", "jun",
    "jul", "aug", "sept", "sep", "oct", "nov", "dec",
]
_PERIOD_WORDS = frozenset([
    *_MONTHS,
    "year", "years", "ended", "ending", "end", "fiscal", "month", "months",
    "week", "weeks", "quarter", "quarters", "quarterly", "three", "six", "nine",
    "twelve", "thirteen", "twenty-six", "thirty-nine", "fifty-two", "fifty-three", "first", "second",
    "third", "fourth", "as", "of", "at", "for", "the", "and",
    "to", "through", "period", "periods", "unaudited", "audited", "restated", "adjusted",
    "revised", "day", "days", "half",
])
# fmt: on
_PERIOD_CORE = frozenset([*_MONTHS, "year", "years", "ended", "months", "weeks", "quarter", "fiscal"])
_UNITS = re.compile(
    r"(?i)[(\[]?.*\b(?:in|amounts?|dollars|shares|u\.s\.)\b.*\b(?:millions?|thousands?|billions?)\b.*"
    r"|[(\[]\s*(?:in\s+)?(?:(?:u\.?s\.?\s+)?(?:dollars|[$€£¥])\s*(?:in\s+)?)?(?:millions?|thousands?|billions?)\b.*"
    r"|[(\[]unaudited[)\]]"
)
_NOTE = re.compile(
    r"(?i)(?:see|refer to|the)\s+(?:the\s+)?(?:accompanying\s+)?notes?\b.*|(?:see|the) accompanying .*"
    r"|table of contents|.*\bare an integral part\b.*|.*\bform 10-[kq]$"
)
_UNFINISHED = re.compile(r"(?i).*(?:\b(?:and|of|to|the|for|in|on|by|from|or|with|at|than)|[,(—–&/])$")
_LINKING = re.compile(r"[a-z]|(?:AND|OF|IN|TO|FOR|FROM|BY)$")
_TITLE_WORDS = re.compile(r"(?i)\b(?:consolidated|statements? of|balance sheets?)\b")
_WORDS = ("label", "period", "note", "units")
_STOCK = re.compile(r"(?i)(?:\S+ ){0,4}(?:stock|shares)\b.*\b(?:par|authorized|issued|outstanding|cost)\b")
_PROSE_LENGTH = 95


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a block.

    Attributes:
        text: as printed, with its sign of currency if that stands on the same line.
        value: its value as printed, None for a mark such as 'N/A'.
        decimals: digits after the point; -1 for dashes and marks.
        percent: whether a per cent sign follows.
        line: line of the page.
        block: block of the page.
        dollar: a currency sign stands before it.
        after: a currency sign ends its line, that of the next column: so it is not in the last one.
    """

    text: str
    value: float | None
    decimals: int
    percent: bool
    line: int
    block: int
    dollar: bool = False
    after: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A line, or the lines that a wrapped label was broken into.

    Attributes:
        kind: label, numbers, row (label and numbers), year, period, units, note, prose, or sign.
        text: without outer white space.
        line, block: first line and block on the page.
        indent: leading blanks.
        numbers: for numbers and row.
    """

    kind: str
    text: str
    line: int
    block: int
    indent: int = 0
    numbers: tuple[Number, ...] = field(default=())


def read_lines(text: str) -> list[Line]:
    """The lines of a page in order, wrapped labels joined, blank lines left out."""
    lines: list[Line] = []
    for block, (start, block_lines) in enumerate(_blocks(text)):
        read = [_read(line, start + place, block) for place, line in enumerate(block_lines)]
        joined = _joined(read)
        if lines and _closes(lines[-1], joined[0]):
            lines[-1] = replace(lines[-1], text=f"{lines[-1].text} {joined[0].text}")
            joined = joined[1:]
        lines += joined
    return lines


def _closes(last: Line, line: Line) -> bool:
    """Whether a line of the next block closes a parenthesis that the label before it left open."""
    return (
        last.kind == line.kind == "label"
        and last.text.count("(") > last.text.count(")")
        and line.text.count(")") > line.text.count("(")
    )


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    held: list[str] = []
    start = 0
    for number, line in enumerate(text.replace("\u00a0", " ").split("\n")):
        if line.strip():
            if not held:
                start = number
            held.append(line)
        elif held:
            yield start, held
            held = []
    if held:
        yield start, held


def _read(line: str, number: int, block: int) -> Line:
    text = line.strip()
    kind, found = classify(text)
    numbers = tuple(replace(one, line=number, block=block) for one in found)
    return Line(kind, text, number, block, len(line) - len(line.lstrip()), numbers)


@lru_cache(maxsize=4096)
def classify(text: str) -> tuple[str, tuple[Number, ...]]:
    """Kind of a line, and its numbers."""
    first = text[0]
    if first.isdigit() or first in "$€£¥(-—–−.*NnUC":
        numbers = _atoms(text)
        if numbers is not None:
            if not numbers:
                return "sign", ()
            if all(_YEAR.fullmatch(number.text) for number in numbers):
                return "year", numbers
            return "numbers", numbers
    if _UNITS.fullmatch(text) and len(text) < 140:
        return "units", ()
    if is_period(text):
        return "period", ()
    if _NOTE.fullmatch(text):
        return "note", ()
    row = _row(text)
    if row is not None:
        return "row", row
    if len(text) > _PROSE_LENGTH and len(text.split()) > 12:
        return "long", ()
    return "label", ()


def _atoms(text: str) -> tuple[Number, ...] | None:
    """Numbers of a text that holds nothing else."""
    numbers: list[Number] = []
    sign, place = False, 0
    while place < len(text):
        match = _ATOM.match(text, place)
        if match is None or match.end() == place:
            return None
        place = match.end()
        if match["sign"]:
            sign = True
            continue
        numbers.append(_number(" ".join(match.group().split()), match, sign))
        sign = False
        while place < len(text) and text[place].isspace():
            place += 1
    if sign and numbers:
        numbers[-1] = replace(numbers[-1], after=True)
    return tuple(numbers)


def _number(text: str, match: re.Match[str], sign: bool) -> Number:
    if match["missing"]:
        return Number(text, None, -1, False, 0, 0, sign)
    percent = "%" in text
    dollar = sign or text[0] in "$€£¥UCAHNSR"
    if match["dash"]:
        return Number(text, 0.0, -1, percent, 0, 0, dollar)
    digits = re.sub(r"[^\d.]", "", text)
    negative = "(" in text or "-" in text or "−" in text or "–" in text
    value = float(digits) * (-1 if negative else 1)
    decimals = len(digits.partition(".")[2])
    return Number(text, value, decimals, percent, 0, 0, dollar)


def _row(text: str) -> tuple[Number, ...] | None:
    """Numbers at the end of a line that begins with a label: two, or one that is no year and no note."""
    words = text.split()
    for start in range(1, len(words)):
        if words[start][0].isdigit() or words[start][0] in "$€£¥(—–-.":
            numbers = _atoms(" ".join(words[start:]))
            if not numbers:
                continue
            label = " ".join(words[:start])
            if (
                label[-1] in ",("
                or label.count("(") > label.count(")")
                or not any(letter.isalpha() for letter in label)
            ):
                return None
            whole = [number for number in numbers if number.decimals >= 0]
            counts = [number for number in whole if "," in number.text or number.decimals > 0]
            if len(numbers) >= 2 and whole and not all(_YEAR.fullmatch(number.text) for number in whole):
                return numbers
            return numbers if counts and words[start][0] in "$€£¥" else None
    return None


def is_period(text: str) -> bool:
    """Whether a line says only when: 'Year Ended December 31,', 'June 30, 2023', 'As of'."""
    if len(text) > 60:
        return False
    words = re.findall(r"[a-z]+(?:-[a-z]+)?|\d+", text.lower())
    if not words or not all(word in _PERIOD_WORDS or word.isdigit() for word in words):
        return False
    return any(word in _PERIOD_CORE or _YEAR.fullmatch(word) for word in words)


def _joined(lines: list[Line]) -> list[Line]:
    """Lines of a block with wrapped labels made whole, and justified text set word by word put together."""
    if len(lines) > 1 and all(" " not in line.text and line.kind in _WORDS for line in lines):
        text = " ".join(line.text for line in lines)
        kind = classify(text)[0]
        if (
            kind == "period"
            or any(_LINKING.match(line.text) for line in lines[1:])
            or _TITLE_WORDS.search(text)
        ):
            return [replace(lines[0], kind="label" if kind == "long" else kind, text=text)]
    joined: list[Line] = []
    long: list[int] = []  # lines of the block's width in each joined line
    for line in lines:
        wide = int(line.kind == "long")
        if joined and joined[-1].kind in ("label", "long") and _goes_on(joined[-1], line, long[-1]):
            kind = "long" if joined[-1].kind == "long" or wide else line.kind
            joined[-1] = replace(
                joined[-1],
                kind="row" if line.kind == "row" else "label" if kind in ("period", "numbers") else kind,
                text=f"{joined[-1].text} {line.text}",
                numbers=line.numbers if line.kind == "row" else (),
            )
            long[-1] += wide
        else:
            joined.append(line)
            long.append(wide)
    return [
        replace(line, kind="prose" if _is_prose(line.text, count) else "label")
        if line.kind == "long"
        else line
        for line, count in zip(joined, long, strict=True)
    ]


def _is_prose(text: str, long: int) -> bool:
    """Whether a text with so many lines of full width is a paragraph, not a long label."""
    return text.endswith((".", ";")) or (long > 1 and ". " in text) or (long > 2 and not _STOCK.match(text))


def _goes_on(last: Line, line: Line, long: int) -> bool:
    """Whether a line belongs to the label, or the paragraph, above it."""
    if line.kind == "long" and long:
        return not last.text.endswith(")")
    if line.kind == "numbers" and line.text.count(")") > line.text.count("("):
        return last.text.count("(") > last.text.count(")")
    if line.kind in ("numbers", "sign", "year", "units", "note"):
        return False
    if last.text.count("(") > last.text.count(")") or _UNFINISHED.fullmatch(last.text):
        return True
    return line.text[0].islower() and not last.text.endswith((":", "."))
