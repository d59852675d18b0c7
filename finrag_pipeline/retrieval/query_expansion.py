"""Query expansion by rule: short forms spelled out, or keywords alone.

CAPEX → capital expenditure, FY18 → fiscal year 2018, as Kobeissi & Langlais do; for retrieval alone. The
question stays as it was asked; what is spelled out follows once, in brackets, and only where the question
does not say it already. Kim et al. let a language model expand the question or name its keywords.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files

from finrag_pipeline.questions.words import FILLERS, QUESTION_WORDS
from finrag_pipeline.retrieval.bm25 import finance_tokens

EXPANSION_VERSION = "1"
"""Changes with the lexicon or the rules."""

LEXICON: dict[str, dict[str, list[str]]] = tomllib.loads(
    (files("finrag_pipeline.retrieval") / "lexicon.toml").read_text("utf-8")
)
ACRONYMS = {acronym: tuple(phrases) for acronym, phrases in LEXICON["acronyms"].items()}
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
# Q2, 2Q, Q2 2018, Q2'18, 2Q18, Q2FY18, FY18Q2; a bare number after a space is no year.
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


def keywords(question: str) -> str:
    """The words and numbers of a question that carry what is asked; the question where none does."""
    return " ".join(word for word in finance_tokens(question) if word not in _NO_KEYWORDS) or question


_NO_KEYWORDS = (FILLERS | QUESTION_WORDS) - {"total", "$", "%"}


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
