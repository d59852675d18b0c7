"""The families of tests that are reported: which systems are compared with which baseline, by what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.evaluation.paired_tests import compare_systems
from finrag_pipeline.schemas import SYSTEM_COMPARISONS

FAMILIES_VERSION = "1"
"""Changes with the families and with the tests."""


@dataclass(frozen=True, slots=True)
class Family:
    """Tests whose p-values are corrected together: all systems against one baseline by one metric.

    Attributes:
        baseline: system that the others are compared with.
        metric: name of the metric.
        k: its cut-off.
        space: search space.
    """

    baseline: str
    metric: str
    k: int
    space: str = "corpus"


RETRIEVAL = tuple(
    Family(baseline, metric, 5) for baseline in ("dense", "page_scorer") for metric in ("page_rec", "doc_rec")
)
"""PageRec@5 and DocRec@5 over the corpus, against dense retrieval and against the learned page scorer."""

ANSWERS = tuple(
    Family("calculator on finrag", metric, 0, space)
    for space in ("corpus", "filing", "pages")
    for metric in ("numeric_match", "strict_match")
)
"""Answers by numeric match, and by strict match on the questions whose gold answer is one number."""


def compare_families(
    scores: pa.Table,
    questions: pa.Table,
    families: Iterable[Family],
    *,
    draws: int = 10_000,
    confidence: float = 0.95,
    seed: int = 17,
) -> pa.Table:
    """Every family whose baseline is scored, with all systems that share a question with it.

    Args:
        scores: as ``schemas.RETRIEVAL_SCORES``.
        questions: as ``schemas.BENCHMARK_QUESTIONS``.
        families: what is compared.
        draws: resamples of documents.
        confidence: coverage of the intervals.
        seed: of the resampling.

    Returns:
        Table as ``schemas.SYSTEM_COMPARISONS``, family by family.

    Raises:
        LakeError: a question is scored twice.
    """
    measured = set(questions.filter(pc.equal(questions["status"], "measured"))["question_id"].to_pylist())
    found = [SYSTEM_COMPARISONS.empty_table()]
    for family in families:
        chosen = scores.filter(
            (pc.field("metric") == family.metric)
            & (pc.field("k") == family.k)
            & (pc.field("space") == family.space)
        )
        asked: dict[str, set[str]] = {}
        for system, question in zip(
            chosen["system"].to_pylist(), chosen["question_id"].to_pylist(), strict=True
        ):
            if question in measured:
                asked.setdefault(system, set()).add(question)
        theirs = asked.pop(family.baseline, set())
        systems = [name for name, ours in asked.items() if ours & theirs]
        if systems:
            found.append(
                compare_systems(
                    chosen, questions, family.baseline, family.metric, family.k, family.space,
                    systems=systems, draws=draws, confidence=confidence, seed=seed,
                )
            )  # fmt: skip
    return pa.concat_tables(found)
