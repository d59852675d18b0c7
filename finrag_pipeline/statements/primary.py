"""The pages of a filing's primary statements.

Every page is scored for every kind of statement by its title, its line items and what speaks against it.
The primary statements are the combination of one page per kind with the highest total: statements stand
together, behind the auditor's report and before the notes, while excerpts in MD&A, selected data, notes and
schedules stand alone. No single word decides.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from finrag_pipeline.statements.page_evidence import CONTENTS, KINDS, PRIMARY_KINDS, PageEvidence

# Points of a page: a title alone makes no statement, and neither do some line items in running text.
_TITLE = 3.0
_CONTENT = 4.0  # where all groups of line items are met
_PROSE = 5.0  # taken off where the page is all running text
_FEW_NUMBERS = 12
_THRESHOLD = 3.0
SURE = _THRESHOLD + 1
"""Score from which a page is a statement wherever it stands."""

# Points of a combination of pages.
_CANDIDATES = 6
_APART = 8
_NEAR = 2.5
_NOTES_FOLLOW = 1.5
_AUDITOR_BEFORE = 1.0
_SPREAD = 0.1  # taken off per page between the first and the last
_LATER = 0.02  # taken off per page before the first: of several full sets the first is the parent's
_LONGEST = 4  # pages a statement may run over


def primary_pages(evidence: Sequence[PageEvidence], form: str | None = None) -> dict[str, list[int]]:
    """Pages of the primary statements by kind, each an unbroken run of pages in order."""
    must = bool(form) and form.upper().startswith(("10-K", "10-Q"))
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
            (page_score(evidence[page], kind), -page)
            for page in near
            if page not in taken and _may_be(evidence[page], kind)
        ]
        if found and max(found)[0] >= _THRESHOLD - 0.5:
            chosen[kind] = _block(evidence, kind, -max(found)[1], best[1])
    return chosen


def _may_be(seen: PageEvidence, kind: str) -> bool:
    """Whether a page near the primary statements may be another one: by title or line items."""
    if seen.index or seen.notes:
        return False
    if kind in seen.titles:
        return True
    return not seen.titles and _likest(seen) == kind


def _likest(seen: PageEvidence) -> str:
    """The kind whose line items the page shows most of."""
    return max(KINDS, key=lambda kind: content_score(seen.contents[kind], kind))


def _candidates(evidence: Sequence[PageEvidence], kind: str, threshold: float) -> list[tuple[float, int]]:
    scored = []
    for seen in evidence:
        score = page_score(seen, kind)
        after = evidence[seen.page + 1] if seen.page + 1 < len(evidence) else None
        if after is not None and kind in seen.titles and kind in after.titles and not seen.index:
            # A statement over two pages shows its line items on both.
            score = max(score, _TITLE + content_score(seen.contents[kind] | after.contents[kind], kind) - 0.5)
        if score >= threshold:
            scored.append((score, seen.page))
    return sorted(scored, key=lambda found: (-found[0], found[1]))[:_CANDIDATES]


def content_score(met: frozenset[int], kind: str) -> float:
    """Points for the groups of line items met."""
    return _CONTENT * len(met) / len(CONTENTS[kind])


def page_score(seen: PageEvidence, kind: str) -> float:
    """Sum of what speaks for ``kind`` on this page: about 7 for a statement with title, negative for text."""
    fewest = _FEW_NUMBERS // 2 if kind == "comprehensive_income" else _FEW_NUMBERS
    if seen.numbers < fewest or seen.index:
        return -9.0
    score = content_score(seen.contents[kind], kind) - _PROSE * seen.prose - sum(seen.against.values())
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
    total += _NOTES_FOLLOW * any(0 < page - last <= 6 for page in notes)
    total += _AUDITOR_BEFORE * any(0 < first - page <= 10 for page in auditors)
    return total - _SPREAD * (last - first) - _LATER * first


def _block(evidence: Sequence[PageEvidence], kind: str, page: int, others: Sequence[int | None]) -> list[int]:
    """The pages over which the statement that stands on ``page`` runs."""
    block = [page]
    while len(block) < _LONGEST:
        before = evidence[block[0] - 1] if block[0] else None
        if before is None or before.page in others or not _starts(before, kind):
            break
        block.insert(0, before.page)
    while block[-1] + 1 < len(evidence) and len(block) < _LONGEST:
        after = evidence[block[-1] + 1]
        if after.page in others or not _goes_on(after, evidence[block[-1]], kind):
            break
        block.append(after.page)
    return block


def _starts(before: PageEvidence, kind: str) -> bool:
    """Whether the statement began on the page before."""
    if before.index or before.auditor or kind not in before.titles or before.numbers < _FEW_NUMBERS:
        return False
    return (
        before.prose < 0.3
        and content_score(before.contents[kind], kind) >= 1.0
        and page_score(before, kind) > 2
    )


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
    items = content_score(after.contents[kind], kind)
    return after.numbers < here.numbers and (_likest(after) == kind or items >= 1.0 or after.numbers < 12)
