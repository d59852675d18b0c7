"""Small tables for the evaluation tests."""

from __future__ import annotations

import pyarrow as pa

from finrag_pipeline.schemas import BENCHMARK_QUESTIONS, RETRIEVAL_RUNS, RETRIEVAL_SCORES


def question_row(question_id: str, filing: str, pages: list[int], **overrides: object) -> dict:
    return {
        "question_id": question_id,
        "question": f"What of {question_id}?",
        "answer": "42",
        "justification": None,
        "question_type": "metrics",
        "reasoning": None,
        "company": filing.split("_")[0],
        "filing": filing,
        "doc_type": "10-K",
        "gold_pages": pages,
        "evidence": [{"filing": filing, "page": page, "text": f"evidence on page {page}"} for page in pages],
        "status": "measured",
        "problem": None,
        **overrides,
    }


def questions_table(*rows: dict) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=BENCHMARK_QUESTIONS)


def run_rows(system: str, space: str, question_id: str, ranked: list[tuple[str, str, int]]) -> list[dict]:
    """Rows of a run from (chunk, filing, page), best first."""
    return [
        {
            "system": system,
            "space": space,
            "question_id": question_id,
            "rank": rank,
            "chunk_id": chunk,
            "filing": filing,
            "page": page,
            "score": 10.0 - rank,
        }
        for rank, (chunk, filing, page) in enumerate(ranked, start=1)
    ]


def runs_table(rows: list[dict]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=RETRIEVAL_RUNS)


def scores_table(rows: list[tuple[str, str, str, str, int, float]]) -> pa.Table:
    names = RETRIEVAL_SCORES.names
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema=RETRIEVAL_SCORES)
