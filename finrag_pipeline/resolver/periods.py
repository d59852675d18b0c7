"""Fiscal periods and dates a question asks for."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from finrag_pipeline.resolver.lexicon import FORWARD, MONTHS, NUMBERS, ORDINALS, any_case

_LONGEST_RANGE = 10
_SPANS = {"quarter": 3, "quarterly": 3, "qtr": 3, "half": 6}
_LOOK_BACK = 60
_CENTURY = 2000
_MASK = "\0"

# Look-arounds, since '\b' finds no end of a word in 'FY2022' or 'Q22023'.
_START, _END = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"
_FULL = r"(?:19|20)\d\d"
_NAMED = rf"(?:FYE?|YE|CY|fiscal(?:\s?years?)?|calendar(?:\s?year)?)[\s'-]{{0,2}}(?:{_FULL}|\d\d)"
_YEAR = rf"(?:{_NAMED}|'\d\d|{_FULL})(?:[AE](?![A-Za-z]))?"
_OF = r"(?:\s\([^()]{1,40}\))?[\s,/'-]{0,3}(?:(?:of|in|for)\s)?(?:(?:the|its|their)\s)?(?:year\s)?"
_SAME = r"(?:that|(?:the|this)\s(?:same|very))\s(?:(?:fiscal|calendar)\s)?year"
_THE_YEAR = rf"(?:(?P<year>{_YEAR})|{_SAME})"
_ORDINAL = rf"(?:{'|'.join(ORDINALS)})"
_Q = r"(?:Q\s?[1-4]|[1-4]Q)"
_COUNTED = r"quarter\s(?:[1-4]|one|two|three|four)"
_CLOSING = r"(?:last|final|closing)"
_QUARTER = rf"(?:{_Q}|{_ORDINAL}[\s-](?:fiscal\s)?quarters?|{_COUNTED})"
_HALF = r"(?:H[12]|[12]H|(?:first|second|1st|2nd)[\s-]half)"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_SHORT_MONTH = r"(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
"""Behind it people write a year in two digits."""
WHOLE_YEAR = any_case(r"\b(?:full|whole|entire|complete)[- ](?:fiscal )?year\b|\bannual")
_LENGTH = (
    r"(?:(?P<length>(?:three|six|nine|twelve|3|6|9|12)[\s-]months?|(?:3|6|9|12)m|qtr|quarter(?:ly\speriod)?|half(?:[\s-]year)?|(?:fiscal\s)?years?)"
    r"(?:\speriods?)?(?:\s(?:that|which))?\s(?:ended|ending|ends|closed|closing|finished|finishing|to|through|until)"
    r"\s(?:on\s|(?:the\s)?end\sof\s)?)?"
)
_RANGE = r"\s?(?:-|to|through|thru|until|and\sending\s(?:with|in))\s?"


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
        future: words that look ahead stand before it ("expected in 2024") or right after ("2024 guidance").
    """

    fiscal_year: int | None
    quarter: int | None = None
    half: int | None = None
    date: dt.date | None = None
    text: str = ""
    months: int | None = None
    whole_month: bool = False
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


def find_periods(question: str, names: Iterable[str] = ()) -> list[PeriodSpan]:
    """Spans of the periods that a question names, in order; a range gives all its years in one span.

    Args:
        question: text in plain characters.
        names: of companies, as the question has them; '6M' of '6M 2024 sales' is no half-year then.
    """
    spans: list[PeriodSpan] = []
    masked, rest = 0, question
    for name in filter(None, names):
        said = any_case(rf"(?<!\w){re.escape(name)}(?!\w)")
        rest = said.sub(lambda found: _MASK * len(found[0]), rest)
    for pattern in _PATTERNS:
        for match in pattern.finditer(rest):
            if periods := tuple(_in_context(period, question, match) for period in _read(match)):
                spans.append(PeriodSpan(*match.span(), periods))
        for span in spans[masked:]:
            rest = rest[: span.start] + _MASK * (span.end - span.start) + rest[span.end :]
        masked = len(spans)
    return sorted(spans, key=lambda span: span.start)


