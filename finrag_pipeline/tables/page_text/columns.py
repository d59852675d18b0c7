"""How unlike the numbers of a row are, and the likeliest arrangement of a text's numbers in columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from finrag_pipeline.tables.page_text.guillotine import BAND, Cutter, Steps
from finrag_pipeline.tables.page_text.lines import Number

_INSIDE = 4.0  # of changing columns within a block, or of staying in one within a line
_BLOCK = 0.15  # of a block that ends while its column goes on
_PLACE, _SIZE = 0.5, 0.3  # of unlike places in a block, and blocks of unlike sizes, within a row
_DECIMALS = 1.5  # of unlike decimals within a row
_DEAR_BAND = 3.0  # of another band, to find arrangements with fewer
_NOT_LAST = 2.5  # of a number in the last column whose line ends with the sign of the next one
_MOST = 600
_PLAIN = 0.35  # cost per row and pair of columns up to which bands are believed without further search


@dataclass(frozen=True, slots=True)
class Columns:
    """Numbers in rows and columns.

    Attributes:
        index: which number stands where; shape (rows, columns).
        cost: how unlike the columns are, and how oddly they would be written.
        bands: heights of the bands of rows that were written one after another.
    """

    index: np.ndarray
    cost: float
    bands: tuple[int, ...]


def unlikeness(numbers: Sequence[Number]) -> np.ndarray:
    """How unlike two numbers of one row are; shape (n, n)."""
    values = np.array([np.nan if one.value is None else one.value for one in numbers])
    kinds = np.array([one.decimals for one in numbers])
    percent = np.array([one.percent for one in numbers])
    bare = (kinds < 0) | (values == 0) | np.isnan(values)
    logs = np.log(np.where(bare, 1.0, np.abs(values)))
    cost = np.minimum(np.abs(logs[:, None] - logs[None, :]), 4.0) * 0.4
    cost += 0.4 * (np.signbit(values)[:, None] != np.signbit(values)[None, :])
    one, both = bare[:, None] ^ bare[None, :], bare[:, None] & bare[None, :]
    cost = np.where(one, 0.5, np.where(both, 0.0, cost))
    differ = (kinds[:, None] != kinds[None, :]) & ~bare[:, None] & ~bare[None, :]
    cost = cost + _DECIMALS * differ + _unlike_places(numbers)
    return cost + 1.5 * ((percent[:, None] != percent[None, :]) & ~bare[:, None] & ~bare[None, :])


def _unlike_places(numbers: Sequence[Number]) -> np.ndarray:
    """Cost of unlike places in unlike blocks: neighbouring columns mostly break at the same rows."""
    sizes: dict[int, int] = {}
    places = []
    for one in numbers:
        places.append(sizes.get(one.block, 0))
        sizes[one.block] = places[-1] + 1
    place, size = np.array(places), np.array([sizes[one.block] for one in numbers])
    return _PLACE * (place[:, None] != place[None, :]) + _SIZE * (size[:, None] != size[None, :])


def arrange(numbers: Sequence[Number], columns: int, thorough: bool = True) -> Columns | None:
    """The likeliest arrangement in ``columns`` full columns; None if their count does not allow it."""
    found = arrangements(numbers, columns, thorough)
    return min(found, key=lambda one: one.cost) if found else None


def arrangements(numbers: Sequence[Number], columns: int, thorough: bool = True) -> list[Columns]:
    """Likely arrangements in ``columns`` full columns; only bands if they do, or unless ``thorough``."""
    total = len(numbers)
    if columns < 1 or not total or total % columns or total > _MOST:
        return []
    rows = total // columns
    steps = _steps(numbers)
    if columns == 1:
        return [Columns(np.arange(total)[:, None], float(steps.stay[1:].sum()), (rows,))]
    found = [_columns(*Cutter(steps, columns).cut(nested=False))]
    if thorough and rows > 1 and found[0].cost > _PLAIN * rows * (columns - 1):
        found.append(_columns(*Cutter(steps, columns).wrapped()))
        # Fewer bands, though their rows be less alike: arithmetic may speak for them.
        for band in (BAND, _DEAR_BAND):
            found.append(_columns(*Cutter(steps, columns, band).cut(nested=columns > 2)))
    return found


def _columns(bands: list[np.ndarray], cost: float) -> Columns:
    return Columns(np.concatenate(bands), cost, tuple(len(band) for band in bands))


def _steps(numbers: Sequence[Number]) -> Steps:
    """Costs of reading the numbers in some order."""
    change, stay = np.zeros(len(numbers)), np.zeros(len(numbers))
    for place in range(1, len(numbers)):
        before, here = numbers[place - 1], numbers[place]
        if before.line == here.line:
            stay[place] = _INSIDE
        elif before.block == here.block:
            change[place] = _INSIDE
        else:
            stay[place] = _BLOCK
    last = np.array([_NOT_LAST if one.after else 0.0 for one in numbers])
    return Steps(unlikeness(numbers), change, stay, last)
