"""The lexicon of line items: label, headings and unit of a row in, us-gaap concept out.

The entries stand in ``concepts.toml`` beside this module, whose header explains their fields.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal

import pydantic

from finrag_pipeline.statements.page_evidence import Kind

BEGINNING = "BeginningOfPeriod"
"""Suffix of opening cash, which the taxonomy knows as cash at another instant."""

_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
# Brackets that tell one line from another, unlike '(loss)' or '(Note 5)'.
_KEPT = re.compile(r"\((basic|diluted|assuming dilution|current|noncurrent|non-current)\)")
_QUOTES = re.compile(r"[’‘'`\"“”*†‡§®™]|\.{2,}")
_HYPHENS = re.compile(r"[-‐‑‒–—/]+|\s:|:\s|:$")
_NON = re.compile(r"\bnon (?=[a-z])")
_MARKS = re.compile(r"[^a-z0-9,.;$% ]+")
_END = re.compile(r"[\s,.;$]+$|^[\s,.;$]+")
_COMMA = re.compile(r"\s+,|,(?=\s*,)")
_SPACES = re.compile(r"\s+")


@pydantic.dataclasses.dataclass(frozen=True, config={"extra": "forbid"})
class Concept:
    """An entry of the lexicon; see the header of ``concepts.toml``."""

    name: str
    statements: tuple[Kind, ...]
    labels: tuple[re.Pattern[str], ...]
    exclude: re.Pattern[str] | None = None
    under: re.Pattern[str] | None = None
    not_under: re.Pattern[str] | None = None
    unit: Literal["currency", "currency/share", "shares"] = "currency"
    prefer: Literal["first", "last"] = "first"
    alone_from: int | None = None


_CONCEPT = pydantic.TypeAdapter(Concept)


@dataclass(frozen=True, slots=True)
class Match:
    """A concept a row may stand for, and the place of the pattern met, from 0; lower is better."""

    concept: Concept
    rank: int


@lru_cache(maxsize=16384)
def normal_label(label: str) -> str:
    """``label`` as the lexicon compares it: lower case, without brackets, quotes, hyphens and marks.

    >>> normal_label("Net income (loss)")
    'net income'
    >>> normal_label("Total shareholders’ equity (Note 5)")
    'total shareholders equity'
    """
    text = _KEPT.sub(r" \1 ", label.lower().replace("&", " and "))
    without = _BRACKETS.sub(" ", _BRACKETS.sub(" ", text))
    # A label that stands in brackets as a whole keeps its words.
    text = without if re.search("[a-z]", without) else text.replace("(", " ").replace(")", " ")
    text = _MARKS.sub(" ", _HYPHENS.sub(" ", _QUOTES.sub("", text)))
    text = _NON.sub("non", _SPACES.sub(" ", text))
    return _SPACES.sub(" ", _COMMA.sub(",", _END.sub("", text))).strip()


@cache
def lexicon() -> tuple[Concept, ...]:
    """All entries in the order of the file.

    Raises:
        ValueError: an entry is malformed; the message names it.
    """
    return read_lexicon(_text())


@cache
def concept_names(statement: str | None = None) -> tuple[str, ...]:
    """Names of the entries, of one statement or all, in the order of the file.

    Their hundreds of patterns are not compiled for that.
    """
    entries = tomllib.loads(_text())["concept"]
    return tuple(dict.fromkeys(one["name"] for one in entries if statement in (None, *one["statements"])))


def _text() -> str:
    return (files("finrag_pipeline.statements") / "concepts.toml").read_text("utf-8")


def read_lexicon(text: str) -> tuple[Concept, ...]:
    """Entries of a lexicon in TOML.

    Raises:
        ValueError: an entry has unknown fields, statements, units or a bad pattern; the message names it.
    """
    entries = []
    for place, raw in enumerate(tomllib.loads(text).get("concept", [])):
        try:
            entries.append(_CONCEPT.validate_python(raw))
        except pydantic.ValidationError as error:
            told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
            name = raw.get("name", f"entry {place}")
            raise ValueError(f"Concept '{name}' of the lexicon: {told}.") from error
    return tuple(entries)


@cache
def _of_statement(statement: str) -> tuple[Concept, ...]:
    return tuple(concept for concept in lexicon() if statement in concept.statements)


@lru_cache(maxsize=65536)
def match_row(
    statement: str, label: str, headings: tuple[str, ...] = (), unit: str = "currency"
) -> tuple[Match, ...]:
    """Concepts that a row of a statement may stand for, best pattern first; empty where the lexicon has none.

    ``headings`` stand above it, outermost first. A concept measured in another unit is no match.
    """
    text, above = normal_label(label), " > ".join(normal_label(heading) for heading in headings if heading)
    if not text:
        return ()
    found = []
    for concept in _of_statement(statement):
        if concept.unit != ("shares" if unit == "count" else unit):
            continue
        rank = next((rank for rank, pattern in enumerate(concept.labels) if pattern.fullmatch(text)), None)
        if rank is None or (concept.exclude and concept.exclude.search(text)):
            continue
        if concept.under and not concept.under.search(f"{above} > {text}"):
            continue
        if concept.not_under and concept.not_under.search(above):
            continue
        found.append(Match(concept, rank))
    return tuple(sorted(found, key=lambda match: match.rank))
