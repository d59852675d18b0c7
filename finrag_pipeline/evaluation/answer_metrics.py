"""Scores of answers, one row per question and metric.

* the numeric matches (:mod:`finrag_pipeline.evaluation.numeric_match`), by the names they circulate under;
  a gold answer without a number scores 0, as in the papers, which report means over metrics questions only;
* ``strict_match``: only where the gold answer is one number;
* ``rouge_l``: F-measure against the gold answer with the Porter stemmer (Kobeissi & Langlais, generation);
* ``citation_validity``: share of the cited sources that were retrieved (the functional citations of
  Martinon et al.); only where something is cited;
* ``cited_sentences``: share of the sentences that cite a retrieved source; only where sentences are recorded;
* ``abstained``: 1 when it says that the answer cannot be had. On the questions of a benchmark that is a
  miss.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from finrag_pipeline.answering.final_answer import final_answer
from finrag_pipeline.evaluation.numeric_match import NUMERIC_MATCHES, strict_match
from finrag_pipeline.evaluation.text_overlap import TextOverlap
from finrag_pipeline.schemas import ANSWER_SCORES, RETRIEVAL_SCORES, conform

CORPUS = "corpus"


def score_answers(answers: pa.Table, questions: pa.Table) -> pa.Table:
    """Scores of answers to the questions of a benchmark.

    Args:
        answers: rows as ``schemas.ANSWERS``; those to other questions are left out.
        questions: rows as ``schemas.BENCHMARK_QUESTIONS``.

    Returns:
        Table as ``schemas.ANSWER_SCORES``, in the order of ``answers``.
    """
    gold = {
        row["question_id"]: row for row in questions.select(["question_id", "question", "answer"]).to_pylist()
    }
    overlap = TextOverlap()
    rows = []
    for row in answers.to_pylist():
        asked = gold.get(row["question_id"])
        if asked is None:
            continue
        key = {name: row[name] for name in ("question_id", "system", "retrieval", "space", "repeat")}
        values = answer_scores(row, asked["question"], asked["answer"], overlap)
        rows += [{**key, "metric": metric, "value": value} for metric, value in values.items()]
    return conform(pa.Table.from_pylist(rows, ANSWER_SCORES), "answer_scores")


def answer_scores(row: Mapping[str, Any], question: str, gold: str, overlap: TextOverlap) -> dict[str, float]:
    """Value of every metric that applies to one answer.

    Args:
        row: as ``schemas.ANSWERS``.
        question: the question, for the unit it asks for.
        gold: gold answer.
        overlap: remembers the tokens of texts.
    """
    answer = row["answer"]
    values = {name: float(match(gold, answer)) for name, match in NUMERIC_MATCHES.items()}
    # What an answer states as its last word is judged, else what can be read out of it.
    strict = strict_match(gold, final_answer(row["final_answer"] or answer), question)
    if strict is not None:
        values["strict_match"] = float(strict and not row["abstained"])
    values["rouge_l"] = overlap.rouge_l(gold, answer)
    if not row["abstained"]:  # which has nothing to cite
        values |= citation_scores(row["citations"], row["retrieved"])
    values["abstained"] = float(row["abstained"])
    return values


def citation_scores(citations: str | None, retrieved: Sequence[str]) -> dict[str, float]:
    """``citation_validity`` and ``cited_sentences`` where they apply.

    Args:
        citations: JSON as in ``schemas.ANSWERS``: ``[{text, sources: [id, …], …}, …]``.
        retrieved: identifiers that may be cited.
    """
    sentences = json.loads(citations) if citations else []
    if not sentences:
        return {}
    known = set(retrieved)
    cited = [set(sentence.get("sources", [])) | set(sentence.get("unknown", [])) for sentence in sentences]
    every = [source for sources in cited for source in sources]
    scores = {"cited_sentences": sum(bool(sources & known) for sources in cited) / len(cited)}
    if every:
        scores["citation_validity"] = sum(source in known for source in every) / len(every)
    return scores


def as_series(scores: pa.Table) -> pa.Table:
    """Scores in the columns that :func:`finrag_pipeline.evaluation.summary.summarise` takes.

    A series is a system on a retrieval (``prompt on dense``) in a space; the repeats of a question are
    averaged, so that a question counts once. The cut-off is 0.
    """
    grouped: dict[tuple[str, str, str, str], list[float]] = defaultdict(list)
    for row in scores.to_pylist():
        system = f"{row['system']} on {row['retrieval']}" if row["retrieval"] else row["system"]
        grouped[system, row["space"] or CORPUS, row["question_id"], row["metric"]].append(row["value"])
    rows = [
        {
            "system": system,
            "space": space,
            "question_id": question_id,
            "metric": metric,
            "k": 0,
            "value": sum(values) / len(values),
        }
        for (system, space, question_id, metric), values in grouped.items()
    ]
    return conform(pa.Table.from_pylist(rows, RETRIEVAL_SCORES), "retrieval_scores")
