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

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.answering.passages import page_source
from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.intervals import (
    Agreement,
    agreement,
    cluster_proportion,
    stratum_weights,
    wald,
)
from finrag_pipeline.evaluation.judged_answers import Answer, answer_from_row, question_slices, source_texts
from finrag_pipeline.evaluation.judges import REFUSAL, Judge, Verdict
from finrag_pipeline.evaluation.labels import sentence_id
from finrag_pipeline.evaluation.ppi import ppi_mean, ppi_proportion
from finrag_pipeline.evaluation.published import load_recorded_answers
from finrag_pipeline.schemas import JUDGE_AGREEMENT, JUDGE_CALIBRATION, JUDGED_ESTIMATES
from finrag_pipeline.storage.lake import Lake

CALIBRATION_VERSION = "1"
"""Changes with what is compared."""

HUMAN_LABELS = {"incorrect": 0, "correct": 1, "refusal": REFUSAL}
"""Published labels (``schemas.ANSWERS``, ``human_label``) as labels of ``correctness``."""


def labelled_answers(
    lake: Lake, folder: Path, questions: pa.Table
) -> tuple[list[Answer], list[int], list[str], list[str]]:
    """Recorded answers that people labelled, held against the gold pages of their questions.

    Args:
        lake: holds the pages; the evidence that the benchmark prints stands in for those it does not hold.
        folder: see `load_recorded_answers`.
        questions: as ``schemas.BENCHMARK_QUESTIONS``.

    Returns:
        Answers, labels of people, gold answers and systems, each of the same length; empty where no labelled
        answer is to one of the questions.

    Raises:
        BenchmarkError: the folder holds no recorded answers, or a file is damaged.
    """
    gold = {row["question_id"]: row for row in questions.to_pylist()}
    asked = {name: row["question"] for name, row in gold.items()}
    rows = published_rows(load_recorded_answers(folder, asked)).to_pylist()
    shown = {row["question_id"] for row in rows}
    printed: dict[str, dict[str, str]] = {name: defaultdict(str) for name in shown}
    for name in shown:
        for one in gold[name]["evidence"]:
            printed[name][page_source(one["filing"], one["page"])] += f"{one['text']}\n"
    whole = source_texts(lake, {page for pages in printed.values() for page in pages})
    answers = []
    for row in rows:
        evidence = {page: whole.get(page, text) for page, text in printed[row["question_id"]].items()}
        # A recorded answer says nothing of what it was given: the gold pages stand in for it.
        row = {**row, "retrieved": list(evidence)}
        answers.append(answer_from_row(row, evidence, **question_slices(gold[row["question_id"]])))
    return (
        answers,
        [HUMAN_LABELS[row["human_label"]] for row in rows],
        [gold[row["question_id"]]["answer"] for row in rows],
        [row["system"] for row in rows],
    )


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
            rows += _group_rows(judge.name, criterion, name, answers, labels, verdicts, groups, seed)
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


