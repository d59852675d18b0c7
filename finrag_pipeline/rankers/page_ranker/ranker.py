"""The page ranker: resolver, features and learned model together, each page with its reasons."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from finrag_pipeline.errors import Fallback
from finrag_pipeline.questions.formula_lexicon import formula_lexicon
from finrag_pipeline.rankers.page_ranker.candidates import read_candidates
from finrag_pipeline.rankers.page_ranker.features import FilingPages
from finrag_pipeline.rankers.page_ranker.lexical import closest_label
from finrag_pipeline.rankers.page_ranker.library import PageLibrary
from finrag_pipeline.rankers.page_ranker.model import RankingModel, general_model
from finrag_pipeline.rankers.page_ranker.needs import QuestionNeeds
from finrag_pipeline.rankers.page_ranker.question_encoder import question_encoder
from finrag_pipeline.retrieval.corpus import Corpus
from finrag_pipeline.retrieval.page_stage import PageHit
from finrag_pipeline.retrieval.spaces import Scope
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

    The general model of other questions has a say too, and ranks alone where the lake has no model of its
    own; it is read when it is first needed.
    """

    def __init__(
        self, own: RankingModel | None, library: PageLibrary, fallback: Fallback | None = None
    ) -> None:
        self._own = own
        self._library = library
        self.fallback = fallback
        """Why it ranks worse than it could here."""

    @property
    def fingerprint(self) -> str:
        """What decides its rankings besides the corpus."""
        general = general_model().fingerprint
        return fingerprint(self._own.fingerprint, general) if self._own else fingerprint(general, None)

    @property
    def question_ids(self) -> Sequence[str]:
        """Questions that it learned from."""
        own = self._own.card["question_ids"] if self._own else []
        return [*own, *general_model().card["question_ids"]]

    def rank_pages(self, question: str, corpus: Corpus, scope: Scope, depth: int) -> list[PageHit]:
        """See `PageRanker.rank_pages`; without filings, those that the resolver reads are searched."""
        encode = question_encoder(corpus.encoder)
        candidates = read_candidates(
            question, encode, self._library, corpus.resolver, corpus.filings, scope.filings
        )
        if not len(candidates.pages):
            return []
        general = general_model()
        scores = self._own.scores(candidates, general) if self._own else general.scores(candidates)
        if scope.pages is not None:
            scores = np.where(np.isin(candidates.pages, scope.pages), scores, -np.inf)
        order = np.argsort(-scores, kind="stable")
        likely = [found.filing for found in candidates.resolution.filings if found.score >= LIKELY]
        order = show_every_filing(order, candidates.filings, likely)[:depth]
        scores[order] = np.sort(scores[order])[::-1]  # a page that was moved up takes the score of its place
        reasons = {ranked.filing: ranked.reasons for ranked in candidates.resolution.filings}
        hits = []
        for place in order[np.isfinite(scores[order])].tolist():
            filing, page = candidates.filings[place], int(candidates.pages[place])
            why = page_reasons(candidates.needs, self._library.pages(filing), page)
            why += reasons.get(filing, ())[:3]
            hits.append(PageHit(filing, page, float(scores[place]), "; ".join(why)))
        return hits


def show_every_filing(order: np.ndarray, filings: Sequence[str], likely: Sequence[str]) -> np.ndarray:
    """Bring the best page of each likely filing among the first places, the least likely filing last.

    A year may be told by an annual report and by an earnings release; a reader wants to see both. Candidates
    that are not moved keep their order.

    Args:
        order: candidates, best first; shape (candidates,).
        filings: filing of each candidate.
        likely: filings that the question may mean, the likeliest first.
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
    """What speaks for a zero-based page, in words: statement, asked concepts, label of a table, section."""
    found = [
        name + (" (asked for)" if kind in needs.statements() else "")
        for kind, name in STATEMENT_NAMES.items()
        if pages.primary[kind][page] > 0
    ]
    asked, years = needs.concepts(), set(needs.years)
    held: dict[str, set[int]] = {}
    for concept, year, _ in pages.concepts[page]:
        if concept in asked:
            held.setdefault(concept, set()).update(years & {year})
    for concept, dates in sorted(held.items(), key=lambda item: (-len(item[1]), item[0]))[:_MOST_CONCEPTS]:
        of = " and ".join(f"FY{year}" for year in sorted(dates))
        found.append(f"shows {_in_words(concept, needs)}" + (f" of {of}" if of else ""))
    label = closest_label(pages.labels, needs.words, page, _LIKE_THE_QUESTION)
    if label:
        found.append(f'table label "{" ".join(label.split())[:_LONGEST_SHOWN]}"')
    matched = sorted(needs.sections() & pages.sections[page])
    if matched:
        found.append("section " + ", ".join(section.replace("_", " ") for section in matched))
    return found or ["similar words"]


def _in_words(concept: str, needs: QuestionNeeds) -> str:
    """A concept as the line of the lexicon that asks for it is called, else the words of its name."""
    lexicon = formula_lexicon()
    named = (need.name for need in needs.needs if need.name in lexicon.entries)
    lines = (line for name in named for line in lexicon.lines_of(name) if concept in line.concepts)
    label = next((line.label for line in lines), re.sub(r"(?<=[a-z])(?=[A-Z])", " ", concept))
    return label[:1].lower() + label[1:]
