"""Which pages and tables of a filing are which financial statement, and which of them are the primary ones.

The primary statements are found first (see :mod:`.primary`). Other full statements and tables that look like
one get a scope from what they say of themselves, such as 'parent company only', or from where they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from finrag_pipeline.statements.page_evidence import CONTENTS, KINDS, PageEvidence, page_evidence
from finrag_pipeline.statements.primary import SURE, page_score, primary_pages
from finrag_pipeline.statements.sections import page_sections
from finrag_pipeline.statements.table_kinds import TableOutline, outlines, table_kind
from finrag_pipeline.tables.model import FilingWords

_FEW_FOR_OTHERS = 0.5  # share of the groups of line items that a statement of another scope must show


@dataclass(frozen=True, slots=True)
class StatementPage:
    """A page, or a table on it, that is (part of) a statement.

    Attributes:
        page: zero-based.
        table: ordinal of the table on its page; None for the page as a whole.
        kind: one of `KINDS`.
        scope: primary, parent_only, condensed, summary, note, mdna or other_entity (a further full set:
            another registrant, an investee's statements in an exhibit).
        score: sum of what speaks for it; comparable within a filing only.
        reasons: words seen and rules applied, for people.
        continues: it goes on from the page before.
    """

    page: int
    table: int | None
    kind: str
    scope: str
    score: float
    reasons: tuple[str, ...]
    continues: bool = False


def classify_pages(
    pages: FilingWords | Sequence[str], page_tables: pa.Table | None = None, form: str | None = None
) -> list[StatementPage]:
    """Statements of a filing by page and table.

    Args:
        pages: the filing's words, or the texts of its pages by zero-based index.
        page_tables: rows of ``page_tables`` of the filing; without them only whole pages are classified.
        form: 10-K, 10-Q, 8-K or EARNINGS. Annual and quarterly reports must hold the primary statements,
            so weaker evidence is believed there.

    Returns:
        Ordered by page, whole pages before tables. Empty where the filing holds no statement.
    """
    texts = [page.text for page in pages.pages] if isinstance(pages, FilingWords) else list(pages)
    evidence = [page_evidence(page, text) for page, text in enumerate(texts)]
    sections = page_sections(texts)
    chosen = primary_pages(evidence, form)
    whole = [
        StatementPage(
            page,
            None,
            kind,
            "primary",
            page_score(evidence[page], kind),
            _reasons(evidence[page], kind),
            place > 0,
        )
        for kind, block in chosen.items()
        for place, page in enumerate(block)
    ]
    taken = {(found.page, found.kind) for found in whole}
    first = min((found.page for found in whole), default=None)
    for seen in evidence:
        for kind in KINDS:
            if (seen.page, kind) in taken or kind not in seen.titles or seen.index:
                continue
            # What tells of another scope speaks against a primary statement, not against a statement.
            score = page_score(seen, kind) + sum(seen.against.values())
            groups = len(seen.contents[kind]) / len(CONTENTS[kind])
            if score >= SURE and groups >= _FEW_FOR_OTHERS:
                scope = _secondary_scope(seen, sections[seen.page], first)
                whole.append(StatementPage(seen.page, None, kind, scope, score, _reasons(seen, kind)))
    tables = [] if page_tables is None else _tables(outlines(page_tables), whole, sections, first)
    return sorted(
        [*whole, *tables], key=lambda found: (found.page, found.table is not None, found.table or 0)
    )


def _secondary_scope(seen: PageEvidence, section: str, first: int | None) -> str:
    if "parent company only" in seen.against:
        return "parent_only"
    if "consolidating columns" in seen.against:
        return "condensed"
    if "selected data" in seen.against:
        return "summary"
    return _scope_of_section(section, seen.page, first) or "other_entity"


def _scope_of_section(section: str, page: int, first: int | None) -> str | None:
    """Scope that the part of the report gives; None for a place where full statements may stand."""
    if section in ("note", "mdna", "summary"):
        return section
    # Ahead of the primary statements figures are discussed, not stated.
    return "mdna" if first is not None and page < first else None


def _reasons(seen: PageEvidence, kind: str) -> tuple[str, ...]:
    reasons = []
    if kind in seen.titles:
        reasons.append(f"title: {seen.titles[kind]}")
    reasons.append(f"{len(seen.contents[kind])} of {len(CONTENTS[kind])} groups of line items")
    if seen.prose > 0.1:
        reasons.append(f"{seen.prose:.0%} running text")
    reasons.extend(f"against: {name}" for name in seen.against)
    if seen.continued:
        reasons.append("continued")
    return tuple(reasons)


def _tables(
    found: Sequence[TableOutline],
    whole: Sequence[StatementPage],
    sections: Sequence[str],
    first: int | None,
) -> list[StatementPage]:
    """Statements among the tables: those on the pages of statements, and excerpts elsewhere."""
    of_page: dict[int, list[StatementPage]] = {}
    for statement in whole:
        of_page.setdefault(statement.page, []).append(statement)
    result = []
    for outline in found:
        here = of_page.get(outline.page, [])
        kind, score, reasons = table_kind(outline, [statement.kind for statement in here])
        if kind is None:
            continue
        same = [statement for statement in here if statement.kind == kind]
        if same:
            page = same[0]
            result.append(
                StatementPage(
                    outline.page,
                    outline.table,
                    kind,
                    page.scope,
                    page.score,
                    (*page.reasons, *reasons),
                    page.continues or outline.continues,
                )
            )
            continue
        scope = outline.scope or _scope_of_section(sections[outline.page], outline.page, first) or "note"
        result.append(
            StatementPage(outline.page, outline.table, kind, scope, score, reasons, outline.continues)
        )
    return result
