"""What people, judges and both together say: the three bars of Martinon et al., Figure 4, and Table 2.

Labels and verdicts are joined by item (an answer, or a sentence). Each method's row says what it is:

* ``human``: people's labels, interval over questions, weighted by the design;
* ``human_wald``: the same as in the paper, as if labels were independent and equally likely to be drawn;
* ``judge``: verdicts on everything, interval over questions. It is precise about the judge, not about the
  truth;
* ``ppi``: both, small-sample interval over questions, weighted;
* ``ppi_normal``: both, as published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.agreement import agreement
from finrag_pipeline.evaluation.cluster_intervals import cluster_proportion, stratum_weights
from finrag_pipeline.evaluation.ppi import ppi_mean, ppi_proportion
from finrag_pipeline.evaluation.proportion_intervals import wald
from finrag_pipeline.judging.annotation import sentence_id
from finrag_pipeline.judging.calibration import agreement_columns
from finrag_pipeline.schemas import JUDGE_AGREEMENT, JUDGED_ESTIMATES

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
