"""Batches without duplicates: a text that stands twice in a batch would be its own negative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from finrag_pipeline.rankers.page_scorer.pairs import Pair, draw_rows


class _Rows:
    """Rows as the sampler of sentence-transformers reads a data set."""

    def __init__(self, rows: Sequence[Sequence[str]]) -> None:
        self._rows = rows
        self.column_names = [str(n) for n in range(len(rows[0]))]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, str]:
        return dict(zip(self.column_names, self._rows[index], strict=True))


def epoch_batches(pairs: Sequence[Pair], size: int, seed: int, epoch: int) -> list[list[list[str]]]:
    """The batches of an epoch, each a list of rows: question, positive, negatives.

    No text stands twice in a batch, neither as a question, a positive nor a negative. The same seed and epoch
    give the same batches, so that a resumed training sees what an uninterrupted one would have seen.

    Args:
        pairs: what to learn from, one at least.
        size: rows of a batch; the last ones may be smaller.
        seed: of the order and of the choice of negatives.
        epoch: from 1.
    """
    import torch
    from sentence_transformers.base.sampler import NoDuplicatesBatchSampler

    rows = draw_rows(pairs, seed, epoch)
    data: Any = _Rows(rows)
    sampler = NoDuplicatesBatchSampler(data, size, drop_last=False, generator=torch.Generator(), seed=seed)
    sampler.set_epoch(epoch)
    found = [[rows[index] for index in batch] for batch in sampler]
    # A question alone has nothing to be told apart from, unless it brings its own negatives.
    return [batch for batch in found if len(batch) > 1 or len(batch[0]) > 2]
