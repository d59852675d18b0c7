"""Profiles of pages: what can be said of a page before any question is asked."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from finrag_pipeline.rankers.page_ranker.lexical import LONGEST_LABEL
from finrag_pipeline.rankers.page_ranker.outline import outline
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.schemas import PAGE_PROFILES
from finrag_pipeline.statements.classify import classify_pages
from finrag_pipeline.statements.concepts import match_row

_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_HEAD_LINES = 4
_EARLIER = 2
_MOST_WORDS = 14
"""Words of a label in the text of a page; longer lines are running text."""
_LEAST_FIGURES = 0.1
"""Share of figures among the words of a page that prints a table."""
_LEAST_LABELS = 3

_FIGURES = re.compile(r"\s*(?:[$€£(]\s*)?(?:\d[\d,.]*|[—–-](?=\s|$))[\s\d,.()%$€£—–-]*$|\s*[$€£]\s*$")
_FIGURE = re.compile(r"\d")
_LABEL = re.compile(r"[A-Za-z].*[A-Za-z)%:]$")


def page_profiles(filing: Mapping[str, Any], pages: pa.Table, tables: pa.Table, facts: pa.Table) -> pa.Table:
    """Rows of ``page_profiles`` of a filing, one per page, in order.

    They are made of its row of ``filings`` and its rows of ``filing_pages``, ``page_tables`` and
    ``statement_facts``.
    """
    rows = pages.select(["page", "text", "word_count"]).to_pylist()
    outlines = outline([row["text"] for row in rows], filing["form"])
    labels, counts = _labels(tables)
    stated = _facts_by_page(facts)
    texts = [row["text"] for row in rows]
    printed = _printed_rows(texts, filing["form"], statements=not tables.num_rows)
    profiles = []
    for row, place, lines_of_rows in zip(rows, outlines, printed, strict=True):
        page, text = row["page"], row["text"]
        words = text.split()
        numeric = sum(any(character.isdigit() for character in word) for word in words)
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        head = " ".join([*lines[:_HEAD_LINES], *place.headings, place.note])
        statements, concepts = stated.get(page, (Counter(), set()))
        years = sorted({int(year) for year in _YEAR.findall(text)})
        found, (ordinals, cells) = labels.get(page, []), counts.get(page, (0, 0))
        if not ordinals and lines_of_rows.labels:
            found, ordinals, cells = list(dict.fromkeys(lines_of_rows.labels)), 1, lines_of_rows.figures
            # Each label has a figure for each period: the fiscal year and the two before it.
            last = filing["fiscal_year"]
            periods = [year for year in years if last is None or last - _EARLIER <= year <= last]
            rows_and_periods = len(found) * max(len(periods), 1)
            statements = Counter(dict.fromkeys(lines_of_rows.statements, rows_and_periods))
            concepts = {(name, year, scope) for name, scope in lines_of_rows.concepts for year in periods}
        profiles.append(
            {
                "filing": filing["filing"],
                "page": page,
                "sections": list(place.sections),
                "note": place.note,
                "headings": list(place.headings),
                "characters": len(text),
                "words": len(words),
                "numeric_words": numeric,
                "tables": ordinals,
                "cells": cells,
                "statements": [
                    {"statement": kind, "scope": scope, "facts": number}
                    for (kind, scope), number in sorted(statements.items())
                ],
                "concepts": [
                    {"concept": concept, "fiscal_year": year, "scope": scope}
                    for concept, year, scope in sorted(concepts, key=str)
                ],
                "years": years,
                "body": terms(text),
                "head": terms(head),
                "labels": found,
            }
        )
    return pa.Table.from_pylist(profiles, schema=PAGE_PROFILES)


def _labels(tables: pa.Table) -> tuple[dict[int, list[str]], dict[int, tuple[int, int]]]:
    """Captions, row labels and column headers of each page; how many tables and cells with numbers it has."""
    texts: dict[int, dict[str, None]] = defaultdict(dict)
    ordinals: dict[int, set[int]] = defaultdict(set)
    cells: Counter[int] = Counter()
    wanted = ["page", "table", "caption", "kind", "text"]
    for cell in tables.select(wanted).to_pylist():
        page = cell["page"]
        ordinals[page].add(cell["table"])
        cells[page] += cell["kind"] == "number"
        if cell["caption"]:
            texts[page][cell["caption"][:LONGEST_LABEL]] = None
        if cell["kind"] in ("label", "header"):
            texts[page][cell["text"][:LONGEST_LABEL]] = None
    counts = {page: (len(found), cells[page]) for page, found in ordinals.items()}
    return {page: list(found) for page, found in texts.items()}, counts


_Facts = tuple[Counter[tuple[str, str]], set[tuple[str, int | None, str]]]
"""Facts by statement and scope; concepts with fiscal year and scope."""


def _facts_by_page(facts: pa.Table) -> dict[int, _Facts]:
    found: dict[int, _Facts] = {}
    for fact in facts.select(["page", "statement", "scope", "line", "fiscal_year"]).to_pylist():
        statements, concepts = found.setdefault(fact["page"], (Counter(), set()))
        statements[fact["statement"], fact["scope"]] += 1
        if fact["line"]:
            concepts.add((fact["line"], fact["fiscal_year"], fact["scope"]))
    return found


@dataclass
class _PrintedRows:
    """What the lines of a page say of its tables.

    Attributes:
        labels: lines that name rows or columns, in order; none where the page prints no table.
        figures: number of words with a digit; 0 where it prints none.
        statements: kind and scope of the statements on the page.
        concepts: names of the concepts that its labels stand for, with the scope.
    """

    labels: list[str] = field(default_factory=list)
    figures: int = 0
    statements: list[tuple[str, str]] = field(default_factory=list)
    concepts: set[tuple[str, str]] = field(default_factory=set)


def _printed_rows(texts: Sequence[str], form: str | None, statements: bool) -> list[_PrintedRows]:
    """Rows of tables as the lines of pages print them, for pages of which no table is known.

    Filings that come as text have no words with places, so no tables; a PDF may print a table that is not
    found. Which lines name rows can still be read, and what statement they belong to (``statements``).
    """
    pages = [_printed_on(text) for text in texts]
    for found in classify_pages(texts, None, form) if statements else ():
        page = pages[found.page]
        page.statements.append((found.kind, found.scope))
        for label in page.labels:
            if matches := match_row(found.kind, label):
                page.concepts.add((matches[0].concept.name, found.scope))
    return pages


def _printed_on(text: str) -> _PrintedRows:
    words = text.split()
    figures = sum(bool(_FIGURE.search(word)) for word in words)
    if not words or figures / len(words) < _LEAST_FIGURES:
        return _PrintedRows()
    lines = (_FIGURES.sub("", line).strip() for line in text.splitlines())
    labels = [line for line in lines if _LABEL.fullmatch(line) and len(line.split()) <= _MOST_WORDS]
    return _PrintedRows(labels, figures) if len(labels) >= _LEAST_LABELS else _PrintedRows()
