"""Periods that column headers and row labels name."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from finrag_pipeline.filings.names import ORDINALS
from finrag_pipeline.tables.fiscal_calendar import DAY, FiscalCalendar, month_end, start_of
from finrag_pipeline.tables.values import INVISIBLE

PeriodKind = Literal["instant", "duration"]


@dataclass(frozen=True, slots=True)
class Period:
    """An instant or a duration.

    Attributes:
        kind: instant or duration.
        start: first day of a duration, where known.
        end: last day, or the instant; None where only a year or a quarter is named and the filing's
            calendar is not known.
        fiscal_year: name of the fiscal year it falls in, as the filing names its years.
        fiscal_quarter: 1 to 4 for a duration of three months.
    """

    kind: PeriodKind
    start: dt.date | None = None
    end: dt.date | None = None
    fiscal_year: int | None = None
    fiscal_quarter: int | None = None


MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_YEAR = r"(?<![\d,.$])(?P<year>(?:19|20)\d\d)(?![\d%])(?!,\d{3}|\.\d)"
_SHORT_YEAR = r"['’]?(?P<short>\d\d)(?!\d)"
_MONTH_DAY_YEAR = re.compile(rf"\b{_MONTH}\s*(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s*,?\s*{_YEAR}")
_DAY_MONTH_YEAR = re.compile(rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+{_MONTH},?\s*{_YEAR}")
_SLASHED = re.compile(
    r"(?<!\d)(?P<number>\d{1,2})/(?P<day>\d{1,2})/(?:(?P<year>(?:19|20)\d\d)|(?P<short>\d\d))(?!\d)"
)
_MONTH_DAY = re.compile(rf"\b{_MONTH}\s*(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)")
_MONTH_YEAR = re.compile(rf"\b{_MONTH}\s*[-,]?\s*(?:{_YEAR}|['’-](?P<short>\d\d)(?!\d))")
_YEARS = re.compile(_YEAR)
_FISCAL = re.compile(rf"\b(?:fiscal(?:\s+years?)?|fy)\s*(?:{_YEAR}|{_SHORT_YEAR})")

_QUARTER = re.compile(
    r"\b(?:q(?P<a>[1-4])|(?P<b>[1-4])q|(?P<c>first|second|third|fourth|1st|2nd|3rd"
    r"|4th)\s+(?:fiscal\s+)?(?:quarter|qtr)"
    r"|quarter\s+(?P<d>[1-4])\b)"
)
_QUARTER_SHORT_YEAR = re.compile(rf"\b(?:q[1-4]|[1-4]q)[\s\-]*(?:fy)?\s*{_SHORT_YEAR}")
_ORDINAL_ALONE = re.compile(r"(?:quarters? )?(first|second|third|fourth|1st|2nd|3rd|4th)(?:\s*\(\w{1,2}\))*")
_QUARTER_ALONE = re.compile(
    r"(?:the )?(?:q[1-4]|quarter [1-4]|"
    r"(?:first|second|third|fourth|1st|2nd|3rd|4th) (?:fiscal )?(?:quarter|qtr\.?))"
    r"(?:\s*\(\w{1,2}\))*:?",
    re.IGNORECASE,
)
_COUNTS = {
    "three": 3, "six": 6, "nine": 9, "twelve": 12, "twenty": 20, "thirteen": 13, "fourteen": 14,
    "sixteen": 16, "thirty": 30, "forty": 40, "fifty": 50, "one": 1, "two": 2, "four": 4, "five": 5,
    "seven": 7, "eight": 8, "eleven": 11, "ten": 10,
}  # fmt: skip
_LENGTH = re.compile(
    r"\b(?P<count>\d{1,2}|(?:(?:twenty|thirty|forty|fifty)[\s-]?)?(?:one|two|three|four|five|six|seven"
    r"|eight|nine)|ten|eleven"
    r"|twelve|thirteen|fourteen|sixteen|twenty|thirty|forty|fifty)[\s-]*(?P<unit>months?|weeks?"
    r"|mos\.?)\b(?P<ended>[\s-]*(?:periods?\s*)?end)?"
)
_YEAR_LONG = re.compile(
    r"\b(?:years?|twelve[\s-]months|annual periods?)\s*-?\s*end(?:ed|ing)|\bfull[\s-]years?\b"
    r"|\bfor the years?\b"
    r"|\byears? to\b|\bcalendar years?\b"
)
_QUARTER_LONG = re.compile(
    r"\b(?:fiscal )?(?:quarter|quarterly period)s?\s*-?\s*end(?:ed|ing)|\bfor the quarters?\b"
    r"|\bthree months\b"
)
_TWO_LENGTHS = re.compile(
    rf"\b(?:{'|'.join(_COUNTS)}|\d{{1,2}})(?:[\s-]*(?:months?|weeks?))?\s*(?:and|,|&)\s*"
    rf"(?:{'|'.join(_COUNTS)}|\d{{1,2}})[\s-]*(?:months?|weeks?)"
)
_TO_DATE = re.compile(r"\byear[\s-]to[\s-]date\b|\bytd\b")
_ENDED = re.compile(r"\bend(?:ed|ing)\b|\bthrough\b")
_AT = re.compile(r"\bas (?:of|at)\b|\bbalances? (?:at|as|,)|^at\b|\bat\s+(?=[a-z]{3,9}\.?\s*\d)")
_POSITION = re.compile(
    r"balance sheets?|financial (?:position|condition)|\bas (?:of|at)\b|\bat (?:year[\s-]end"
    r"|(?:[a-z]{3,9}\.? \d))"
)
_DAY_ALONE = re.compile(rf"(?:\([^)]*\)\s*)?{_MONTH}\s*\d{{1,2}},?(?:\s*\([^)]*\))?")
_FLOW = re.compile(
    r"(?:statements?|results) of (?:consolidated )?(?:income|operations|earnings|cash flows?|comprehensive"
    r"|loss)"
    r"|income statements?|cash flows? statements?|\bend(?:ed|ing)\b"
)
_NOT_A_PERIOD = re.compile(
    r"\bvs\.?\b|\bversus\b|\bcompared\b|\bthereafter\b|\b(?:19|20)\d\d\s*[-–—/]\s*(?:(?:19|20)\d\d|\d\d)\b"
    r"|\b(?:after|beyond|before)\b"
    r"|\b(?:19|20)\d\d\s*(?:to|through|and)\s*(?:19|20)\d\d|\bover\b|\bless than\b|\bcumulative\b"
    r"|\binception\b"
)
_QUARTERLY, FEWEST_QUARTERS = (80, 105), 3
"""Days from the end of a quarter to that of the next, and how many of them make a table one of quarters."""

_DASHES = str.maketrans({"–": "-", "—": "-", "−": "-", "’": "'", "\u00a0": " "}) | INVISIBLE


def quarter_named(path: Sequence[str], quarterly: bool) -> int | None:
    """The quarter of a year, 1 to 4, that headers name, innermost first.

    Args:
        path: headers, outermost first, as printed.
        quarterly: what stands around them speaks of quarters, so that '4th' is one.
    """
    pieces = [_plain(piece) for piece in path if piece]
    quarterly = quarterly or any("quarter" in piece for piece in pieces)
    return next((found for piece in reversed(pieces) if (found := _quarter(piece, quarterly))), None)


def _plain(piece: str) -> str:
    return " ".join(piece.translate(_DASHES).lower().split())


def _quarter(piece: str, quarterly: bool) -> int | None:
    if quarter := _QUARTER.search(piece):
        named = quarter["a"] or quarter["b"] or quarter["d"]
        return int(named) if named else ORDINALS[quarter["c"]]
    ordinal = _ORDINAL_ALONE.fullmatch(piece) if quarterly else None
    return ORDINALS[ordinal[1]] if ordinal else None


def parse_periods(
    column_path: Sequence[str], context: FiscalCalendar, hints: Sequence[str] = ()
) -> Period | None:
    """The period that the headers above a column name, or None.

    Full dates are taken as they stand. A bare year or quarter is that of the filing's own calendar. A
    duration comes from the headers ('Nine months ended'), else from the hints ('Years ended June 30' in the
    caption); a date without any is an instant, a bare year without any a year, unless the hints
    speak of a balance sheet or of a day ('At December 31').

    Args:
        column_path: headers, outermost first, as printed.
        context: the filing's calendar; what it does not know stays None in the period.
        hints: label above the row labels, caption and lines above the table; nearest first.
    """
    return _parse(tuple(column_path), context, tuple(hints))


@dataclass(slots=True)
class _Words:
    """What the words of a path name."""

    day: dt.date | None = None
    month_day: tuple[int, int] | None = None
    month: int | None = None
    year: int | None = None
    fiscal: int | None = None
    quarter: int | None = None
    months: int | None = None
    weeks: int | None = None
    to_date: bool = False
    ended: bool = False
    at: bool = False
    unclear: bool = False
    """The hints name two lengths, and the headers none."""


@lru_cache(maxsize=65536)
def _parse(path: tuple[str, ...], context: FiscalCalendar, hints: tuple[str, ...]) -> Period | None:
    pieces = [_plain(piece) for piece in path if piece]
    if not pieces:
        return None
    words = _read(pieces)
    if words is not None:
        words.quarter = quarter_named(path, any("quarter" in hint.lower() for hint in hints))
    if words is None or (words.day is None and words.year is None and words.fiscal is None):
        return None
    if words.quarter and words.day is not None and words.months == 12:
        # 'First Quarter' under 'Year Ended December 31, 2016'
        words.fiscal, words.day, words.months = context.year_of(words.day) or words.day.year, None, None
    hinted = _hint(hints, words, context)
    if words.day is None:
        words.day = _completed(words, context)
    return _resolve(words, hinted, context)


def _read(pieces: list[str]) -> _Words | None:
    """What the pieces say; the innermost piece that names a year or day wins. None for no single period."""
    words = _Words()
    for piece in reversed(pieces):
        _lengths(piece, words)
        words.ended |= bool(_ENDED.search(piece))
        words.at |= bool(_AT.search(piece))
        if words.day is not None:
            continue
        days = _days(piece)
        years = {int(match["year"]) for match in _YEARS.finditer(piece)}
        fiscal = _FISCAL.search(piece)
        if fiscal and words.fiscal is None and words.year is None:
            words.fiscal = int(fiscal["year"]) if fiscal["year"] else 2000 + int(fiscal["short"])
            if len(days) == 1 or len(years) == 1:
                years = set()
        if len(set(days)) == 1 and words.year in (None, days[0].year):
            words.day = days[0]
            continue
        if words.month_day is None and words.month is None:
            _month_day(piece, words)
        if words.year is None and words.fiscal is None:
            if len(years) == 1 and not _NOT_A_PERIOD.search(piece):
                words.year = years.pop()
            elif years:
                return None
            elif short := _QUARTER_SHORT_YEAR.search(piece):
                words.year = 2000 + int(short["short"])
    return words


def only_quarter(text: str) -> bool:
    """Whether a text is nothing but a quarter of a year: 'First quarter', 'Q3 (a)'."""
    return _QUARTER_ALONE.fullmatch(text.strip()) is not None


def are_quarters(ends: Collection[dt.date]) -> bool:
    """Whether three days or more follow upon each other as the last ones of quarters do."""
    days = sorted(ends)
    apart = [(later - earlier).days for earlier, later in itertools.pairwise(days)]
    run = [near for near in apart if _QUARTERLY[0] <= near <= _QUARTERLY[1]]
    return len(days) >= FEWEST_QUARTERS and len(run) >= max(len(apart) - 1, FEWEST_QUARTERS - 1)


def quarter_to(end: dt.date, context: FiscalCalendar) -> Period:
    """The quarter that ends on a day."""
    start = start_of(end, 3, None, context.weekly)
    return Period("duration", start, end, context.year_of(end) or end.year, context.quarter_of(end))


def _days(piece: str) -> list[dt.date]:
    found = []
    for pattern in (_MONTH_DAY_YEAR, _DAY_MONTH_YEAR, _SLASHED):
        for match in pattern.finditer(piece):
            groups = match.groupdict()
            year = int(groups["year"]) if groups.get("year") else 2000 + int(groups["short"])
            month = MONTHS.index(groups["month"][:3]) + 1 if groups.get("month") else int(groups["number"])
            try:
                found.append(dt.date(year, month, int(groups["day"])))
            except ValueError:
                continue
        if found:
            break
    return found


def month_and_day(text: str) -> tuple[int, int] | None:
    """The first day that a text names, whatever the year."""
    match = _MONTH_DAY.search(text.lower())
    return (MONTHS.index(match["month"][:3]) + 1, int(match["day"])) if match else None


def without_days(text: str) -> str:
    """The words of a text beside its day, where it has one and other words; else ''."""
    bare, dates = _MONTH_DAY_YEAR.subn("", text.lower())
    return " ".join(re.findall("[a-z]+", bare)) if dates == 1 and not _ENDED.search(bare) else ""


def day_of(year: int, month: int, day: int) -> dt.date | None:
    """The day of a year; a last of February that it lacks is its last. None where there is none."""
    try:
        return dt.date(year, month, day)
    except ValueError:
        return month_end(year, month) if 1 <= month <= 12 and day > 28 else None


def _month_day(piece: str, words: _Words) -> None:
    if found := month_and_day(piece):
        words.month_day = found
    elif match := _MONTH_YEAR.search(piece):
        words.month = MONTHS.index(match["month"][:3]) + 1


def _lengths(piece: str, words: _Words) -> None:
    """Length of the period that a piece names, unless an inner piece did."""
    if words.months or words.weeks or words.to_date:
        return
    if (length := _LENGTH.search(piece)) and (
        length["ended"] or piece.endswith(length[0]) or "year" not in piece
    ):
        count = _count(length["count"])
        if length["unit"].startswith("w"):
            words.weeks = count if count in range(4, 54) else None
        elif count in (1, 3, 6, 9, 12):
            words.months = count
    elif _QUARTER_LONG.search(piece):
        words.months = 3
    elif _TO_DATE.search(piece):
        words.to_date = True
    elif _YEAR_LONG.search(piece):
        words.months = 12


def _count(text: str) -> int:
    if text.isdigit():
        return int(text)
    apart = re.sub(r"(twenty|thirty|forty|fifty)(?=[a-z])", r"\1 ", text)
    return sum(_COUNTS[word] for word in re.findall(r"[a-z]+", apart))


def _hint(hints: tuple[str, ...], words: _Words, context: FiscalCalendar) -> PeriodKind | None:
    """Kind the hints speak of; takes length and day of the month from them where the path has none.

    'December 29, 2024 and December 31, 2023' has a day of its own for each year.
    """
    for hint in hints:
        piece = _plain(hint)
        kind: PeriodKind = "instant"
        if _FLOW.search(piece):
            kind = "duration"
            lengths = {match["count"] for match in _LENGTH.finditer(piece) if match["ended"]}
            if _TWO_LENGTHS.search(piece):
                words.unclear = True
            elif len(lengths) < 2 and not (words.months or words.weeks or words.quarter or words.to_date):
                _lengths(piece, words)
        elif not (_POSITION.search(piece) or _DAY_ALONE.fullmatch(piece)):
            continue
        undated = not (words.month_day or words.month or words.day or words.quarter)
        if undated and words.year is not None:
            days = _days(piece)
            words.day = next((day for day in days if day.year == words.year), None)
            if not (days and context.weekly):
                _month_day(piece, words)
            words.month = None
        return kind
    return None


def _completed(words: _Words, context: FiscalCalendar) -> dt.date | None:
    """The day of 'June 30' and '2022', or of 'June 2022'; that of 'June 30' in 'Fiscal 2016'."""
    if words.month_day is None:
        return month_end(words.year, words.month) if words.year is not None and words.month else None
    if words.year is not None:
        return day_of(words.year, *words.month_day)
    if words.fiscal is None:
        return None
    days = (day_of(words.fiscal + off, *words.month_day) for off in (-1, 0, 1))
    return next((day for day in days if day and context.year_of(day) == words.fiscal), None)


def _resolve(words: _Words, hinted: PeriodKind | None, context: FiscalCalendar) -> Period | None:
    year = words.fiscal if words.fiscal is not None else words.year
    length = words.months or words.weeks or words.to_date
    if words.day is not None:
        lasts = length or words.ended or words.quarter or (hinted == "duration" and not words.month)
        if words.month and not hinted and not lasts:
            words.months, lasts = 1, True
        if lasts and (words.ended or not words.at):
            return _duration(words.day, words, context)
        return Period("instant", None, words.day, words.fiscal or context.year_of(words.day))
    assert year is not None
    if words.quarter or (words.months == 3 and context.fiscal_quarter):
        quarter = words.quarter or context.fiscal_quarter or 4
        end = context.quarter_end(year, quarter)
        start = start_of(end, words.months or 3, None, context.weekly) if end else None
        return Period("duration", start, end, year, quarter)
    if words.to_date or (words.months in (6, 9)):
        quarter = (words.months or 0) // 3 or context.fiscal_quarter or 4
        end = context.quarter_end(year, quarter)
        start = start_of(end, 3 * quarter, None, context.weekly) if end else None
        return Period("duration", start, end, year)
    end = context.year_end(year)
    if (hinted == "instant" or words.at) and not words.months and not words.weeks:
        return Period("instant", None, end, year)
    return Period("duration", _year_start(end, year, words, context), end, year)


def _duration(end: dt.date, words: _Words, context: FiscalCalendar) -> Period:
    months, weeks = words.months, words.weeks
    if words.unclear and not (months or weeks or words.quarter or words.to_date):
        return Period("duration", None, end, words.fiscal or context.year_of(end))
    if words.quarter and not (months or weeks):
        months = 3
    if words.to_date:
        months = 3 * (context.quarter_of(end) or 4)
    year = words.fiscal or context.year_of(end)
    if (months or 12) == 12 and not weeks:
        # Without a calendar a year carries the name of the one it lies in.
        year = (end - 8 * DAY).year if year is None else year
        return Period("duration", _year_start(end, year, words, context), end, year)
    start = start_of(end, months, weeks, context.weekly)
    three = months == 3 or (weeks is not None and 12 <= weeks <= 17)
    return Period("duration", start, end, year, (words.quarter or context.quarter_of(end)) if three else None)


def _year_start(
    end: dt.date | None, year: int | None, words: _Words, context: FiscalCalendar
) -> dt.date | None:
    """First day of a year: the day after the last one ended, where both ends are known."""
    if end is None:
        return None
    if words.weeks:
        return start_of(end, None, words.weeks, True)
    if year is not None and context.weekly and context.year_end(year) == end:
        before = context.year_end(year - 1)
        if before is not None and 360 <= (end - before).days <= 372:
            return before + DAY
    return start_of(end, 12, None, False)
