"""What a file name or a document-information row declares a filing to be."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields

FILE_NAME = "file name"
DOCUMENT_INFORMATION = "document-information file"

_FORM = re.compile(
    r"(?:form[-_ ]*)?(?P<number>10|20|40|8|6)[-_ ]?(?P<letter>[KQF])(?P<kind>405|SB|T)?"
    r"(?P<amended>[-_ ]?/?A)?(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_BASE_FORMS = frozenset({"10-K", "10-Q", "8-K", "20-F", "40-F", "6-K"})
_PERIOD = re.compile(r"(?P<year>(?:19|20)\d\d)(?:[-_ ]?Q(?P<quarter>[1-4]))?(?!\d)", re.IGNORECASE)


@dataclass(frozen=True)
class DeclaredIdentity:
    """Identity of a filing as its name or a document-information row states it.

    Attributes:
        company: company, in the spelling of the source.
        form: ``10-K``, ``10-Q``, ``8-K``, ``EARNINGS`` or another canonical form name.
        fiscal_year: year, fiscal or calendar as the author of the source chose.
        fiscal_quarter: 1 to 4.
        event_date: a full date in the name, usually that of an event or of its report.
        sector: sector of the company.
        origins: which source each field comes from, for messages; no part of equality.
    """

    company: str | None = None
    form: str | None = None
    fiscal_year: int | None = None
    fiscal_quarter: int | None = None
    event_date: dt.date | None = None
    sector: str | None = None
    origins: Mapping[str, str] = field(default_factory=dict, compare=False, hash=False)

    def origin(self, name: str) -> str:
        """Return the source of the field ``name``, for messages."""
        return self.origins.get(name, FILE_NAME)


IDENTITY_FIELDS = tuple(f.name for f in fields(DeclaredIdentity) if f.name != "origins")


def declare(
    source: str,
    *,
    company: str | None = None,
    form: str | None = None,
    fiscal_year: int | None = None,
    fiscal_quarter: int | None = None,
    event_date: dt.date | None = None,
    sector: str | None = None,
) -> DeclaredIdentity:
    """Build a declared identity whose fields all come from ``source``."""
    return DeclaredIdentity(
        company=company,
        form=form,
        fiscal_year=fiscal_year,
        fiscal_quarter=fiscal_quarter,
        event_date=event_date,
        sector=sector,
        origins=dict.fromkeys(IDENTITY_FIELDS, source),
    )


def canonical_form(text: str) -> str | None:
    """Return the canonical name of a form, or None when ``text`` does not start with one.

    ``10k_annualreport`` gives ``10-K``, ``Form 10-Q/A`` gives ``10-Q/A``, ``Earnings`` gives ``EARNINGS``.
    """
    stripped = text.strip()
    if re.match(r"earnings|press[-_ ]?release", stripped, re.IGNORECASE):
        return "EARNINGS"
    # An underscore ends a word here, as in 10k_annualreport.
    match = _FORM.match(stripped)
    if match is None:
        return None
    base = f"{match['number']}-{match['letter'].upper()}"
    if base not in _BASE_FORMS:
        return None
    return base + (match["kind"] or "").upper() + ("/A" if match["amended"] else "")


def declared_from_document_information(row: Mapping[str, object]) -> DeclaredIdentity:
    """Read a row of a document-information file, in the layout of FinanceBench's.

    Args:
        row: mapping with any of ``company``, ``doc_type``, ``doc_period`` (a year, or a year and a
            quarter such as ``2023Q2``) and ``gics_sector``; missing or odd values become None.
    """

    def text(key: str) -> str:
        value = row.get(key)
        return "" if value is None else str(value).strip()

    period = _PERIOD.match(text("doc_period"))
    return declare(
        DOCUMENT_INFORMATION,
        company=text("company") or None,
        form=canonical_form(text("doc_type")),
        fiscal_year=int(period["year"]) if period else None,
        fiscal_quarter=int(period["quarter"]) if period and period["quarter"] else None,
        sector=text("gics_sector") or None,
    )
