"""How far judges agree with people, and what people, judges and both together say.

FinanceBench publishes people's labels of 2,400 answers (16 configurations of 150): correct, incorrect or
refused. ``correctness`` gives those labels. ``veracity``, held against the gold evidence, stands in for them
by a rule: an answer is taken to be correct if all of its sentences are supported and it does not abstain.
That is a proxy: an answer may be true of the evidence and miss the question, or be right and rest on another
page.

Estimates (the bars of Martinon et al., Figure 4, and Table 2) join labels and verdicts by item (an answer, or
a sentence). Each method's row says what it is:

* ``human``: people's labels, interval over questions, weighted by the design;
* ``human_wald``: the same as in the paper, as if labels were independent and equally likely to be drawn;
* ``judge``: verdicts on everything, interval over questions. It is precise about the judge, not about the
  truth;
* ``ppi``: both, small-sample interval over questions, weighted;
* ``ppi_normal``: both, as published.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from finrag_pipeline.answering.passages import page_source
from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.intervals import agreement, cluster_proportion, stratum_weights, wald
from finrag_pipeline.evaluation.judged_answers import Answer, answer_from_row, question_slices, source_texts
from finrag_pipeline.evaluation.judges import REFUSAL, Criterion, Judge, Verdict
from finrag_pipeline.evaluation.ppi import ppi_mean, ppi_proportion
from finrag_pipeline.evaluation.published import load_recorded_answers
from finrag_pipeline.schemas import JUDGE_AGREEMENT, JUDGE_CALIBRATION, JUDGED_ESTIMATES
from finrag_pipeline.storage.lake import Lake
from finrag_pipeline.storage.warehouse import query_tables

CALIBRATION_VERSION = "1"
"""Changes with what is compared."""

HUMAN_LABELS = {"incorrect": 0, "correct": 1, "refusal": REFUSAL}
"""Published labels (``schemas.ANSWERS``, ``human_label``) as labels of ``correctness``."""


class LabelledAnswer(NamedTuple):
    """An answer, what people say of it (:data:`HUMAN_LABELS`), the gold answer, and whose answer it is."""

    answer: Answer
    label: int
    gold: str
    system: str = "all"


def labelled_answers(lake: Lake, folder: Path, questions: pa.Table) -> list[LabelledAnswer]:
    """Recorded answers that people labelled, held against the gold pages of their questions.

    The evidence that the benchmark prints stands in for pages that the lake does not hold. Labelled answers
    to other questions are left out.

    Raises:
        BenchmarkError: the folder holds no recorded answers, or a file is damaged.
    """
    gold = {row["question_id"]: row for row in questions.to_pylist()}
    asked = {name: row["question"] for name, row in gold.items()}
    recorded = load_recorded_answers(folder, asked).to_pylist()
    rows = [row for row in recorded if row["human_label"] in HUMAN_LABELS]
    shown = {row["question_id"] for row in rows}
    printed: dict[str, dict[str, str]] = {name: defaultdict(str) for name in shown}
    for name in shown:
        for one in gold[name]["evidence"]:
            printed[name][page_source(one["filing"], one["page"])] += f"{one['text']}\n"
    whole = source_texts(lake, {page for pages in printed.values() for page in pages})
    found = []
    for row in rows:
        question = gold[row["question_id"]]
        evidence = {page: whole.get(page, text) for page, text in printed[row["question_id"]].items()}
        # A recorded answer says nothing of what it was given: the gold pages stand in for it.
        given = {**row, "retrieved": list(evidence)}
        answer = answer_from_row(given, evidence, **question_slices(question))
        label = HUMAN_LABELS[row["human_label"]]
        found.append(LabelledAnswer(answer, label, question["answer"], row["system"]))
    return found


def calibrate(
    judge: Judge, criterion: Criterion, labelled: Sequence[LabelledAnswer], seed: int = 17
) -> pa.Table:
    """Agreement of one judge with people, over all answers and by system.

    Args:
        criterion: ``correctness``, or ``veracity``, which knows no refusals.
        labelled: answers with their sources: the gold evidence, for ``veracity``.

    Returns:
        Table as ``schemas.JUDGE_CALIBRATION``.

    Raises:
        LakeError: there is no verdict at all.
    """
    answers = [one.answer for one in labelled]
    judged = judge.verdicts(criterion, answers, [one.gold for one in labelled])
    verdicts = (
        [supported(answer, found) for answer, found in zip(answers, judged, strict=True)]
        if criterion == "veracity"
        else [verdict for (verdict,) in judged]
    )
    if all(one.label is None for one in verdicts):
        why = next((one.problem for one in verdicts if one.problem), "no answers")
        raise LakeError(f"Judge '{judge.name}' gave no verdict on {criterion}: {why}.", "Check the model.")
    pairs = list(zip(labelled, verdicts, strict=True))
    rows = []
    for name in ("three", "two") if criterion == "correctness" else ("two",):
        for group in dict.fromkeys(["all", *(one.system for one in labelled)]):
            own = [pair for pair in pairs if group in ("all", pair[0].system)]
            known = [(one, verdict.label) for one, verdict in own if verdict.label is not None]
            if not known:
                continue
            labels = [(one.label, said) for one, said in known]
            if name == "two":
                labels = [(int(human == 1), int(said == 1)) for human, said in labels]
            humans, machines = zip(*labels, strict=True)
            found = agreement(humans, machines, [one.answer.question_id for one, _ in known], seed=seed)
            rows.append(
                {
                    "judge": judge.name,
                    "criterion": criterion,
                    "labels": name,
                    "group": group,
                    "missing": len(own) - len(known),
                    "failed": sum(verdict.failed for _, verdict in own),
                    "human_rate": humans.count(1) / len(known),
                    "judge_rate": machines.count(1) / len(known),
                    **found._asdict(),
                }
            )
    return pa.Table.from_pylist(rows, schema=JUDGE_CALIBRATION)


def supported(answer: Answer, verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict for an answer from those of its sentences: 1 when it answers and all sentences hold.

    Missing where a sentence has no verdict and none is 0.
    """
    if answer.abstains:
        return Verdict(0, "It declines to answer.")
    labels = [one.label for one in verdicts]
    if 0 in labels:
        return Verdict(0, "A sentence is not supported.")
    if not labels or None in labels:
        failed = any(one.failed for one in verdicts)
        return Verdict(None, problem="a sentence has no verdict", failed=failed)
    return Verdict(1, "All sentences are supported.")


