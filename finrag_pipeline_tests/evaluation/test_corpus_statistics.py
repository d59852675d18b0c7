from __future__ import annotations

import pyarrow as pa
import pytest

from finrag_pipeline.evaluation.corpus_statistics import STATISTICS, corpus_statistics
from finrag_pipeline_tests.evaluation.builders import question_row, questions_table


def table(columns: str, *rows: tuple) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(columns.split(), row, strict=True)) for row in rows])


FILINGS = table(
    "filing status form declared_form",
    ("A_10K", "ok", "10-K", "10-K/A"),
    ("B_10K", "ok", "10-K", None),
    ("C_EARNINGS", "ok", "8-K", "EARNINGS"),
    ("D_memo", "ok", None, None),
    ("broken", "failed", None, None),
)
PAGES = table(
    "filing page characters",
    *(("A_10K", page, 100 * page) for page in range(4)),
    ("B_10K", 0, 500),
    ("B_10K", 1, 700),
    ("C_EARNINGS", 0, 10),
    ("D_memo", 0, 20),
)
CHUNKS = table(
    "filing page kind tokens",
    ("A_10K", 0, "text", 10),
    ("A_10K", 0, "text", 20),
    ("A_10K", 3, "text", 30),
    ("A_10K", 3, "table row", 1000),
    ("C_EARNINGS", 0, "text", 40),
)
QUESTIONS = questions_table(
    question_row("q1", "A_10K", [0, 3], question="one two three", answer="a b"),
    question_row("q2", "C_EARNINGS", [0], question="one", answer="a b c d", doc_type="EARNINGS"),
    question_row("gone", "A_10K", [9], status="excluded", problem="why"),
)


def words(texts: list[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def test_the_figures_worked_by_hand():
    result = corpus_statistics(FILINGS, PAGES, CHUNKS, QUESTIONS, words)
    found = {(r["doc_type"], r["statistic"]): (r["mean"], r["std"], r["n"]) for r in result.to_pylist()}
    assert found["all", "documents"] == (4, None, 4)
    assert found["all", "pages"] == (8, None, 8)
    assert found["10-K", "documents"] == (2, None, 2)
    assert found["10-K", "pages"] == (6, None, 6)
    assert found["10-K", "pages_per_document"] == (3, 1, 2)  # 4 and 2 pages; the population deviation is 1
    assert found["10-K", "chunks"] == (3, None, 3)
    assert found["10-K", "chunks_per_page"][0] == pytest.approx(3 / 6)  # pages without a chunk count as 0
    assert found["10-K", "characters_per_page"][0] == pytest.approx((0 + 100 + 200 + 300 + 500 + 700) / 6)
    assert found["10-K", "tokens_per_chunk"] == (20, pytest.approx((200 / 3) ** 0.5), 3)
    assert found["EARNINGS", "tokens_per_chunk"] == (40, 0, 1)
    assert found["all", "questions"] == (2, None, 2)
    assert found["all", "question_tokens"] == (2, 1, 2)
    assert found["all", "answer_tokens"] == (3, 1, 2)
    assert found["all", "evidence_tokens"] == (4, 0, 3)  # 'evidence on page N', three passages
    assert found["all", "gold_pages_per_question"] == (1.5, 0.5, 2)
    assert found["10-K", "gold_pages_per_question"] == (2, 0, 1)
    assert found["unknown", "pages"] == (1, None, 1)
    assert ("unknown", "questions") not in found


def test_rows_are_ordered_by_form_with_the_whole_last():
    result = corpus_statistics(FILINGS, PAGES, CHUNKS, QUESTIONS, words)
    forms = list(dict.fromkeys(result["doc_type"].to_pylist()))
    assert forms == ["10-K", "EARNINGS", "unknown", "all"]
    assert [r["statistic"] for r in result.to_pylist() if r["doc_type"] == "all"] == list(STATISTICS)


def test_a_corpus_without_questions_or_chunks_is_described_all_the_same():
    result = corpus_statistics(FILINGS, PAGES, CHUNKS.slice(0, 0), QUESTIONS.slice(0, 0), words)
    statistics = {r["statistic"] for r in result.to_pylist()}
    assert statistics == {
        "documents",
        "pages",
        "pages_per_document",
        "characters_per_page",
        "chunks_per_page",
    }
    nothing = corpus_statistics(
        FILINGS.slice(0, 0), PAGES.slice(0, 0), CHUNKS.slice(0, 0), QUESTIONS.slice(0, 0), words
    )
    assert nothing.num_rows == 0
