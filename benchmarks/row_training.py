"""Trains the cross-encoder of questions and printed rows on examples of ``benchmarks.row_cross_encoder``.

    python -m benchmarks.row_training EXAMPLES.npz MINILM_FOLDER WEIGHTS.safetensors

The shipped weights were trained for seven epochs with the right row always shown, and from there
(``--start``) for five more as here; then for 45 minutes in batches of 32 on rows of whole filings too, and
for twelve more on a GPU with ``--mine``, four of them beside a larger encoder as teacher.
``docs/answers.md`` tells what each step brought.
Nothing of the package is needed, so it runs on another machine as well: on a GPU where there is one.
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file, save_file
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
from transformers import AutoModel

from benchmarks.adapters import adapt, adapter_arrays, resume, take_step

SEED = 0
BATCH = 128
RANK, FROZEN_LAYERS = 64, 0
RATES = (1.2e-3, 2e-3)
"""Rates of the adapters and of the last layer in batches of 128; in others by the root of their size."""

IN_FULL = 0.5
"""Share of the batches in which rows are read with all that is printed around them."""

ROWS_AT_ONCE = 10
"""Rows that are read together, as the package reads them."""

_WARM_UP, _LAST_RATE = 150, 0.02
_LISTWISE = 0.5
_POINTWISE = 4.0
_MOST_RIGHT = 3
_TWINS, _OTHER_TWINS = 0.4, 0.1
"""Shares of the rows, right and wrong, that are shown with twins."""

_OF_ANY, _WITHOUT_RIGHT = 0.25, 0.55
"""Shares of the cases in which any rows are shown, and in which none is right."""

_RESUMED = 0.5
"""Part of the rates with which a training goes on."""

_SEPARATOR = 102
IN_FILINGS = ", in filings"
"""End of the names of sources whose rows are those of whole filings."""

_MINED = 40
_NEARER, _NEARER_IN_FULL = 8.0, 4.0
"""Places behind the likeliest wrong row until half as many are drawn."""

_WITHOUT_RIGHT_IN_FULL = 0.25
_MOST_TESTED = 1500


@dataclass(frozen=True)
class RowExamples:
    """Questions with rows, as token identifiers, each row once.

    Attributes:
        questions: identifiers of the questions, one after the other, with where each begins and ends.
        rows: the same of the rows, read in short.
        full: the same of them with all that is printed around them.
        twins: places of rows that show the same as each row in another table, such as a summary.
        right, near, far: places of rows for each question: those that are right, wrong ones the likeliest
            first, and such as are met whatever is asked.
        source: name of where each question comes from, by its place in ``sources``.
        left_out: whether each is for testing.
        times: how often each is seen in an epoch.
    """

    questions: tuple[np.ndarray, np.ndarray]
    rows: tuple[np.ndarray, np.ndarray]
    full: tuple[np.ndarray, np.ndarray]
    twins: tuple[np.ndarray, np.ndarray]
    right: tuple[np.ndarray, np.ndarray]
    near: tuple[np.ndarray, np.ndarray]
    far: tuple[np.ndarray, np.ndarray]
    source: np.ndarray
    sources: np.ndarray
    left_out: np.ndarray
    times: np.ndarray

    _RAGGED = ("questions", "rows", "full", "twins", "right", "near", "far")

    def save(self, file: Path) -> None:
        """Write all to an ``.npz``."""
        flat = {f"{name}_{at}": part for name in self._RAGGED for at, part in enumerate(getattr(self, name))}
        rest = {name: getattr(self, name) for name in ("source", "sources", "left_out", "times")}
        np.savez_compressed(file, **flat, **rest)

    @classmethod
    def load(cls, file: Path) -> RowExamples:
        """Read what `save` wrote."""
        found = np.load(file)
        ragged = {name: (found[f"{name}_0"], found[f"{name}_1"]) for name in cls._RAGGED}
        return cls(**ragged, **{n: found[n] for n in ("source", "sources", "left_out", "times")})

    def drawn(self, place: int, rng: random.Random, full: bool = False) -> tuple[list[int], list[bool]]:
        """Rows that a question is shown with, and which of them are right.

        Of the many tens of rows that are read in short, most have no right one among them; in full only the
        likeliest are read.
        """
        right, near, far = (ragged_part(part, place) for part in (self.right, self.near, self.far))
        kind = rng.random()
        without, of_any = (_WITHOUT_RIGHT_IN_FULL, 0.0) if full else (_WITHOUT_RIGHT, _OF_ANY)
        taken = [
            row
            for own in rng.sample(right, min(len(right), _MOST_RIGHT))
            for row in (own, *self._twins(own, rng, _TWINS))
        ][: _MOST_RIGHT if kind > without else 0]
        own = len(taken)
        room = ROWS_AT_ONCE - own
        any_of = room if kind < of_any else rng.randint(0, room // (5 if full else 2))
        taken += rng.sample(far, min(len(far), any_of))
        nearer = _NEARER_IN_FULL if full else _NEARER
        order = sorted(range(len(near)), key=lambda at: rng.random() ** (1 + at / nearer), reverse=True)
        seen = {*taken, *right}
        beside = [row for at in order for row in (near[at], *self._twins(near[at], rng, _OTHER_TWINS))]
        taken += [row for row in beside if row not in seen][: ROWS_AT_ONCE - len(taken)]
        marked = [(row, at < own) for at, row in enumerate(taken)]
        rng.shuffle(marked)
        return [row for row, _ in marked], [mark for _, mark in marked]

    def wrong(self, place: int) -> list[int]:
        """All rows of a question that are not right."""
        right = set(ragged_part(self.right, place))
        return [
            row
            for row in dict.fromkeys([*ragged_part(self.near, place), *ragged_part(self.far, place)])
            if row not in right
        ]

    def _twins(self, row: int, rng: random.Random, share: float) -> list[int]:
        """Some of the twins of a row, in a share of the cases."""
        twins = ragged_part(self.twins, row)
        return rng.sample(twins, rng.randint(1, len(twins))) if twins and rng.random() < share else []

    def batch(
        self, places: Sequence[int], rng: random.Random, full: bool = False
    ) -> tuple[torch.Tensor, ...]:
        """Identifiers, segments, the row of each token or -1, which rows are right, and which are rows."""
        return self.padded([(place, *self.drawn(place, rng, full)) for place in places], full)

    def padded(
        self, shown: Sequence[tuple[int, list[int], list[bool]]], full: bool
    ) -> tuple[torch.Tensor, ...]:
        """What `batch` gives, of questions with the rows that they are shown with and which are right."""
        texts = self.full if full else self.rows
        read: list[tuple[list[int], list[int], int, list[bool]]] = []
        for place, rows, marked in shown:
            tokens = ragged_part(self.questions, place)
            start, owner = len(tokens), [-1] * len(tokens)
            for at, row in enumerate(rows):
                own = ragged_part(texts, row)
                tokens = [*tokens, *own, _SEPARATOR]
                owner += [*([at] * len(own)), -1]
            read.append((tokens, owner, start, marked))
        longest = -(-max(len(tokens) for tokens, _, _, _ in read) // 16) * 16
        ids, types = (np.zeros((len(read), longest), np.int64) for _ in range(2))
        owners = np.full((len(read), longest), -1)
        right, real = (np.zeros((len(read), ROWS_AT_ONCE), np.float32) for _ in range(2))
        for at, (tokens, owner, start, marked) in enumerate(read):
            ids[at, : len(tokens)] = tokens
            types[at, start : len(tokens)] = 1
            owners[at, : len(owner)] = owner
            right[at, : len(marked)] = marked
            real[at, : len(marked)] = 1
        return tuple(map(torch.from_numpy, (ids, types, owners, right, real)))


def ragged_part(ragged: tuple[np.ndarray, np.ndarray], place: int) -> list[int]:
    """One of the lists of `ragged`."""
    values, ends = ragged
    found: list[int] = values[ends[place] : ends[place + 1]].tolist()
    return found


def own_worker() -> tuple[int, int]:
    """Number of this process among those that draw examples, and how many they are."""
    worker = get_worker_info()
    return (worker.id, worker.num_workers) if worker else (0, 1)


def training_device() -> torch.device:
    """The GPU where there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Batches(IterableDataset[tuple[torch.Tensor, ...]]):
    """Batches of examples drawn again each time, in a share for each worker; some with rows in full."""

    def __init__(
        self, examples: RowExamples, places: np.ndarray, count: int, size: int, in_full: float
    ) -> None:
        self._examples, self._places, self._count, self._size = examples, places, count, size
        self._in_full = in_full

    def __iter__(self) -> Iterator[tuple[torch.Tensor, ...]]:
        own, of = own_worker()
        rng = random.Random(SEED * 1000 + own)
        places = self._places[own::of].tolist()
        queue: list[int] = []
        for _ in range(own, self._count, of):
            while len(queue) < self._size:
                queue += rng.sample(places, len(places))
            taken, queue = queue[: self._size], queue[self._size :]
            yield self._examples.batch(taken, rng, rng.random() < self._in_full)


