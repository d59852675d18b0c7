"""The page ranker: resolver, features and learned model together, each page with its reasons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from finrag_pipeline.rankers.page_ranker.candidates import Candidates, read_candidates
from finrag_pipeline.rankers.page_ranker.features import FilingPages
from finrag_pipeline.rankers.page_ranker.labels import closest_label
from finrag_pipeline.rankers.page_ranker.library import PageLibrary
from finrag_pipeline.rankers.page_ranker.model import RankingModel
from finrag_pipeline.rankers.page_ranker.needs import QuestionNeeds
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.page_stage import PageHit
from finrag_pipeline.storage.fingerprints import fingerprint

STATEMENT_NAMES = {
    "income_statement": "income statement",
    "comprehensive_income": "statement of comprehensive income",
    "financial_position": "balance sheet",
    "cash_flows": "cash flow statement",
    "equity": "statement of equity",
}
"""Kinds of statements as people call them."""
_LIKE_THE_QUESTION = 0.7
"""Similarity from which on a label of a table is named as a reason."""
_LONGEST_SHOWN = 60
_MOST_CONCEPTS = 4
LIKELY = 0.5
"""Score from which on the resolver calls a filing likely."""
FIRST_PLACES = 5
"""Places among which every likely filing is shown."""


class LearnedPageRanker:
    """Ranks the pages of the filings that a question means.

    Args:
        model: scores pages.
        library: profiles and vectors of pages.
        general: a model of other questions, which has a say too.
    """

    def __init__(
        self, model: RankingModel, library: PageLibrary, general: RankingModel | None = None
    ) -> None:
        self._model = model
        self._library = library
        self._general = general

    @property
    def fingerprint(self) -> str:
        """What decides its rankings besides the corpus."""
        return fingerprint(self._model.fingerprint, self._general.fingerprint if self._general else None)

    @property
    def question_ids(self) -> Sequence[str]:
        """Questions that it learned from."""
        models = [self._model, *([self._general] if self._general else [])]
        return [question for model in models for question in model.card["question_ids"]]

    def rank_pages(
        self,
        question: str,
        corpus: Corpus,
        filings: Sequence[str] | None,
        pages: Sequence[int] | None,
        depth: int,
        vector: np.ndarray | None = None,
    ) -> list[PageHit]:
        """See `PageRanker.rank_pages`; without ``filings``, those that the resolver reads are searched."""

        def encode(texts: Sequence[str]) -> np.ndarray:
            return corpus.encoder.embed_short(texts) if vector is None else vector[None]

        candidates = read_candidates(
            question,
            encode,
            self._library,
            corpus.resolver,
            corpus.filings,
            filings,
        )
        if not len(candidates.pages):
            return []
        scores = self._model.scores(candidates, self._general)
        if pages is not None:
            scores = np.where(np.isin(candidates.pages, list(pages)), scores, -np.inf)
        order = np.argsort(-scores, kind="stable")
        likely = [found.filing for found in candidates.resolution.filings if found.score >= LIKELY]
        order = show_every_filing(order, candidates.filings, likely)[:depth]
        scores[order] = np.sort(scores[order])[::-1]  # a page that was moved up takes the score of its place
        reasons = {ranked.filing: ranked.reasons for ranked in candidates.resolution.filings}
        return [
            PageHit(
                candidates.filings[place],
                int(candidates.pages[place]),
                float(scores[place]),
                self._why(candidates, int(place), reasons),
            )
            for place in order.tolist()
            if np.isfinite(scores[place])
        ]

    def _why(self, candidates: Candidates, place: int, reasons: dict[str, tuple[str, ...]]) -> str:
        filing = candidates.filings[place]
        parts = page_reasons(candidates.needs, self._library.pages(filing), int(candidates.pages[place]))
        return "; ".join([*parts, *reasons.get(filing, ())[:3]])


def show_every_filing(order: np.ndarray, filings: Sequence[str], likely: Sequence[str]) -> np.ndarray:
    """Bring the best page of each likely filing among the first places, the least likely filing last.

    A year may be told by an annual report and by an earnings release; a reader wants to see both.

    Args:
        order: candidates, best first; shape (candidates,).
        filings: filing of each candidate.
        likely: filings that the question may mean, the likeliest first.

    Returns:
        The same candidates; those that were not moved keep their order.
    """
    ranked = order.tolist()
    first = ranked[:FIRST_PLACES]
    shown = {filings[place] for place in first}
    missing = [filing for filing in likely[: FIRST_PLACES - 1] if filing not in shown]
    best = [next((place for place in ranked if filings[place] == filing), None) for filing in missing]
    moved = [place for place in best if place is not None][: FIRST_PLACES - 1]
    if not moved:
        return order
    # The first page stays, and so does the only page of another likely filing.
    best_shown = {next(p for p in first if filings[p] == filing) for filing in likely if filing in shown}
    free = [place for place in first[1:] if place not in best_shown]
    too_many = len(first) + len(moved) - FIRST_PLACES
    dropped = set(free[-too_many:]) if too_many > 0 else set()
    kept = [place for place in first if place not in dropped]
    rest = [place for place in ranked if place not in {*kept, *moved}]
    return np.array([*kept, *moved, *rest], dtype=order.dtype)


def page_reasons(needs: QuestionNeeds, pages: FilingPages, page: int) -> list[str]:
    """What speaks for a page, in words: its statement, the asked concepts, a label of a table, its section.

    Args:
        needs: what the question needs.
        pages: the filing.
        page: zero-based.
    """
    found: list[str] = []
    for kind, name in STATEMENT_NAMES.items():
        if pages.primary[kind][page] > 0:
            found.append(name + (" (asked for)" if kind in needs.statements() else ""))
    asked = needs.concepts()
    years = frozenset(needs.years)
    held: dict[str, set[int]] = {}
    for concept, year, _ in pages.concepts[page]:
        if concept in asked:
            held.setdefault(concept, set())
            if year in years and year is not None:
                held[concept].add(year)
    for concept, dates in sorted(held.items(), key=lambda item: (-len(item[1]), item[0]))[:_MOST_CONCEPTS]:
        found.append("holds " + concept + "".join(f" FY{year}" for year in sorted(dates)))
    label = closest_label(pages.labels, needs.words, page, _LIKE_THE_QUESTION)
    if label:
        found.append(f'table label "{" ".join(label.split())[:_LONGEST_SHOWN]}"')
    matched = sorted(needs.sections() & pages.sections[page])
    if matched:
        found.append("section " + ", ".join(section.replace("_", " ") for section in matched))
    if not found:
        found.append("wording")
    return found
