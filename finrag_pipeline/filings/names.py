"""Identifiers of filings, what names and tables declare them to be, and what they are found to be."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import unicodedata
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields

from finrag_pipeline.filings.forms import (
    ANNUAL,
    EARNINGS,
    FORM_IN_NAME,
    QUARTERLY,
    canonical_form,
    form_family,
)

FILE_NAME = "file name"
DOCUMENT_INFORMATION = "document-information file"


@dataclass(frozen=True)
class DeclaredIdentity:
    """Identity of a filing as its name or a document-information row states it.

    Attributes:
        company: company, in the spelling of the source.
        form: ``10-K``, ``10-Q``, ``8-K``, ``EARNINGS`` or another canonical form name.
        fiscal_year: year, fiscal or calendar as the author of the source chose.
        fiscal_quarter: 1 to 4.
        event_date: a full date in the name, usually that of an event or of its report.
        origins: which source each field comes from, for messages; no part of equality.
    """

    company: str | None = None
    form: str | None = None
    fiscal_year: int | None = None
    fiscal_quarter: int | None = None
    event_date: dt.date | None = None
    origins: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False)


@dataclass(frozen=True)
class FilingIdentity:
    """Identity of a filing as its own pages state it; None where they do not.

    Attributes:
        company: registrant as the cover prints it; for an earnings release the company of its headline.
        form: ``10-K``, ``10-Q``, ``8-K`` and variants such as ``10-K/A``, ``10-KT``, ``20-F``, or
            ``EARNINGS`` for an earnings release without a cover of an SEC form.
        fiscal_year: fiscal year reported on, named as the filing names it; for an 8-K the calendar year
            of its event, or the fiscal year of the results that it encloses.
        fiscal_quarter: 1 to 4 for quarterly reports and earnings releases (4 also for a full year's), and for
            an 8-K that encloses one.
        period_end: last day of the period; for an 8-K without results the date of the earliest event.
        ticker: trading symbol of the first listed security.
    """

    company: str | None = None
    form: str | None = None
    fiscal_year: int | None = None
    fiscal_quarter: int | None = None
    period_end: dt.date | None = None
    ticker: str | None = None


IDENTITY_FIELDS = tuple(f.name for f in fields(DeclaredIdentity) if f.name != "origins")


def declared_from_document_information(row: Mapping[str, object]) -> DeclaredIdentity:
    """Read a row of a document-information file, in the layout of FinanceBench's.

    Args:
        row: mapping with any of ``company``, ``doc_type`` and ``doc_period`` (a year, or a year and a
            quarter such as ``2023Q2``); missing or odd values become None.
    """
    company, form, period = (
        "" if row.get(key) is None else str(row[key]).strip() for key in ("company", "doc_type", "doc_period")
    )
    named = declared_from_name(period)
    return DeclaredIdentity(
        company=company or None,
        form=canonical_form(form),
        fiscal_year=named.fiscal_year,
        fiscal_quarter=named.fiscal_quarter,
        origins=dict.fromkeys(IDENTITY_FIELDS, DOCUMENT_INFORMATION),
    )


MAX_CHARACTERS = 120
# A folder is named ``filing=<id>`` and file systems allow 255 bytes per name.
MAX_BYTES = 200

_DOCUMENT_SUFFIX = re.compile(r"\.(?:pdf|jsonl?|txt|html?)$", re.IGNORECASE)
_HASH_TAIL = re.compile(r"-[0-9a-f]{8}$")
# Query engines read this value of a hive partition as null.
_RESERVED = frozenset({"__HIVE_DEFAULT_PARTITION__"})


def filing_id(file_name: str) -> str:
    r"""Return the identifier of the filing in a file of this name.

    The identifier is the stem of the last path component, made safe as a partition key, folder name,
    SQL value and hive path part ``filing=<id>``: letters, marks and digits of any script, ``_``, ``.``
    and ``-``; no leading or trailing dot, no ``..``; at most 120 characters and 200 bytes of UTF-8.
    Where anything had to be replaced or cut, ``-`` and eight hexadecimal digits of a hash of the stem
    follow, so that two names do not become one. Names of ``[A-Za-z0-9_.-]`` stay as they are, and an
    identifier given as a name is its own identifier. The folder and the suffix of a document
    (``.pdf``, ``.jsonl``, ``.json``, ``.txt``, ``.htm``, ``.html``) do not count.
    Folders end in ``/`` or ``\``.
    """
    original = _stem(file_name) or file_name
    safe = "".join(c if _is_safe(c) else " " for c in unicodedata.normalize("NFKC", original))
    safe = re.sub(r"\.{2,}", ".", re.sub(r" +", "_", safe.strip())).strip(".")
    unchanged = safe == original and safe and safe not in _RESERVED and not _DOCUMENT_SUFFIX.search(safe)
    if unchanged and len(safe) <= MAX_CHARACTERS and len(safe.encode()) <= MAX_BYTES:
        return safe
    tail = "-" + hashlib.blake2b(original.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    body = safe[: MAX_CHARACTERS - len(tail)].encode()[: MAX_BYTES - len(tail)].decode(errors="ignore")
    return (body.rstrip(".") or "filing") + tail


def _stem(file_name: str) -> str:
    """Last path component without a document's suffix, in Unicode's composed form.

    Composing (NFC) makes a name the same whether a file system stores its accents apart or not.
    """
    last = re.split(r"[\\/]", file_name)[-1]
    return unicodedata.normalize("NFC", _DOCUMENT_SUFFIX.sub("", last))


def _is_safe(character: str) -> bool:
    return character in "_.-" or unicodedata.category(character)[0] in "LM" or character.isdecimal()


_GAP = r"[-_ .]*"


def _word(pattern: str) -> re.Pattern[str]:
    """Compile a pattern that stands alone; underscores, hyphens, dots and blanks separate words."""
    return re.compile(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])", re.IGNORECASE)


ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}
_FULL_YEAR = r"(?P<year>(?:19|20)\d\d)"
_SHORT_YEAR = r"(?P<year>(?:19|20)\d\d|\d\d)"
_QUARTER = r"(?:Q(?P<after>[1-4])|(?P<before>[1-4])Q)"

_DATE = re.compile(
    r"(?<!\d)(?P<y>(?:19|20)\d\d)(?P<gap>[-_. ]?)(?P<m>0[1-9]|1[0-2])(?P=gap)(?P<d>0[1-9]|[12]\d|3[01])(?!\d)"
)
_FORM = _word(rf"(?:form{_GAP})?(?P<form>{FORM_IN_NAME})")
_EARNINGS = _word(rf"earnings|press{_GAP}release")
_PERIODS = (
    _word(rf"(?:FY)?{_FULL_YEAR}{_GAP}{_QUARTER}"),
    _word(rf"{_QUARTER}{_GAP}(?:FY{_GAP})?{_SHORT_YEAR}"),
    _word(rf"FY{_GAP}{_SHORT_YEAR}"),
    _word(_FULL_YEAR),
)
_QUARTER_ALONE = _word(rf"{_QUARTER}|(?P<word>{'|'.join(ORDINALS)}){_GAP}quarter")
# fmt: off
_NOT_A_COMPANY = frozenset({
    "annual", "annualreport", "quarterly", "current", "interim", "report", "reports", "form", "filing",
    "filings", "dated", "date", "release", "results", "result", "final", "draft", "sec", "edgar",
    "exhibit", "document", "doc", "scan", "file", "copy", "download", "untitled", "full", "year",
    "fiscal", "financial", "the", "for", "of", "and", "in", "as", "ended",
})
# fmt: on
_MACHINE_MADE = re.compile(r"(?=.*\d)[0-9a-f]{8,}", re.IGNORECASE)
# Stands for a recognised piece that was taken out; it cannot occur in a name's words.
_TAKEN = "\0"


def declared_from_name(filing: str) -> DeclaredIdentity:
    """Read what a file name or identifier declares, in the manner of ``COMPANY_2023Q2_10Q``.

    Company, year, quarter, form and event date are read wherever they stand, in any case, separated by
    ``_``, ``-``, ``.`` or blanks. What is not there stays None.
    """
    rest = unicodedata.normalize("NFKC", _stem(filing)).replace(_TAKEN, " ")
    if (tail := _HASH_TAIL.search(rest)) and not _DATE.search(tail[0]):
        rest = rest[: tail.start()]
    event_date = None
    match, without = _take(_DATE, rest)
    with suppress(ValueError):  # the 31st of a shorter month is no date
        if match:
            event_date, rest = dt.date(int(match["y"]), int(match["m"]), int(match["d"])), without
    match, rest = _take(_FORM, rest)
    form = canonical_form(match["form"]) if match else None
    match, rest = _take(_EARNINGS, rest)
    form = form or (EARNINGS if match else None)
    year = quarter = None
    for pattern in _PERIODS:
        match, rest = _take(pattern, rest)
        if match:
            year, quarter = year_of(match["year"]), quarter_of(match)
            break
    if quarter is None:
        match, rest = _take(_QUARTER_ALONE, rest)
        quarter = quarter_of(match) if match else None
    if year is None and event_date is not None and form_family(form) not in (ANNUAL, QUARTERLY):
        year = event_date.year  # a report's own date may be that of its period or that of its filing
    origins = dict.fromkeys(IDENTITY_FIELDS, FILE_NAME)
    return DeclaredIdentity(_company(rest), form, year, quarter, event_date, origins)


def _take(pattern: re.Pattern[str], text: str) -> tuple[re.Match[str] | None, str]:
    match = pattern.search(text)
    return (match, text[: match.start()] + _TAKEN + text[match.end() :]) if match else (None, text)


def year_of(digits: str) -> int:
    """A year of four digits, or of two in this century."""
    return int(digits) if len(digits) == 4 else 2000 + int(digits)


def quarter_of(match: re.Match[str]) -> int | None:
    """The quarter in any of the groups ``after`` and ``before`` (a digit) and ``word`` (an ordinal)."""
    groups = match.groupdict()
    if digit := groups.get("after") or groups.get("before"):
        return int(digit)
    word = groups.get("word")
    return ORDINALS[word.casefold()] if word else None


def _company(rest: str) -> str | None:
    """First run of words that is neither a recognised piece nor a filler such as ``annual report``."""
    for run in rest.split(_TAKEN):
        words = [w for w in re.split(r"[-_ .,;()\[\]{}]+", run) if re.search(r"[^\W\d_]", w)]
        words = [w for w in words if not _MACHINE_MADE.fullmatch(w)]
        while words and words[0].casefold() in _NOT_A_COMPANY:
            words.pop(0)
        while words and words[-1].casefold() in _NOT_A_COMPANY:
            words.pop()
        if words:
            return " ".join(words)
    return None
