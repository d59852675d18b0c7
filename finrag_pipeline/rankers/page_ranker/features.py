"""Features of a page for a question: what the learned ranker weighs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from finrag_pipeline.filings.forms import form_family
from finrag_pipeline.rankers.page_ranker.lexical import (
    PageLabels,
    PageTerms,
    label_scores,
    lexical_scores,
    page_terms,
    pair_coverage,
    read_labels,
)
from finrag_pipeline.rankers.page_ranker.needs import INTENTS, QuestionNeeds
from finrag_pipeline.rankers.page_ranker.outline import SECTIONS
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.statements.page_evidence import KINDS

FIELDS = ("body", "head", "labels")
FORMS = ("10-K", "10-Q", "8-K", "EARNINGS")
_COUNTED = ("words", "numeric_words", "tables", "cells")


@dataclass
class FilingPages:
    """Profiles of a filing's pages as arrays, made once and kept.

    Attributes:
        pages: number of pages.
        terms: per field, the terms of the pages.
        static: features that no question changes, by name.
        primary: per kind of statement, facts of primary statements on each page.
        side: per kind, facts of other scopes.
        concepts: per page, (concept, fiscal year, whether of a primary statement).
    """

    pages: int
    terms: dict[str, PageTerms]
    labels: PageLabels
    static: dict[str, np.ndarray]
    primary: dict[str, np.ndarray]
    side: dict[str, np.ndarray]
    concepts: list[set[tuple[str, int | None, bool]]]
    sections: list[frozenset[str]]
    years: list[frozenset[int]]


def filing_pages(filing: Mapping[str, Any], profiles: Sequence[Mapping[str, Any]]) -> FilingPages:
    """Arrays of a row of ``filings`` and its rows of ``page_profiles``, in order of pages, without gaps."""
    count, form = len(profiles), form_family(filing["form"], filing.get("fiscal_quarter"))
    stemmed = [[terms(label) for label in profile["labels"]] for profile in profiles]
    fields = {
        "body": [profile["body"] for profile in profiles],
        "head": [profile["head"] for profile in profiles],
        "labels": [list(chain.from_iterable(labels)) for labels in stemmed],
    }
    primary = {kind: np.zeros(count, np.float32) for kind in KINDS}
    side = {kind: np.zeros(count, np.float32) for kind in KINDS}
    for row, profile in enumerate(profiles):
        for found in profile["statements"]:
            target = primary if found["scope"] == "primary" else side
            if found["statement"] in target:
                target[found["statement"]][row] += found["facts"]
    counts = {name: np.array([row[name] for row in profiles], np.float64) for name in _COUNTED}
    static = {
        "position": np.arange(count) / max(count - 1, 1),
        "page_from_start": np.arange(count),
        "pages_of_filing": np.full(count, count),
        "log_words": np.log1p(counts["words"]),
        "numeric_share": counts["numeric_words"] / np.maximum(counts["words"], 1),
        "tables": counts["tables"],
        "log_cells": np.log1p(counts["cells"]),
        "headings": np.array([len(row["headings"]) for row in profiles]),
        "in_note": np.array([bool(row["note"]) for row in profiles]),
        "primary_statements": sum((facts > 0 for facts in primary.values()), np.zeros(count)),
        "side_statements": sum((facts > 0 for facts in side.values()), np.zeros(count)),
        **{f"section_{name}": np.array([name in row["sections"] for row in profiles]) for name in SECTIONS},
        **{f"form_{one}": np.full(count, form == one) for one in FORMS},
    }
    return FilingPages(
        pages=count,
        terms={name: page_terms(fields[name]) for name in FIELDS},
        labels=read_labels([profile["labels"] for profile in profiles], stemmed),
        static={name: values.astype(np.float32) for name, values in static.items()},
        primary=primary,
        side=side,
        concepts=[
            {(c["concept"], c["fiscal_year"], c["scope"] == "primary") for c in profile["concepts"]}
            for profile in profiles
        ],
        sections=[frozenset(profile["sections"]) for profile in profiles],
        years=[frozenset(profile["years"]) for profile in profiles],
    )


def relative(scores: np.ndarray) -> np.ndarray:
    """Scores divided by the largest; zeros stay zeros."""
    top = float(scores.max(initial=0.0))
    return scores / top if top > 0 else np.zeros_like(scores)


def rank_feature(scores: np.ndarray) -> np.ndarray:
    """1 / (1 + rank) of each score, equal ones in the order of pages; 0 where the score is not positive."""
    order = np.argsort(-scores, kind="stable")
    ranks = np.empty(len(scores), np.float32)
    ranks[order] = np.arange(len(scores))
    return np.where(scores > 0, 1.0 / (1.0 + ranks), 0.0).astype(np.float32)


def neighbours(scores: np.ndarray) -> np.ndarray:
    """The larger score of the page before and the page after."""
    padded = np.concatenate([[0.0], scores, [0.0]])
    return np.maximum(padded[:-2], padded[2:]).astype(np.float32)


def question_features(
    needs: QuestionNeeds, pages: FilingPages, dense: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Features of every page of a filing for what a question needs, by name; arrays of shape (pages,).

    ``dense`` is the best similarity of each page, per kind of vector (``sentence``).
    """
    features: dict[str, np.ndarray] = {}
    queries = {"words": needs.words, "terms": (*needs.words, *needs.expansion()), "head": needs.head()}
    for query, names in (("words", FIELDS), ("terms", FIELDS), ("head", ("head",))):
        for name in names:
            bm25, coverage, passage = lexical_scores(pages.terms[name], queries[query])
            features[f"bm25_{query}_{name}"] = relative(bm25)
            features[f"bm25_{query}_{name}_rank"] = rank_feature(bm25)
            features[f"cover_{query}_{name}"] = coverage
            if name == "body":
                features[f"bm25_{query}_{name}_near"] = neighbours(relative(bm25))
                features[f"passage_{query}"] = passage
                features[f"passage_{query}_rank"] = rank_feature(passage)
    for query in ("words", "terms"):
        similarity, coverage, contained = label_scores(pages.labels, queries[query])
        features[f"label_{query}"] = similarity
        features[f"label_{query}_relative"] = relative(similarity)
        features[f"label_{query}_rank"] = rank_feature(similarity)
        features[f"label_{query}_cover"] = coverage
        features[f"label_{query}_contained"] = contained
    for name in FIELDS:
        pairs = pair_coverage(pages.terms[name], needs.words)
        features[f"pairs_{name}"] = pairs
        features[f"pairs_{name}_rank"] = rank_feature(pairs)
    for kind, similarity in dense.items():
        spread = float(similarity.std()) or 1.0
        features[f"dense_{kind}"] = similarity.astype(np.float32)
        features[f"dense_{kind}_z"] = ((similarity - similarity.mean()) / spread).astype(np.float32)
        features[f"dense_{kind}_top"] = (similarity - similarity.max()).astype(np.float32)
        features[f"dense_{kind}_rank"] = rank_feature(similarity - similarity.min() + 1e-6)
        features[f"dense_{kind}_near"] = neighbours(similarity)
    features |= _statement_features(needs, pages)
    wanted, years = needs.sections(), frozenset(needs.years)
    features["section_match"] = np.array([bool(found & wanted) for found in pages.sections], np.float32)
    named = np.array([len(found & years) for found in pages.years], np.float32)
    features["years_named"] = named / max(len(years), 1)
    constant = {
        "q_named": len(needs.named),
        "q_statements": len(needs.statements()),
        "q_concepts": len(needs.concepts()),
        "q_needs": len(needs.needs),
        "q_sections": len(wanted),
        "q_words": len(needs.words),
        **{f"q_{name}": name in needs.intents for name in INTENTS},
        **{f"q_wants_{kind}": kind in needs.statements() for kind in KINDS[:4]},
    }
    features |= {name: np.full(pages.pages, float(value), np.float32) for name, value in constant.items()}
    return features | pages.static


