"""From a region's labels and numbers to rows: how many columns, which number where, which label."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, permutations

import numpy as np

from finrag_pipeline.tables.page_text.arithmetic import agreement, sums_above, values_of
from finrag_pipeline.tables.page_text.columns import Columns, arrange, arrangements
from finrag_pipeline.tables.page_text.labels import clues
from finrag_pipeline.tables.page_text.lines import Line, Number
from finrag_pipeline.tables.page_text.regions import Region, column_counts
from finrag_pipeline.tables.page_text.rows import Alignment, align

_BARE = re.compile(r"\d{1,3}")
MARGIN = 0.9
"""A row whose next best label costs less than this more is left without numbers."""
_TRUSTED, _TRUSTED_UNTOLD, _PER_SUM, _WORST = 0.6, 0.4, 0.1, 1.3
"""Unlikeness per row and pair of columns up to which an arrangement is believed, with as many columns as the
headers tell or with others; what each sum that holds adds to it; and the most it can come to."""
_RIVAL = 0.2
"""Arrangements that cost so little more have to agree on a row for it to be believed."""
_NEAR = 2
"""Rows so near to one with numbers of other columns are in doubt too."""
_UNTOLD, _SUM, _DROPPED = 0.25, 1.0, 0.5
"""Costs: of a number of columns that the headers do not tell, at least; of each sum that does not hold; of a
number left out."""
_SIGN_AFTER = 1.5
"""How much a currency sign after a number tells against the last column, in sums that hold."""
_FEW, _MOST_BANDS, _MOST_VARIANTS = 2, 8, 6
_ORDERS = {
    2: [[1, 0]],
    3: [list(order) for order in permutations(range(3))][1:],
    4: [[2, 3, 0, 1], [1, 0, 3, 2], [0, 2, 1, 3], [3, 2, 1, 0]],
}
"""Orders to try for the columns of a band."""


@dataclass(frozen=True, slots=True)
class SolvedRow:
    """A row of the table: its label, and its numbers where they could be told, one per column or none."""

    label: Line
    numbers: tuple[Number | None, ...]
    unclear: bool = False


@dataclass(frozen=True, slots=True)
class Solved:
    """Rows of a table, in the order of its labels, those without numbers among them."""

    rows: tuple[SolvedRow, ...]
    columns: int
    cost: float


@dataclass(frozen=True, slots=True)
class _Candidate:
    cost: float
    columns: int
    rows: list[list[Number]]
    alignment: Alignment


def solve(region: Region) -> Solved | None:
    """The table of a region, or None where its text does not tell one."""
    lined = _lined_up(region)
    if lined is not None:
        return lined
    found: list[_Candidate] = []
    for columns, prior in _counts(region):
        if found and prior >= _UNTOLD:
            break  # what the headers tell holds
        for numbers, arrangement in _placed(region.numbers, columns, thorough=prior == 0.0):
            if _per_pair(arrangement) > _WORST:
                continue
            rows = straightened(arrangement, numbers)
            alignment = align(region.labels, rows, max(one.line for one in numbers))
            if alignment is None:
                continue
            trusted = (_TRUSTED if prior < _UNTOLD else _TRUSTED_UNTOLD) + _PER_SUM * alignment.sums
            if _per_pair(arrangement) > trusted:
                continue
            cost = (arrangement.cost + alignment.cost - _SUM * alignment.sums) / len(rows) + prior
            cost += _DROPPED * (len(region.numbers) - len(numbers))
            found.append(_Candidate(cost, columns, rows, alignment))
    if not found:
        return None
    best = min(found, key=lambda one: one.cost)
    unclear = sums_above(*values_of(best.rows))[1] | odd_decimals(best.rows)
    for rival in found:
        near = rival.columns == best.columns and rival.cost < best.cost + _RIVAL
        if near and rival.alignment.sums >= best.alignment.sums:
            unclear |= ~np.isin(_places(best.rows), _places(rival.rows))
    unclear |= cash_breaks(region.labels, best)
    return Solved(_solved_rows(region.labels, best, unclear), best.columns, best.cost)


def cash_breaks(labels: Sequence[Line], found: _Candidate) -> np.ndarray:
    """Rows from a balance of cash on that is not its change and first balance added; shape (rows,)."""
    values, tolerance = values_of(found.rows)
    broken = np.zeros(len(values), bool)
    for row, label in enumerate(found.alignment.label):
        if row > 1 and label >= 0 and clues(labels[label].text).cash_at_end:
            gap = values[row - 2] + values[row - 1] - values[row]
            broken[row:] |= bool((np.abs(gap) > tolerance).any())
    return broken


def _places(rows: Sequence[Sequence[Number]]) -> np.ndarray:
    """A name for each row that says which numbers of the page it holds; shape (rows,)."""
    return np.array([" ".join(f"{one.line}.{one.text}" for one in row) for row in rows])


def _solved_rows(labels: Sequence[Line], found: _Candidate, unclear: np.ndarray) -> tuple[SolvedRow, ...]:
    of_label = {int(label): row for row, label in enumerate(found.alignment.label) if label >= 0}
    solved = []
    for place, label in enumerate(labels):
        row = of_label.get(place)
        if row is None:
            solved.append(SolvedRow(label, ()))
        elif found.alignment.margin[row] < MARGIN or unclear[row]:
            solved.append(SolvedRow(label, (), unclear=True))
        else:
            solved.append(SolvedRow(label, tuple(found.rows[row])))
    return tuple(solved)


def odd_decimals(rows: Sequence[Sequence[Number]]) -> np.ndarray:
    """Rows in which decimals differ although the columns' common ones do not, and rows near them; (rows,)."""
    decimals = np.array([[one.decimals for one in row] for row in rows])
    common = {int(np.bincount(column[column >= 0]).argmax()) for column in decimals.T if (column >= 0).any()}
    differ = np.array([len(set(row[row >= 0].tolist())) > 1 for row in decimals])
    if len(common) != 1:
        return np.zeros(len(rows), bool)
    return np.convolve(differ, np.ones(2 * _NEAR + 1), mode="same")[: len(rows)] > 0


