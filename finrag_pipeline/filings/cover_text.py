"""Text of cover pages: normalisation, dates, the form, and which page is the cover.

Extractors break covers in every way: a word per line, blanks between letters, no blanks between lines.
Patterns therefore run on *squeezed* text, in upper case and without any white space, or allow white
space between any two characters.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from calendar import monthrange
from collections.abc import Callable, Mapping, Sequence

from finrag_pipeline.filings.forms import KINDS, canonical_form, form_names

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
    return dt.date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


# Annual reports to shareholders print dozens of pages of their own before the form's cover.
COVER_SEARCH_PAGES = 250

PLAIN = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d"), "-")
PLAIN |= dict.fromkeys(map(ord, "\u2018\u2019\u201b\u2032"), "'")
PLAIN |= dict.fromkeys(map(ord, "\u201c\u201d\u201f\u2033"), '"')
# Soft hyphens, zero-width characters and byte-order marks carry nothing.
PLAIN |= dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"), "")


def replacer(table: Mapping[int, str]) -> Callable[[str], str]:
    """A function that gives a text in NFKC with the characters of ``table`` replaced.

    Few characters of a text are in the table, so a pattern finds them several times faster than
    ``str.translate``, which looks every character up.
    """
    odd = re.compile("[" + re.escape("".join(map(chr, table))) + "]")

    def replaced(text: str) -> str:
        return odd.sub(lambda match: table[ord(match[0])], text)

    return lambda text: replaced(unicodedata.normalize("NFKC", replaced(text)))


_plain = replacer(PLAIN)


def normalise(text: str) -> str:
    """Return ``text`` with characters in their plain form, without empty lines and long runs of blanks.

    Compatibility characters, dashes and quotation marks become plain; two blanks in a row stay, since
    they part the words of letter-spaced headings.
    """
    lines = (line.strip() for line in _plain(text).splitlines())
    return "\n".join(re.sub(r"\s{2,}", "  ", line) for line in lines if line)


def squeeze(text: str) -> str:
    """Return ``text`` normalised, in upper case and without white space."""
    return "".join(_plain(text).upper().split())


_GAP = r"\s*"


def _loose(phrase: str) -> str:
    """A pattern for a phrase, or for each of several apart by bars, that allows white space everywhere."""
    return "(?:" + "|".join(_GAP.join("".join(part.split())) for part in phrase.split("|")) + ")"


_FORM = re.compile(
    rf"(?i:{_loose('FORM')}\s*(?P<base>{form_names('-?', _GAP)}))"
    # A kind follows directly: in "FORM 10-K TRANSITION REPORT" the T begins a word.
    rf"(?P<kind>(?:{KINDS})(?![A-Za-z0-9]))?(?P<amended>\s*/\s*[Aa](?![A-Za-z]))?"
)

NAME_LABEL = re.compile(
    rf"[(\[]?\s*(?:{_loose('exact')}\s*)?{_loose('name of')}\s*(?:{_loose('each|the')}\s*)?"
    rf"{_loose('registrant|company|issuer|corporation|small business issuer')}\s*(?:\(?\s*s\s*\)?)?\s*,?\s*"
    rf"(?:{_loose('as it')}\s*)?(?:{_loose('as')}\s*)?(?:{_loose('is')}\s*)?"
    rf"{_loose('specified|appears|set forth')}"
    rf"(?:\s*{_loose('in')}(?:\s*{_loose('its|their|the')})?(?:\s*{_loose('respective')})?"
    rf"\s*{_loose('charter|articles')}s?)?\s*[)\]]?",
    re.IGNORECASE,
)
"""The line under a registrant's name: ``(Exact name of registrant as specified in its charter)``."""

_COMMISSION = "SECURITIESANDEXCHANGECOMMISSION"
_FILE_NUMBER = re.compile(r"COMMISSIONFILEN(?:O|UMBER)")
_SELF_REFERENCE = re.compile(
    r"THIS(?:ANNUALREPORT|QUARTERLYREPORT|CURRENTREPORT|REPORT)?(?:ON)?FORM"
    rf"((?:{form_names('-?')})(?:/A)?)"
)


def form_on_cover(text: str) -> str | None:
    """Return the first SEC form named in ``text`` as ``FORM 10-K``, in its canonical spelling."""
    match = _FORM.search(normalise(text))
    if match is None:
        return None
    base = "".join(match["base"].split())
    return canonical_form(f"{base}{match['kind'] or ''}{'/A' if match['amended'] else ''}")


def find_cover(pages: Sequence[str]) -> int | None:
    """Return the index of the cover page of an SEC form among the first 250 pages.

    A cover names the commission, the form, and a registrant or file number. Where none does, a page
    with the registrant's name line and one of the others is taken: headings may be images.
    """
    second_best = None
    for index, page in enumerate(pages[:COVER_SEARCH_PAGES]):
        squeezed = squeeze(page)
        commission = _COMMISSION in squeezed
        number = _FILE_NUMBER.search(squeezed) is not None
        if not commission and not number:
            continue
        label = NAME_LABEL.search(normalise(page)) is not None
        if commission and (label or number) and form_on_cover(page):
            return index
        if second_best is None and label:
            second_best = index
    return second_best


def self_named_form(squeezed: str) -> str | None:
    """Return the form a filing calls itself in its text: ``this Annual Report on Form 10-K``."""
    match = _SELF_REFERENCE.search(squeezed)
    return canonical_form(match[1]) if match else None