ESTIMATES_VERSION = "1"
"""Changes whenever a figure may change."""

_KEY = ("system", "space", "criterion", "judge", "theme")
_ITEMS = """
    WITH items AS (
        SELECT *, answer_id || coalesce('#' || sentence, '') AS item_id, row_number() OVER () AS row
        FROM verdicts
    ),
    joined AS (
        SELECT items.* REPLACE (unnest(list_distinct(['all', items.theme])) AS theme), stratum,
            CASE WHEN coalesce(sample.criterion, items.criterion) = items.criterion THEN people.label
                END AS human
        FROM items LEFT JOIN labels AS people USING (item_id) LEFT JOIN sample USING (item_id)
    )
    SELECT system, space, criterion, judge, theme, count(*) FILTER (label IS NULL) AS missing,
        list((label = 1)::INTEGER ORDER BY row) FILTER (label IS NOT NULL) AS verdicts,
        list(human ORDER BY row) FILTER (label IS NOT NULL) AS labels,
        list(question_id ORDER BY row) FILTER (label IS NOT NULL) AS questions,
        list(stratum ORDER BY row) FILTER (label IS NOT NULL) AS strata
    FROM joined GROUP BY system, space, criterion, judge, theme
    ORDER BY min(min(row)) OVER (PARTITION BY system, space, criterion, judge), theme <> 'all', theme
"""


