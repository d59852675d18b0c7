"""BM25: questions per second against rank-bm25 (and bm25s, where installed), and whether scores are equal.

On all chunks of the active benchmark, or of the PDFs of a folder: --pdfs FOLDER --questions FILE.jsonl.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from benchmarks import arguments, paired, rate
from finrag_pipeline.chunking.fixed import chunk_pages
from finrag_pipeline.embedding.tokens import token_counter
from finrag_pipeline.evaluation.benchmark import get_benchmark
from finrag_pipeline.filings.pdf import inspect_pdf, read_pages
from finrag_pipeline.retrieval.bm25 import K1, B, RankBm25, build_bm25, finance_tokens, top_documents
from finrag_pipeline.settings import get_settings
from finrag_pipeline.storage.lake import Lake


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--peer-questions", type=int, default=20, help="questions the slow side answers per round"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pdfs", type=Path, help="folder of PDFs instead of the lake")
    parser.add_argument("--filings", type=int, default=10, help="how many of them")
    parser.add_argument("--questions", type=Path, help="JSON Lines with a field 'question'")
    options = parser.parse_args()
    if (options.pdfs is None) != (options.questions is None):
        parser.error("--pdfs and --questions go together")
    if options.pdfs is None:
        lake = Lake(get_settings().lake)
        only = {"filing": get_benchmark(lake).filings}
        texts = lake.read_all("filing_chunks", ["text"], only=only)["text"].to_pylist()
        questions = lake.read("benchmark_questions")["question"].to_pylist()
    else:
        texts = chunks_of(sorted(options.pdfs.glob("*.pdf"))[: options.filings])
        lines = options.questions.read_text(encoding="utf-8").splitlines()
        questions = [json.loads(line)["question"] for line in lines]
    ours, peer = build_bm25(texts), RankBm25(texts)
    few = questions[: options.peer_questions]

    def fast() -> int:
        for question in questions:
            top_documents(ours.scores(question), 5)
        return len(questions)

    def slow() -> int:
        for question in few:
            top_documents(peer.scores(question), 5)
        return len(few)

    print(f"{len(texts)} chunks, {len(questions)} questions")
    paired("BM25 / rank-bm25", rate(fast), rate(slow), options.rounds, "queries per second")
    expected = [peer.scores(question) for question in few]
    compare("precomputed", expected, [ours.scores(question) for question in few])
    if find_spec("bm25s"):
        for method in ("robertson", "atire", "lucene", "bm25l", "bm25+"):
            compare(f"bm25s, {method}", expected, bm25s_scores(method, texts, few))


def chunks_of(paths: Sequence[Path]) -> list[str]:
    """Texts of the fixed chunks of PDFs, cut as the settings say."""
    settings, texts = get_settings(), []
    tokens = token_counter(settings.encoder)
    for path in paths:
        pages = read_pages(path, path.stem, 0, inspect_pdf(path).pages)
        texts += chunk_pages(pages, settings.chunks, tokens)["text"].to_pylist()
    return texts


def bm25s_scores(method: str, texts: Sequence[str], questions: Sequence[str]) -> list[np.ndarray]:
    """Scores of bm25s by one of its methods, on the same tokens."""
    bm25s = import_module("bm25s")
    index = bm25s.BM25(k1=K1, b=B, method=method)
    index.index([finance_tokens(text) for text in texts], show_progress=False)
    tokens = [[term for term in finance_tokens(q) if term in index.vocab_dict] for q in questions]
    return [index.get_scores(terms) for terms in tokens]


def compare(name: str, expected: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> None:
    """Print how far scores are from rank-bm25's, and how often the first five are the same but for ties."""
    difference = max(float(np.abs(one - other).max()) for one, other in zip(expected, found, strict=True))
    same = sum(
        bool(np.allclose(one[top_documents(one, 5)], one[top_documents(other, 5)], rtol=1e-6))
        for one, other in zip(expected, found, strict=True)
    )
    print(
        f"{name}: largest difference {difference:.2e}, same first five for {same} of {len(found)} questions"
    )


if __name__ == "__main__":
    main()
