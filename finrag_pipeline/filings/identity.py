"""Identity of a filing, read from its pages, and where what its name or a table declares disagrees."""

from __future__ import annotations

import datetime as dt
import difflib
import re
import unicodedata
from collections.abc import Sequence

from finrag_pipeline.filings.cover_company import read_company, read_ticker
from finrag_pipeline.filings.cover_period import (
    fiscal_quarter_of,
    fiscal_year_of,
    most_reported_year_end,
    read_period_end,
    year_end_after,
)
from finrag_pipeline.filings.cover_text import find_cover, form_on_cover, self_named_form, squeeze
from finrag_pipeline.filings.forms import CURRENT, EARNINGS, QUARTERLY, find_form, form_family
from finrag_pipeline.filings.names import IDENTITY_FIELDS, DeclaredIdentity, FilingIdentity
from finrag_pipeline.filings.press_release import is_earnings_release, read_release

# Statements and the notes on fiscal years stand within these pages of the cover.
_WORD_PAGES = 45
_NAMED_FISCAL_YEAR = re.compile(r"(?:FOR)?(?:THE)?FISCALYEAR:?((?:19|20)\d\d)(?!\d)")


def read_identity(pages: Sequence[str]) -> FilingIdentity:
    """Read the identity of a filing from the texts of its pages.

    The cover page is searched in the first 250 pages, the wording of periods in the 45 from the cover on.

    Args:
        pages: texts of all pages, in order.
    """
    cover = find_cover(pages)
    if cover is None and is_earnings_release(pages):
        return read_release(pages)
    start = cover or 0
    words = squeeze("\n".join(pages[start : start + _WORD_PAGES]))
    form = (form_on_cover(pages[cover]) if cover is not None else None) or self_named_form(words)
    face = squeeze(pages[cover]) if cover is not None else ""
    year, quarter, period_end = _period(form, face, words)
    return FilingIdentity(
        company=read_company(pages, cover),
        form=form,
        fiscal_year=year,
        fiscal_quarter=quarter,
        period_end=period_end,
        ticker=read_ticker("\n".join(pages[cover : cover + 2])) if cover is not None else None,
    )


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
_SHORTEST_RUN = 2
_LONGEST_ABBREVIATION = 4
_SAME_SPELLING = 0.9


def find_conflicts(identity: FilingIdentity, declared: DeclaredIdentity) -> list[str]:
    """Return one sentence per disagreement between a filing's pages and its declared identity.

    Fields that either side does not state are passed over. Companies are compared loosely (see
    `same_company`); years exactly, though names often carry
    the calendar year, so that the sentence gives both values and the reason where it is that.

    Args:
        identity: what the pages say.
        declared: what the file name, the document-information file, or both declare.
    """
    says = "the press release says" if identity.form == EARNINGS else "the cover page says"
    conflicts = []
    if identity.form and declared.form and _base(identity.form) != _base(declared.form):
        conflicts.append(f"{says} form {identity.form}, {_claim(declared, 'form')}")
    if (
        identity.company
        and declared.company
        and not same_company(identity.company, declared.company, identity.ticker)
    ):
        conflicts.append(f'{says} company "{identity.company}", {_claim(declared, "company")}')
    if (conflict := _year_conflict(identity, declared)) is not None:
        conflicts.append(conflict)
    quarters = (identity.fiscal_quarter, declared.fiscal_quarter)
    if all(quarters) and quarters[0] != quarters[1]:
        conflicts.append(
            f"the filing reports on fiscal quarter {quarters[0]}, {_claim(declared, 'fiscal_quarter')}"
        )
    if (conflict := _event_conflict(identity, declared)) is not None:
        conflicts.append(conflict)
    return conflicts


def _base(name: str) -> str:
    """Form without amendment and variant: ``10-K405`` and ``10-K/A`` are both ``10-K``."""
    form = find_form(name)
    return form.name if form else name


def _is_event(name: str | None) -> bool:
    form = find_form(name)
    return form is not None and form.dated == "event"


def _year_conflict(identity: FilingIdentity, declared: DeclaredIdentity) -> str | None:
    stated, claimed, end = identity.fiscal_year, declared.fiscal_year, identity.period_end
    if stated is None or claimed is None or stated == claimed:
        return None
    claim = _claim(declared, "fiscal_year")
    if _is_event(identity.form):
        return f"the event of the 8-K is dated {end}, {claim}"
    period = f" (period end {end})" if end else ""
    hint = ""
    if end is not None and claimed == end.year:
        hint = ", the calendar year of the period end"
    elif end is not None and claimed == end.year + 1:
        hint = ", the year after the period end"
    return f"the filing reports on fiscal year {stated}{period}, {claim}{hint}"


