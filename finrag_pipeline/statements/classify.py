"""Which pages and tables of a filing are which financial statement, and which of them are the primary ones.

Every page is scored for every kind of statement by its title, its line items and what speaks against it.
The primary statements are the combination of one page per kind with the highest total: statements stand
together, behind the auditor's report and before the notes, while excerpts in MD&A, selected data, notes and
schedules stand alone. No single word decides.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from finrag_pipeline.statements.page_evidence import (
    CONTENTS,
    KINDS,
    PRIMARY_KINDS,
    PageEvidence,
    page_evidence,
)
from finrag_pipeline.statements.sections import page_sections
from finrag_pipeline.statements.table_kinds import TableOutline, outlines, table_kind
from finrag_pipeline.tables.model import FilingWords

_TITLE = 3.0
_CONTENT = 4.0
_PROSE = 5.0
_FEW_NUMBERS = 12
_THRESHOLD = 3.0
_CANDIDATES = 6
_APART = 8
_NEAR = 2.5
_LONGEST = 4


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
            _score(evidence[page], kind),
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
            score = _score(seen, kind)
            if score >= _THRESHOLD + 1 and _content(seen.contents[kind], kind) >= _CONTENT / 2:
                scope = _secondary_scope(seen, sections[seen.page], first)
                whole.append(StatementPage(seen.page, None, kind, scope, score, _reasons(seen, kind)))
    tables = [] if page_tables is None else _tables(outlines(page_tables), whole, sections)
    return sorted(
        [*whole, *tables], key=lambda found: (found.page, found.table is not None, found.table or 0)
    )


def primary_pages(evidence: Sequence[PageEvidence], form: str | None = None) -> dict[str, list[int]]:
    """Pages of the primary statements by kind, each an unbroken run of pages in order."""
    must = bool(form) and str(form).upper().startswith(("10-K", "10-Q"))
    threshold = _THRESHOLD - 1 if must else _THRESHOLD
    candidates = {kind: _candidates(evidence, kind, threshold) for kind in PRIMARY_KINDS}
    marks = [seen.page for seen in evidence if seen.auditor], [seen.page for seen in evidence if seen.notes]
    best: tuple[float, tuple[int | None, ...]] = (0.0, (None, None, None))
    for combination in itertools.product(*([None, *candidates[kind]] for kind in PRIMARY_KINDS)):
        pages = [found[1] for found in combination if found is not None]
        if not pages:
            continue
        total = sum(found[0] for found in combination if found is not None) + _togetherness(pages, *marks)
        if total > best[0] + 1e-9:
            best = total, tuple(None if found is None else found[1] for found in combination)
    if all(page is None for page in best[1]):
        return {}
    chosen = {
        kind: _block(evidence, kind, page, best[1])
        for kind, page in zip(PRIMARY_KINDS, best[1], strict=True)
        if page is not None
    }
    taken = sorted(page for block in chosen.values() for page in block)
    for kind in ("comprehensive_income", "equity"):
        near = range(max(0, taken[0] - 4), min(len(evidence), taken[-1] + 5))
        found = [
            (_score(evidence[page], kind), -page)
            for page in near
            if not evidence[page].index and not evidence[page].notes and page not in taken
        ]
        if found and max(found)[0] >= _THRESHOLD - 0.5:
            chosen[kind] = _block(evidence, kind, -max(found)[1], best[1])
    return chosen


def _candidates(evidence: Sequence[PageEvidence], kind: str, threshold: float) -> list[tuple[float, int]]:
    scored = []
    for seen in evidence:
        score = _score(seen, kind)
        after = evidence[seen.page + 1] if seen.page + 1 < len(evidence) else None
        if after is not None and kind in seen.titles and kind in after.titles and not seen.index:
            # A statement over two pages shows its line items on both.
            score = max(score, _TITLE + _content(seen.contents[kind] | after.contents[kind], kind) - 0.5)
        if score >= threshold:
            scored.append((score, seen.page))
    return sorted(scored, key=lambda found: (-found[0], found[1]))[:_CANDIDATES]


def _content(met: frozenset[int], kind: str) -> float:
    return _CONTENT * len(met) / len(CONTENTS[kind])


def _score(seen: PageEvidence, kind: str) -> float:
    """Sum of what speaks for ``kind`` on this page: about 7 for a statement with title, negative for text."""
    if seen.numbers < _FEW_NUMBERS or seen.index:
        return -9.0
    score = _content(seen.contents[kind], kind) - _PROSE * seen.prose - sum(seen.against.values())
    if kind in seen.titles:
        score += _TITLE
    elif kind == "income_statement" and "comprehensive_income" in seen.titles:
        # One statement of comprehensive income may hold the income statement.
        score += _TITLE / 2
    elif any(other in seen.titles for other in KINDS):
        score -= 1.0
    if seen.auditor or seen.notes:
        score -= 2.0
    return score


def _togetherness(pages: Sequence[int], auditors: Sequence[int], notes: Sequence[int]) -> float:
    """What the places of the pages add: near one another, behind the auditor's report, before the notes."""
    first, last = min(pages), max(pages)
    total = sum(
        _NEAR if abs(one - other) <= _APART else -_NEAR for one, other in itertools.combinations(pages, 2)
    )
    total += 1.5 * any(0 < page - last <= 6 for page in notes)
    total += 1.0 * any(0 < first - page <= 10 for page in auditors)
    # Of several full sets the first is the parent's.
    return total - 0.002 * first