def _group_rows(
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


ESTIMATES_VERSION = "1"
"""Changes whenever a figure may change."""

METHODS = ("human", "human_wald", "judge", "ppi", "ppi_normal")


@dataclass(frozen=True, slots=True)
class _Joined:
    """Items of one theme with a verdict, and which of them have a label."""

    verdicts: list[int]
    questions: list[str]
    labelled: list[int]
    labels: list[int]
    weights: list[float] | None
    missing: int


_Row = tuple[str, Any, float | None, float | None]
"""Method, estimate, effective sample size, λ."""


def judged_estimates(
    verdicts: pa.Table, labels: pa.Table, sample: pa.Table | None = None, confidence: float = 0.95
) -> pa.Table:
    """Estimates of every system, criterion and judge by theme.

    Args:
        verdicts: table as ``schemas.VERDICTS``, of one system and criterion or several.
        labels: table as ``schemas.HUMAN_LABELS``, columns ``item_id`` and ``label``; items without a final
            label do not count. Of one criterion, or with identifiers that tell them apart.
        sample: table as ``schemas.LABEL_SAMPLE``, columns ``item_id``, ``stratum`` and ``criterion``: a
            label stands for as many items as its stratum has for each label. Without it labels count as
            drawn at random.
        confidence: coverage of the intervals.

    Returns:
        Table as ``schemas.JUDGED_ESTIMATES``; of the method ``judge`` alone where nobody has labelled.

    Raises:
        LakeError: there are labels, and none belongs to an item with a verdict; or one was not sampled.
    """
    rows: list[dict[str, Any]] = []
    matched = False
    for key, joined in _joined(verdicts, labels, sample):
        matched |= bool(joined.labelled)
        if joined.verdicts:
            rows += _rows(joined, key, confidence)
    if not matched and labels.num_rows > labels["label"].null_count:
        raise LakeError("No label belongs to an item with a verdict.", "Give labels of these answers.")
    return pa.Table.from_pylist(rows, schema=JUDGED_ESTIMATES)


def judge_agreement(
    verdicts: pa.Table, labels: pa.Table, sample: pa.Table | None = None, seed: int = 17
) -> pa.Table:
    """Agreement of every judge with people, by system, criterion and theme; unweighted.

    Args:
        verdicts: see :func:`judged_estimates`.
        labels: likewise.
        sample: likewise; tells which criterion a label is of.
        seed: of the bootstrap.

    Returns:
        Table as ``schemas.JUDGE_AGREEMENT``.
    """
    rows = []
    for key, joined in _joined(verdicts, labels, sample):
        if joined.labelled:
            found = agreement(
                joined.labels,
                [joined.verdicts[place] for place in joined.labelled],
                [joined.questions[place] for place in joined.labelled],
                seed=seed,
            )
            rows.append(key | {"n": found.n} | agreement_columns(found))
    return pa.Table.from_pylist(rows, schema=JUDGE_AGREEMENT)


def _rows(joined: _Joined, key: dict[str, str], confidence: float) -> list[dict[str, Any]]:
    machine = cluster_proportion(joined.verdicts, joined.questions, confidence=confidence)
    found: list[_Row] = [("judge", machine, machine.effective_n, None)]
    if joined.labelled:
        found = _of_people(joined, confidence, found)
    counts = {
        "labels": len(joined.labels),
        "verdicts": len(joined.verdicts),
        "missing": joined.missing,
        "questions": len(set(joined.questions)),
    }
    return [
        key
        | {"method": method, "estimate": one.estimate, "low": one.low, "high": one.high}
        | {"effective_n": None if size != size else size, "lam": lam}
        | counts
        for method, one, size, lam in found
    ]


def _of_people(joined: _Joined, confidence: float, judge: list[_Row]) -> list[_Row]:
    """Rows of people alone, of the judge, and of both."""
    inside = set(joined.labelled)
    y, f = joined.labels, [joined.verdicts[place] for place in joined.labelled]
    whose = [joined.questions[place] for place in joined.labelled]
    people = cluster_proportion(y, whose, joined.weights, confidence)
    plain = wald(sum(y), len(y), confidence)
    found: list[_Row] = [
        ("human", people, people.effective_n, None),
        ("human_wald", plain, float(len(y)), None),
        *judge,
    ]
    others = [place for place in range(len(joined.verdicts)) if place not in inside]
    if others:
        # Drawn with unequal chances, the labelled ones leave others that are not like the whole.
        compared = list(range(len(joined.verdicts))) if joined.weights else others
        small = ppi_proportion(
            y,
            f,
            [joined.verdicts[place] for place in compared],
            clusters=whose,
            judged_clusters=[joined.questions[place] for place in compared],
            weights=joined.weights,
            confidence=confidence,
        )
        normal = ppi_mean(y, f, [joined.verdicts[place] for place in others], confidence)
        found += [
            ("ppi", small, small.effective_n, small.lam),
            ("ppi_normal", normal, normal.effective_n, normal.lam),
        ]
    return found


def _joined(
    verdicts: pa.Table, labels: pa.Table, sample: pa.Table | None
) -> list[tuple[dict[str, str], _Joined]]:
    """Items of each system, criterion, judge and theme, ``all`` before the themes."""
    final = {
        item: label
        for item, label in zip(labels["item_id"].to_pylist(), labels["label"].to_pylist(), strict=True)
        if label is not None
    }
    strata: dict[str, str] = {}
    criteria: dict[str, str] = {}
    if sample is not None:
        strata = dict(zip(sample["item_id"].to_pylist(), sample["stratum"].to_pylist(), strict=True))
        criteria = dict(zip(sample["item_id"].to_pylist(), sample["criterion"].to_pylist(), strict=True))
        if unknown := [item for item in final if item not in strata]:
            raise LakeError(f"Item '{unknown[0]}' has a label but was not sampled.", "Leave it out.")
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    names = ("system", "space", "criterion", "judge")
    for row in verdicts.to_pylist():
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    found = []
    for group, rows in groups.items():
        themes = sorted({row["theme"] for row in rows})
        for theme in ("all", *(name for name in themes if name != "all")):
            members = rows if theme == "all" else [row for row in rows if row["theme"] == theme]
            known = [row for row in members if row["label"] is not None]
            items = [sentence_id(row["answer_id"], row["sentence"]) for row in known]
            labelled = [
                place
                for place, item in enumerate(items)
                if item in final and criteria.get(item, group[2]) == group[2]
            ]
            joined = _Joined(
                verdicts=[int(row["label"] == 1) for row in known],
                questions=[row["question_id"] for row in known],
                labelled=labelled,
                labels=[final[items[place]] for place in labelled],
                weights=_weights(items, set(labelled), strata) if strata and labelled else None,
                missing=len(members) - len(known),
            )
            found.append((dict(zip(names, group, strict=True)) | {"theme": theme}, joined))
    return found


def _weights(items: Sequence[str], labelled: Set[int], strata: Mapping[str, str]) -> list[float]:
    """Weights of the labelled items, by the labels that there are: a sheet may come back unfinished."""
    marks = [place in labelled for place in range(len(items))]
    return list(stratum_weights([strata.get(item) for item in items], marks).tolist())
