"""What kind of statement a table is by its own caption and line items."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.statements.page_evidence import CONTENTS, KINDS, contents_met, squeezed, title_kinds

_FEW = 4
_SCOPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("parent_only", re.compile(r"parentcompany|parentonly|registrantonly|schedulei(?![a-z])")),
    ("condensed", re.compile(r"consolidating|guarantor|issuer")),
    ("summary", re.compile(r"selected(?:consolidated|historical|quarterly)?financial|financialhighlights")),
)


@dataclass(frozen=True, slots=True)
class TableOutline:
    """A table by its labels alone.

    Attributes:
        page, table: zero-based page and ordinal on it.
        caption: title, '' where it has none.
        labels: row labels from top to bottom.
        numbers: count of cells with a number.
        continues: it goes on from the page before.
        scope: what caption or header say of the scope; None where they say nothing.
    """

    page: int
    table: int
    caption: str
    labels: tuple[str, ...]
    numbers: int
    continues: bool
    scope: str | None = None


def outlines(page_tables: pa.Table) -> list[TableOutline]:
    """Outline of every table, ordered by page and ordinal."""
    if not page_tables.num_rows:
        return []
    rows = page_tables.select(
        ["page", "table", "caption", "continues", "row", "row_label", "kind", "text", "header"]
    )
    rows = rows.take(
        pc.sort_indices(rows, sort_keys=[("page", "ascending"), ("table", "ascending"), ("row", "ascending")])
    )
    columns = {name: rows[name].to_pylist() for name in rows.column_names}
    found: list[TableOutline] = []
    start, length = 0, rows.num_rows
    keys = list(zip(columns["page"], columns["table"], strict=True))
    for end in range(1, length + 1):
        if end < length and keys[end] == keys[start]:
            continue
        labels: dict[int, str] = {}
        heads: list[str] = []
        for place in range(start, end):
            label = columns["row_label"][place]
            if label:
                labels.setdefault(columns["row"][place], label)
            if columns["header"][place] and len(heads) < 12:
                heads.append(columns["text"][place])
        caption = columns["caption"][start] or ""
        words = squeezed(f"{caption} {' '.join(heads)}")
        found.append(
            TableOutline(
                page=keys[start][0],
                table=keys[start][1],
                caption=caption,
                labels=tuple(labels.values()),
                numbers=columns["kind"][start:end].count("number"),
                continues=bool(columns["continues"][start]),
                scope=next((scope for scope, pattern in _SCOPES if pattern.search(words)), None),
            )
        )
        start = end
    return found


def table_kind(outline: TableOutline, here: Sequence[str]) -> tuple[str | None, float, tuple[str, ...]]:
    """Kind of a table, its score and why; None where it is no statement.

    Args:
        outline: the table.
        here: kinds of the statements that the page is known to hold.
    """
    if outline.numbers < 2 or not outline.labels:
        return None, 0.0, ()
    met = contents_met(squeezed(label) for label in outline.labels)
    scores = {kind: float(len(places)) for kind, places in met.items()}
    titled = title_kinds(outline.caption) if outline.caption else []
    if here:
        candidates = {kind: scores[kind] + 3.0 * (kind in titled) for kind in here}
        best = max(candidates, key=lambda kind: candidates[kind])
        rival = max(KINDS, key=lambda kind: scores[kind])
        if candidates[best] >= min(2.0, scores[rival]):
            return (
                best,
                candidates[best],
                (f"on a page with this statement; {scores[best]:.0f} groups of line items",),
            )
    totals = {kind: scores[kind] + 2.0 * (kind in titled) for kind in KINDS}
    best = max(totals, key=lambda kind: totals[kind])
    if totals[best] < _FEW:
        return None, 0.0, ()
    reasons = [f"{scores[best]:.0f} of {len(CONTENTS[best])} groups of line items"]
    if best in titled:
        reasons.insert(0, f"caption: {outline.caption}")
    return best, totals[best], tuple(reasons)