def _event_conflict(identity: FilingIdentity, declared: DeclaredIdentity) -> str | None:
    event, claimed = identity.period_end, declared.event_date
    if not _is_event(identity.form) or event is None or claimed is None:
        return None
    if 0 <= (claimed - event).days <= _DAYS_TO_REPORT:
        return None
    return f"the cover page dates the event {event}, {_claim(declared, 'event_date')}"


def _claim(declared: DeclaredIdentity, name: str) -> str:
    origin, value = declared.origin(name), getattr(declared, name)
    return f"the {origin} {'say' if ' and ' in origin else 'says'} {_shown(name, value)}"


def _shown(name: str, value: object) -> str:
    return f'"{value}"' if name == "company" else str(value)


def merge_declared(
    from_name: DeclaredIdentity, from_document_information: DeclaredIdentity | None
) -> tuple[DeclaredIdentity, list[str]]:
    """Merge what a file name and a document-information row declare.

    The row, where it states a field, is preferred: it was filled in with care, a name was typed.

    Args:
        from_name: identity declared by the file name.
        from_document_information: identity declared by the row, or None where there is no row.

    Returns:
        The merged identity, and one sentence per disagreement between the two sources.
    """
    if from_document_information is None:
        return from_name, []
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    conflicts = []
    for name in IDENTITY_FIELDS:
        typed, listed = getattr(from_name, name), getattr(from_document_information, name)
        chosen, source = (typed, from_name) if listed is None else (listed, from_document_information)
        values[name], origins[name] = chosen, source.origin(name)
        if typed is None or listed is None:
            continue
        if name == "company":
            differ = not same_company(typed, listed)
        elif name == "form":
            differ = _base(typed) != _base(listed)
        else:
            differ = typed != listed
        if differ:
            label = name.replace("_", " ")
            typed_claim = f"the {from_name.origin(name)} says {label} {_shown(name, typed)}"
            conflicts.append(f"{typed_claim}, {_claim(from_document_information, name)}")
        else:
            origins[name] = f"{from_name.origin(name)} and the {source.origin(name)}"
    return DeclaredIdentity(**values, origins=origins), conflicts  # type: ignore[arg-type]


def same_company(name: str, other: str, ticker: str | None = None) -> bool:
    """Tell whether two spellings plausibly name one company.

    Case, punctuation, accents and legal forms do not count. One name may be part of the other
    (``Acme Foods`` of ``Acme Foods International, Inc.``, also written together), its initials or another
    abbreviation (``ABC`` of ``American Beet Company``), its trading symbol, or a misspelling of it.
    Doubtful cases count as the same: the question is whether to warn somebody.

    Args:
        name: one spelling.
        other: another.
        ticker: trading symbol of either company.
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
    decomposed = unicodedata.normalize("NFKD", name).casefold()
    plain = "".join(c for c in decomposed if not unicodedata.combining(c))
    # "McDonald's" and "L.P." are one word, "A.com" and "Wal-Mart" are two.
    plain = re.sub(r"['\u2019]|(?<=\b\w)\.(?=\w\b)", "", plain)
    return [word for word in re.split(r"[\W_]+", plain) if word]


def _tokens(name: str) -> list[str]:
    """Words without fillers and legal forms; all words where nothing else is left."""
    words = [word for word in _words(name) if word not in _FILLERS]
    return [word for word in words if word not in _LEGAL] or words


def _runs(tokens: list[str]) -> set[str]:
    """Every run of neighbouring words, written together."""
    count = len(tokens)
    runs = ("".join(tokens[i:j]) for i in range(count) for j in range(i + 1, count + 1))
    return {run for run in runs if len(run) >= _SHORTEST_RUN}


def _abbreviates(short: str, name: str) -> bool:
    """Whether ``short`` is the initials of ``name`` or, up to four letters, letters of it in order."""
    words = [word for word in _words(name) if word not in _FILLERS]
    if len(short) < 2 or not words or short[0] != words[0][0]:
        return False
    if "".join(word[0] for word in words).startswith(short):
        return True
    if len(short) > _LONGEST_ABBREVIATION:
        return False
    letters = iter("".join(words))
    return all(letter in letters for letter in short)
