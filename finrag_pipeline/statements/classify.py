"""Which pages and tables of a filing are which financial statement, and which of them are the primary ones.

The primary statements are found first (see :mod:`.primary`). Other full statements and tables that look like
one get a scope from what they say of themselves, such as 'parent company only', or from where they stand.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from finrag_pipeline.statements.page_evidence import (
    CONTENTS,
    KINDS,
    PageEvidence,
    contents_met,
    page_evidence,
    squeezed,
    title_kinds,
)
from finrag_pipeline.statements.primary import SURE, page_score, primary_pages

_FEW_FOR_OTHERS = 0.5  # share of the groups of line items that a statement of another scope must show
_FEW = 4.0  # points of a table from which it is a statement wherever it stands
_MOST_HEADS = 12  # cells of a table's header that are read
_SCOPES = (
    ("parent_only", re.compile(r"parentcompany|parentonly|registrantonly|schedulei(?![a-z])")),
    ("condensed", re.compile(r"consolidating|guarantor|issuer")),
    ("summary", re.compile(r"selected(?:consolidated|historical|quarterly)?financial|financialhighlights")),
)
"""What caption and header of a table say of its scope."""

_PART = r"^(?:part[iv]{1,3})?item"
_SECTIONS = tuple(
    (name, re.compile(pattern))
    for name, pattern in (
        ("summary", rf"{_PART}6[a-z]?(?:selected)|^selected(?:consolidated|historical)*financialdata$"),
        (
            "mdna",
            rf"{_PART}[27]managementsdiscussion|^managementsdiscussionandanalysis(?:$|offinancialcondition)",
        ),
        (
            "statements",
            rf"{_PART}[18]?(?:consolidated|condensed)?financialstatements|^reportofindependentregistered",
        ),
        ("note", r"^notes?to(?:the)?(?:unaudited|condensed|consolidated|interim)*financialstatements"),
        ("other", rf"{_PART}(?:9|15|16|1a|4)[abc]?[a-z]{{4,}}|^exhibitindex|^partiv|^signatures$"),
    )
)
"""Headings, letters and digits alone, that open a part of the report."""

_ITEM = re.compile(r"^item\d|^part[iv]", re.IGNORECASE)
_HEAD_LINES = 36
_CONTENTS_ITEMS = 6
_DIGITS_TOO = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class StatementPage:
    """A page, or a table on it, that is (part of) a statement.

    Attributes:
        table: ordinal of the table on its page; None for the page as a whole.
        scope: primary, parent_only, condensed, summary, note, mdna or other_entity (a further full set:
            another registrant, an investee's statements in an exhibit).
    """

    page: int
    table: int | None
    kind: str
    scope: str


def classify_pages(
    texts: Sequence[str], page_tables: pa.Table | None = None, form: str | None = None
) -> list[StatementPage]:
    """Statements of a filing by page and table, whole pages before tables; empty where it holds none.

    Args:
        texts: of the filing's pages, by zero-based index.
        page_tables: rows of ``page_tables`` of the filing; without them only whole pages are classified.
        form: 10-K, 10-Q, 8-K or EARNINGS. Annual and quarterly reports must hold the primary statements,
            so weaker evidence is believed there.
    """
    evidence = [page_evidence(page, text) for page, text in enumerate(texts)]
    sections = _sections(texts)
    whole = [
        StatementPage(page, None, kind, "primary")
        for kind, block in primary_pages(evidence, form).items()
        for page in block
    ]
    taken = {(found.page, found.kind) for found in whole}
    first = min((found.page for found in whole), default=None)
    for seen in evidence:
        for kind in KINDS:
            if (seen.page, kind) in taken or kind not in seen.titles or seen.index:
                continue
            # What tells of another scope speaks against a primary statement, not against a statement.
            score = page_score(seen, kind) + sum(seen.against.values())
            if score >= SURE and len(seen.contents[kind]) / len(CONTENTS[kind]) >= _FEW_FOR_OTHERS:
                scope = _secondary_scope(seen, sections[seen.page], first)
                whole.append(StatementPage(seen.page, None, kind, scope))
    tables = [] if page_tables is None else _tables(page_tables, whole, sections, first)
    return sorted(
        [*whole, *tables], key=lambda found: (found.page, found.table is not None, found.table or 0)
    )


def _secondary_scope(seen: PageEvidence, section: str, first: int | None) -> str:
    for said, scope in (
        ("parent company only", "parent_only"),
        ("consolidating columns", "condensed"),
        ("selected data", "summary"),
    ):
        if said in seen.against:
            return scope
    return _scope_of_section(section, seen.page, first) or "other_entity"


def _scope_of_section(section: str, page: int, first: int | None) -> str | None:
    """Scope that the part of the report gives; None for a place where full statements may stand."""
    if section in ("note", "mdna", "summary"):
        return section
    # Ahead of the primary statements figures are discussed, not stated.
    return "mdna" if first is not None and page < first else None


def _tables(
    page_tables: pa.Table, whole: Sequence[StatementPage], sections: Sequence[str], first: int | None
) -> list[StatementPage]:
    """Statements among the tables: those on the pages of statements, and excerpts elsewhere."""
    of_page: dict[int, dict[str, str]] = defaultdict(dict)
    for statement in whole:
        of_page[statement.page].setdefault(statement.kind, statement.scope)
    columns = ["page", "table", "row", "caption", "row_label", "kind", "text", "header"]
    rows = page_tables.select(columns).sort_by([(name, "ascending") for name in columns[:3]])
    cells: dict[tuple[int, int], list[list[Any]]] = defaultdict(list)
    for page, table, *cell in zip(*(rows[name].to_pylist() for name in columns), strict=True):
        cells[page, table].append(cell)
    result = []
    for (page, table), own in cells.items():
        caption = own[0][1] or ""
        labels = {row: label for row, _, label, *_ in reversed(own) if label}
        here = of_page[page]
        if not labels or sum(kind == "number" for *_, kind, _, _ in own) < 2:
            continue
        if (kind := _table_kind(caption, list(labels.values()), list(here))) is None:
            continue
        scope = here.get(kind)
        if scope is None:
            heads = [text for *_, text, header in own if header][:_MOST_HEADS]
            words = squeezed(f"{caption} {' '.join(heads)}")
            said = next((scope for scope, pattern in _SCOPES if pattern.search(words)), None)
            scope = said or _scope_of_section(sections[page], page, first) or "note"
        result.append(StatementPage(page, table, kind, scope))
    return result


def _table_kind(caption: str, labels: Sequence[str], here: Sequence[str]) -> str | None:
    """What statement a table is, on a page with those of ``here``; None if it is none."""
    met = contents_met(squeezed(label) for label in labels)
    titled = title_kinds(caption) if caption else []
    if here:
        best = max(here, key=lambda kind: len(met[kind]) + 3.0 * (kind in titled))
        if len(met[best]) + 3.0 * (best in titled) >= min(2, max(map(len, met.values()))):
            return best
    points = {kind: len(met[kind]) + 2.0 * (kind in titled) for kind in KINDS}
    best = max(KINDS, key=lambda kind: points[kind])
    return best if points[best] >= _FEW else None


def _sections(texts: Sequence[str]) -> list[str]:
    """Section of each page: front, summary, mdna, statements, note or other.

    A heading near the top of a page opens a section, which lasts to the next heading; running heads repeat
    it. Pages that list many items (tables of contents) open none.
    """
    sections = ["front"]
    for text in texts:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        listed = sum(bool(_ITEM.match(line)) for line in lines) >= _CONTENTS_ITEMS
        opened = () if listed else (_opens(lines, place) for place in range(min(len(lines), _HEAD_LINES)))
        sections.append(next(filter(None, opened), sections[-1]))
    return sections[1:]


def _opens(lines: Sequence[str], place: int) -> str | None:
    """The section that a line opens."""
    if len(lines[place]) > 130:
        return None
    letters = _DIGITS_TOO.sub("", lines[place].lower())
    readings = [letters]
    # 'Item 7.' may stand on a line of its own before its name.
    if re.fullmatch(r"item\d[a-c]?", letters) and place + 1 < len(lines):
        readings.append(letters + squeezed(lines[place + 1]))
    return next((name for said in readings for name, pattern in _SECTIONS if pattern.search(said)), None)
