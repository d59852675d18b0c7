"""Query expansion by rule: acronyms and short periods are spelled out behind the question.

CAPEX → capital expenditure, FY18 → fiscal year 2018, as Kobeissi & Langlais do; for retrieval alone. The
question stays as it was asked; what is spelled out follows once, in brackets, and only where the question
does not say it already. No language model takes part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

EXPANSION_VERSION = "1"
"""Changes with the lexicon or the rules."""

ACRONYMS: dict[str, tuple[str, ...]] = {
    # Statements of income
    "COGS": ("cost of goods sold",),
    "D&A": ("depreciation and amortization",),
    "DD&A": ("depreciation, depletion and amortization",),
    "EBIT": ("earnings before interest and taxes",),
    "EBITA": ("earnings before interest, taxes and amortization",),
    "EBITDA": ("earnings before interest, taxes, depreciation and amortization",),
    "EBT": ("earnings before taxes",),
    "EPS": ("earnings per share",),
    "G&A": ("general and administrative",),
    "NII": ("net interest income",),
    "NOPAT": ("net operating profit after taxes",),
    "OCI": ("other comprehensive income",),
    "OPEX": ("operating expenses",),
    "P&L": ("profit and loss",),
    "R&D": ("research and development",),
    "SBC": ("stock-based compensation",),
    "SG&A": ("selling, general and administrative",),
    # Balance sheets
    "AOCI": ("accumulated other comprehensive income",),
    "AP": ("accounts payable",),
    "APIC": ("additional paid-in capital",),
    "AR": ("accounts receivable",),
    "NWC": ("net working capital",),
    "PP&E": ("property, plant and equipment",),
    "PPE": ("property, plant and equipment",),
    "ROU": ("right-of-use",),
    # Statements of cash flows
    "CAPEX": ("capital expenditure", "capital expenditures"),
    "FCF": ("free cash flow",),
    "OCF": ("operating cash flow",),
    # Ratios
    "CAGR": ("compound annual growth rate",),
    "CCC": ("cash conversion cycle",),
    "DIO": ("days inventory outstanding",),
    "DPO": ("days payable outstanding",),
    "DSO": ("days sales outstanding",),
    "NIM": ("net interest margin",),
    "P/E": ("price to earnings",),
    "ROA": ("return on assets",),
    "ROCE": ("return on capital employed",),
    "ROE": ("return on equity",),
    "ROI": ("return on investment",),
    "ROIC": ("return on invested capital",),
    # Periods
    "LTM": ("last twelve months",),
    "MoM": ("month over month",),
    "QoQ": ("quarter over quarter",),
    "TTM": ("trailing twelve months",),
    "YoY": ("year over year",),
    "YTD": ("year to date",),
    # Filings and transactions
    "ASC": ("accounting standards codification",),
    "ASU": ("accounting standards update",),
    "GAAP": ("generally accepted accounting principles",),
    "IPO": ("initial public offering",),
    "M&A": ("mergers and acquisitions",),
    "MD&A": ("management's discussion and analysis",),
}
"""Acronyms with what they stand for, without words that are acronyms themselves."""

_ANY_CASE = frozenset(
    {"CAPEX", "COGS", "EBITA", "EBITDA", "GAAP", "MoM", "OPEX", "QoQ", "YoY", "YTD", "PP&E", "SG&A", "R&D"}
)
"""Acronyms that are no other word in any case; the others count only as they are written here."""

_QUARTERS = {"1": "first quarter", "2": "second quarter", "3": "third quarter", "4": "fourth quarter"}
_HALVES = {"1": "first half", "2": "second half"}

# Not \b: an underscore or a digit beside an acronym is part of another word, an apostrophe is not.
_WORD = r"(?<![A-Za-z0-9_&])(?:{})(?![A-Za-z0-9_&])"
_FISCAL = re.compile(
    r"(?<![A-Za-z0-9_])(?:[1-4]Q|Q[1-4]|H[12]|[12]H)?FYE?\s?['’]?(?P<year>(?:19|20)\d{2}|\d{2})(?!\d|[.,]\d)",
    re.IGNORECASE,
)
_FISCAL_ALONE = re.compile(_WORD.format("FY"))
# Q2, 2Q, Q2 2018, Q2'18, 2Q18, Q2FY18, FY18Q2; a bare number behind a space is no year.
_PART = re.compile(
    r"(?:(?<![A-Za-z0-9_])|(?<=FY\d{2})|(?<=FY\d{4}))"
    r"(?:(?P<kind>[QqH])(?P<number>[1-4])|(?P<number2>[1-4])(?P<kind2>[QqH]))"
    r"(?:(?:\s?['’]?(?P<long>(?:19|20)\d{2})|(?:\s?['’])?(?P<short>\d{2}))(?!\d|[.,]\d)"
    r"|(?![A-Za-z0-9_])|(?=FY))"
)


def expand_query(question: str) -> str:
    """The question, followed in brackets by what its acronyms and short periods stand for.

    The result starts with the question, letter for letter, and is its own expansion.
    """
    said = _folded(question)
    added: list[str] = []
    for phrase in dict.fromkeys(expansions(question)):
        if not _says(said, phrase) and not any(_says(_folded(other), phrase) for other in added):
            added.append(phrase)
    return f"{question} ({'; '.join(added)})" if added else question


def expansions(question: str) -> Iterator[str]:
    """What the acronyms and short periods of a question stand for, in the order of the lexicon."""
    for acronym, phrases in ACRONYMS.items():
        flags = re.IGNORECASE if acronym in _ANY_CASE else re.NOFLAG
        if re.search(_WORD.format(re.escape(acronym)), question, flags):
            yield from phrases
    for match in _PART.finditer(question):
        kind, number = match["kind"] or match["kind2"], match["number"] or match["number2"]
        name = (_HALVES if kind == "H" else _QUARTERS).get(number)
        year = match["long"] or match["short"]
        if name:
            yield f"{name} {_full_year(year)}" if year else name
    years = [f"fiscal year {_full_year(match['year'])}" for match in _FISCAL.finditer(question)]
    yield from years
    if not years and _FISCAL_ALONE.search(question):
        yield "fiscal year"


def _full_year(year: str) -> str:
    """Four digits; two stand for 1970 to 2069."""
    if len(year) == 4:
        return year
    return ("19" if year >= "70" else "20") + year


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _says(text: str, phrase: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(_folded(phrase))}(?!\w)", text) is not None
