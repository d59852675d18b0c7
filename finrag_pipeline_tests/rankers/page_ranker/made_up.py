"""Profiles, candidates and examples that are made up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from finrag_pipeline.rankers.page_ranker.candidates import Candidates
from finrag_pipeline.rankers.page_ranker.features import FilingPages, filing_pages
from finrag_pipeline.rankers.page_ranker.model import Example
from finrag_pipeline.rankers.page_ranker.needs import read_needs
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.resolver.resolver import Resolution

FILING = {"filing": "ALDER_2021_10K", "form": "10-K", "fiscal_year": 2021}


def profile(page: int, text: str, **changes: Any) -> dict[str, Any]:
    """A row of ``page_profiles`` of a page of prose."""
    return {
        "filing": FILING["filing"],
        "page": page,
        "sections": ["business"],
        "note": "",
        "headings": [],
        "characters": len(text),
        "words": len(text.split()),
        "numeric_words": 0,
        "tables": 0,
        "cells": 0,
        "statements": [],
        "concepts": [],
        "years": [],
        "body": terms(text),
        "head": [],
        "labels": [],
        **changes,
    }


def annual_report() -> FilingPages:
    """Four pages: a cover, prose on capital expenditure, a balance sheet and a cash flow statement."""
    balance = {"statement": "financial_position", "scope": "primary", "facts": 20}
    flows = {"statement": "cash_flows", "scope": "primary", "facts": 10}
    summary = {"statement": "financial_position", "scope": "summary", "facts": 3}
    spent = "PaymentsToAcquirePropertyPlantAndEquipment"

    def held(concept: str, year: int | None, scope: str = "primary") -> dict[str, Any]:
        return {"concept": concept, "fiscal_year": year, "scope": scope}

    pages = [
        profile(0, "Annual report of Alder", sections=["cover"], years=[2021]),
        profile(
            1,
            "Capital expenditures rose as we bought plant and equipment",
            sections=["mdna"],
            statements=[summary],
            concepts=[held(spent, 2021, "mdna")],
            years=[2020, 2021],
        ),
        profile(
            2,
            "Total current assets and total current liabilities",
            sections=["statements"],
            head=terms("Consolidated Balance Sheets"),
            labels=["Total current assets", "Total current liabilities"],
            statements=[balance],
            concepts=[held("AssetsCurrent", year) for year in (2020, 2021)]
            + [held("LiabilitiesCurrent", None)],
            tables=1,
            cells=40,
            numeric_words=3,
        ),
        profile(
            3,
            "Capital expenditures",
            sections=["statements", "notes"],
            statements=[flows],
            concepts=[held(spent, year) for year in (2019, 2020, 2021)],
            note="1. Summary",
            headings=["Cash Flows", "Summary"],
        ),
    ]
    return filing_pages(FILING, pages)


def candidates(features: np.ndarray, names: Sequence[str] | None = None) -> Candidates:
    """Pages of one filing with these features; shape (pages, features)."""
    pages, width = features.shape
    question = "What was the revenue?"
    return Candidates(
        filings=["ALDER"] * pages,
        pages=np.arange(pages),
        names=tuple(names or (f"feature {n}" for n in range(width))),
        features=features.astype(np.float32),
        needs=read_needs(question),
        resolution=Resolution(question, (), (), None, ()),
    )


def planted(questions: int, seed: int = 0, pages: int = 30, width: int = 6) -> list[Example]:
    """Questions whose gold page has a large second feature; the other features are noise."""
    random = np.random.default_rng(seed)
    examples = []
    for _ in range(questions):
        features = random.normal(size=(pages, width)).astype(np.float32)
        gold = int(random.integers(pages))
        features[gold, 1] += 4.0
        examples.append(Example(candidates(features), np.arange(pages) == gold))
    return examples
