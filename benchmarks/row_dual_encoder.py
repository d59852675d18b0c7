"""Trains the dual encoder of questions and printed rows on examples of ``benchmarks.row_cross_encoder``.

    python -m benchmarks.row_dual_encoder EXAMPLES.npz MINILM_FOLDER WEIGHTS.safetensors --seconds 240

A question is shown its right row and 64 others: those that share words with it and others of its filing. The
loss is the cross-entropy of the choice among them (Karpukhin et al., Dense Passage Retrieval, 2020, section
3.2, with no rows of other questions: what is right in one filing would be wrong for another). The shipped
weights saw 215,000 such questions. Nothing of the package is needed, so it runs on a GPU's machine as well.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from torch import nn
from torch.utils.data import DataLoader, IterableDataset
from transformers import AutoModel

from benchmarks.adapters import adapt, adapter_arrays, take_step
from benchmarks.row_training import IN_FILINGS, RowExamples, own_worker, ragged_part, training_device

SEED = 0
BATCH, WRONG, FROM_ITS_OWN = 512, 64, 40
RANK = 24
RATES = (8e-4, 1e-3, 2e-2)
"""Rates of the adapters, of what reads rows, and of the scale of likeness."""

PARTS, EMBEDDINGS_TIMES, BAR, SEPARATOR = 8, 20.0, 1064, 102
TIMES_IN_FILINGS = 4.0
"""How often questions about rows of whole filings are drawn for one of another."""

_WARM_UP, _LAST_RATE = 100, 0.02
_FIRST_NEAR = 20
_MOST_TESTED = 800
_WITHIN = (1, 3, 10, 30)


class Questions(nn.Module):
    """The encoder with adapters; a question is the mean state of its measure."""

    def __init__(self, folder: Path, rank: int) -> None:
        super().__init__()
        encoder = AutoModel.from_pretrained(folder, use_safetensors=True, trust_remote_code=False)
        self.encoder = adapt(encoder.float(), rank, 0)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Vectors of length 1, shape (questions, dimensions), of identifiers, shape (questions, tokens)."""
        mask = ids != 0
        states = self.encoder(input_ids=ids, attention_mask=mask.long()).last_hidden_state
        measure = (((ids == SEPARATOR).cumsum(1) == 0) & mask).unsqueeze(-1).to(states.dtype)
        means = (states * measure).sum(1) / measure.sum(1)
        return nn.functional.normalize(means.float(), dim=-1)


