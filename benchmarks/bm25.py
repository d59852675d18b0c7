"""BM25: queries per second against rank-bm25 on all chunks of the active benchmark, and equal results."""

from __future__ import annotations

import argparse

import numpy as np
from rank_bm25 import BM25Okapi

from benchmarks.pairs import paired, rate
from finrag_pipeline.evaluation.benchmark_registry import get_benchmark
from finrag_pipeline.retrieval.bm25 import build_bm25, top_documents
from finrag_pipeline.retrieval.finance_tokens import finance_tokens
from finrag_pipeline.settings import get_settings
from finrag_pipeline.storage.lake import Lake


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--peer-questions", type=int, default=20, help="questions the slow side answers per round"
    )
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    lake = Lake(get_settings().lake)
    only = {"filing": get_benchmark(lake).filings}
    texts = lake.read_all("filing_chunks", ["text"], only=only)["text"].to_pylist()
    questions = lake.read("benchmark_questions")["question"].to_pylist()
    ours, peer = build_bm25(texts), BM25Okapi([finance_tokens(text) for text in texts])
    few = questions[: options.peer_questions]

    def fast() -> int:
        for question in questions:
            top_documents(ours.scores(question), 5)
        return len(questions)

    def slow() -> int:
        for question in few:
            np.argsort(-peer.get_scores(finance_tokens(question)), kind="stable")[:5]
        return len(few)

    print(f"{len(texts)} chunks, {len(questions)} questions")
    paired("BM25 / rank-bm25", rate(fast), rate(slow), options.rounds, "queries per second")
    same, difference = 0, 0.0
    for question in questions:
        expected = peer.get_scores(finance_tokens(question))
        found = ours.scores(question)
        difference = max(difference, float(np.abs(expected - found).max()))
        top = top_documents(found, 5)
        # Documents whose exact scores tie may stand in any order.
        same += bool(np.allclose(np.sort(expected)[::-1][:5], expected[top], rtol=1e-6))
    print(
        f"same top 5 for {same} of {len(questions)} questions; largest difference of a score {difference:.2e}"
    )


if __name__ == "__main__":
    main()
