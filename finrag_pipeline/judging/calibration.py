"""How far a judge agrees with people, reported before its verdicts are used.

FinanceBench publishes people's labels of 2,400 answers (16 configurations of 150): correct, incorrect or
refused. ``correctness`` gives those labels. ``veracity``, held against the gold evidence, stands in for them
by a rule: an answer is taken to be correct if all of its sentences are supported and it does not abstain.
That is a proxy: an answer may be true of the evidence and miss the question, or be right and rest on another
page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.agreement import Agreement, agreement
from finrag_pipeline.judging.items import Answer
from finrag_pipeline.judging.judges import Judge
from finrag_pipeline.judging.verdicts import REFUSAL, Verdict
from finrag_pipeline.schemas import JUDGE_CALIBRATION

CALIBRATION_VERSION = "1"
"""Changes with what is compared."""

HUMAN_LABELS = {"incorrect": 0, "correct": 1, "refusal": REFUSAL}
"""Published labels (``schemas.ANSWERS``, ``human_label``) as labels of ``correctness``."""


def calibrate(
    judge: Judge,
    answers: Sequence[Answer],
    labels: Sequence[int],
    *,
    references: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    criteria: Sequence[str] = ("correctness", "veracity"),
    seed: int = 17,
) -> pa.Table:
    """Agreement of one judge with people.

    Args:
        judge: asked.
        answers: with their sources: the gold evidence, for ``veracity``.
        labels: of people, as in :data:`HUMAN_LABELS`.
        references: gold answers, needed for ``correctness``.
        groups: group of each answer, for example its system.
        criteria: ``correctness`` and ``veracity``, or one of them.
        seed: of the bootstrap.

    Returns:
        Table as ``schemas.JUDGE_CALIBRATION``.

    Raises:
        LakeError: there is no verdict at all, or ``correctness`` is asked for without gold answers.
    """
    rows = []
    for criterion in criteria:
        if criterion == "correctness":
            if references is None:
                raise LakeError("Correctness needs gold answers.", "Pass references.")
            verdicts = judge.correctness(answers, references)
        else:
            verdicts = [
                supported(answer, found)
                for answer, found in zip(answers, judge.veracity(answers), strict=True)
            ]
        for name in ("three", "two"):
            if criterion == "veracity" and name == "three":
                continue  # it knows no refusals
            rows += _rows(judge.name, criterion, name, answers, labels, verdicts, groups, seed)
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


def published_rows(table: pa.Table) -> pa.Table:
    """Rows of ``schemas.ANSWERS`` that people labelled and that hold an answer."""
    labelled = table.filter(pc.is_valid(table["human_label"]))
    return labelled.filter(pc.is_in(labelled["human_label"], pa.array(list(HUMAN_LABELS))))


def _rows(
    judge: str,
    criterion: str,
    name: str,
    answers: Sequence[Answer],
    labels: Sequence[int],
    verdicts: Sequence[Verdict],
    groups: Sequence[str] | None,
    seed: int,
) -> list[Mapping[str, object]]:
    members: dict[str, list[int]] = {"all": list(range(len(answers)))}
    for place, group in enumerate(groups or ()):
        members.setdefault(group, []).append(place)
    rows: list[Mapping[str, object]] = []
    for group, places in members.items():
        known = [place for place in places if verdicts[place].label is not None]
        if not known:
            if group == "all":
                why = next((one.problem for one in verdicts if one.problem), "no answers")
                raise LakeError(f"Judge '{judge}' gave no verdict on {criterion}: {why}.", "Check the model.")
            continue
        human = [labels[place] for place in known]
        judged = [verdicts[place].label for place in known]
        if name == "two":
            human, judged = [int(one == 1) for one in human], [int(one == 1) for one in judged]
        found = agreement(human, judged, [answers[place].question_id for place in known], seed=seed)
        rows.append(
            {
                "judge": judge,
                "criterion": criterion,
                "labels": name,
                "group": group,
                "n": found.n,
                "missing": len(places) - len(known),
                "failed": sum(verdicts[place].failed for place in places),
                "human_rate": sum(one == 1 for one in human) / len(human),
                "judge_rate": sum(one == 1 for one in judged) / len(judged),
                **agreement_columns(found),
            }
        )
    return rows


def agreement_columns(found: Agreement) -> dict[str, float | None]:
    """Columns of an agreement; null for what is unknown."""
    columns = {
        "observed": found.observed,
        "observed_low": found.observed_interval.low,
        "observed_high": found.observed_interval.high,
        "chance": found.chance,
        "kappa": found.kappa,
        "kappa_low": found.kappa_interval.low,
        "kappa_high": found.kappa_interval.high,
    }
    return {name: None if value != value else value for name, value in columns.items()}
