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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from finrag_pipeline.errors import LakeError
from finrag_pipeline.evaluation.agreement import agreement
from finrag_pipeline.evaluation.cluster_intervals import cluster_proportion
from finrag_pipeline.evaluation.ppi import ppi_mean, ppi_proportion
from finrag_pipeline.evaluation.proportion_intervals import wald
from finrag_pipeline.judging.annotation import sentence_id
from finrag_pipeline.judging.calibration import agreement_columns

METHODS = ("human", "human_wald", "judge", "ppi", "ppi_normal")

ESTIMATES = pa.schema(
    [
        pa.field("criterion", pa.string(), nullable=False),
        pa.field("judge", pa.string(), nullable=False),
        pa.field("theme", pa.string(), nullable=False),
        pa.field("method", pa.string(), nullable=False),
        pa.field("estimate", pa.float64(), nullable=False),
        pa.field("low", pa.float64(), nullable=False),
        pa.field("high", pa.float64(), nullable=False),
        pa.field("effective_n", pa.float64()),
        pa.field("lam", pa.float64()),
        pa.field("labels", pa.int32(), nullable=False),
        pa.field("verdicts", pa.int32(), nullable=False),
        pa.field("missing", pa.int32(), nullable=False),
        pa.field("questions", pa.int32(), nullable=False),
    ]
)
"""One row per criterion, judge, theme (``all`` first) and method; rows of people alone repeat per judge.
``missing`` counts items without a verdict, which no estimate uses."""

JUDGE_AGREEMENT = pa.schema(
    [
        pa.field("criterion", pa.string(), nullable=False),
        pa.field("judge", pa.string(), nullable=False),
        pa.field("theme", pa.string(), nullable=False),
        pa.field("n", pa.int32(), nullable=False),
        *(pa.field(name, pa.float64()) for name in ("observed", "observed_low", "observed_high", "chance")),
        *(pa.field(name, pa.float64()) for name in ("kappa", "kappa_low", "kappa_high")),
    ]
)
"""Agreement of each judge with people's final labels, intervals by bootstrap of questions."""


@dataclass(frozen=True, slots=True)
class _Joined:
    """Items of one theme with a verdict, and which of them have a label."""

    verdicts: list[int]
    questions: list[str]
    labelled: list[int]
    labels: list[int]
    weights: list[float] | None
    missing: int


def judged_estimates(
    verdicts: pa.Table, labels: pa.Table, sample: pa.Table | None = None, confidence: float = 0.95
) -> pa.Table:
    """Estimates of every judge and criterion by theme.

    Args:
        verdicts: table as ``verdicts.VERDICTS`` of one criterion or several.
        labels: table as ``annotation.HUMAN_LABELS``, columns ``item_id`` and ``label``; items without a final
            label do not count. Of one criterion, or with identifiers that tell them apart.
        sample: table as ``sampling.SAMPLE``, for the weights; without it labels count as drawn at random.
        confidence: coverage of the intervals.

    Returns:
        Table as :data:`ESTIMATES`.

    Raises:
        LakeError: no item has both a label and a verdict.
    """
    rows = []
    for criterion, judge, theme, joined in _joined(verdicts, labels, sample):
        if not joined.labelled:
            continue
        rows += _rows(joined, {"criterion": criterion, "judge": judge, "theme": theme}, confidence)
    if not rows:
        raise LakeError("No label belongs to an item with a verdict.", "Give labels of these answers.")
    return pa.Table.from_pylist(rows, schema=ESTIMATES)


def judge_agreement(verdicts: pa.Table, labels: pa.Table, seed: int = 17) -> pa.Table:
    """Agreement of every judge with people, by criterion and theme.

    Returns:
        Table as :data:`JUDGE_AGREEMENT`.
    """
    rows = []
    for criterion, judge, theme, joined in _joined(verdicts, labels, None):
        if joined.labelled:
            found = agreement(
                joined.labels,
                [joined.verdicts[place] for place in joined.labelled],
                [joined.questions[place] for place in joined.labelled],
                seed=seed,
            )
            key = {"criterion": criterion, "judge": judge, "theme": theme, "n": found.n}
            rows.append(key | agreement_columns(found))
    return pa.Table.from_pylist(rows, schema=JUDGE_AGREEMENT)


def rank_judges(estimates: pa.Table) -> list[tuple[str, str, float]]:
    """Judges by the width that they leave, narrowest first, per criterion: (criterion, judge, half width).

    The paper's proposal (section 9) for choosing a judge and prompt. The choice is made on the labels that
    the interval rests on: with several judges, label other answers for the figure that is reported.
    """
    chosen = estimates.filter(
        pc.and_(pc.equal(estimates["method"], "ppi"), pc.equal(estimates["theme"], "all"))
    )
    rows = [(row["criterion"], row["judge"], (row["high"] - row["low"]) / 2) for row in chosen.to_pylist()]
    return sorted(rows, key=lambda row: (row[0], row[2], row[1]))


def _rows(joined: _Joined, key: dict[str, str], confidence: float) -> list[dict[str, Any]]:
    inside = set(joined.labelled)
    y, f = joined.labels, [joined.verdicts[place] for place in joined.labelled]
    whose = [joined.questions[place] for place in joined.labelled]
    people = cluster_proportion(y, whose, joined.weights, confidence)
    plain = wald(sum(y), len(y), confidence)
    machine = cluster_proportion(joined.verdicts, joined.questions, confidence=confidence)
    found: list[tuple[str, Any, float | None, float | None]] = [
        ("human", people, people.effective_n, None),
        ("human_wald", plain, float(len(y)), None),
        ("judge", machine, machine.effective_n, None),
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
    counts = {
        "labels": len(y),
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


def _joined(
    verdicts: pa.Table, labels: pa.Table, sample: pa.Table | None
) -> list[tuple[str, str, str, _Joined]]:
    """Items of each criterion, judge and theme, ``all`` before the themes."""
    final = {
        item: label
        for item, label in zip(labels["item_id"].to_pylist(), labels["label"].to_pylist(), strict=True)
        if label is not None
    }
    weight: dict[str, float] = {}
    if sample is not None:
        drawn = sample.filter(pc.is_valid(sample["weight"]))
        weight = dict(zip(drawn["item_id"].to_pylist(), drawn["weight"].to_pylist(), strict=True))
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in verdicts.to_pylist():
        groups.setdefault((row["criterion"], row["judge"]), []).append(row)
    found = []
    for (criterion, judge), rows in groups.items():
        themes = sorted({row["theme"] for row in rows})
        for theme in ("all", *(name for name in themes if name != "all")):
            members = rows if theme == "all" else [row for row in rows if row["theme"] == theme]
            known = [row for row in members if row["label"] is not None]
            items = [sentence_id(row["answer_id"], row["sentence"]) for row in known]
            labelled = [place for place, item in enumerate(items) if item in final]
            joined = _Joined(
                verdicts=[int(row["label"] == 1) for row in known],
                questions=[row["question_id"] for row in known],
                labelled=labelled,
                labels=[final[items[place]] for place in labelled],
                weights=_weights([items[place] for place in labelled], weight) if weight else None,
                missing=len(members) - len(known),
            )
            found.append((criterion, judge, theme, joined))
    return found


def _weights(items: Sequence[str], weight: dict[str, float]) -> list[float]:
    unknown = [item for item in items if item not in weight]
    if unknown:
        raise LakeError(f"Item '{unknown[0]}' has a label but was not sampled.", "Leave it out.")
    return [weight[item] for item in items]
