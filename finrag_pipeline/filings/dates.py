"""Dates in squeezed text (upper case, no white space; see :mod:`.cover_text`)."""

from __future__ import annotations

import datetime as dt
import re

_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_MONTH = (
    r"(?P<month>JAN(?:UARY)?|FEB(?:RUARY)?|MAR(?:CH)?|APR(?:IL)?|MAY|JUNE?|JULY?|AUG(?:UST)?|"
    r"SEP(?:T(?:EMBER)?)?|OCT(?:OBER)?|NOV(?:EMBER)?|DEC(?:EMBER)?)"
)
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_ORDINAL = r"(?:ST|ND|RD|TH)?"
_PATTERNS = (
    # January 28, 2023; Jan. 28 2023; January, 28th, 2023
    re.compile(_MONTH + r"[.,]*(?P<day>\d{1,2})" + _ORDINAL + r"[.,]*" + _YEAR),
    # 31 December 2022; 31st day of December, 2022
    re.compile(r"(?<!\d)(?P<day>\d{1,2})" + _ORDINAL + r"(?:DAYOF)?" + _MONTH + r"[.,]*" + _YEAR),
    # 2022-12-31
    re.compile(_YEAR + r"-(?P<number>\d\d)-(?P<day>\d\d)(?!\d)"),
    # 12/31/2022 and 12-31-2022, in American order
    re.compile(r"(?<!\d)(?P<number>\d{1,2})(?P<gap>[/-])(?P<day>\d{1,2})(?P=gap)" + _YEAR),
)


def find_dates(squeezed: str) -> list[tuple[int, int, dt.date]]:
    """Return start, end and value of every complete date in squeezed text, from left to right."""
    found = []
    for pattern in _PATTERNS:
        for match in pattern.finditer(squeezed):
            groups = match.groupdict()
            month = groups.get("month")
            number = _MONTHS.index(month[:3]) + 1 if month else int(groups["number"])
            try:
                value = dt.date(int(groups["year"]), number, int(groups["day"]))
            except ValueError:
                continue
            found.append((match.start(), match.end(), value))
    dates: list[tuple[int, int, dt.date]] = []
    # Of readings that overlap, such as day-first within month-first, the first, then the longest.
    for start, end, value in sorted(found, key=lambda item: (item[0], -item[1])):
        if not dates or start >= dates[-1][1]:
            dates.append((start, end, value))
    return dates


def first_date(squeezed: str) -> dt.date | None:
    """Return the first complete date in squeezed text."""
    dates = find_dates(squeezed)
    return dates[0][2] if dates else None


def day_pattern(day: dt.date) -> str:
    """Return a pattern for a day without its year, as headings of tables print it when squeezed."""
    month = _MONTHS[day.month - 1]
    year_or_no_digit = r"(?=(?:19|20)\d\d|\D|$)"
    return (
        rf"(?:{month}[A-Z]*[.,]*0?{day.day}{year_or_no_digit}"
        rf"|(?<!\d)0?{day.day}{month}|(?<!\d)0?{day.month}[/-]0?{day.day}[/-])"
    )


def add_months(day: dt.date, months: int) -> dt.date:
    """Return the day ``months`` later, or the last day of that month where it is shorter."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    for last in (day.day, 30, 29, 28):
        try:
            return dt.date(year, month + 1, last)
        except ValueError:
            continue
    raise ValueError(f"no day in {year}-{month + 1}")
