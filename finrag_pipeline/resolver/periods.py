"""Fiscal periods and dates a question asks for."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from finrag_pipeline.resolver.lexicon import FORWARD, MONTHS, NUMBERS, ORDINALS

_LONGEST_RANGE = 10
_LOOK_BACK = 60
_CENTURY = 2000
_MASK = "\0"

# Look-arounds, since '\b' finds no end of a word in 'FY2022' or 'Q22023'.
_START, _END = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
_FULL = r"(?:19|20)\d\d"
_NAMED = rf"(?:FY|CY|fiscal(?:\s?years?)?|calendar(?:\s?year)?)[\s'-]{{0,2}}(?:{_FULL}|\d\d)"
_YEAR = rf"(?:{_NAMED}|'\d\d|{_FULL})(?:[AE](?![A-Za-z]))?"
_OF = r"[\s,/'-]{0,3}(?:(?:of|in|for)\s)?(?:the\s)?(?:year\s)?"
_ORDINAL = rf"(?:{'|'.join(ORDINALS)})"
_Q = r"(?:Q\s?[1-4]|[1-4]Q)"
_COUNTS = ("one", "two", "three", "four")
_COUNTED = rf"quarter\s(?:[1-4]|{'|'.join(_COUNTS)})"
_QUARTER = rf"(?:{_Q}|{_ORDINAL}[\s-](?:fiscal\s)?quarter|{_COUNTED})"
_HALF = r"(?:H[12]|[12]H|(?:first|second|1st|2nd)[\s-]half)"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_LENGTH = (
    r"(?:(?P<length>(?:three|six|nine|twelve|3|6|9|12)[\s-]months?|quarter(?:ly\speriod)?|(?:fiscal\s)?year)"
    r"(?:\speriods?)?(?:\s(?:that|which))?\s(?:ended|ending|ends|closed|closing|finished|finishing|to|through|until)"
    r"\s(?:on\s)?)?"
)
_RANGE = r"\s?(?:-|to|through|thru|until)\s?"


@dataclass(frozen=True)
class AskedPeriod:
    """A period or day a question names.

    Attributes:
        fiscal_year: year named, fiscal or calendar as the asker has it; of a date its calendar year; None for
            a quarter without a year.
        quarter: 1 to 4.
        half: 1 or 2.
        date: the day, or the last day of a month named without a day.
        text: the words of the question.
        months: length of the period where the question gives it with a date ("three months ended").
        whole_month: ``date`` stands for its month.
        anchored: "as of", "at the end of" or the like stands before it.
        future: words that look ahead stand before it ("expected in 2024") or right after ("2024 guidance").
    """

    fiscal_year: int | None
    quarter: int | None
    half: int | None
    date: dt.date | None
    text: str
    months: int | None = None
    whole_month: bool = False
    anchored: bool = False
    future: bool = False

    @property
    def last_quarter(self) -> int | None:
        """The quarter the period ends with; None for a whole year or a date."""
        return self.quarter or (self.half * 2 if self.half else None)

    @property
    def end(self) -> tuple[int, int, int]:
        """Something to order periods by: year, quarter, day of the year of the end."""
        if self.date:
            return self.date.year, (self.date.month + 2) // 3, self.date.timetuple().tm_yday
        return self.fiscal_year or 0, self.last_quarter or 4, 0


@dataclass(frozen=True)
class PeriodSpan:
    """Where a text names periods: characters ``start`` to ``end``."""

    start: int
    end: int
    periods: tuple[AskedPeriod, ...]


def find_periods(question: str) -> list[PeriodSpan]:
    """Spans of the periods that a question names, in order; a range gives all its years in one span.

    Args:
        question: text in plain characters.
    """
    spans: list[PeriodSpan] = []
    rest = question
    for pattern, read in _READERS:
        for match in pattern.finditer(rest):
            if periods := tuple(_in_context(period, question, match) for period in read(match)):
                spans.append(PeriodSpan(*match.span(), periods))
        for span in spans:
            rest = rest[: span.start] + _MASK * (span.end - span.start) + rest[span.end :]
    return sorted(spans, key=lambda span: span.start)


def read_periods(question: str) -> tuple[AskedPeriod, ...]:
    """Read every period a question names, the latest first; duplicates once.

    Ranges give all their years. Amounts (``$2018``, ``2,022``, ``2020 million``) and maturities
    (``due 2027``) are no years.

    Args:
        question: text in plain characters (see :func:`~finrag_pipeline.resolver.tokens.plain`).
    """
    found = [(span.start, period) for span in find_periods(question) for period in span.periods]
    unique: dict[tuple[object, ...], tuple[int, AskedPeriod]] = {}
    for span, period in sorted(found, key=lambda item: item[0]):
        unique.setdefault((period.fiscal_year, period.quarter, period.half, period.date), (span, period))
    periods_found = _with_years([period for _, period in unique.values()])
    return tuple(sorted(periods_found, key=lambda period: period.end, reverse=True))


def anchor(periods: tuple[AskedPeriod, ...]) -> AskedPeriod | None:
    """The period that most likely names the filing: the latest one that is not looked ahead to."""
    reported = [period for period in periods if not period.future]
    return next(iter(reported or periods), None)


_AS_OF = re.compile(
    r"(?:as of|as at|at|end of|ended|ending|close of|by|on|since)\s+(?:the\s+)?(?:end of\s+)?$", re.I
)


def _in_context(period: AskedPeriod, question: str, match: re.Match[str]) -> AskedPeriod:
    before = question[max(0, match.start() - _LOOK_BACK) : match.start()]
    after = question[match.end() : match.end() + _LOOK_BACK].removeprefix("'s").lstrip()
    clause = re.split(r"[.?!;,]\s", before)[-1]
    return replace(
        period,
        text=" ".join(match[0].split()),
        anchored=_AS_OF.search(before) is not None,
        future=FORWARD.search(clause) is not None or FORWARD.match(after) is not None,
    )


def _with_years(periods: list[AskedPeriod]) -> list[AskedPeriod]:
    """A quarter without a year belongs to the year that is asked for, if there is only one."""
    years = {p.fiscal_year for p in periods if p.fiscal_year}
    if len(years) != 1:
        return periods
    year = years.pop()
    if any(p.fiscal_year is None for p in periods):
        # In 'Q3 sales in 2022' the year belongs to the quarter and is no period by itself.
        periods = [p for p in periods if p.fiscal_year is None or p.last_quarter or p.date]
    return [p if p.fiscal_year else replace(p, fiscal_year=year) for p in periods]


def _year(text: str) -> int:
    digits = re.findall(r"\d{4}|\d\d", text)[-1]
    return int(digits) if len(digits) == 4 else _CENTURY + int(digits)


def _quarter(text: str) -> int:
    word = text.lower().removeprefix("quarter ").split("-")[0].split()[0]
    if word in _COUNTS:
        return _COUNTS.index(word) + 1
    return ORDINALS.get(word) or int(re.sub(r"\D", "", text)[0])


def _plain_period(
    year: int | None, quarter: int | None = None, half: int | None = None, months: int | None = None
) -> AskedPeriod:
    return AskedPeriod(year, quarter, half, None, "", months)


def _read_date(match: re.Match[str]) -> Iterator[AskedPeriod]:
    groups = match.groupdict()
    month = groups["month"]
    number = _month(month) if month[0].isalpha() else int(month)
    try:
        day = dt.date(int(groups["year"]), number, int(groups["day"]))
    except ValueError:
        return
    yield AskedPeriod(day.year, None, None, day, "", _months(groups.get("length")))


def _read_month(match: re.Match[str]) -> Iterator[AskedPeriod]:
    yield _to_month(int(match["year"]), _month(match["month"]), _months(match["length"]))


def _read_months_named(match: re.Match[str]) -> Iterator[AskedPeriod]:
    first, last = _month(match["first"]), _month(match["month"])
    if first < last:
        yield _to_month(int(match["year"]), last, last - first + 1)


def _read_month_quarter(match: re.Match[str]) -> Iterator[AskedPeriod]:
    yield _to_month(int(match["year"] or match["other"]), _month(match["month"]), 3)


def _month(name: str) -> int:
    return MONTHS.index(name[:3].lower()) + 1


def _to_month(year: int, month: int, months: int | None) -> AskedPeriod:
    day = dt.date(year, month, calendar.monthrange(year, month)[1])
    return AskedPeriod(year, None, None, day, "", months, whole_month=True)


def _months(length: str | None) -> int | None:
    if not length:
        return None
    first = length.lower().replace("-", " ").split()[0]
    return NUMBERS.get(first) or (3 if first == "quarter" else 12)


def _read_quarters(match: re.Match[str]) -> Iterator[AskedPeriod]:
    year = _year(match["year"])
    for text in (match["quarter"], match.groupdict().get("other")):
        if text:
            yield _plain_period(year, _quarter(text))


def _read_half(match: re.Match[str]) -> Iterator[AskedPeriod]:
    yield _plain_period(
        _year(match["year"]) if match.groupdict().get("year") else None, half=_quarter(match["half"])
    )


def _read_months(match: re.Match[str]) -> Iterator[AskedPeriod]:
    months = NUMBERS[match["count"].lower()]
    yield _plain_period(_year(match["year"]), quarter=months // 3, months=months)


def _read_range(match: re.Match[str]) -> Iterator[AskedPeriod]:
    first, last = _year(match["first"]), _year(match["last"])
    if first <= last <= first + _LONGEST_RANGE:
        yield from (_plain_period(year) for year in range(first, last + 1))


def _read_year(match: re.Match[str]) -> Iterator[AskedPeriod]:
    yield _plain_period(_year(match["year"]))


def _read_bare_quarter(match: re.Match[str]) -> Iterator[AskedPeriod]:
    yield _plain_period(None, _quarter(match["quarter"]))


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(_START + pattern + _END, re.IGNORECASE)


# '$2018', '2,022', '1.2020' and digits before a unit are amounts; 'due 2027' is a maturity.
_NO_AMOUNT = (
    r"(?<![$€£¥#])(?<![$€£¥]\s)(?<!USD\s)(?<!EUR\s)(?<!\d[.,])"
    r"(?<!due\s)(?<!due\sin\s)(?<!maturing\sin\s)"
)
_NO_UNIT = (
    r"(?![.,]\d)(?!\s?(?:%|percent|million|billion|trillion|thousand|bn|mn|mm|bps|basis|usd|dollars|x\b))"
)

_Reader = Callable[[re.Match[str]], Iterator[AskedPeriod]]
_READERS: tuple[tuple[re.Pattern[str], _Reader], ...] = (
    # May 26, 2023; 1st July 2022; 2023-05-26; 5/26/2023
    (
        _compile(rf"{_LENGTH}(?P<month>{_MONTH})\s?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s?(?P<year>{_FULL})"),
        _read_date,
    ),
    (
        _compile(
            rf"{_LENGTH}(?:the\s)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s?(?:day\s)?(?:of\s)?"
            rf"(?P<month>{_MONTH}),?"
            rf"\s?(?P<year>{_FULL})"
        ),
        _read_date,
    ),
    (_compile(rf"(?P<year>{_FULL})-(?P<month>\d\d)-(?P<day>\d\d)"), _read_date),
    (_compile(rf"(?P<month>\d{{1,2}})/(?P<day>\d{{1,2}})/(?P<year>{_FULL})"), _read_date),
    # Q1 and Q2 of 2023; Q2 of FY2023; Q22023; Q2'23; 2Q23; 2023 Q2; second quarter of fiscal 2023
    (
        _compile(rf"(?P<quarter>{_Q})\s?(?:and|to|-|&|vs\.?|versus)\s?(?P<other>{_Q}){_OF}(?P<year>{_YEAR})"),
        _read_quarters,
    ),
    (_compile(rf"(?P<quarter>{_QUARTER}){_OF}(?P<year>{_YEAR})"), _read_quarters),
    (_compile(r"(?P<quarter>[1-4]Q|Q[1-4][-/])(?P<year>\d\d)"), _read_quarters),
    (_compile(rf"(?P<year>{_YEAR})(?:'s)?[\s,/'-]{{0,3}}(?P<quarter>{_QUARTER})"), _read_quarters),
    # first nine months of 2023
    (
        _compile(
            rf"(?:first\s)?(?P<count>three|six|nine|3|6|9)[\s-]months?{_OF}(?:ended\s)?(?P<year>{_YEAR})"
        ),
        _read_months,
    ),
    # H1 FY2023; first half of 2023; 2023 H1
    (_compile(rf"(?P<half>{_HALF}){_OF}(?P<year>{_YEAR})"), _read_half),
    (_compile(rf"(?P<year>{_YEAR})(?:'s)?[\s,/'-]{{0,3}}(?P<half>{_HALF})"), _read_half),
    # January to March 2025; April-June of 2025; the June quarter of 2025
    (
        _compile(rf"(?P<first>{_MONTH}){_RANGE}(?P<month>{_MONTH}),?\s(?:of\s)?(?P<year>{_FULL})"),
        _read_months_named,
    ),
    (
        _compile(
            rf"(?P<month>{_MONTH})\s(?:quarter,?\s(?:of\s)?(?P<year>{_FULL})|(?P<other>{_FULL})\squarter)"
        ),
        _read_month_quarter,
    ),
    # March 2023; quarter ended June 2023
    (_compile(rf"{_LENGTH}(?P<month>{_MONTH}),?\s(?:of\s)?(?P<year>{_FULL})"), _read_month),
    # FY2018 - FY2020; 2018-20; between 2018 and 2020
    (_compile(rf"(?P<first>{_YEAR}){_RANGE}(?P<last>{_YEAR}|\d\d){_NO_UNIT}"), _read_range),
    (_compile(rf"between\s(?P<first>{_YEAR})\sand\s(?P<last>{_YEAR}){_NO_UNIT}"), _read_range),
    (_compile(rf"(?P<year>{_NAMED}(?:[AE](?![A-Za-z]))?)"), _read_year),
    (_compile(rf"{_NO_AMOUNT}(?P<year>{_FULL}(?:[AE](?![A-Za-z]))?){_NO_UNIT}"), _read_year),
    (_compile(rf"(?P<quarter>{_QUARTER})"), _read_bare_quarter),
    (_compile(rf"(?P<half>{_HALF})"), _read_half),
)
