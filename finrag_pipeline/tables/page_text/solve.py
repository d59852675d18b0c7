"""From a region's labels and numbers to rows: how many columns, which number where, which label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from finrag_pipeline.tables.page_text.columns import Columns, arrange
from finrag_pipeline.tables.page_text.lines import Line, Number
from finrag_pipeline.tables.page_text.regions import Region, column_counts
from finrag_pipeline.tables.page_text.rows import agreement, align, contradicted

MARGIN = 0.9
"""A row whose next best label costs less than this more is left without numbers."""
_WORST = 1.3
_TRUSTED, _TRUSTED_UNTOLD, _PER_SUM = 0.6, 0.4, 0.1
_FEW = 2
_MOST_TURNED, _MOST_BANDS = 4, 12
"""Unlikeness per row and pair of columns from which an arrangement is not believed."""


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


def solve(region: Region) -> Solved | None:
    """The table of a region, or None where its text does not tell one."""
    lined = _lined_up(region)
    if lined is not None:
        return lined
    best: Solved | None = None
    for columns, prior in _counts(region):
        for numbers in _variants(region.numbers, columns):
            arrangement = arrange(numbers, columns, thorough=prior == 0.0)
            if arrangement is None or _per_pair(arrangement) > _WORST:
                continue
            rows = straightened(arrangement, numbers)
            alignment = align(region.labels, rows, max(one.line for one in numbers))
            if alignment is None:
                continue
            trusted = (_TRUSTED if prior < 0.3 else _TRUSTED_UNTOLD) + _PER_SUM * alignment.sums
            if _per_pair(arrangement) > trusted:
                continue
            cost = (arrangement.cost + alignment.cost) / len(rows) + prior
            cost += 0.5 * (len(region.numbers) - len(numbers))
            if best is None or cost < best.cost:
                broken = contradicted(rows)
                of_label = dict(zip(alignment.label.tolist(), range(len(rows)), strict=True))
                solved = []
                for place, label in enumerate(region.labels):
                    row = of_label.get(place)
                    if row is None:
                        solved.append(SolvedRow(label, ()))
                    elif alignment.margin[row] < MARGIN or broken[row]:
                        solved.append(SolvedRow(label, (), unclear=True))
                    else:
                        solved.append(SolvedRow(label, tuple(rows[row])))
                best = Solved(tuple(solved), columns, cost)
    return best


def straightened(arrangement: Columns, numbers: Sequence[Number]) -> list[list[Number]]:
    """Rows of numbers, with the columns of a band in another order where only then the rows add up.

    A text may begin a band in the column in which it left the one above. The first band stays as it is.
    """
    rows = [[numbers[place] for place in row] for row in arrangement.index]
    columns = arrangement.index.shape[1]
    if len(arrangement.bands) < 2 or not 2 <= columns <= _MOST_TURNED or len(arrangement.bands) > _MOST_BANDS:
        return rows
    best = agreement(rows)
    top = arrangement.bands[0]
    for height in arrangement.bands[1:]:
        kept = rows[top : top + height]
        for order in list(permutations(range(columns)))[1:]:
            turned = [[row[column] for column in order] for row in kept]
            score = agreement([*rows[:top], *turned, *rows[top + height :]])
            if score > best:
                best = score
                rows[top : top + height] = turned
        top += height
    return rows


def _per_pair(arrangement: Columns) -> float:
    rows, columns = arrangement.index.shape
    return arrangement.cost / (rows * max(1, columns - 1))


def _counts(region: Region) -> Iterator[tuple[int, float]]:
    """Numbers of columns to try, with what they cost beforehand."""
    told = column_counts(region)
    for place, count in enumerate(told):
        yield count, 0.1 * place
    for count in range(2, 7):
        if count not in told:
            # One more than told is a column of changes.
            yield count, 0.25 if count - 1 in told else 0.6 if told else 0.3
    if 1 not in told and 0 <= len(region.labels) - len(region.numbers) <= _FEW:
        yield 1, 0.6 if told else 0.3


def _variants(numbers: Sequence[Number], columns: int) -> Iterator[list[Number]]:
    """The numbers, if they fill the columns; else without one that may be a page number or a mark."""
    if len(numbers) % columns == 0:
        yield list(numbers)
        return
    if len(numbers) % columns == 1 and columns > 1:
        for place, one in enumerate(numbers):
            alone = all(
                numbers[near].block != one.block
                for near in (place - 1, place + 1)
                if 0 <= near < len(numbers)
            )
            if alone and one.decimals == 0 and not one.dollar and one.text.isdigit() and place not in (1,):
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
