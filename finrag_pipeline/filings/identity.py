"""Identity of a filing, read from its pages, and where what its name or a table declares disagrees."""

from __future__ import annotations

import datetime as dt
import difflib
import re
import unicodedata
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from finrag_pipeline.filings.cover_company import read_company, read_ticker, read_traded_symbol
from finrag_pipeline.filings.cover_period import (
    fiscal_quarter_of,
    fiscal_year_of,
    most_reported_year_end,
    read_period_end,
    year_end_after,
)
from finrag_pipeline.filings.cover_text import find_cover, form_on_cover, self_named_form, squeeze
from finrag_pipeline.filings.forms import ANNUAL, CURRENT, EARNINGS, QUARTERLY, find_form, form_family
from finrag_pipeline.filings.names import (
    DOCUMENT_INFORMATION,
    FILE_NAME,
    IDENTITY_FIELDS,
    DeclaredIdentity,
    FilingIdentity,
)
from finrag_pipeline.filings.press_release import is_earnings_release, read_release

# Statements and the notes on fiscal years stand within these pages of the cover.
_WORD_PAGES = 45
# Exhibits begin within these pages of a current report.
_FORM_PAGES = 8
_NAMED_FISCAL_YEAR = re.compile(r"(?:FOR)?(?:THE)?FISCALYEAR:?((?:19|20)\d\d)(?!\d)")


def read_identity(pages: Sequence[str]) -> FilingIdentity:
    """Read the identity of a filing from the texts of its pages.

    The cover page is searched in the first 250 pages, the wording of periods in the 45 from the cover on. An
    8-K with an earnings release behind it reports on the period of that.
    """
    cover = find_cover(pages)
    if cover is None and is_earnings_release(pages):
        return read_release(pages)
    start = cover or 0
    words = squeeze("\n".join(pages[start : start + _WORD_PAGES]))
    form = (form_on_cover(pages[cover]) if cover is not None else None) or self_named_form(words)
    face = squeeze(pages[cover]) if cover is not None else ""
    year, quarter, period_end = _period(form, face, words)
    if form_family(form) == CURRENT and (release := _release_behind(pages[start + 1 :])):
        year, quarter, period_end = release.fiscal_year, release.fiscal_quarter, release.period_end
    ticker = read_ticker("\n".join(pages[cover : cover + 2])) if cover is not None else None
    if ticker is None and form_family(form) == ANNUAL:
        ticker = read_traded_symbol(pages[start:])
    return FilingIdentity(
        company=read_company(pages, cover),
        form=form,
        fiscal_year=year,
        fiscal_quarter=quarter,
        period_end=period_end,
        ticker=ticker,
    )


def _release_behind(pages: Sequence[str]) -> FilingIdentity | None:
    """The earnings release that begins on one of the first pages behind the cover of a current report."""
    for first in range(min(_FORM_PAGES, len(pages))):
        if is_earnings_release(pages[first:]):
            release = read_release(pages[first:])
            if release.fiscal_quarter and release.period_end:
                return release
    return None


def _period(form: str | None, face: str, words: str) -> tuple[int | None, int | None, dt.date | None]:
    """Fiscal year, fiscal quarter and period end of an SEC form from its cover and its first pages."""
    if form is None:
        return None, None, None
    period_end = read_period_end(face, form)
    if form_family(form) == CURRENT:
        return period_end.year if period_end else None, None, period_end
    if form_family(form) == QUARTERLY:
        if period_end is None:
            return None, None, None
        quarter = fiscal_quarter_of(period_end, words)
        year = fiscal_year_of(year_end_after(period_end, quarter), words) if quarter else None
        return year, quarter, period_end
    period_end = period_end or most_reported_year_end(words)
    if period_end is not None:
        return fiscal_year_of(period_end, words), None, period_end
    named = _NAMED_FISCAL_YEAR.search(face)
    return int(named[1]) if named else None, None, None


# An 8-K is due four business days after its event and names carry either date; amendments come later.
_DAYS_TO_REPORT = 14
# fmt: off
_LEGAL = frozenset({
    "inc", "incorporated", "corp", "corporation", "co", "company", "companies", "plc", "ltd", "limited",
    "llc", "lp", "llp", "nv", "sa", "ag", "se", "spa", "holding", "holdings", "group", "trust",
})
# fmt: on
_FILLERS = frozenset({"the", "and", "of"})
_LONGEST_ABBREVIATION = 4
_SAME_SPELLING = 0.9