class Rows(nn.Module):
    """The mean of what the tokens of a row say, each with the part of the row that it stands in."""

    def __init__(self, embeddings: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("embeddings", embeddings * EMBEDDINGS_TIMES)
        width = embeddings.shape[1]
        self.part = nn.Embedding(PARTS, width)
        self.of_token, self.of_part = nn.Embedding(len(embeddings), 1), nn.Embedding(PARTS, 1)
        for table in (self.part, self.of_token, self.of_part):
            nn.init.zeros_(table.weight)
        self.inner, self.outer = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Vectors of length 1, shape (rows, dimensions), of identifiers, shape (rows, tokens)."""
        mask = (ids != 0).unsqueeze(-1)
        part = (ids == BAR).cumsum(1).clamp(max=PARTS - 1)
        said = nn.functional.embedding(ids, self.embeddings) + self.part(part)
        weights = torch.exp(self.of_token(ids) + self.of_part(part)) * mask
        means = (nn.functional.gelu(self.inner(said)) * weights).sum(1) / weights.sum(1)
        return nn.functional.normalize(self.outer(means).float(), dim=-1)

    def arrays(self) -> dict[str, np.ndarray]:
        """All that is learned, as it is shipped, in half precision."""
        learned = {
            "part": self.part.weight,
            "of_token": self.of_token.weight[:, 0],
            "of_part": self.of_part.weight[:, 0],
            **{f"inner.{name}": value for name, value in self.inner.named_parameters()},
            **{f"outer.{name}": value for name, value in self.outer.named_parameters()},
        }
        return {
            f"row.{name}": value.detach().cpu().numpy().astype(np.float16) for name, value in learned.items()
        }


class Drawn(IterableDataset[tuple[torch.Tensor, ...]]):
    """Questions, the rows that they are shown with, which of these each sees, and which are rows at all."""

    def __init__(self, examples: RowExamples, size: int) -> None:
        self._examples, self._size = examples, size
        self.pools = pools(examples)
        asked = (np.diff(examples.right[1]) > 0) & ~examples.left_out
        in_filings = np.array([str(name).endswith(IN_FILINGS) for name in examples.sources])
        weights = asked * np.where(in_filings[examples.source], TIMES_IN_FILINGS, 1.0)
        self._places, self._weights = np.flatnonzero(weights), weights[weights > 0] / weights.sum()

    def __iter__(self) -> Iterator[tuple[torch.Tensor, ...]]:
        own, _ = own_worker()
        rng = np.random.default_rng((SEED, own))
        while True:
            places = rng.choice(self._places, self._size, p=self._weights)
            shown = np.full((self._size, 1 + WRONG), -1)
            for at, place in enumerate(places.tolist()):
                rows = self._shown(place, rng)
                shown[at, : len(rows)] = rows
            rows, which = np.unique(shown, return_inverse=True)
            questions = padded(self._examples.questions, places)
            # An absent row is read as the first one and left out of the choice.
            texts = padded(self._examples.full, np.maximum(rows, 0))
            yield questions, texts, torch.from_numpy(which.reshape(shown.shape)), torch.from_numpy(shown >= 0)

    def _shown(self, place: int, rng: np.random.Generator) -> list[int]:
        """A right row of a question, and wrong ones of its own and of its filing."""
        right, near, far = (
            ragged_part(part, place)
            for part in (self._examples.right, self._examples.near, self._examples.far)
        )
        taken = [*near, *rng.permutation(far).astype(int).tolist()][:FROM_ITS_OWN]
        pool = self.pools.get(far[0] if far else -1)
        if pool:
            taken += rng.choice(pool, WRONG - len(taken)).tolist()
        return [int(rng.choice(right)), *(row for row in taken if row not in set(right))][: 1 + WRONG]


def pools(examples: RowExamples) -> dict[int, list[int]]:
    """Rows of each filing, by the first of its rows that are met whatever is asked."""
    found: defaultdict[int, set[int]] = defaultdict(set)
    for place in range(len(examples.source)):
        far = ragged_part(examples.far, place)
        if far:
            found[far[0]].update(ragged_part(examples.near, place)[:_FIRST_NEAR])
            found[far[0]].update(ragged_part(examples.right, place))
    return {first: sorted(rows) for first, rows in found.items()}


def padded(texts: tuple[np.ndarray, np.ndarray], places: Sequence[int] | np.ndarray) -> torch.Tensor:
    """Identifiers of texts, shape (texts, tokens of the longest), 0 where there are none."""
    read = [ragged_part(texts, int(place)) for place in places]
    ids = np.zeros((len(read), max(map(len, read))), np.int64)
    for at, own in enumerate(read):
        ids[at, : len(own)] = own
    return torch.from_numpy(ids)


def train(
    examples: RowExamples, questions: Questions, rows: Rows, seconds: float, workers: int, size: int = BATCH
) -> float:
    """Train both encoders for so long; returns the scale of likeness that was learned."""
    device = training_device()
    scale = nn.Parameter(torch.tensor(20.0, device=device))
    adapters = [value for value in questions.parameters() if value.requires_grad]
    learned = (adapters, list(rows.parameters()), [scale])
    optimiser = torch.optim.AdamW([{"params": part} for part in learned], weight_decay=0.01)
    batches = DataLoader(Drawn(examples, size), batch_size=None, num_workers=workers)
    begun = time.perf_counter()
    for step, drawn in enumerate(batches):
        if (spent := time.perf_counter() - begun) > seconds:
            break
        ids, texts, which, real = (one.to(device, non_blocking=True) for one in drawn)
        for group, rate in zip(optimiser.param_groups, RATES, strict=True):
            group["lr"] = rate * min(1.0, (step + 1) / _WARM_UP) * max(_LAST_RATE, 1 - spent / seconds)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            asked, told = questions(ids), rows(texts)
        scores = torch.einsum("qd,qrd->qr", asked, told[which]) * scale
        first = torch.zeros(len(scores), dtype=torch.long, device=device)
        loss = nn.functional.cross_entropy(scores.masked_fill(~real, -1e4), first)
        take_step(optimiser, loss)
        if step % 50 == 0:
            print(f"step {step}, {spent:.0f} s, loss {loss.item():.3f}, scale {scale.item():.1f}", flush=True)
    return float(scale.item())


def ranks(examples: RowExamples, questions: Questions, rows: Rows) -> dict[str, str]:
    """Share of left-out questions with a right row among the first, of all that is known of their filings."""
    device = training_device()
    places = np.flatnonzero(examples.left_out & (np.diff(examples.right[1]) > 0)).tolist()
    random.Random(SEED).shuffle(places)
    known = pools(examples)
    found: defaultdict[str, list[int]] = defaultdict(list)
    with torch.no_grad():
        for place in places:
            name = str(examples.sources[examples.source[place]])
            if len(found[name]) >= _MOST_TESTED:
                continue
            right, near, far = (ragged_part(p, place) for p in (examples.right, examples.near, examples.far))
            every = list(dict.fromkeys([*right, *near, *far, *known.get(far[0] if far else -1, ())]))
            asked = questions(padded(examples.questions, [place]).to(device))
            scores = (rows(padded(examples.full, every).to(device)) @ asked[0]).cpu().numpy()
            found[name].append(int((scores > scores[: len(right)].max()).sum()))
    return {
        name: ", ".join(f"{np.mean(np.array(own) < most):.3f} in {most}" for most in _WITHIN)
        + f" of {len(own)}"
        for name, own in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", type=Path)
    parser.add_argument("folder", type=Path, help="of the default encoder")
    parser.add_argument("weights", type=Path, help="file that is written")
    parser.add_argument("--seconds", type=float, required=True, help="time that is spent")
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--rank", type=int, default=RANK)
    parser.add_argument("--workers", type=int, default=0, help="processes that draw examples")
    options = parser.parse_args()
    torch.manual_seed(SEED)
    examples = RowExamples.load(options.examples)
    questions = Questions(options.folder, options.rank).to(training_device())
    embeddings = questions.encoder.embeddings.word_embeddings.weight.detach().clone()
    rows = Rows(embeddings).to(training_device())
    scale = train(examples, questions, rows, options.seconds, options.workers, options.batch)
    arrays = adapter_arrays(questions) | rows.arrays() | {"scale": np.array([scale], np.float32)}
    save_file(arrays, str(options.weights))
    for name, share in ranks(examples, questions, rows).items():
        print(name, share, flush=True)


if __name__ == "__main__":
    main()
