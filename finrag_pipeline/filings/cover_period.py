"""Period of a filing: period end, fiscal year and fiscal quarter, from its own words.

All functions take squeezed text (upper case, no white space; see :mod:`.cover_text`), of the cover page or,
as ``words``, of the filing's first pages.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter

from finrag_pipeline.filings.cover_text import add_months, day_pattern, find_dates, first_date
from finrag_pipeline.filings.forms import find_form

# Between the anchor and its date stand at most a few words of a neighbouring column, such as a file number.
_ANCHOR_WINDOW = 120
_EVENT_WINDOW = 60

_ANNUAL = re.compile(r"YEARS?(?:PERIOD)?END(?:ED|ING)")
_QUARTERLY = re.compile(r"(?:QUARTER(?:LY)?(?:REPORT)?(?:PERIOD)?|QUARTERLYPERIOD|PERIOD)END(?:ED|ING)")
_TRANSITION = re.compile(r"TRANSITIONPERIOD(?:BEGINNING)?FROM")
_EVENT = re.compile(
    r"DATEOFREPORT\(?DATEOF(?:THE)?EARLIESTEVENTREPORTED\)?|DATEOFEARLIESTEVENTREPORTED\)?|DATEOFREPORT"
)


def read_period_end(cover: str, form: str) -> dt.date | None:
    """Return the last day of the period a cover page states, or the date of the event of an 8-K."""
    dated = known.dated if (known := find_form(form)) else "year"
    if dated == "event":
        return _event_date(cover) or first_date(cover)
    anchor = _QUARTERLY if dated == "quarter" else _ANNUAL
    for match in anchor.finditer(cover):
        window = cover[match.end() : match.end() + _ANCHOR_WINDOW]
        # The line about a transition period has dates of its own.
        transition = _TRANSITION.search(window)
        if day := first_date(window[: transition.start()] if transition else window):
            return day
    for match in _TRANSITION.finditer(cover):
        dates = find_dates(cover[match.end() : match.end() + _ANCHOR_WINDOW])
        if len(dates) >= 2:
            return dates[1][2]
    # Columns may come out in an order that puts the date before its words.
    for match in anchor.finditer(cover):
        if dates := find_dates(cover[max(0, match.start() - _EVENT_WINDOW) : match.start()]):
            return dates[-1][2]
    return None


def _event_date(cover: str) -> dt.date | None:
    """Date of the earliest event, printed after or before its label."""
    for match in _EVENT.finditer(cover):
        after = cover[match.end() : match.end() + _EVENT_WINDOW]
        before = cover[max(0, match.start() - _EVENT_WINDOW) : match.start()]
        dates = find_dates(after)
        if not dates or dates[0][0] > 5:
            earlier = find_dates(before)
            if earlier and len(before) - earlier[-1][1] <= 5:
                return _earliest(before, earlier[-2:])
        if dates:
            return _earliest(after, dates)
    return None


def _earliest(text: str, dates: list[tuple[int, int, dt.date]]) -> dt.date:
    """First date, or the one in brackets after it: ``July 1, 2022 (June 30, 2022)`` is about June 30."""
    if len(dates) > 1 and text[dates[0][1] : dates[1][0]] == "(":
        return min(dates[0][2], dates[1][2])
    return dates[0][2]


# A year of 52 or 53 weeks that ends next to December 31 may end in the first days of January.
_NEW_YEAR_DAYS = 8
# Years that end in January or February are named after either calendar year.
_EARLY_MONTHS = (1, 2)
# A filing speaks of its own fiscal year about as often as of the one before, and seldom of the next.
_OWN_YEAR_SHARE = 0.5

_NAMED_YEAR = r"FISCAL(?:YEARS?)?(?P<label>(?:19|20)\d\d)"
_NAME_OF_YEAR = re.compile(_NAMED_YEAR)
# January 28, 2023 ("fiscal 2022")
_NAME_BEHIND_DATE = re.compile(
    r",?(?:\(|\"|OR|REFERREDTOAS|HEREINAFTER)(?:REFERREDTOAS|HEREINAFTER|THE|OR|OUR|[\"'(])*" + _NAMED_YEAR
)
# fiscal 2022, which ended on January 28, 2023
_NAME_BEFORE_DATE = re.compile(
    _NAMED_YEAR
    + r"(?:[,\"'()]|WAS|IS|WHICH|THAT|REFERS?|MEANS|CONSISTEDOF|TO|THE|OUR|A|FISCAL|YEAR|PERIOD"
    + r"|5[23]|FIFTY|-?TWO|-?THREE|-?WEEKS?){0,20}END(?:S|ED|ING)?(?:ON)?"
)


def fiscal_year_of(year_end: dt.date, words: str) -> int:
    """Return the name of the fiscal year that ends on ``year_end``.

    The filing's own words decide: sentences that tie a named year to its last day (``fiscal 2022 ended
    January 28, 2023``), else, for years that end in January or February, which of the two candidates it
    names often. Without words a year carries the calendar year of its end, where the first eight days
    of January count as the year before.
    """
    year = _calendar_year(year_end)
    offsets: Counter[int] = Counter()
    for _, end, day in find_dates(words):
        if (name := _NAME_BEHIND_DATE.match(words, end)) and _same_season(day, year_end):
            offsets[int(name["label"]) - _calendar_year(day)] += 1
    for name in _NAME_BEFORE_DATE.finditer(words):
        dates = find_dates(words[name.end() : name.end() + 20])
        if dates and dates[0][0] == 0 and _same_season(dates[0][2], year_end):
            offsets[int(name["label"]) - _calendar_year(dates[0][2])] += 1
    for offset, _ in offsets.most_common(1):
        if offset in (-1, 0):
            return year + offset
    if year_end.month in _EARLY_MONTHS and year == year_end.year:
        named = Counter(int(name["label"]) for name in _NAME_OF_YEAR.finditer(words))
        if named[year - 1] and named[year] <= _OWN_YEAR_SHARE * named[year - 1]:
            return year - 1
    return year


def _calendar_year(year_end: dt.date) -> int:
    return (year_end - dt.timedelta(days=_NEW_YEAR_DAYS)).year


def _same_season(day: dt.date, other: dt.date) -> bool:
    return (day.month - other.month) % 12 in (11, 0, 1)


_MONTH_WORDS = {"THREE": 1, "SIX": 2, "NINE": 3, "TWELVE": 4, "3": 1, "6": 2, "9": 3, "12": 4}
# Quarters have 12 to 14 weeks; some calendars have one of 16.
_WEEKS = {1: range(12, 17), 2: range(24, 29), 3: range(36, 41), 4: range(52, 54)}
_UNITS = {"SIX": 6, "SEVEN": 7, "EIGHT": 8, "NINE": 9, "TWO": 2, "THREE": 3, "FOUR": 4}
_TENS = {"TWENTY": 20, "THIRTY": 30, "FORTY": 40, "FIFTY": 50}
_WEEK_WORDS = {"TWELVE": 12, "THIRTEEN": 13, "FOURTEEN": 14, "SIXTEEN": 16, "FORTY": 40}
_WEEK_WORDS |= {
    f"{ten}{gap}{unit}": _TENS[ten] + _UNITS[unit] for ten in _TENS for unit in _UNITS for gap in ("", "-")
}

_DURATION = re.compile(
    r"(?:(?P<months>THREE|SIX|NINE|TWELVE|(?<!\d)(?:12|[369]))-?MONTHS?"
    rf"|(?P<weeks>{'|'.join(sorted(_WEEK_WORDS, key=len, reverse=True))}|\d\d)-?WEEKS?)"
    r"(?:-?PERIODS?)?(?:\([^)]{0,40}\))?END(?:ED|ING)"
)
_HEADING_WINDOW = 80
_LAST_ANNUAL_REPORT = re.compile(r"FORM10-?K(?:/A)?(?:[A-Z]{0,20}?)FORTHE(?:COMPANY'S)?(?:FISCAL)?YEARENDED")
_QUARTER_WORD = re.compile(r"(FIRST|SECOND|THIRD)-?QUARTER")
_QUARTER_WORDS = {"FIRST": 1, "SECOND": 2, "THIRD": 3, "FOURTH": 4}


def durations_ended_on(period_end: dt.date, words: str) -> set[int]:
    """Return the lengths, in quarters, of the periods that are said to end on ``period_end``.

    ``Three months ended June 30`` gives 1, ``26 weeks ended`` gives 2.
    """
    day = re.compile(day_pattern(period_end))
    lengths: set[int] = set()
    for match in _DURATION.finditer(words):
        if not day.search(words, match.end(), match.end() + _HEADING_WINDOW):
            continue
        if match["months"]:
            lengths.add(_MONTH_WORDS[match["months"]])
        else:
            weeks = int(match["weeks"]) if match["weeks"].isdigit() else _WEEK_WORDS[match["weeks"]]
            lengths.update(quarters for quarters, span in _WEEKS.items() if weeks in span)
    return lengths


def fiscal_quarter_of(period_end: dt.date, words: str) -> int | None:
    """Return the fiscal quarter, 1 to 3, that a quarterly report is about, or None.

    Evidence in this order: the year-to-date period it states (``nine months ended``), the months since
    the end of the last fiscal year it names, the ordinal it uses most (``second quarter``).
    """
    # Twelve months in a quarterly report are those up to its date, not a fiscal year.
    elapsed = max(durations_ended_on(period_end, words) - {4}, default=None)
    if elapsed in (2, 3):
        return elapsed
    ends = [first_date(words[m.end() : m.end() + 25]) for m in _LAST_ANNUAL_REPORT.finditer(words)]
    known = [(period_end - end).days for end in ends if end is not None and end < period_end]
    if known and (quarter := round(min(known) * 4 / 365.25)) in (1, 2, 3):
        return quarter
    if elapsed == 1:
        return 1
    named = Counter(_QUARTER_WORDS[m[1]] for m in _QUARTER_WORD.finditer(words))
    return named.most_common(1)[0][0] if named else None


def year_end_after(period_end: dt.date, quarter: int) -> dt.date:
    """Return about the last day of the fiscal year whose quarter ``quarter`` ends on ``period_end``."""
    return add_months(period_end, 3 * (4 - quarter))


_LATER_ANCHOR = re.compile(r"YEARS?ENDED")


def most_reported_year_end(words: str) -> dt.date | None:
    """Return the latest day that the text calls the end of a year at least twice, or None.

    For annual reports whose cover shows its period as an image.
    """
    named = Counter(
        day
        for m in _LATER_ANCHOR.finditer(words)
        if (day := first_date(words[m.end() : m.end() + 18])) is not None
    )
    return max((day for day, count in named.items() if count >= 2), default=None)
