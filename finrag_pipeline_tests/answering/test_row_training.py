"""Examples that the cross-encoder of questions and rows learns from."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from transformers import BertConfig, BertModel

from benchmarks.adapters import adapt, adapter_arrays
from benchmarks.row_training import IN_FILINGS, ROWS_AT_ONCE, RowExamples, mined
from benchmarks.row_training import ragged as as_ragged


def ragged(*lists: list[int]) -> tuple[np.ndarray, np.ndarray]:
    return as_ragged(lists)


EXAMPLES = RowExamples(
    questions=ragged([101, 7, 102, 8, 9, 102], [101, 6, 102, 6, 102]),
    rows=ragged(*([place + 1000] * (1 + place % 3) for place in range(30))),
    full=ragged(*([place + 1000] * (2 + place % 5) for place in range(30))),
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


def test_rows_in_full_are_the_likeliest_and_mostly_with_the_right_one() -> None:
    rng = random.Random(0)
    drawn = [EXAMPLES.drawn(0, rng, full=True) for _ in range(300)]
    assert np.mean([any(marks) for _, marks in drawn]) > 0.65
    near, far = (
        np.mean([len(set(rows) & set(part)) for rows, _ in drawn]) for part in (range(1, 9), range(15, 28))
    )
    assert near > 4 and far < 2
    ids, _, owners, _, _ = EXAMPLES.batch([0], rng, full=True)
    assert ids.shape[1] > EXAMPLES.batch([0], rng)[0].shape[1]
    assert {int(row) for row in owners.unique()} == set(range(-1, ROWS_AT_ONCE))


def test_wrong_rows_that_a_model_takes_for_right_come_first() -> None:
    class Model(torch.nn.Module):
        """Takes rows for right by their token."""

        def forward(self, ids: torch.Tensor, types: torch.Tensor, owners: torch.Tensor) -> torch.Tensor:
            shape = (len(ids), ROWS_AT_ONCE)
            found = torch.zeros(shape, dtype=ids.dtype).scatter_reduce(
                1, owners.clamp(min=0), ids * (owners >= 0), "amax"
            )
            return found.float()

    of_filings = replace(EXAMPLES, sources=np.array([f"made{IN_FILINGS}"]))
    found = mined(of_filings, Model(), 0)
    values, ends = found.near
    assert values[: ends[1]].tolist() == list(range(27, 0, -1)), "neither the right row nor its twins"
    assert values[ends[1] :].tolist() == [0, 1, 2], "those of no right row stay"
    assert mined(EXAMPLES, Model(), 0).near[0].tolist() == EXAMPLES.near[0].tolist()


class _Around(nn.Module):
    """A model with an encoder inside."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder


@pytest.mark.parametrize("inside", [False, True])
def test_adapters_have_the_names_that_they_are_read_by(inside: bool) -> None:
    shape = dict.fromkeys(("hidden_size", "intermediate_size"), 8) | {"num_attention_heads": 2}
    encoder = adapt(BertModel(BertConfig(vocab_size=9, num_hidden_layers=2, **shape)), rank=2, frozen=1)
    names = set(adapter_arrays(_Around(encoder) if inside else encoder))
    assert {"encoder.layer.1.attention.self.query.a", "encoder.layer.1.output.dense.b"} <= names
    assert all(name.startswith("encoder.layer.1.") for name in names)
