"""Search spaces: an oracle is a smaller space, applied as a pre-filter (papers, section 3).

``corpus`` is every filing; ``filing`` only the gold filing; ``pages`` only its gold pages. The gap
between them shows at which level a system loses the evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum


class Space(StrEnum):
    """Where a system may search."""

    CORPUS = "corpus"
    FILING = "filing"
    PAGES = "pages"

    @property
    def is_oracle(self) -> bool:
        """Whether the space is cut with knowledge of the gold labels."""
        return self is not Space.CORPUS


def restriction(
    space: Space, gold_filing: str, gold_pages: Sequence[int]
) -> tuple[tuple[str, ...] | None, tuple[int, ...] | None]:
    """Filings and pages that ``space`` allows for a question; None means all of the corpus."""
    match space:
        case Space.CORPUS:
            return None, None
        case Space.FILING:
            return (gold_filing,), None
        case Space.PAGES:
            return (gold_filing,), tuple(sorted(set(gold_pages)))
