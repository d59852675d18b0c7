"""Forms of filings: one entry for each, of which all that reads names, covers and questions is derived.

A form of a family is treated as that family's own: a 20-F is an annual report as a 10-K is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

ANNUAL, QUARTERLY, CURRENT, EARNINGS = "10-K", "10-Q", "8-K", "EARNINGS"


@dataclass(frozen=True)
class Form:
    """A form of filing.

    Attributes:
        name: canonical name.
        family: the form that it is treated as: `ANNUAL`, `QUARTERLY`, `CURRENT` or `EARNINGS`.
        asked: how questions name it: a pattern, in any case; empty where none is expected to.
        dated: what the date on its cover ends: a ``year`` or a ``quarter``; or the day of an ``event``.
        kinds: suffixes of its variants, such as ``405`` of 10-K405.
    """

    name: str
    family: str
    asked: str = ""
    dated: Literal["year", "quarter", "event"] = "year"
    kinds: tuple[str, ...] = ()


FORMS = (
    Form(
        "10-K", ANNUAL, r"10[- ]?k(?:s|t|405)?(?:/a)?|annual (?:reports?|filings?)", kinds=("405", "SB", "T")
    ),
    Form("20-F", ANNUAL, r"20[- ]?f"),
    Form("40-F", ANNUAL),
    Form("10-Q", QUARTERLY, r"10[- ]?q(?:s)?(?:/a)?|quarterly (?:reports?|filings?)", "quarter", ("SB", "T")),
    Form("8-K", CURRENT, r"8[- ]?ks?(?:/a)?|current reports?", "event"),
    Form("6-K", CURRENT, r"6[- ]?ks?(?:/a)?"),
    Form(
        EARNINGS,
        EARNINGS,
        r"earnings (?:(?:press )?releases?|calls?|reports?|announcements?|press)|press releases?",
        "quarter",
    ),
)
"""Every form, those of one family together."""

KINDS = "|".join(sorted({kind for form in FORMS for kind in form.kinds}))
"""Pattern of the suffixes of variants."""


def form_names(hyphen: str, gap: str = "") -> str:
    """A pattern for the name of any SEC form, with ``gap`` allowed between any two characters."""
    names = (form.name for form in FORMS if form.name != EARNINGS)
    return "|".join(gap.join(hyphen if c == "-" else c for c in name) for name in names)


FORM_IN_NAME = rf"(?P<base>{form_names('[-_ ]?')})(?P<kind>{KINDS})?(?P<amended>[-_ ]?/?A)?"
"""Pattern of a form as names of files and columns of tables print it, in any case."""
_FORM = re.compile(rf"(?:form[-_ ]*)?{FORM_IN_NAME}(?![A-Za-z0-9])", re.IGNORECASE)  # an underscore ends it


def canonical_form(text: str) -> str | None:
    """Return the canonical name of a form, or None when ``text`` does not start with one.

    ``10k_annualreport`` gives ``10-K``, ``Form 10-Q/A`` gives ``10-Q/A``, ``Earnings`` gives ``EARNINGS``.
    """
    text = text.strip()
    if re.match(r"earnings|press[-_ ]?release", text, re.IGNORECASE):
        return EARNINGS
    match = _FORM.match(text)
    if match is None:
        return None
    base = re.sub(r"[-_\s]", "", match["base"]).upper()
    name = next(form.name for form in FORMS if form.name.replace("-", "") == base)
    return name + (match["kind"] or "").upper() + ("/A" if match["amended"] else "")


def find_form(name: str | None) -> Form | None:
    """The form of a canonical name or one of its variants and amendments; None for others."""
    return next((form for form in FORMS if name and name.upper().startswith(form.name)), None)


def form_family(name: str | None, quarter: int | None = None) -> str | None:
    """Return ``10-K``, ``10-Q``, ``8-K`` or ``EARNINGS`` for a form or its variants; None for others.

    An 8-K that reports on a ``quarter`` is the cover of an earnings release, and treated as one.
    """
    form = find_form(name)
    return EARNINGS if form and form.family == CURRENT and quarter else form.family if form else None
