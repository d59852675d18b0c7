"""A corpus of two companies in two years, with everything a retrieval gap is measured from."""

from __future__ import annotations

from typing import Any

from finrag_pipeline.answering.passages import Passage
from finrag_pipeline.evaluation.failure_modes import FilingIdentity, LakeTexts
from finrag_pipeline_tests.evaluation.builders import question_row

GOLD = "ALDER_2021_10K"
IDENTITIES = {
    GOLD: FilingIdentity("alder", 2021),
    "ALDER_2020_10K": FilingIdentity("alder", 2020),
    "ALDER_LETTER": FilingIdentity("alder", None),
    "BIRCH_2021_10K": FilingIdentity("birch", 2021),
}
INCOME = "Consolidated Statements of Income Total revenue 48,213 46,002 Cost of sales 20,111 Net income 7,305"
CASH = "Consolidated Statements of Cash Flows Purchases of property 3,118 Dividends paid 1,204 Borrowings 911"
SUMMARY = "Selected data: revenue was 48,213 and net income 7,305 for the year; margins rose"
TRADE = "Our products are sold through dealers and distributors in forty countries across the world"
PAGES = {
    (GOLD, 0): "Annual report of Alder",
    (GOLD, 3): TRADE,
    (GOLD, 4): INCOME,
    (GOLD, 6): CASH,
    (GOLD, 8): SUMMARY,
    (GOLD, 9): f"Overview. {TRADE}. Further matters follow here",
    ("ALDER_2020_10K", 4): "Consolidated Statements of Income Total revenue 46,002 44,871 Net income 6,990",
    ("ALDER_LETTER", 0): "Dear shareholders, total revenue grew",
    ("BIRCH_2021_10K", 4): "Consolidated Statements of Income Total revenue 9,870 8,415 Net income 444",
}
CHUNKS = {f"{filing}/p{page}": text for (filing, page), text in PAGES.items()} | {
    f"{GOLD}/p4/head": "Consolidated Statements of Income",
    f"{GOLD}/p4/row": "Alder | Income | Total revenue | 2021: 48,213",
}
FACTS = {
    (GOLD, 4): [
        {"label": "Total revenue", "fiscal_year": 2021, "printed": "48,213"},
        {"label": "Total revenue", "fiscal_year": 2020, "printed": "46,002"},
        {"label": "Net income", "fiscal_year": 2021, "printed": "7,305"},
        {"label": "Cost of sales", "fiscal_year": 2021, "printed": "20,111"},
    ],
    (GOLD, 6): [{"label": "Dividends paid", "fiscal_year": 2021, "printed": "1,204"}],
}
LAKE = LakeTexts(CHUNKS, PAGES, FACTS, IDENTITIES)


def asked(
    pages: list[int], question: str = "What is Alder's FY2021 total revenue in USD millions?", **more: Any
) -> dict[str, Any]:
    """A question with the whole of its gold pages as evidence."""
    evidence = [{"filing": GOLD, "page": page, "text": PAGES[GOLD, page]} for page in pages]
    row = question_row("q1", GOLD, pages, question=question, answer="$48213.00", evidence=evidence)
    return {**row, "company": "Alder", **more}


def passages(*places: tuple[str, int]) -> list[Passage]:
    """Whole pages as passages."""
    return [Passage(f"{filing}/p{page}", filing, page, PAGES[filing, page]) for filing, page in places]


def answer_row(answer: str, **more: Any) -> dict[str, Any]:
    """The columns of an answer that are read."""
    return {
        "question_id": "q1",
        "system": "prompt",
        "retrieval": "dense",
        "space": "corpus",
        "repeat": 0,
        "answer": answer,
        "final_answer": None,
        "derivation": None,
        "retrieved": [],
        "abstained": False,
        "error": None,
        "human_label": None,
        **more,
    }
