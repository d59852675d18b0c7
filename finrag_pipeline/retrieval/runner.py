"""Running a system over questions: rankings of chunks in every search space."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from finrag_pipeline.retrieval.component import Inputs
from finrag_pipeline.retrieval.spaces import Scope, Space, restriction
from finrag_pipeline.retrieval.system import RetrievalSystem
from finrag_pipeline.schemas import RETRIEVAL_RUNS


def run_system(
    system: RetrievalSystem,
    inputs: Inputs,
    questions: Iterable[dict[str, Any]],
    spaces: Sequence[Space] = tuple(Space),
) -> pa.Table:
    """Rankings of ``system`` for every question in every space.

    Args:
        system: what to run.
        inputs: where to search, and with what was learned without these questions.
        questions: rows of ``benchmark_questions``. Gold filing and pages are used for the oracle spaces
            alone.
        spaces: search spaces.

    Returns:
        Rows of ``retrieval_runs``.

    Raises:
        ModelError: the system needs a model that was not trained, or cannot be had.
    """
    questions = list(questions)
    queries = system.queries([question["question"] for question in questions], inputs)
    rows: list[dict[str, Any]] = []
    for space in spaces:
        for question in questions:
            scope = Scope(*restriction(space, question["filing"], question["gold_pages"]))
            hits = system.search(queries[question["question"]], inputs, scope)
            rows.extend(
                {
                    "system": system.name,
                    "space": space.value,
                    "question_id": question["question_id"],
                    "rank": place,
                    "chunk_id": hit.chunk_id,
                    "filing": hit.filing,
                    "page": hit.page,
                    "score": hit.score,
                }
                for place, hit in enumerate(hits, start=1)
            )
    return pa.Table.from_pylist(rows, schema=RETRIEVAL_RUNS)
