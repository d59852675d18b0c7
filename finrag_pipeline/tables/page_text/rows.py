"""Which label each row of numbers belongs to: a dynamic program over labels and rows, both in order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from finrag_pipeline.tables.page_text.arithmetic import equal_rows, sums_above, values_of
from finrag_pipeline.tables.page_text.labels import LabelClues, clues
from finrag_pipeline.tables.page_text.lines import Line, Number

_FAR = 1e6
_LEADING = 2.5
"""Most that a label above the first row costs."""
_NAMELESS, _NAMELESS_SUM = 5.0, 3.0
"""Cost of a row that has no label; sums sometimes have none."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Rows matched to labels.

    Attributes:
        label: which label each row has, -1 for none; shape (rows,).
        margin: how much more the next best label of each row would cost; shape (rows,).
        cost: of the whole.
        sums: how many rows are the sum or difference of rows above them in every column.
    """

    label: np.ndarray
    margin: np.ndarray
    cost: float
    sums: int


@dataclass(frozen=True, slots=True)
class _Costs:
    """What matching costs.

    Attributes:
        match: of each row having each label; shape (rows, labels).
        nameless: of each row having none; shape (rows,).
        on, over: of going on to the label from the one before it, or over some; shape (rows, labels).
        skip: of each label having no row; shape (labels,).
        first, last: of each label being the first, or last, that has a row; shape (labels,).
    """

    match: np.ndarray
    nameless: np.ndarray
    on: np.ndarray
    over: np.ndarray
    skip: np.ndarray
    first: np.ndarray
    last: np.ndarray

    def turned(self) -> _Costs:
        """Costs of the same matching read from the last row and label to the first."""
        on, over = np.zeros_like(self.on), np.zeros_like(self.over)
        on[1:, 1:] = self.on[:0:-1, :0:-1]
        over[1:] = self.over[:0:-1]
        return _Costs(
            self.match[::-1, ::-1],
            self.nameless[::-1],
            on,
            over,
            self.skip[::-1],
            self.last[::-1],
            self.first[::-1],
        )


def align(
    labels: Sequence[Line], rows: Sequence[Sequence[Number]], last_number: int | None = None
) -> Alignment | None:
    """The likeliest labels of rows of numbers, each label used once at most.

    Args:
        labels: in order.
        rows: numbers of each row.
        last_number: line of the last number of the text; labels after it are seldom those of rows.

    Returns:
        None if there is no row, or labels are far too few.
    """
    count, height = len(labels), len(rows)
    if not height or not count or height > count + max(2, count // 6):
        return None
    found = [clues(label.text) for label in labels]
    late = np.array([last_number is not None and label.line > last_number for label in labels])
    sums = sums_above(*values_of(rows))[0]
    heading = headings_by_context([label.text for label in labels])
    skip = np.where(late | heading, 0.2, np.array([one.skip for one in found]))
    skipped = np.concatenate([[0.0], np.cumsum(skip)])
    on, over = _steps(labels, rows)
    costs = _Costs(
        match=_match(found, rows, sums) + 1.5 * late + 2.5 * heading,
        nameless=np.where(sums, _NAMELESS_SUM, _NAMELESS),
        on=on,
        over=over,
        skip=skip,
        first=np.concatenate([[0.0], np.cumsum(np.minimum(skip, _LEADING))])[:count],
        last=skipped[-1] - skipped[1:],
    )
    forward, chosen, cost = _sweep(costs)
    backward, _, _ = _sweep(costs.turned())
    through = forward + backward[::-1, ::-1] - costs.match
    margin = np.full(height, np.inf)
    for row in np.flatnonzero(chosen >= 0):
        own = through[row, chosen[row]]
        others = np.delete(through[row], chosen[row])
        margin[row] = others.min() - own if len(others) else np.inf
    return Alignment(chosen, margin, cost, int(sums.sum()))


def headings_by_context(labels: Sequence[str]) -> np.ndarray:
    """Whether each label is a heading by what follows, as its own total or 'Basic'; shape (labels,)."""
    plain = [re.sub(r"[^a-z ]", "", label.lower()).strip() for label in labels]
    found = np.zeros(len(plain), bool)
    for place, label in enumerate(plain):
        after = plain[place + 1] if place + 1 < len(plain) else ""
        own = place + 2 < len(plain) and f"total {label}" in plain[place + 2 : place + 16]
        shares = after in ("basic", "diluted") and label not in ("basic", "diluted")
        parts = label in ("basic", "diluted") and after.startswith(("continuing", "income from continuing"))
        counts = after.startswith("authorized")
        then = plain[place + 2] if place + 2 < len(plain) else ""
        per_share = "earnings per" in label and then.startswith("weighted")
        found[place] = bool(label) and (own or shares or parts or counts or per_share)
    return found


def _sweep(costs: _Costs) -> tuple[np.ndarray, np.ndarray, float]:
    """Cost of each row having each label so far, (rows, labels); the best labels, -1 for none; their cost."""
    height, count = costs.match.shape
    # Column 0 stands for no label used yet, column n for labels up to the n-th gone by.
    skipped = np.concatenate([[0.0], np.cumsum(costs.skip)])
    state = np.full((height + 1, count + 1), _FAR)
    state[0, 0] = 0.0
    labelled = np.full((height, count), _FAR)
    for row in range(height):
        before = state[row]
        direct = before[:-1] + costs.on[row]
        direct[0] = _FAR
        # Over labels in between, from the cheapest label further up.
        reach = np.minimum.accumulate(np.concatenate([[_FAR], before[1:] - skipped[1:]]))[:-1]
        over = np.concatenate([[_FAR], reach[:-1]]) + skipped[:-1] + costs.over[row]
        step = np.minimum(np.minimum(direct, over), before[0] + costs.first)
        labelled[row] = costs.match[row] + step
        state[row + 1, 1:] = np.minimum(labelled[row], before[1:] + costs.nameless[row])
        state[row + 1, 0] = before[0] + costs.nameless[row]
    chosen = np.full(height, -1)
    ends = state[height, 1:] + costs.last
    label, cost = int(ends.argmin()), float(ends.min())
    for row in range(height - 1, -1, -1):
        before = state[row]
        if state[row + 1, label + 1] == before[label + 1] + costs.nameless[row]:
            continue
        chosen[row] = label
        options = before[1 : label + 1] + skipped[label] - skipped[1 : label + 1] + costs.over[row, label]
        if label:
            options[label - 1] = before[label] + costs.on[row, label]
        if not label or before[0] + costs.first[label] <= options.min():
            break  # the rows above have no label
        label = int(options.argmin())
    return labelled, chosen, cost


def _steps(labels: Sequence[Line], rows: Sequence[Sequence[Number]]) -> tuple[np.ndarray, np.ndarray]:
    """Cost of going on to the next label, or over some, by whether blocks end there too; (rows, labels)."""
    label_breaks = np.array([True, *(b.block != a.block for a, b in pairwise(labels))])
    breaks = np.array(
        [
            True,
            *(
                all(a.block != b.block for a, b in zip(above, below, strict=True))
                for above, below in pairwise(rows)
            ),
        ]
    )
    on, over = np.zeros((len(rows), len(labels))), np.zeros((len(rows), len(labels)))
    if breaks[1:].mean() > 0.7 if len(breaks) > 2 else True:
        return on, over  # every number is a block of its own: blocks tell nothing
    over[~breaks] = 1.2
    if not (label_breaks[1:].mean() > 0.7 if len(label_breaks) > 2 else True):
        on[np.ix_(breaks, ~label_breaks)] = 0.8
        on[np.ix_(~breaks, label_breaks)] = 0.5
    return on, over


def _match(found: Sequence[LabelClues], rows: Sequence[Sequence[Number]], sums: np.ndarray) -> np.ndarray:
    """Cost of giving each row each label; shape (rows, labels)."""
    cost = np.tile(np.array([one.take for one in found]), (len(rows), 1))
    total = np.array([one.total for one in found])
    result = np.array([one.result for one in found])
    sign = np.array([one.sign for one in found])
    per_share = np.array([one.per_share for one in found])
    percent = np.array([one.percent for one in found])
    decimals = np.array([max((one.decimals for one in row), default=-1) for row in rows])
    plain = decimals[decimals >= 0]
    common = int(np.bincount(plain).argmax()) if len(plain) else 0
    for place, row in enumerate(rows):
        if sums[place]:
            cost[place] += np.where(total, -2.5, np.where(result, -1.0, 1.0))
        else:
            cost[place] += np.where(total, 0.5, 0.0)
        values = [one.value for one in row if one.value]
        if values:
            negative = sum(value < 0 for value in values) / len(values)
            cost[place] += np.where(sign < 0, -0.5 * negative, 0.0) + np.where(sign > 0, 0.7 * negative, 0.0)
        if any(one.percent for one in row):
            cost[place] += np.where(percent, -0.5, 1.5)
        elif decimals[place] > common:
            cost[place] += np.where(per_share > 0, -1.0 * per_share, 1.5)
        elif decimals[place] >= 0 and common < 2:
            cost[place] += np.where(per_share == 1.0, 1.0, 0.0)
    assets, liabilities = equal_rows(values_of(rows)[0])
    for equal, flag in ((assets, "assets"), (liabilities, "liabilities")):
        if equal is not None:
            named = np.array([getattr(one, flag) for one in found])
            cost[equal] += np.where(named, -3.0, 0.0)
    return cost
