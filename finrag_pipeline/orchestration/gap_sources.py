"""What the retrieval gap is measured from, read from the lake."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa

from finrag_pipeline.chunking.registry import CHUNKINGS
from finrag_pipeline.evaluation.baseline_judge import BaselineJudge
from finrag_pipeline.evaluation.failure_modes import filing_identities
from finrag_pipeline.evaluation.judged_answers import answer_from_row
from finrag_pipeline.evaluation.judges import REFUSAL
from finrag_pipeline.evaluation.retrieval_gap import AnswerKey, Outcome, Sources, first_answers
from finrag_pipeline.orchestration.corpora import benchmark_filings
from finrag_pipeline.storage.lake import Lake

READ = ("filings", "filing_pages", "statement_facts", *(one.table for one in CHUNKINGS.values()))
"""Tables that texts, facts and identities are read from."""

_FACT = ("filing", "page", "label", "fiscal_year", "printed")


def read_gap_sources(store: Lake) -> Sources:
    """Texts, facts and identities of the benchmark's filings."""
    only = {"filing": benchmark_filings(store)}
    chunks: dict[str, str] = {}
    for chunking in CHUNKINGS.values():
        table = store.read_all(chunking.table, ["chunk_id", "text"], only, "filing_chunks")
        chunks.update(zip(table["chunk_id"].to_pylist(), table["text"].to_pylist(), strict=True))
    read = store.read_all("filing_pages", ["filing", "page", "text"], only)
    names = ("filing", "page", "text")
    pages = {
        (filing, page): text for filing, page, text in zip(*(read[n].to_pylist() for n in names), strict=True)
    }
    facts: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for row in store.read_all("statement_facts", _FACT, only).to_pylist():
        facts[row["filing"], row["page"]].append(row)
    filings = store.read_all("filings", only=only).to_pylist()
    covers = {row["filing"]: pages.get((row["filing"], 0), "") for row in filings}
    return Sources(chunks, pages, facts, filing_identities(filings, covers))


def judged_outcomes(
    answers: pa.Table, questions: pa.Table, space: str = "corpus"
) -> dict[AnswerKey, Outcome]:
    """Verdicts of the deterministic judge on the first answers over a retrieval."""
    gold = dict(zip(questions["question_id"].to_pylist(), questions["answer"].to_pylist(), strict=True))
    judge = BaselineJudge()
    found: dict[AnswerKey, Outcome] = {}
    for (system, retrieval), own in first_answers(answers, space).items():
        known = [name for name in own if name in gold]
        items = [answer_from_row(own[name], {}) for name in known]
        verdicts = judge.correctness(items, [gold[name] for name in known])
        for name, verdict in zip(known, verdicts, strict=True):
            found[name, system, retrieval] = _outcome(verdict.label)
    return found


def _outcome(label: int | str | None) -> Outcome:
    if label == REFUSAL:
        return "refusal"
    return "correct" if label == 1 else "incorrect"
