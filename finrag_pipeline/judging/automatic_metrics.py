"""Metrics that need no judge: right language, a response at all, citations that work (Martinon et al., 6.1).

* ``correct_language`` (answer): it is in the language of the question. Missing where the text is too short to
  tell.
* ``response`` (answer): it is no plain abstention and cites a source.
* ``functional_citation`` (sentence): every identifier it cites was retrieved. Only sentences that cite count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from finrag_pipeline.evaluation.cluster_intervals import cluster_proportion
from finrag_pipeline.judging.items import Answer
from finrag_pipeline.judging.languages import language_of

METRICS = ("correct_language", "response", "functional_citation")

AUTOMATIC_SCORES = pa.schema(
    [
        pa.field("answer_id", pa.string(), nullable=False),
        pa.field("question_id", pa.string(), nullable=False),
        pa.field("theme", pa.string(), nullable=False),
        pa.field("difficulty", pa.string(), nullable=False),
        pa.field("sentence", pa.int32()),
        pa.field("metric", pa.string(), nullable=False),
        pa.field("value", pa.int32(), nullable=False),
    ]
)
"""One row per answer or sentence and metric; ``sentence`` counts from 0 and is null for answers."""

RATES = pa.schema(
    [
        pa.field("metric", pa.string(), nullable=False),
        pa.field("theme", pa.string(), nullable=False),
        pa.field("difficulty", pa.string(), nullable=False),
        pa.field("rate", pa.float64(), nullable=False),
        pa.field("low", pa.float64(), nullable=False),
        pa.field("high", pa.float64(), nullable=False),
        pa.field("n", pa.int32(), nullable=False),
        pa.field("questions", pa.int32(), nullable=False),
        pa.field("effective_n", pa.float64(), nullable=False),
    ]
)
"""Rates with intervals over questions; ``all`` stands for every theme or difficulty."""


def automatic_scores(answers: Iterable[Answer]) -> pa.Table:
    """Every metric of every answer and sentence.

    Returns:
        Table as :data:`AUTOMATIC_SCORES`.
    """
    rows: list[dict[str, Any]] = []
    for answer in answers:
        key: dict[str, Any] = {
            "answer_id": answer.answer_id,
            "question_id": answer.question_id,
            "theme": answer.theme,
            "difficulty": answer.difficulty,
        }
        spoken = language_of(answer.text)
        if spoken is not None:
            rows.append(
                key
                | {"sentence": None, "metric": "correct_language", "value": int(spoken == answer.language)}
            )
        cites = any(one.cited for one in answer.sentences)
        rows.append(
            key | {"sentence": None, "metric": "response", "value": int(cites and not answer.abstains)}
        )
        for place, sentence in enumerate(answer.sentences):
            if sentence.cited:
                works = all(name in answer.sources for name in sentence.cited)
                rows.append(key | {"sentence": place, "metric": "functional_citation", "value": int(works)})
    return pa.Table.from_pylist(rows, schema=AUTOMATIC_SCORES)


def rates(scores: pa.Table, confidence: float = 0.95) -> pa.Table:
    """Rates by metric, theme and difficulty, and over all of them (Figure 3).

    Args:
        scores: table as :data:`AUTOMATIC_SCORES`.
        confidence: coverage of the intervals, which resist answers to one question agreeing.

    Returns:
        Table as :data:`RATES`, in the order of :data:`METRICS`, then of themes and difficulties.
    """
    groups: dict[tuple[str, str, str], tuple[list[int], list[str]]] = defaultdict(lambda: ([], []))
    names = ("metric", "theme", "difficulty", "value", "question_id")
    for metric, theme, difficulty, value, question in zip(
        *(scores[name].to_pylist() for name in names), strict=True
    ):
        for slice_of in {(theme, difficulty), (theme, "all"), ("all", difficulty), ("all", "all")}:
            values, questions = groups[metric, *slice_of]
            values.append(value)
            questions.append(question)
    rows = []
    for group in sorted(groups, key=_order):
        values, questions = groups[group]
        found = cluster_proportion(values, questions, confidence=confidence)
        rows.append(
            dict(zip(("metric", "theme", "difficulty"), group, strict=True))
            | {
                "rate": found.estimate,
                "low": found.low,
                "high": found.high,
                "n": found.n,
                "questions": found.clusters,
                "effective_n": found.effective_n,
            }
        )
    return pa.Table.from_pylist(rows, schema=RATES)


def _order(group: tuple[str, str, str]) -> tuple[int, bool, str, bool, str]:
    """All themes and difficulties come first."""
    metric, theme, difficulty = group
    return METRICS.index(metric), theme != "all", theme, difficulty != "all", difficulty