def _placed(
    numbers: Sequence[Number], columns: int, thorough: bool
) -> Iterator[tuple[list[Number], Columns]]:
    """Numbers that fill the columns, and where each may stand."""
    variants = list(islice(_variants(numbers, columns), _MOST_VARIANTS))
    if len(variants) > 1:
        tried = [arrange(variant, columns, thorough=False) for variant in variants]
        costs = [np.inf if one is None else one.cost for one in tried]
        variants = [variants[int(np.argmin(costs))]]
    for variant in variants:
        for found in arrangements(variant, columns, thorough):
            yield variant, found


def straightened(arrangement: Columns, numbers: Sequence[Number]) -> list[list[Number]]:
    """Rows of numbers, with the columns of a band in another order where only then the rows add up.

    A text may begin a band in the column in which it left the one above. The first band stays as it is.
    """
    index = arrangement.index.copy()
    rows = [[numbers[place] for place in row] for row in index]
    columns = index.shape[1]
    if len(arrangement.bands) == 1 or len(arrangement.bands) > _MOST_BANDS or columns not in _ORDERS:
        return rows
    values, tolerance = values_of(rows)
    after = np.array([[one.after for one in row] for row in rows])

    def score() -> float:
        return agreement(values, tolerance) - _SIGN_AFTER * float(after[:, -1].sum())

    best, top = score(), arrangement.bands[0]
    for height in arrangement.bands[1:]:
        band = slice(top, top + height)
        held = [part[band].copy() for part in (index, values, after)]
        for order in _ORDERS[columns]:
            before = [part[band].copy() for part in (index, values, after)]
            for part, own in zip((index, values, after), held, strict=True):
                part[band] = own[:, order]
            if (found := score()) > best:
                best = found
                continue
            for part, own in zip((index, values, after), before, strict=True):
                part[band] = own
        top += height
    return [[numbers[place] for place in row] for row in index]


def _per_pair(arrangement: Columns) -> float:
    rows, columns = arrangement.index.shape
    return arrangement.cost / (rows * max(1, columns - 1))


def _counts(region: Region) -> Iterator[tuple[int, float]]:
    """Numbers of columns to try, with what they cost beforehand."""
    told = column_counts(region)
    for place, count in enumerate(told):
        yield count, 0.05 * place
    for count in range(2, 7):
        if count not in told:
            # One more than told is a column of changes.
            yield count, _UNTOLD + (0.0 if count - 1 in told else 0.3 if told else 0.1)
    if 1 not in told and 0 <= len(region.labels) - len(region.numbers) <= _FEW:
        yield 1, _UNTOLD + (0.3 if told else 0.1)


def _variants(numbers: Sequence[Number], columns: int) -> Iterator[list[Number]]:
    """The numbers, if they fill the columns; else without one that may be a page number or a mark."""
    if len(numbers) % columns == 0:
        yield list(numbers)
    elif len(numbers) % columns == 1 and columns > 1:
        for place, one in enumerate(numbers):
            around = [numbers[near].block for near in (place - 1, place + 1) if 0 <= near < len(numbers)]
            if _BARE.fullmatch(one.text) and not one.dollar and one.block not in around:
                yield [*numbers[:place], *numbers[place + 1 :]]


def _lined_up(region: Region) -> Solved | None:
    """Where label and numbers share lines, or each label is followed by its numbers."""
    rows = [line for line in region.lines if line.kind == "row"]
    if len(rows) >= 2 and 2 * sum(len(row.numbers) for row in rows) > len(region.numbers):
        columns = max(len(row.numbers) for row in rows)
        return _by_line(region, columns)
    return _one_by_one(region)


def _by_line(region: Region, columns: int) -> Solved | None:
    found = []
    for line in region.lines:
        if line.kind == "row":
            numbers: tuple[Number | None, ...] = line.numbers
            if len(numbers) == columns:
                found.append(SolvedRow(line, numbers))
            else:  # which columns are empty cannot be told
                found.append(SolvedRow(line, (), unclear=True))
        elif line.kind == "label":
            found.append(SolvedRow(line, ()))
    return Solved(tuple(found), columns, 0.0)


def _one_by_one(region: Region) -> Solved | None:
    """Runs of numbers after single labels; most runs have to be of one length."""
    runs: list[tuple[Line, list[Number]]] = []
    found: list[tuple[Line, list[Number]]] = []
    for line in region.lines:
        if line.kind == "label":
            found.append((line, []))
        elif line.kind == "numbers" and found:
            found[-1][1].extend(line.numbers)
    runs = [one for one in found if one[1]]
    if len(runs) < 3:
        return None
    lengths = [len(numbers) for _, numbers in runs]
    columns = max(set(lengths), key=lengths.count)
    if lengths.count(columns) < 0.6 * len(runs) or max(lengths) > 2 * columns + 1:
        return None
    rows = [
        SolvedRow(label, tuple(numbers) if len(numbers) == columns else (), len(numbers) not in (0, columns))
        for label, numbers in found
    ]
    return Solved(tuple(rows), columns, 0.0)
