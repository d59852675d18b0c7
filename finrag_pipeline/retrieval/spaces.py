"""Search spaces: an oracle is a smaller space, applied as a pre-filter (papers, section 3).

``corpus`` is every filing; ``filing`` only the gold filing; ``pages`` only its gold pages. The gap
between them shows at which level a system loses the evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum


@dataclass(frozen=True)
class Scope:
    """Where a search may look: all conditions at once; None allows all of the corpus.

    Attributes:
        filings: filings.
        pages: zero-based pages, of whatever filing.
        locations: pages of single filings, as (filing, zero-based page).
    """

    filings: tuple[str, ...] | None = None
    pages: tuple[int, ...] | None = None
    locations: tuple[tuple[str, int], ...] | None = None

    def within_filings(self, filings: Iterable[str]) -> Scope:
        """This scope in some filings only; in none, when it allows none of them."""
        wanted = dict.fromkeys(filings)
        kept = wanted if self.filings is None else [f for f in self.filings if f in wanted]
        return replace(self, filings=tuple(kept))

    def within_locations(self, locations: Iterable[tuple[str, int]]) -> Scope:
        """This scope in some pages of single filings only; in none, when it allows none of them."""
        kept = tuple(
            (filing, page)
            for filing, page in dict.fromkeys(locations)
            if (self.filings is None or filing in self.filings)
            and (self.pages is None or page in self.pages)
            and (self.locations is None or (filing, page) in self.locations)
        )
        return replace(self, locations=kept)


class Space(StrEnum):
    """Where a system may search."""

    CORPUS = "corpus"
    FILING = "filing"
    PAGES = "pages"

    def scope(self, gold_filing: str, gold_pages: Sequence[int]) -> Scope:
        """What the space allows for a question."""
        if self is Space.CORPUS:
            return Scope()
        return Scope((gold_filing,), tuple(sorted(set(gold_pages))) if self is Space.PAGES else None)
