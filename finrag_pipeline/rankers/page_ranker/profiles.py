"""Profiles of pages: what can be said of a page before any question is asked."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from finrag_pipeline.rankers.page_ranker.lexical import LONGEST_LABEL
from finrag_pipeline.rankers.page_ranker.outline import outline
from finrag_pipeline.rankers.page_ranker.printed_rows import printed_rows, printed_statements
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.schemas import PAGE_PROFILES

_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_HEAD_LINES = 4
_EARLIER = 2


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
    printed = printed_rows(texts) if tables.num_rows else printed_statements(texts, filing["form"])
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
