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
from finrag_pipeline.schemas import ANSWER_RATES, AUTOMATIC_SCORES

AUTOMATIC_VERSION = "1"
"""Changes whenever a value may change."""

METRICS = ("correct_language", "response", "functional_citation")


def automatic_scores(answers: Iterable[Answer]) -> pa.Table:
    """Every metric of every answer and sentence.

    Returns:
        Table as ``schemas.AUTOMATIC_SCORES``.
    """
    rows: list[dict[str, Any]] = []
    for answer in answers:
        key = answer.key() | {"difficulty": answer.difficulty}
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
    """Rates of every system by metric, theme and difficulty, and over all of them (Figure 3).

    Args:
        scores: table as ``schemas.AUTOMATIC_SCORES``.
        confidence: coverage of the intervals, which resist answers to one question agreeing.

    Returns:
        Table as ``schemas.ANSWER_RATES``, by system and space, in the order of :data:`METRICS`, then of
        themes and difficulties.
    """
    groups: dict[tuple[str, ...], tuple[list[int], list[str]]] = defaultdict(lambda: ([], []))
    names = ("system", "space", "metric", "theme", "difficulty", "value", "question_id")
    for system, space, metric, theme, difficulty, value, question in zip(
        *(scores[name].to_pylist() for name in names), strict=True
    ):
        for slice_of in {(theme, difficulty), (theme, "all"), ("all", difficulty), ("all", "all")}:
            values, questions = groups[system, space, metric, *slice_of]
            values.append(value)
            questions.append(question)
    rows = []
    for group in sorted(groups, key=_order):
        values, questions = groups[group]
        found = cluster_proportion(values, questions, confidence=confidence)
        rows.append(
            dict(zip(names[:5], group, strict=True))
            | {
                "rate": found.estimate,
                "low": found.low,
                "high": found.high,
                "n": found.n,
                "questions": found.clusters,
                "effective_n": found.effective_n,
            }
        )
    return pa.Table.from_pylist(rows, schema=ANSWER_RATES)


def _order(group: tuple[str, ...]) -> tuple[object, ...]:
    """All themes and difficulties come first."""
    system, space, metric, theme, difficulty = group
    return system, space, METRICS.index(metric), theme != "all", theme, difficulty != "all", difficulty
