"""The lexicon of line items: label, headings and unit of a row in, us-gaap concept out.

The entries stand in ``concepts.toml`` beside this module, whose header explains their fields.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from finrag_pipeline.statements.page_evidence import KINDS

UNITS = ("currency", "currency/share", "shares")
"""Units a concept may be measured in."""

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


@dataclass(frozen=True, slots=True)
class Concept:
    """An entry of the lexicon; see the header of ``concepts.toml``."""

    name: str
    statements: tuple[str, ...]
    labels: tuple[re.Pattern[str], ...]
    exclude: re.Pattern[str] | None = None
    under: re.Pattern[str] | None = None
    not_under: re.Pattern[str] | None = None
    unit: str = "currency"
    prefer: str = "first"
    alone_from: int | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A concept a row may stand for.

    Attributes:
        concept: the entry.
        rank: place of the pattern met, from 0; lower is better.
    """

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


def normal_headings(headings: tuple[str, ...]) -> str:
    """Headings above a row, outermost first, joined as the lexicon compares them."""
    return " > ".join(normal_label(heading) for heading in headings if heading)


@lru_cache(maxsize=1)
def lexicon() -> tuple[Concept, ...]:
    """All entries in the order of the file.

    Raises:
        ValueError: an entry is malformed; the message names it.
    """
    return read_lexicon(_text())


@lru_cache(maxsize=1)
def concept_names() -> tuple[str, ...]:
    """Names of the entries in the order of the file; their hundreds of patterns are not compiled for that."""
    return tuple(dict.fromkeys(raw["name"] for raw in tomllib.loads(_text())["concept"]))


def _text() -> str:
    return resources.files("finrag_pipeline.statements").joinpath("concepts.toml").read_text("utf-8")


def read_lexicon(text: str) -> tuple[Concept, ...]:
    """Entries of a lexicon in TOML.

    Raises:
        ValueError: an entry has unknown fields, statements, units or a bad pattern; the message names it.
    """
    known = {"name", "statements", "labels", "exclude", "under", "not_under", "unit", "prefer", "alone_from"}
    entries = []
    for place, raw in enumerate(tomllib.loads(text).get("concept", [])):
        name = raw.get("name", f"entry {place}")
        problems = [f"unknown field '{key}'" for key in sorted(set(raw) - known)]
        problems += [f"no {key}" for key in ("name", "statements", "labels") if not raw.get(key)]
        problems += [f"unknown statement '{kind}'" for kind in raw.get("statements", []) if kind not in KINDS]
        if raw.get("unit", "currency") not in UNITS:
            problems.append(f"unknown unit '{raw['unit']}'")
        if raw.get("prefer", "first") not in ("first", "last"):
            problems.append(f"prefer is neither first nor last: '{raw['prefer']}'")
        try:
            labels = tuple(re.compile(pattern) for pattern in raw.get("labels", []))
            others = {
                key: re.compile(raw[key]) if key in raw else None for key in ("exclude", "under", "not_under")
            }
        except re.error as error:
            problems.append(f"bad pattern: {error}")
            labels, others = (), {}
        if problems:
            raise ValueError(f"Concept '{name}' of the lexicon: {'; '.join(problems)}.")
        entries.append(
            Concept(
                name,
                tuple(raw["statements"]),
                labels,
                unit=raw.get("unit", "currency"),
                prefer=raw.get("prefer", "first"),
                alone_from=raw.get("alone_from"),
                **others,
            )
        )
    return tuple(entries)


@lru_cache(maxsize=32)
def _of_statement(statement: str) -> tuple[Concept, ...]:
    return tuple(concept for concept in lexicon() if statement in concept.statements)


@lru_cache(maxsize=65536)
def match_row(
    statement: str, label: str, headings: tuple[str, ...] = (), unit: str = "currency"
) -> tuple[Match, ...]:
    """Concepts that a row may stand for, best pattern first; empty where the lexicon has none.

    Args:
        statement: one of the kinds of statement.
        label: the row's label as printed.
        headings: headings above it, outermost first.
        unit: unit of the row's values; a concept measured in another unit is no match.
    """
    text, above = normal_label(label), normal_headings(headings)
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