def read_periods(question: str, names: Iterable[str] = ()) -> tuple[AskedPeriod, ...]:
    """Read every period a question names, the latest first; duplicates once.

    Ranges give all their years. Amounts (``$2018``, ``2,022``, ``2020 million``) and maturities
    (``due 2027``) are no years.

    Args:
        question: text in plain characters (see :func:`~finrag_pipeline.resolver.tokens.plain`).
        names: of companies, see `find_periods`.
    """
    unique: dict[tuple[object, ...], AskedPeriod] = {}
    for span in with_years(find_periods(question, names), question):
        for period in span.periods:
            unique.setdefault((period.fiscal_year, period.quarter, period.half, period.date), period)
    return tuple(sorted(unique.values(), key=lambda period: period.end, reverse=True))


def anchor(periods: tuple[AskedPeriod, ...]) -> AskedPeriod | None:
    """The period that most likely names the filing: the latest one that is not looked ahead to."""
    reported = [period for period in periods if not period.future]
    return next(iter(reported or periods), None)


def _in_context(period: AskedPeriod, question: str, match: re.Match[str]) -> AskedPeriod:
    before = question[max(0, match.start() - _LOOK_BACK) : match.start()]
    after = question[match.end() : match.end() + _LOOK_BACK].removeprefix("'s").lstrip()
    clause = re.split(r"[.?!;,]\s", before)[-1]
    future = FORWARD.search(clause) is not None or FORWARD.match(after) is not None
    return replace(period, text=" ".join(match[0].split()), future=future)


def with_years(spans: Sequence[PeriodSpan], text: str) -> list[PeriodSpan]:
    """Quarters and halves without a year are of the years that are named, which are no periods then.

    In 'Q3 sales in 2022' the year belongs to the quarter, in 'third-quarter sales of 2021 and 2022' both do.

    Args:
        spans: of periods in a text.
        text: that they stand in; where it speaks of whole years nothing is changed.
    """
    loose = [asked for span in spans for asked in span.periods if not asked.fiscal_year]
    alone = [asked.fiscal_year for span in spans for asked in span.periods if _is_year(asked)]
    every = {asked.fiscal_year for span in spans for asked in span.periods if asked.fiscal_year}
    if not (loose and every) or WHOLE_YEAR.search(text):
        return list(spans)
    quarter, year = loose[0], max(every)
    kinds = {(asked.quarter, asked.half, asked.months) for asked in loose}
    if len(every) > 1 and (len(kinds) > 1 or set(alone) != every):
        return list(spans)

    def of_year(asked: AskedPeriod) -> AskedPeriod | None:
        if len(every) > 1:
            return replace(quarter, fiscal_year=asked.fiscal_year) if asked.fiscal_year else None
        return None if _is_year(asked) else replace(asked, fiscal_year=year)

    made = (
        replace(span, periods=tuple(one for asked in span.periods if (one := of_year(asked))))
        for span in spans
    )
    return [span for span in made if span.periods]


def _is_year(asked: AskedPeriod) -> bool:
    """Whether it is a year and no part of one."""
    return asked.fiscal_year is not None and not (asked.last_quarter or asked.date or asked.months)


def _year(text: str) -> int:
    digits = re.findall(r"\d{4}|\d\d", text)[-1]
    return int(digits) if len(digits) == 4 else _CENTURY + int(digits)


def _place(text: str) -> int:
    """Number of a quarter or half: of 'Q2', '2nd quarter', 'quarter two'."""
    word = text.lower().removeprefix("quarter ").split("-")[0].split()[0]
    if re.fullmatch(_CLOSING, word):
        return 2 if text.lower().endswith("half") else 4
    return ORDINALS.get(word) or NUMBERS.get(word) or int(re.sub(r"\D", "", text)[0])


def _months(length: str) -> int:
    first = re.split(r"[\s-]", length.lower().removesuffix("m"))[0]
    return NUMBERS.get(first) or (int(first) if first.isdigit() else _SPANS.get(first, 12))


