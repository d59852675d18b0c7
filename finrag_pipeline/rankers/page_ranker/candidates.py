"""Candidate pages of a question with their features: what is trained on, and what is ranked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from finrag_pipeline.rankers.page_ranker.features import question_features
from finrag_pipeline.rankers.page_ranker.library import PageLibrary
from finrag_pipeline.rankers.page_ranker.needs import QuestionNeeds, read_needs
from finrag_pipeline.rankers.page_ranker.question_encoder import Encode
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.resolver.resolver import RankedFiling, Resolution, Resolver

MOST_FILINGS = 3
"""Filings searched for a question that names a company."""


@dataclass(frozen=True)
class Candidates:
    """Pages of the candidate filings of a question: filing and zero-based page of each, and their features.

    ``pages`` are of shape (candidates,), ``features`` (candidates, features), float32.
    """

    filings: list[str]
    pages: np.ndarray
    names: tuple[str, ...]
    features: np.ndarray
    needs: QuestionNeeds
    resolution: Resolution


def candidate_filings(
    resolution: Resolution, known: Sequence[str], filings: Sequence[str] | None, most: int = MOST_FILINGS
) -> list[RankedFiling]:
    """Filings of the ``known`` ones whose pages are ranked.

    They are those given, else the ``most`` that the resolver allows at most, else all.
    """
    scored = {ranked.filing: ranked for ranked in resolution.filings}
    inside = set(known)
    wanted = filings if filings is not None else resolution.allowed(most)
    chosen = [filing for filing in (wanted if wanted is not None else known) if filing in inside]
    if not chosen and filings is None:
        chosen = list(known)  # what the resolver names is not in this corpus: no filter
    return [scored.get(filing, RankedFiling(filing, 0.0, ())) for filing in chosen]


def read_candidates(
    question: str,
    encode: Encode,
    library: PageLibrary,
    resolver: Resolver,
    known: Sequence[str],
    filings: Sequence[str] | None = None,
    also: Sequence[str] = (),
) -> Candidates:
    """Candidate pages of a question with their features.

    Of the ``known`` filings of the corpus those of the search space ``filings`` are candidates, where it is
    given. Filings of ``also`` are in any case: training takes the right one.
    """
    resolution = resolver.resolve(question)
    ranked = candidate_filings(resolution, known, filings)
    named = {found.filing for found in ranked}
    ranked += [RankedFiling(filing, 0.0, ()) for filing in also if filing not in named]
    best = max((found.score for found in ranked), default=0.0)
    needs = read_needs(question, company_words(resolution))
    vector = encode([question])[0]
    names: tuple[str, ...] = ()
    of_filing: list[str] = []
    of_page: list[np.ndarray] = [np.empty(0, np.int64)]
    blocks: list[np.ndarray] = []
    for place, found in enumerate(ranked):
        pages = library.pages(found.filing)
        features = question_features(needs, pages, library.similarities(found.filing, vector))
        constants = {
            "filing_score": found.score if best > 0 else 1.0,
            "filing_behind": best - found.score,
            "filing_rank": float(min(place, MOST_FILINGS)) if best > 0 else 0.0,
            "filings": float(min(len(ranked), MOST_FILINGS + 1)),
        }
        features |= {name: np.full(pages.pages, value, np.float32) for name, value in constants.items()}
        names = tuple(features)
        of_filing += [found.filing] * pages.pages
        of_page.append(np.arange(pages.pages))
        blocks.append(np.stack(list(features.values()), axis=1))
    found_features = np.concatenate(blocks) if blocks else np.empty((0, 0), np.float32)
    return Candidates(of_filing, np.concatenate(of_page), names, found_features, needs, resolution)


def company_words(resolution: Resolution) -> frozenset[str]:
    """Terms of the names of the question's companies, as it and the index print them; every page has them."""
    names = (*resolution.companies, *resolution.printed_names)
    return frozenset(term for name in names for term in terms(name))
