"""Runs and relevance judgements (qrels) in TREC format, so that any evaluator can check our figures.

Two levels: ``chunk`` (a document of the evaluator is a chunk; relevant are all chunks on gold pages) and
``page`` (a document is a page, ``<filing>/p<zero-based page>``; relevant are the gold pages). A run cut to k
chunks and then collapsed to pages has a recall at k that equals our page_rec@k.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import groupby, islice
from typing import Literal
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError, UsageError

Level = Literal["chunk", "page"]

_SEPARATORS = re.compile(r"[\s%]")


def trec_id(text: str) -> str:
    """``text`` without whitespace, which separates TREC columns: percent-encoded, so that ids stay distinct.

    >>> trec_id("ACME 2023 10K/p0")
    'ACME%202023%2010K/p0'
    """
    return _SEPARATORS.sub(lambda match: quote(match[0], safe=""), text)


def export_run(runs: pa.Table, level: Level, cut: int | None = None) -> str:
    """Write the run of one system in one search space as TREC lines ``question Q0 document rank score tag``.

    Scores are strictly decreasing within a question, also in single precision: evaluators sort by score, keep
    it as a 32-bit float, and break ties in ways of their own. Where the system's scores tie, the next smaller
    float stands for the order of the ranks.

    Args:
        runs: table as ``schemas.RETRIEVAL_RUNS`` of one (system, space), rows in any order.
        level: ``chunk``, or ``page``: only the first chunk of every page is kept.
        cut: keep this many chunks per question (before they are collapsed to pages); None keeps all.

    Raises:
        UsageError: the table holds several systems or spaces.
        LakeError: a score is not a number.
    """
    names = {(row["system"], row["space"]) for row in runs.select(["system", "space"]).to_pylist()}
    if len(names) > 1:
        raise UsageError(
            f"A TREC run holds one system in one space, not {len(names)}.", "Filter the run first."
        )
    lines: list[str] = []
    rows = runs.sort_by([("question_id", "ascending"), ("rank", "ascending")]).to_pylist()
    for question, ranking in groupby(rows, key=lambda row: row["question_id"]):
        documents: set[str] = set()
        previous = np.float32(np.inf)
        for row in islice(ranking, cut):
            document = trec_id(row["chunk_id"] if level == "chunk" else f"{row['filing']}/p{row['page']}")
            if document in documents:
                continue
            documents.add(document)
            previous = _below(previous, row)
            tag = trec_id(f"{row['system']}.{row['space']}")
            lines.append(f"{trec_id(question)} Q0 {document} {len(documents)} {previous:.9g} {tag}\n")
    return "".join(lines)


def export_qrels(questions: pa.Table, level: Level, gold_chunks: Mapping[str, frozenset[str]]) -> str:
    """Write the relevance judgements as TREC lines ``question 0 document 1``.

    A question none of whose gold pages has a chunk cannot be expressed at chunk level, and evaluators leave
    it out of their means; here it scores 0.

    Args:
        questions: table as ``schemas.BENCHMARK_QUESTIONS``; only measured questions are written.
        level: ``chunk`` or ``page``.
        gold_chunks: chunks on the gold pages by question, for the level ``chunk``.
    """
    lines: list[str] = []
    for row in questions.filter(pc.equal(questions["status"], "measured")).to_pylist():
        if level == "page":
            documents = [trec_id(f"{row['filing']}/p{page}") for page in row["gold_pages"]]
        else:
            documents = sorted(map(trec_id, gold_chunks.get(row["question_id"], ())))
        lines += [f"{trec_id(row['question_id'])} 0 {document} 1\n" for document in documents]
    return "".join(lines)


def _below(previous: np.float32, row: dict) -> np.float32:
    """Score of a row as a 32-bit float, or the next one below ``previous`` if that is smaller."""
    score = row["score"]
    if not math.isfinite(score):
        raise LakeError(
            f"The score of chunk '{row['chunk_id']}' for question '{row['question_id']}' is {score}.",
            "Materialise retrieval_runs again; report the system if it recurs.",
        )
    limit = float(np.finfo(np.float32).max) / 2  # leaves room below for ties
    single = np.float32(min(max(score, -limit), limit))
    return single if single < previous else np.nextafter(previous, np.float32(-np.inf))