def judged_estimates(
    verdicts: pa.Table, labels: pa.Table, sample: pa.Table, confidence: float = 0.95
) -> pa.Table:
    """Estimates of every system, criterion and judge by theme, ``all`` before the themes.

    Args:
        verdicts: table as ``schemas.VERDICTS``.
        labels: table as ``schemas.HUMAN_LABELS``, columns ``item_id`` and ``label``; items without a final
            label do not count.
        sample: table as ``schemas.LABEL_SAMPLE``, columns ``item_id``, ``stratum`` and ``criterion``: a
            label stands for as many items as its stratum has for each label; a sheet may come back
            unfinished.

    Returns:
        Table as ``schemas.JUDGED_ESTIMATES``; of the method ``judge`` alone where nobody has labelled.

    Raises:
        LakeError: there are labels, and none belongs to an item with a verdict; or one was not sampled.
    """
    rows: list[dict[str, Any]] = []
    for one in _judged_items(verdicts, labels, sample):
        f, human = np.array(one["verdicts"]), np.array(one["labels"], dtype=np.float64)
        whose, labelled = np.array(one["questions"], dtype=object), ~np.isnan(human)
        found = {"judge": cluster_proportion(f, one["questions"], confidence=confidence)}
        if labelled.any():
            y, own = human[labelled], whose[labelled].tolist()
            weights = stratum_weights(one["strata"], labelled)
            found = {
                "human": cluster_proportion(y, own, weights, confidence),
                "human_wald": wald(y.sum(), len(y), confidence),
                **found,
            }
            if not labelled.all():
                # Drawn with unequal chances, the labelled ones leave others that are not like the whole.
                clusters = {"clusters": own, "judged_clusters": one["questions"]}
                found["ppi"] = ppi_proportion(
                    y, f[labelled], f, **clusters, weights=weights, confidence=confidence
                )
                found["ppi_normal"] = ppi_mean(y, f[labelled], f[~labelled], confidence)
        counts = {"labels": int(labelled.sum()), "verdicts": len(f), "missing": one["missing"]}
        for method, each in found.items():
            size = None if math.isnan(each.effective_n) else each.effective_n
            ends = {"estimate": each.estimate, "low": each.low, "high": each.high}
            about = {"method": method, "effective_n": size, "lam": each.lam, "questions": len(set(whose))}
            rows.append({name: one[name] for name in _KEY} | counts | ends | about)
    if labels.num_rows > labels["label"].null_count and not any(row["labels"] for row in rows):
        raise LakeError("No label belongs to an item with a verdict.", "Give labels of these answers.")
    return pa.Table.from_pylist(rows, schema=JUDGED_ESTIMATES)


def judge_agreement(verdicts: pa.Table, labels: pa.Table, sample: pa.Table, seed: int = 17) -> pa.Table:
    """Agreement of every judge with people, by system, criterion and theme; unweighted.

    Of the tables that :func:`judged_estimates` takes, as ``schemas.JUDGE_AGREEMENT``.
    """
    rows = []
    for one in _judged_items(verdicts, labels, sample):
        items = zip(one["labels"], one["verdicts"], one["questions"], strict=True)
        if labelled := [item for item in items if item[0] is not None]:
            found = agreement(*map(list, zip(*labelled, strict=True)), seed=seed)
            rows.append({name: one[name] for name in _KEY} | found._asdict())
    return pa.Table.from_pylist(rows, schema=JUDGE_AGREEMENT)


def _judged_items(verdicts: pa.Table, labels: pa.Table, sample: pa.Table) -> list[dict[str, Any]]:
    """Items with a verdict by system, criterion, judge and theme, and labels of those that have one."""
    sampled = set(sample["item_id"].to_pylist())
    for item, label in zip(labels["item_id"].to_pylist(), labels["label"].to_pylist(), strict=True):
        if label is not None and item not in sampled:
            raise LakeError(f"Item '{item}' has a label but was not sampled.", "Leave it out.")
    found = query_tables(_ITEMS, verdicts=verdicts, labels=labels, sample=sample).to_pylist()
    return [one for one in found if one["verdicts"]]
