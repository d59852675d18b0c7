"""Identity of a filing, read from its pages and checked against what its name declares."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass

from finrag_pipeline.filings.conflicts import find_conflicts, merge_declared
from finrag_pipeline.filings.cover_company import read_company, read_ticker
from finrag_pipeline.filings.cover_period import (
    fiscal_quarter_of,
    fiscal_year_of,
    most_reported_year_end,
    read_period_end,
    year_end_after,
)
from finrag_pipeline.filings.cover_text import find_cover, find_form, self_named_form, squeeze
from finrag_pipeline.filings.declared import DeclaredIdentity
from finrag_pipeline.filings.press_release import is_earnings_release, read_release

__all__ = ["DeclaredIdentity", "FilingIdentity", "find_conflicts", "merge_declared", "read_identity"]

# Statements and the notes on fiscal years stand within these pages of the cover.
_WORD_PAGES = 45
_NAMED_FISCAL_YEAR = re.compile(r"(?:FOR)?(?:THE)?FISCALYEAR:?((?:19|20)\d\d)(?!\d)")


@dataclass(frozen=True)
class FilingIdentity:
    """Identity of a filing as its own pages state it; None where they do not.

    Attributes:
        company: registrant as the cover prints it; for an earnings release the company of its headline.
        form: ``10-K``, ``10-Q``, ``8-K`` and variants such as ``10-K/A``, ``10-KT``, ``20-F``, or
            ``EARNINGS`` for an earnings release without a cover of an SEC form.
        fiscal_year: fiscal year reported on, named as the filing names it; for an 8-K the calendar year
            of its event.
        fiscal_quarter: 1 to 4 for quarterly reports and earnings releases (4 also for a full year's).
        period_end: last day of the period; for an 8-K the date of the earliest event.
        ticker: trading symbol of the first listed security.
    """

    company: str | None = None
    form: str | None = None
    fiscal_year: int | None = None
    fiscal_quarter: int | None = None
    period_end: dt.date | None = None
    ticker: str | None = None


def read_identity(pages: Sequence[str]) -> FilingIdentity:
    """Read the identity of a filing from the texts of its pages.

    The cover page is searched in the first 250 pages, the wording of periods in the 45 from the cover on.

    Args:
        pages: texts of all pages, in order.
    """
    cover = find_cover(pages)
    if cover is None and is_earnings_release(pages):
        release = read_release(pages)
        return FilingIdentity(
            company=release.company,
            form="EARNINGS",
            fiscal_year=release.fiscal_year,
            fiscal_quarter=release.fiscal_quarter,
            period_end=release.period_end,
            ticker=release.ticker,
        )
    start = cover or 0
    words = squeeze("\n".join(pages[start : start + _WORD_PAGES]))
    form = (find_form(pages[cover]) if cover is not None else None) or self_named_form(words)
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
    if form.startswith(("8-K", "6-K")):
        return period_end.year if period_end else None, None, period_end
    if form.startswith("10-Q"):
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