def find_conflicts(identity: FilingIdentity, declared: DeclaredIdentity) -> list[str]:
    """Return one sentence per disagreement between a filing's pages and its declared identity.

    Fields that either side does not state are passed over. Companies are compared loosely (see
    `same_company`); years exactly, though names often carry the calendar year, so that the sentence gives
    both values and the reason where it is that.
    """
    says = "the press release says" if identity.form == EARNINGS else "the cover page says"
    form, end = find_form(identity.form), identity.period_end
    is_event = form is not None and form.dated == "event" and identity.fiscal_quarter is None
    year = f"the filing reports on fiscal year {identity.fiscal_year}" + (
        f" (period end {end})" if end else ""
    )
    hint = ""
    if end is not None and not is_event:
        hints = {
            end.year: ", the calendar year of the period end",
            end.year + 1: ", the year after the period end",
        }
        hint = hints.get(declared.fiscal_year or 0, "")
    stated = {
        "form": f"{says} form {identity.form}",
        "company": f'{says} company "{identity.company}"',
        "fiscal_year": f"the event of the 8-K is dated {end}" if is_event else year,
        "fiscal_quarter": f"the filing reports on fiscal quarter {identity.fiscal_quarter}",
    }
    conflicts = [
        f"{statement}, {_claim(declared, name)}{hint if name == 'fiscal_year' else ''}"
        for name, statement in stated.items()
        if _differ(name, getattr(identity, name), getattr(declared, name), identity.ticker)
    ]
    event = declared.event_date
    if is_event and end and event and not 0 <= (event - end).days <= _DAYS_TO_REPORT:
        conflicts.append(f"the cover page dates the event {end}, {_claim(declared, 'event_date')}")
    return conflicts


def _differ(name: str, value: Any, other: Any, ticker: str | None = None) -> bool:
    """Whether two values of the field ``name`` are both known and do not agree."""
    if value is None or other is None:
        return False
    if name == "company":
        return not same_company(value, other, ticker)
    if name == "form":  # without amendment and variant: "10-K405" and "10-K/A" are both "10-K"
        forms = [(form, find_form(form)) for form in (value, other)]
        value, other = (form.name if form else text for text, form in forms)
    return bool(value != other)


def _claim(declared: DeclaredIdentity, name: str, label: str = "") -> str:
    origin, value = declared.origins.get(name, FILE_NAME), getattr(declared, name)
    shown = f'"{value}"' if name == "company" else value
    return f"the {origin} {'say' if ' and ' in origin else 'says'} {label}{shown}"


def merge_declared(
    from_name: DeclaredIdentity, from_document_information: DeclaredIdentity | None
) -> tuple[DeclaredIdentity, list[str]]:
    """Join what a file name and a document-information row declare, and tell where they disagree.

    The row counts where both state a field: it was filled in with care, a name was typed.
    """
    if from_document_information is None:
        return from_name, []
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    conflicts = []
    for name in IDENTITY_FIELDS:
        typed, listed = getattr(from_name, name), getattr(from_document_information, name)
        values[name] = typed if listed is None else listed
        origins[name] = FILE_NAME if listed is None else DOCUMENT_INFORMATION
        if _differ(name, typed, listed):
            label = name.replace("_", " ") + " "
            conflicts.append(f"{_claim(from_name, name, label)}, {_claim(from_document_information, name)}")
        elif typed is not None and listed is not None:
            origins[name] = f"{FILE_NAME} and the {DOCUMENT_INFORMATION}"
    return DeclaredIdentity(**values, origins=origins), conflicts


def same_company(name: str, other: str, ticker: str | None = None) -> bool:
    """Tell whether two spellings plausibly name one company.

    Case, punctuation, accents and legal forms do not count. One name may be part of the other
    (``Acme Foods`` of ``Acme Foods International, Inc.``, also written together), its initials or another
    abbreviation (``ABC`` of ``American Beet Company``), its trading symbol, or a misspelling of it.
    Doubtful cases count as the same: the question is whether to warn somebody.
    """
    first, second = _tokens(name), _tokens(other)
    if not first or not second:
        return True
    joined, other_joined = "".join(first), "".join(second)
    if ticker and ticker.casefold() in (joined, other_joined):
        return True
    if joined in _runs(second) or other_joined in _runs(first):
        return True
    if _abbreviates(joined, other) or _abbreviates(other_joined, name):
        return True
    return difflib.SequenceMatcher(None, joined, other_joined).ratio() >= _SAME_SPELLING


def _words(name: str) -> list[str]:
    """Words of a name without fillers, in lower case and without accents."""
    decomposed = unicodedata.normalize("NFKD", name).casefold()
    plain = "".join(c for c in decomposed if not unicodedata.combining(c))
    # "McDonald's" and "L.P." are one word, "A.com" and "Wal-Mart" are two.
    plain = re.sub(r"['\u2019]|(?<=\b\w)\.(?=\w\b)", "", plain)
    return [word for word in re.split(r"[\W_]+", plain) if word and word not in _FILLERS]


def _tokens(name: str) -> list[str]:
    """Words without legal forms; all words where nothing else is left."""
    words = _words(name)
    return [word for word in words if word not in _LEGAL] or words


def _runs(tokens: list[str]) -> set[str]:
    """Every run of neighbouring words, written together, of two letters or more."""
    runs = {"".join(tokens[i:j]) for i, j in combinations(range(len(tokens) + 1), 2)}
    return {run for run in runs if len(run) > 1}


def _abbreviates(short: str, name: str) -> bool:
    """Whether ``short`` is the initials of ``name`` or, up to four letters, letters of it in order."""
    words = _words(name)
    if len(short) < 2 or not words or short[0] != words[0][0]:
        return False
    if "".join(word[0] for word in words).startswith(short):
        return True
    letters = iter("".join(words))
    return len(short) <= _LONGEST_ABBREVIATION and all(letter in letters for letter in short)