def _read(match: re.Match[str]) -> Iterator[AskedPeriod]:
    """The periods that the named groups of a match tell; none for an impossible day or range."""
    said = {name: text for name, text in match.groupdict().items() if text}
    year = _year(said["year"]) if "year" in said else None
    months = _months(said["length"]) if "length" in said else None
    if "last" in said:
        first, last = _year(said["first"]), _year(said["last"])
        if first <= last <= first + _LONGEST_RANGE:
            yield from map(AskedPeriod, range(first, last + 1))
    elif "more" in said and year is not None:
        years = [year, *(_CENTURY + int(digits) for digits in re.findall(r"\d\d", said["more"]))]
        steps = {one - other for one, other in zip(years[1:], years, strict=False)}
        yield from map(AskedPeriod, years if steps in ({1}, {-1}) else years[:1])
    elif "mid" in said and year is not None:
        yield AskedPeriod(year, date=dt.date(year, 6, 30), whole_month=True)
    elif "month" in said and year is not None:
        month = _month(said["month"])
        if "since" in said:
            months = month - _month(said["since"]) + 1
        with suppress(ValueError):
            day = int(said["day"]) if "day" in said else calendar.monthrange(year, month)[1]
            date, whole = dt.date(year, month, day), "day" not in said
            if months is None or months > 1:
                yield AskedPeriod(year, date=date, months=months, whole_month=whole)
    elif "half" in said:
        yield AskedPeriod(year, half=_place(said["half"]))
    elif months is not None:
        yield AskedPeriod(year, quarter=4 if "closing" in said else months // 3, months=months)
    elif "quarter" in said:
        for name in ("quarter", "other"):
            if name in said:
                yield AskedPeriod(year, quarter=_place(said[name]))
    else:
        yield AskedPeriod(year)


def _month(name: str) -> int:
    return int(name) if name.isdigit() else MONTHS.index(name[:3].lower()) + 1


# '$2018', '2,022', '1.2020' and digits before a unit are amounts; 'due 2027' is a maturity.
_NO_AMOUNT = (
    r"(?<![$€£¥#])(?<![$€£¥]\s)(?<!USD\s)(?<!EUR\s)(?<!\d[.,])"
    r"(?<!due\s)(?<!due\sin\s)(?<!maturing\sin\s)"
)
_NO_UNIT = (
    r"(?![.,]\d)(?!\s?(?:%|percent\b|million|billion|trillion|thousand|bn|mn|mm|bps|basis|usd|dollars|x\b))"
)
NAMES_A_YEAR = any_case(
    rf"{_FULL}|'\d\d|FY|YE|CY|fiscal|calendar|[1-4]Q|Q[1-4]|[12]H|H[12]|[369]M|\d/\d|{_SHORT_MONTH}\s\d\d"
)
"""Found in every text with a period whose year is told."""

_AT_END = r"(?:\s(?:YE|year[\s-]end)(?![A-Za-z]))?"
_PATTERNS = tuple(
    any_case(_START + pattern + _END)
    for pattern in (
        # May 26, 2023; 1st July 2022; 2023-05-26; 5/26/2023; 5/26/23
        rf"{_LENGTH}(?P<month>{_MONTH})\s?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s?(?P<year>{_FULL})",
        rf"{_LENGTH}(?:the\s)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s?(?:day\s)?(?:of\s)?"
        rf"(?P<month>{_MONTH}),?\s?(?P<year>{_FULL})",
        rf"(?P<year>{_FULL})-(?P<month>\d\d)-(?P<day>\d\d)",
        rf"(?P<month>\d{{1,2}})/(?P<day>\d{{1,2}})/(?P<year>{_FULL}|\d\d)",
        # Q1 and Q2 of 2023; Q2 of FY2023; Q22023; Q2'23; 2Q23; 2023 Q2; second quarter of fiscal 2023
        rf"(?P<quarter>{_Q})\s?(?:and|to|-|&|vs\.?|versus)\s?(?P<other>{_Q}){_OF}(?P<year>{_YEAR})",
        rf"(?P<quarter>{_QUARTER}){_OF}{_THE_YEAR}",
        r"(?P<quarter>[1-4]Q|Q[1-4][-/])(?P<year>\d\d)",
        rf"(?P<quarter>{_Q})\s(?P<year>[01]\d|2[0-7])(?=$|[?.,;:)]|\s(?:-|(?:vs|versus|and|to|over|yoy)\b))",
        rf"(?P<year>{_YEAR})(?:'s)?[\s,/'-]{{0,3}}(?P<quarter>{_QUARTER})",
        # last quarter of 2023; final three months of that year; first nine months of 2023
        rf"(?P<quarter>{_CLOSING}\s(?:fiscal\s)?quarter){_OF}{_THE_YEAR}",
        rf"(?P<half>{_CLOSING}\shalf){_OF}{_THE_YEAR}",
        rf"(?P<closing>{_CLOSING})\s(?P<length>three|six|nine|3|6|9)[\s-]months?{_OF}{_THE_YEAR}",
        rf"(?:first\s)?(?P<length>three|six|nine|3|6|9)[\s-]months?{_OF}(?:ended\s)?{_THE_YEAR}",
        # 9M FY25
        rf"(?P<length>[369])M\s?(?P<year>{_YEAR}|\d\d)",
        # H1 FY2023; first half of 2023; 2023 H1
        rf"(?P<half>{_HALF}){_OF}(?P<year>{_YEAR})",
        r"(?P<half>[12]H|H[12][-/])(?P<year>\d\d)",
        rf"(?P<year>{_YEAR})(?:'s)?[\s,/'-]{{0,3}}(?P<half>{_HALF})",
        # January to March 2025; April-June of 2025; the June quarter of 2025
        rf"(?P<since>{_MONTH}){_RANGE}(?P<month>{_MONTH}),?\s(?:of\s)?(?P<year>{_FULL})",
        rf"(?P<month>{_MONTH})\s(?P<length>quarter),?\s(?:of\s)?(?P<year>{_FULL})",
        rf"(?P<month>{_MONTH})\s(?P<year>{_FULL})\s(?P<length>quarter)",
        # 31 dec 22; jun 23 qtr; jan 17
        rf"{_LENGTH}(?P<day>\d{{1,2}})\s(?P<month>{_SHORT_MONTH})\s'?(?P<year>\d\d)",
        rf"(?P<month>{_SHORT_MONTH})\s'?(?P<year>\d\d)\s(?P<length>quarter|qtr)",
        rf"{_LENGTH}(?P<month>{_SHORT_MONTH})\s'?(?P<year>1\d|2[0-7])(?!,?\s?['\d])(?!.*\b{_FULL})",
        # March 2023; quarter ended June 2023
        rf"{_LENGTH}(?P<month>{_MONTH}),?\s(?:of\s)?(?P<year>{_FULL})",
        rf"(?P<mid>mid[\s-]|(?:the )?middle of )(?P<year>{_FULL})",
        # FY23, 24 and 25; FY14/15/16
        rf"(?P<year>{_NAMED})(?P<more>(?:,?\s?(?:and|&|,)\s?'?\d\d(?![\d,.]\d)){{1,}}|(?:/\d\d){{2,}})(?!\s?[%/-])",
        # FY2018 - FY2020; 2018-20; between 2018 and 2020
        rf"(?P<first>{_YEAR}){_RANGE}(?P<last>{_YEAR}|\d\d){_NO_UNIT}",
        rf"between\s(?P<first>{_YEAR})\sand\s(?P<last>{_YEAR}){_NO_UNIT}",
        # FY23; FY16 YE; 2016 year-end
        rf"(?P<year>{_NAMED}(?:[AE](?![A-Za-z]))?){_AT_END}",
        rf"{_NO_AMOUNT}(?P<year>{_FULL}(?:[AE](?![A-Za-z]))?){_AT_END}{_NO_UNIT}",
        rf"(?P<quarter>{_QUARTER})",
        rf"(?P<half>{_HALF})",
    )
)