def _statement_features(needs: QuestionNeeds, pages: FilingPages) -> dict[str, np.ndarray]:
    def shown(facts: Mapping[str, np.ndarray], kinds: frozenset[str]) -> np.ndarray:
        """How many of the kinds of statement each page shows."""
        return np.sum([facts[kind] > 0 for kind in kinds], axis=0, dtype=np.float32) + zero

    zero = np.zeros(pages.pages, np.float32)
    asked, concepts, years = needs.statements(), needs.concepts(), frozenset(needs.years)
    largest = max((float(values.max(initial=0)) for values in pages.primary.values()), default=0.0)
    hits = np.zeros((3, pages.pages), np.float32)
    if concepts:
        for row, found in enumerate(pages.concepts):
            held = [fact for fact in found if fact[0] in concepts]
            hits[:, row] = [
                len({name for name, _, primary in held if primary}),
                len({name for name, _, primary in held if not primary}),
                len({(name, year) for name, year, _ in held if year in years}),
            ]
    return {
        "statement_named": shown(pages.primary, needs.named),
        "statement_asked": shown(pages.primary, asked),
        "statement_side": shown(pages.side, asked),
        "statement_size": sum((pages.primary[kind] for kind in asked), zero) / np.float32(max(largest, 1.0)),
        "concepts_primary": hits[0] / max(len(concepts), 1),
        "concepts_other": hits[1] / max(len(concepts), 1),
        "concepts_dated": hits[2] / max(len(concepts) * max(len(years), 1), 1),
    }
