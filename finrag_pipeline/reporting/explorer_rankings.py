"""Rankings of every system as the question explorer shows them: pages, with what speaks for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.evaluation.published import CUTOFF
from finrag_pipeline.rankers.page_ranker.candidates import company_words
from finrag_pipeline.rankers.page_ranker.features import FIELDS, FilingPages, filing_pages
from finrag_pipeline.rankers.page_ranker.needs import read_needs
from finrag_pipeline.rankers.page_ranker.ranker import STATEMENT_NAMES, page_reasons
from finrag_pipeline.resolver.load import load_resolver
from finrag_pipeline.schemas import RETRIEVAL_RUNS
from finrag_pipeline.storage.lake import Lake

Place = tuple[str, int]
"""Filing and zero-based page."""

SHOWN = 10
"""Chunks of a ranking whose pages are shown."""

_SECTIONS = {"mdna": "MD&A"}
_GOLD = ("question_id", "filing", "page")
_MOST_REASONS = 3  # of those that speak for a filing
_PROFILE = ("filing", "page", "sections", "note", "statements", "concepts", "labels")


@dataclass(frozen=True, slots=True)
class RankedPage:
    """A page of a ranking.

    Attributes:
        place: filing and page.
        ranks: ranks of its chunks among the first `SHOWN`, ascending.
        score: of its first chunk.
        chunk_id: its first chunk.
    """

    place: Place
    ranks: tuple[int, ...]
    score: float
    chunk_id: str


@dataclass(frozen=True)
class Ranking:
    """What a system found for a question in a search space.

    Attributes:
        pages: pages of its first `SHOWN` chunks, best first.
        doc_rec: DocRec@5; None where it was not scored.
        page_rec: PageRec@5, likewise.
        gold: rank of the first chunk on each gold page that was found at all.
        depth: chunks in the whole ranking.
    """

    pages: tuple[RankedPage, ...] = ()
    doc_rec: float | None = None
    page_rec: float | None = None
    gold: Mapping[Place, int] = field(default_factory=dict)
    depth: int = 0


Rankings = dict[str, dict[tuple[str, str], Ranking]]
"""By question, then by search space and system."""


def read_rankings(lake: Lake, questions: Sequence[Mapping[str, Any]]) -> Rankings:
    """Rankings of the lake for these questions, with their scores.

    Args:
        lake: holds ``retrieval_runs`` and ``retrieval_scores``; either may be absent.
        questions: rows of ``benchmark_questions``.
    """
    gold = pa.Table.from_pylist(
        [
            {"question_id": row["question_id"], "filing": row["filing"], "page": page}
            for row in questions
            for page in row["gold_pages"] or ()
        ],
        pa.schema([RETRIEVAL_RUNS.field(name) for name in _GOLD]),
    )
    wanted = pa.array(sorted({row["question_id"] for row in questions}), pa.string())
    heads: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    first: dict[tuple[str, str, str], dict[Place, int]] = defaultdict(dict)
    depths: dict[tuple[str, str, str], int] = {}
    for keys in lake.partitions("retrieval_runs"):
        runs = lake.read("retrieval_runs", keys)
        runs = runs.filter(pc.is_in(runs["question_id"], wanted))
        head = pc.less_equal(runs["rank"], SHOWN)
        for row in runs.filter(head).sort_by("rank").to_pylist():
            heads[row["question_id"], row["space"], row["system"]].append(row)
        for row in runs.join(gold, list(_GOLD), join_type="inner").sort_by("rank").to_pylist():
            found = first[row["question_id"], row["space"], row["system"]]
            found.setdefault((row["filing"], row["page"]), row["rank"])
        ends = runs.group_by(["question_id", "space", "system"]).aggregate([("rank", "max")]).to_pylist()
        depths |= {(end["question_id"], end["space"], end["system"]): end["rank_max"] for end in ends}
    recall = _recall(lake, wanted)
    rankings: Rankings = defaultdict(dict)
    for key in dict.fromkeys([*heads, *recall]):
        question_id, space, system = key
        scores = recall.get(key, {})
        rankings[question_id][space, system] = Ranking(
            _pages(heads.get(key, ())),
            scores.get("doc_rec"),
            scores.get("page_rec"),
            first.get(key, {}),
            depths.get(key, 0),
        )
    return rankings


def _pages(rows: Sequence[Mapping[str, Any]]) -> tuple[RankedPage, ...]:
    places: dict[Place, list[Mapping[str, Any]]] = {}
    for row in rows:
        places.setdefault((row["filing"], row["page"]), []).append(row)
    return tuple(
        RankedPage(place, tuple(row["rank"] for row in found), found[0]["score"], found[0]["chunk_id"])
        for place, found in places.items()
    )


def _recall(lake: Lake, wanted: pa.Array) -> dict[tuple[str, str, str], dict[str, float]]:
    scores = lake.read_all("retrieval_scores")
    chosen = pc.and_(
        pc.and_(pc.is_in(scores["metric"], pa.array(["doc_rec", "page_rec"])), pc.equal(scores["k"], CUTOFF)),
        pc.is_in(scores["question_id"], wanted),
    )
    found: dict[tuple[str, str, str], dict[str, float]] = defaultdict(dict)
    for row in scores.filter(chosen).to_pylist():
        found[row["question_id"], row["space"], row["system"]][row["metric"]] = row["value"]
    return found


class PageKinds:
    """What pages are, and what speaks for them: from their profiles, as the page ranker tells it.

    Args:
        lake: holds ``page_profiles``; pages without a profile have nothing to tell.
        filings: rows of ``filings``.
    """

    def __init__(self, lake: Lake, filings: Sequence[Mapping[str, Any]]) -> None:
        self._lake = lake
        self._filings = {row["filing"]: row for row in filings}
        self._resolver = load_resolver(lake, self._filings)
        self._profiles: dict[str, list[dict[str, Any]]] = {}
        self._pages: dict[str, FilingPages] = {}

    def kind(self, place: Place) -> str:
        """``Cash flow statement``, ``Note 2. Revenue``, ``MD&A``; empty where nothing is known."""
        filing, page = place
        profiles = self._profiles_of(filing)
        if not 0 <= page < len(profiles):
            return ""
        profile = profiles[page]
        primary = {found["statement"] for found in profile["statements"] if found["scope"] == "primary"}
        parts = [_capital(name) for key, name in STATEMENT_NAMES.items() if key in primary]
        if not parts and profile["note"]:
            parts = [" ".join(profile["note"].split())[:80]]
        if not parts:
            names = [name for name in profile["sections"] if name != "other"]
            parts = [_SECTIONS.get(name, _capital(name.replace("_", " "))) for name in names[:2]]
        return ", ".join(parts)

    def reasons(self, question: str, places: Collection[Place]) -> dict[Place, str]:
        """What the page ranker says for each page: its statement, concepts and section, then its filing."""
        known = [place for place in places if 0 <= place[1] < len(self._profiles_of(place[0]))]
        if not known:
            return {}
        resolution = self._resolver.resolve(question)
        needs = read_needs(question, company_words(resolution))
        of_filing = {ranked.filing: ranked.reasons for ranked in resolution.filings}
        return {
            (filing, page): "; ".join(
                [
                    *page_reasons(needs, self._filing_pages(filing), page),
                    *of_filing.get(filing, ())[:_MOST_REASONS],
                ]
            )
            for filing, page in known
        }

    def _profiles_of(self, filing: str) -> list[dict[str, Any]]:
        if filing not in self._profiles:
            keys = {"filing": filing}
            known = filing in self._filings and self._lake.info("page_profiles", keys) is not None
            rows = self._lake.read("page_profiles", keys, list(_PROFILE)).sort_by("page") if known else None
            self._profiles[filing] = rows.to_pylist() if rows is not None else []
        return self._profiles[filing]

    def _filing_pages(self, filing: str) -> FilingPages:
        if filing not in self._pages:
            # The reasons do not depend on the words of a page; reading them would take most of the time.
            without = {"words": 0, "numeric_words": 0, "tables": 0, "cells": 0, "headings": [], "years": []}
            terms: dict[str, list[str]] = {name: [] for name in FIELDS}
            profiles = [{**without, **terms, **profile} for profile in self._profiles_of(filing)]
            self._pages[filing] = filing_pages(self._filings[filing], profiles)
        return self._pages[filing]


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]