class _Chunks(IterableDataset[tuple[Any, ...]]):
    """All wrong rows of examples, so many at a time as are read together, in a share for each worker."""

    def __init__(self, examples: RowExamples, places: Sequence[int], size: int) -> None:
        self._examples, self._places, self._size = examples, places, size

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        own, of = own_worker()
        shown: list[tuple[int, list[int], list[bool]]] = []
        for place in self._places[own::of]:
            rows = self._examples.wrong(place)
            for start in range(0, len(rows), ROWS_AT_ONCE):
                part = rows[start : start + ROWS_AT_ONCE]
                shown.append((place, part, [False] * len(part)))
                if len(shown) == self._size:
                    yield shown, self._examples.padded(shown, False)[:3]
                    shown = []
        if shown:
            yield shown, self._examples.padded(shown, False)[:3]


def mined(examples: RowExamples, model: Reader, workers: int, size: int = 256) -> RowExamples:
    """Examples over whole filings whose wrong rows are in the order in which a model takes them for right.

    Those without a right row stay as they are: their first ones would be right without a word.
    """
    device = training_device()
    model.eval().to(device)
    of_filings = [str(name).endswith(IN_FILINGS) for name in examples.sources]
    asked = np.diff(examples.right[1]) > 0
    places = [place for place, source in enumerate(examples.source) if of_filings[source] and asked[place]]
    scores: dict[int, dict[int, float]] = {place: {} for place in places}
    chunks = DataLoader(_Chunks(examples, places, size), batch_size=None, num_workers=workers)
    with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        for shown, inputs in chunks:
            logits = model(*(one.to(device) for one in inputs)).cpu().numpy()
            for (place, rows, _), found in zip(shown, logits, strict=True):
                scores[place].update(zip(rows, found.tolist(), strict=False))
    values, ends = examples.near
    near = [values[begin:end].tolist() for begin, end in itertools.pairwise(ends)]
    for place, found in scores.items():
        near[place] = sorted(found, key=found.__getitem__, reverse=True)[:_MINED]
    return replace(examples, near=ragged(near))


