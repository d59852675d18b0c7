"""Profiles of pages: what can be said of a page before any question is asked."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
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
    printed = [_printed_rows(text) for text in texts]
    shown = {} if tables.num_rows else _printed_statements(texts, printed, filing["form"])
    profiles = []
    for number, (row, place, (names, figures)) in enumerate(zip(rows, outlines, printed, strict=True)):
        page, text = row["page"], row["text"]
        words = text.split()
        numeric = sum(any(character.isdigit() for character in word) for word in words)
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        head = " ".join([*lines[:_HEAD_LINES], *place.headings, place.note])
        statements, concepts = stated.get(page, (Counter(), set()))
        years = sorted({int(year) for year in _YEAR.findall(text)})
        found, (ordinals, cells) = labels.get(page, []), counts.get(page, (0, 0))
        if not ordinals and names:
            found, ordinals, cells = list(dict.fromkeys(names)), 1, figures
            # Each label has a figure for each period: the fiscal year and the two before it.
            last = filing["fiscal_year"]
            periods = [year for year in years if last is None or last - _EARLIER <= year <= last]
            rows_and_periods = len(found) * max(len(periods), 1)
            kinds, said = shown.get(number, ([], set()))
            statements = Counter(dict.fromkeys(kinds, rows_and_periods))
            concepts = {(name, year, scope) for name, scope in said for year in periods}
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


def _printed_rows(text: str) -> tuple[list[str], int]:
    """Lines of a page that name rows or columns, and its words with a digit; none where it prints no table.

    For pages of which no table is known: filings that come as text have no words with places, so no tables; a
    PDF may print a table that is not found.
    """
    words = text.split()
    figures = sum(bool(_FIGURE.search(word)) for word in words)
    if not words or figures / len(words) < _LEAST_FIGURES:
        return [], 0
    lines = (_FIGURES.sub("", line).strip() for line in text.splitlines())
    labels = [line for line in lines if _LABEL.fullmatch(line) and len(line.split()) <= _MOST_WORDS]
    return (labels, figures) if len(labels) >= _LEAST_LABELS else ([], 0)


_Printed = tuple[list[tuple[str, str]], set[tuple[str, str]]]
"""Kind and scope of statements; concepts with their scope."""


def _printed_statements(
    texts: Sequence[str], rows: Sequence[tuple[list[str], int]], form: str | None
) -> dict[int, _Printed]:
    """Statements on the pages of a filing without any table, and concepts that their labels stand for."""
    printed: dict[int, _Printed] = defaultdict(lambda: ([], set()))
    for found in classify_pages(texts, None, form):
        statements, concepts = printed[found.page]
        statements.append((found.kind, found.scope))
        for label in rows[found.page][0]:
            if matches := match_row(found.kind, label):
                concepts.add((matches[0].concept.name, found.scope))
    return printed