def _block(evidence: Sequence[PageEvidence], kind: str, page: int, others: Sequence[int | None]) -> list[int]:
    """The pages over which the statement that stands on ``page`` runs."""
    block = [page]
    while page > 0 and len(block) < _LONGEST:
        before, here = evidence[block[0] - 1] if block[0] else None, evidence[block[0]]
        if before is None or before.page in others or not _starts(before, here, kind):
            break
        block.insert(0, before.page)
    while block[-1] + 1 < len(evidence) and len(block) < _LONGEST:
        after = evidence[block[-1] + 1]
        if after.page in others or not _goes_on(after, evidence[block[-1]], kind):
            break
        block.append(after.page)
    return block


def _starts(before: PageEvidence, here: PageEvidence, kind: str) -> bool:
    """Whether the statement began on the page before."""
    if before.index or before.auditor or kind not in before.titles or before.numbers < _FEW_NUMBERS:
        return False
    return before.prose < 0.3 and _content(before.contents[kind], kind) >= 1.0 and _score(before, kind) > 2


def _goes_on(after: PageEvidence, here: PageEvidence, kind: str) -> bool:
    """Whether the statement goes on over the next page."""
    if after.index or after.auditor or after.notes or after.numbers < 2 or after.prose > 0.6:
        return False
    if after.prose > 0.3 and not (after.continued and kind in after.titles):
        return False
    if kind in after.titles:
        return True
    if after.titles or after.against:
        return False
    if after.continued:
        return True
    # Without title: a remainder in the same style, such as supplemental cash flow information.
    items = _content(after.contents[kind], kind)
    best = max(KINDS, key=lambda other: _content(after.contents[other], other))
    return after.numbers < here.numbers and (best == kind or items >= 1.0 or after.numbers < 12)


def _secondary_scope(seen: PageEvidence, section: str, first: int | None) -> str:
    if "parent company only" in seen.against:
        return "parent_only"
    if "consolidating columns" in seen.against:
        return "condensed"
    if "selected data" in seen.against:
        return "summary"
    if first is None or section == "note" or seen.page < first:
        return section if section in ("note", "mdna", "summary") else "other_entity"
    return section if section != "statements" else "other_entity"


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
    found: Sequence[TableOutline], whole: Sequence[StatementPage], sections: Sequence[str]
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
        section = sections[outline.page]
        scope = outline.scope or (section if section in ("mdna", "summary", "note") else "note")
        result.append(
            StatementPage(outline.page, outline.table, kind, scope, score, reasons, outline.continues)
        )
    return result
