"""Pairs of question and gold page to learn from, with the pages that are easily mistaken for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from finrag_pipeline.rankers.texts import PageTexts, Pieces
from finrag_pipeline.storage.lake import Lake

Question = Mapping[str, Any]
Place = tuple[str, int]
"""A page: its filing and its zero-based number."""

LEAST_FACTS = 3
"""Facts of a statement below which a page does not show it, but mentions it."""


@dataclass(frozen=True)
class Pair:
    """A question and one of its gold pages.

    Attributes:
        positive: text of the gold page.
        negatives: for each kind of hard negative the texts to draw one from; none empty.
        seen: filings whose pages are among the texts.
    """

    question_id: str
    question: str
    filing: str
    positive: str
    negatives: tuple[tuple[str, ...], ...]
    seen: frozenset[str]


@dataclass
class Neighbourhood:
    """Finds hard negatives: pages that look like a gold page and are not.

    They come from ``filings``; those that are tested or validated on do not belong there. Without profiles of
    pages no statement is known.
    """

    lake: Lake
    texts: PageTexts
    filings: Collection[str]
    _statements: dict[str, dict[int, Counter[str]]] = field(init=False, default_factory=dict)

    @cached_property
    def _identities(self) -> dict[str, tuple[str, int | None]]:
        found = {}
        for filing in sorted(set(self.filings)):
            row = self.lake.read("filings", {"filing": filing}).to_pylist()[0]
            company = str(row["declared_company"] or row["company"] or filing)
            found[filing] = (" ".join(company.casefold().split()), row["fiscal_year"])
        return found

    def _statements_of(self, filing: str) -> dict[int, Counter[str]]:
        """Facts by statement on each page that shows one."""
        if filing not in self._statements:
            shown = self._statements[filing] = {}
            keys = {"filing": filing}
            if self.lake.info("page_profiles", keys) is not None:
                for row in self.lake.read("page_profiles", keys, ["page", "statements"]).to_pylist():
                    counts: Counter[str] = Counter()
                    for entry in row["statements"]:
                        counts[entry["statement"]] += entry["facts"]
                    if kept := {name: n for name, n in counts.items() if n >= LEAST_FACTS}:
                        shown[row["page"]] = Counter(kept)
        return self._statements[filing]

    def places(self, kind: str, filing: str, page: int, gold: Collection[int]) -> list[Place]:
        """Pages that one of the gold pages of a filing is easily mistaken for, never a gold or a blank one.

        By kind: ``filing``, the other pages of the filing; ``neighbour``, the page before and after;
        ``statement``, the page with most facts of the statement that the gold page shows, in each filing of
        the company for another fiscal year.
        """
        pages = self.texts.pages(filing)
        match kind:
            case "filing":
                found = [(filing, other) for other in range(len(pages))]
            case "neighbour":
                found = [(filing, other) for other in (page - 1, page + 1) if 0 <= other < len(pages)]
            case _:
                found = self._same_statement(filing, page)
        return [
            (where, other)
            for where, other in found
            if not (where == filing and (other == page or other in gold)) and self.texts.pages(where)[other]
        ]

    def _same_statement(self, filing: str, page: int) -> list[Place]:
        counts = self._statements_of(filing).get(page)
        if counts is None or filing not in self._identities:
            return []
        statement = max(sorted(counts), key=lambda name: counts[name])
        company, year = self._identities[filing]
        found = []
        for other, (its_company, its_year) in self._identities.items():
            if other == filing or its_company != company or its_year == year:
                continue
            shown = {n: counts[statement] for n, counts in self._statements_of(other).items()}
            if any(shown.values()):
                found.append((other, max(sorted(shown), key=lambda n: shown[n])))
        return found


def benchmark_pairs(
    questions: Sequence[Question], texts: PageTexts, kinds: Sequence[str], around: Neighbourhood
) -> list[Pair]:
    """One pair for each question and distinct gold page; a blank gold page teaches nothing and is left out.

    A pair has one hard negative of each of the ``kinds``. Where there is no page of a kind, one of the same
    filing takes its place.
    """
    pairs = []
    for question in questions:
        filing, gold = question["filing"], sorted(set(question["gold_pages"]))
        pages = texts.pages(filing)
        for page in gold:
            if page >= len(pages) or not pages[page]:
                continue
            evidence = [entry["text"] for entry in question.get("evidence") or () if entry["page"] == page]
            positive = evidence_piece(pages[page], " ".join(evidence) or str(question["question"]))
            others = around.places("filing", filing, page, gold)
            near = [around.places(kind, filing, page, gold) for kind in kinds]
            found = [places if _drawn(places, texts, positive) else others for places in near]
            negatives = tuple(_drawn(places, texts, positive) for places in found)
            if all(negatives):  # a filing of one page has nothing to be mistaken for
                seen = frozenset({filing, *(where for places in found for where, _ in places)})
                pairs.append(
                    Pair(question["question_id"], question["question"], filing, positive, negatives, seen)
                )
    return pairs


def _drawn(places: Sequence[Place], texts: PageTexts, positive: str) -> tuple[str, ...]:
    """Texts of pages that negatives are drawn from; a page that repeats the gold page is no negative."""
    pieces = (piece for where, page in places for piece in texts.pages(where)[page])
    return tuple(dict.fromkeys(piece for piece in pieces if piece != positive))


def evidence_piece(pieces: Pieces, evidence: str) -> str:
    """The piece of a page that shares most distinct words with the evidence; the first of equals."""
    words = set(evidence.casefold().split())
    return max(pieces, key=lambda piece: len(words & set(piece.casefold().split())))


def draw_rows(pairs: Sequence[Pair], seed: int, epoch: int) -> list[list[str]]:
    """Texts to learn from in an epoch: question, positive, and one negative of each kind for every pair.

    Negatives are drawn anew in every epoch, the same for the same seed and epoch.
    """
    random = np.random.default_rng((seed, epoch))
    return [
        [pair.question, pair.positive, *(kind[random.integers(len(kind))] for kind in pair.negatives)]
        for pair in pairs
    ]


def split_inner(
    questions: Sequence[Question], share: float, seed: int, by: str = "filing"
) -> tuple[list[Question], list[Question]]:
    """Training questions apart from the validation questions that stop the training.

    At least a ``share`` of the questions validates; those of a ``filing``, or of a ``company``, stay
    together. With a single group all train and none validate.
    """
    groups = sorted({str(question[by]) for question in questions})
    order = [groups[n] for n in np.random.default_rng(seed).permutation(len(groups))]
    held: set[str] = set()
    for group in order[: len(groups) - 1]:
        if sum(str(question[by]) in held for question in questions) >= share * len(questions):
            break
        held.add(group)
    return (
        [question for question in questions if str(question[by]) not in held],
        [question for question in questions if str(question[by]) in held],
    )
