"""Examples that the cross-encoder of questions and rows learns from."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from benchmarks.row_training import ROWS_AT_ONCE, RowExamples


def ragged(*lists: list[int]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([item for one in lists for item in one], np.int32), np.cumsum([0, *map(len, lists)])


EXAMPLES = RowExamples(
    questions=ragged([101, 7, 102, 8, 9, 102], [101, 6, 102, 6, 102]),
    rows=ragged(*([place + 1000] * (1 + place % 3) for place in range(30))),
    twins=ragged([28, 29], *([] for _ in range(29))),
    right=ragged([0], []),
    near=ragged(list(range(1, 15)), [0, 1, 2]),
    far=ragged(list(range(15, 28)), []),
    source=np.array([0, 0]),
    sources=np.array(["made"]),
    left_out=np.array([False, True]),
    times=np.array([1, 1]),
)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    EXAMPLES.save(tmp_path / "examples.npz")
    read = RowExamples.load(tmp_path / "examples.npz")
    assert all(np.array_equal(a, b) for a, b in zip(read.near, EXAMPLES.near, strict=True))
    assert read.sources.tolist() == ["made"] and read.left_out.tolist() == [False, True]


def test_rows_are_drawn_with_and_without_the_right_one_and_its_twins() -> None:
    rng = random.Random(0)
    drawn = [EXAMPLES.drawn(0, rng) for _ in range(300)]
    assert all(len(rows) == len(set(rows)) == ROWS_AT_ONCE for rows, _ in drawn)
    for rows, marks in drawn:
        assert {row for row, mark in zip(rows, marks, strict=True) if mark} <= {0, 28, 29}
        assert all(mark for row, mark in zip(rows, marks, strict=True) if row in (0, 28, 29))
    with_right = [any(marks) for _, marks in drawn]
    assert 0.35 < np.mean(with_right) < 0.55
    assert any(sum(marks) > 1 for _, marks in drawn)
    assert not any(EXAMPLES.drawn(1, rng)[1])


def test_a_batch_tells_which_row_each_token_is_of() -> None:
    ids, types, owners, right, real = EXAMPLES.batch([0, 1], random.Random(1))
    assert ids.shape == types.shape == owners.shape and right.shape == (2, ROWS_AT_ONCE)
    assert real.sum(1).tolist() == [10, 3]
    for at in range(2):
        for row in range(int(real[at].sum())):
            tokens = set(ids[at][owners[at] == row].tolist())
            assert len(tokens) == 1 and tokens.pop() >= 1000
    assert (types[owners >= 0] == 1).all() and (types[:, :5] == 0).all()