def ragged(lists: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Lists one after the other, and where each begins and the last ends."""
    ends = np.cumsum([0, *map(len, lists)])
    return np.fromiter((item for one in lists for item in one), np.int32, int(ends[-1])), ends


class Reader(nn.Module):
    """The encoder with adapters and a layer that scores the mean state of each row."""

    def __init__(self, folder: Path, rank: int = RANK, frozen: int = FROZEN_LAYERS) -> None:
        super().__init__()
        encoder = AutoModel.from_pretrained(folder, use_safetensors=True, trust_remote_code=False)
        self.encoder = adapt(encoder.float(), rank, frozen)
        self.head = nn.Linear(2 * self.encoder.config.hidden_size, 1)

    def forward(self, ids: torch.Tensor, types: torch.Tensor, owners: torch.Tensor) -> torch.Tensor:
        """Log-odds of rows, shape (examples, rows), from the row of each token, shape (examples, tokens)."""
        mask = (ids != 0).long()
        states = self.encoder(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state
        means = nn.functional.one_hot(owners + 1, ROWS_AT_ONCE + 1)[..., 1:].transpose(1, 2).to(states.dtype)
        rows = (means @ states) / means.sum(-1, keepdim=True).clamp(min=1)
        scores: torch.Tensor = self.head(torch.cat([rows, rows * states[:, :1]], -1)).squeeze(-1)
        return scores.float()


def loss_of(logits: torch.Tensor, right: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of each row, and of the choice among rows where one is right."""
    each = nn.functional.binary_cross_entropy_with_logits(logits, right, reduction="none")
    chosen = -(torch.log_softmax(logits.masked_fill(real == 0, -1e4), 1) * right).sum(1)
    chosen = chosen / right.sum(1).clamp(min=1)
    return (_POINTWISE * (each * real).sum(1) / real.sum(1).clamp(min=1) + _LISTWISE * chosen).mean()


def train(
    examples: RowExamples,
    model: Reader,
    epochs: float,
    workers: int,
    seconds: float,
    slower: float,
    size: int = BATCH,
    in_full: float = IN_FULL,
) -> Reader:
    """What is learned of a model, trained on the examples that are not left out, for so long at most."""
    device = training_device()
    model.train().to(device)
    adapters = [p for name, p in model.named_parameters() if p.requires_grad and "head" not in name]
    groups = [{"params": adapters}, {"params": list(model.head.parameters())}]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
    kept = np.repeat(np.arange(len(examples.source)), np.where(examples.left_out, 0, examples.times))
    steps = max(1, int(epochs * len(kept) / size))
    drawn = Batches(examples, kept, steps, size, in_full)
    batches = DataLoader(drawn, batch_size=None, num_workers=workers, pin_memory=device.type == "cuda")
    slower *= (size / BATCH) ** 0.5
    begun = time.perf_counter()
    for step, read in enumerate(batches):
        ids, types, owners, right, real = (one.to(device, non_blocking=True) for one in read)
        spent = time.perf_counter() - begun
        if spent > seconds:
            break
        done = max(step / steps, spent / seconds)
        for group, rate in zip(optimiser.param_groups, RATES, strict=True):
            group["lr"] = slower * rate * min(1.0, (step + 1) / _WARM_UP) * max(_LAST_RATE, 1 - done)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            logits = model(ids, types, owners)
        loss = loss_of(logits, right, real)
        take_step(optimiser, loss)
        if step % 50 == 0:
            rate = (step + 1) * size / (time.perf_counter() - begun)
            print(f"step {step} of {steps}, loss {loss.item():.3f}, {rate:.0f} examples a second", flush=True)
    return model.eval()


def first_right(model: Reader, examples: RowExamples, full: bool) -> dict[str, str]:
    """Share of left-out examples, of filings first, whose best row is right, with rows in short or in full.

    Last, of those in filings, how often one whose best row is right is surer than one where it is not.
    """
    hits: Counter[str] = Counter()
    total: Counter[str] = Counter()
    sure: tuple[list[float], list[float]] = ([], [])
    model.eval()
    rng = random.Random(SEED)
    of_filings = [str(name).endswith(IN_FILINGS) for name in examples.sources]
    places = np.flatnonzero(examples.left_out).tolist()
    rng.shuffle(places)
    places = sorted(places, key=lambda place: not of_filings[examples.source[place]])[:_MOST_TESTED]
    device = next(model.parameters()).device
    with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
        for start in range(0, len(places), 128):
            part = places[start : start + 128]
            ids, types, owners, right, real = examples.batch(part, rng, full)
            logits = model(ids.to(device), types.to(device), owners.to(device)).cpu()
            highest, best = logits.masked_fill(real == 0, -1e4).max(1)
            for place, first, own, chance in zip(part, best, right, highest.tolist(), strict=True):
                name = str(examples.sources[examples.source[place]])
                total[name] += bool(own.any())
                hits[name] += bool(own[first])
                if name.endswith(IN_FILINGS):
                    sure[bool(own[first])].append(chance)
    found = {name: f"{hits[name] / count:.3f} of {count}" for name, count in total.items() if count}
    if all(sure):
        wrong, right_ones = map(np.array, sure)
        found["surer"] = f"{(right_ones[:, None] > wrong).mean():.3f}"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", type=Path)
    parser.add_argument("folder", type=Path, help="of the default encoder")
    parser.add_argument("weights", type=Path, help="file that is written")
    parser.add_argument("--epochs", type=float, default=4.0)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--rank", type=int, default=RANK)
    parser.add_argument("--frozen", type=int, default=FROZEN_LAYERS, help="lower layers without adapters")
    parser.add_argument("--start", type=Path, help="weights of the same rank to go on from")
    parser.add_argument("--without", nargs="*", default=[], help="sources that are not learned from")
    parser.add_argument("--times", nargs="*", default=[], help="SOURCE=TIMES that it is seen in an epoch")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="most time that is spent")
    parser.add_argument("--in-full", type=float, default=IN_FULL, help="share of batches with rows in full")
    parser.add_argument(
        "--mine", action="store_true", help="first find the wrong rows that it takes for right"
    )
    parser.add_argument("--workers", type=int, default=0, help="processes that draw examples")
    options = parser.parse_args()
    examples = RowExamples.load(options.examples)
    for place, name in enumerate(examples.sources):
        if any(str(name).startswith(one) for one in options.without):
            examples.times[examples.source == place] = 0
    for one in options.times:
        source, _, times = one.partition("=")
        examples.times[examples.source == list(examples.sources).index(source)] = int(times)
    torch.manual_seed(SEED)
    model = Reader(options.folder, options.rank, options.frozen)
    if options.start is not None:
        resume(model, load_file(options.start))
        print("before", first_right(model.to(training_device()), examples, True), flush=True)
    if options.mine:
        examples = mined(examples, model, options.workers)
    slower = _RESUMED if options.start else 1.0
    limits = options.epochs, options.workers, options.seconds
    train(examples, model, *limits, slower, options.batch, options.in_full)
    save_file(adapter_arrays(model), str(options.weights))
    for full in (False, True):
        print("in full" if full else "in short", first_right(model, examples, full), flush=True)


if __name__ == "__main__":
    main()
