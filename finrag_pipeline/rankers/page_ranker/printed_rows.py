"""Rows of tables as the lines of a text print them, for pages of which no table is known.

Filings that come as text have no words with places, so no tables; a PDF may print a table that is not found.
Which lines name rows, and what statement they belong to, can still be read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from finrag_pipeline.statements.classify import classify_pages
from finrag_pipeline.statements.concepts import match_row

MOST_WORDS = 14
"""Words of a label; longer lines are running text."""
LEAST_FIGURES = 0.1
"""Share of figures among the words of a page that prints a table."""
LEAST_LABELS = 3

_FIGURES = re.compile(r"\s*(?:[$€£(]\s*)?(?:\d[\d,.]*|[—–-](?=\s|$))[\s\d,.()%$€£—–-]*$|\s*[$€£]\s*$")
_FIGURE = re.compile(r"\d")
_LABEL = re.compile(r"[A-Za-z].*[A-Za-z)%:]$")


@dataclass
class PrintedRows:
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


def printed_rows(texts: Sequence[str]) -> list[PrintedRows]:
    """Labels of each page, by its text."""
    return [_of_page(text) for text in texts]


def printed_statements(texts: Sequence[str], form: str | None) -> list[PrintedRows]:
    """`printed_rows` with the statements that stand on the pages; for a filing without any table."""
    pages = printed_rows(texts)
    for found in classify_pages(texts, None, form):
        page = pages[found.page]
        page.statements.append((found.kind, found.scope))
        for label in page.labels:
            if matches := match_row(found.kind, label):
                page.concepts.add((matches[0].concept.name, found.scope))
    return pages


def _of_page(text: str) -> PrintedRows:
    words = text.split()
    figures = sum(bool(_FIGURE.search(word)) for word in words)
    if not words or figures / len(words) < LEAST_FIGURES:
        return PrintedRows()
    lines = (_FIGURES.sub("", line).strip() for line in text.splitlines())
    labels = [line for line in lines if _LABEL.fullmatch(line) and len(line.split()) <= MOST_WORDS]
    return PrintedRows(labels, figures) if len(labels) >= LEAST_LABELS else PrintedRows()
