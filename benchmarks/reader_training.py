"""Trains the model that reads questions on examples of ``benchmarks.question_reader``.

    python -m benchmarks.reader_training EXAMPLES.npz MINILM_FOLDER WEIGHTS.safetensors
    python -m benchmarks.reader_training EXAMPLES.npz MINILM_FOLDER WEIGHTS.safetensors \\
        --resume EARLIER.safetensors --epochs 1.6 --rate 6e-4

The shipped weights were trained as in the first line, before 3,299 questions (``voices``) were written.
Nothing of the package is needed, so it runs on another machine as well: on a GPU where there is one.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save_file
from torch import nn
from transformers import AutoModel

from benchmarks.adapters import adapt, adapter_arrays, resume, take_step

SEED = 0
BATCH, RATE, EPOCHS = 32, 1.2e-3, 6.0
RANK, FROZEN_LAYERS = 32, 0
OF_SIGN, OF_OPERATION, OF_FORM, OF_DIRECTION = 0.3, 0.4, 0.4, 0.2
"""Weights of the signs of words and of what is said of a question, beside that of its words."""

NOT_KNOWN = -1
SIGN = 10
"""A token that is added to its measure has this much more than its tag, one that is taken off twice that."""

_WARM_UP, _LAST_RATE = 40, 0.02
_SAID = ("operations", "forms", "directions")


@dataclass(frozen=True)
class ReaderExamples:
    """Questions as tokens with what each belongs to.

    Attributes:
        ids: identifiers of all questions, one after the other.
        tags: of each token, its place in the package's ``TAGS`` plus `SIGN` times its sign, or `NOT_KNOWN`.
        ends: where each question begins and ends, one more than there are questions.
        said: output, form and direction of each question or `NOT_KNOWN`, shape (questions, 3).
        signs: whether the signs of a question are known.
        source: name of where each question comes from, by its place in ``sources``.
        left_out: whether each is for testing.
        counts: of tags, outputs, forms and directions.
    """

    ids: np.ndarray
    tags: np.ndarray
    ends: np.ndarray
    said: np.ndarray
    signs: np.ndarray
    source: np.ndarray
    sources: np.ndarray
    left_out: np.ndarray
    counts: np.ndarray

    def save(self, file: Path) -> None:
        """Write all to an ``.npz``."""
        np.savez_compressed(file, **vars(self))

    @classmethod
    def load(cls, file: Path) -> ReaderExamples:
        """Read what `save` wrote."""
        return cls(**np.load(file))

    def batch(self, places: np.ndarray) -> tuple[torch.Tensor, ...]:
        """Identifiers, mask, tags and signs of tokens, and what is said of the questions."""
        spans = [slice(self.ends[place], self.ends[place + 1]) for place in places]
        longest = max(span.stop - span.start for span in spans)
        ids, mask = (torch.zeros(len(spans), longest, dtype=torch.long) for _ in range(2))
        tags, signs = (torch.full((len(spans), longest), NOT_KNOWN) for _ in range(2))
        for at, (place, span) in enumerate(zip(places, spans, strict=True)):
            count = span.stop - span.start
            own = torch.tensor(self.tags[span].astype(np.int64))
            known = own != NOT_KNOWN
            base = torch.where(known, own % SIGN, own)
            ids[at, :count] = torch.tensor(self.ids[span].astype(np.int64))
            mask[at, :count] = 1
            tags[at, :count] = base
            if self.signs[place]:
                signs[at, :count] = torch.where((base == 1) | (base == 2), own // SIGN, NOT_KNOWN)
        return ids, mask, tags, signs, torch.tensor(self.said[places].astype(np.int64))


class Reader(nn.Module):
    """The encoder with adapters, layers that tag tokens and layers that read the mean state."""

    def __init__(self, folder: Path, counts: np.ndarray, rank: int, frozen: int) -> None:
        super().__init__()
        encoder = AutoModel.from_pretrained(folder, use_safetensors=True, trust_remote_code=False)
        self.encoder = adapt(encoder.float(), rank, frozen)
        width = self.encoder.config.hidden_size
        tags, outputs, forms, directions = map(int, counts)
        self.tag = nn.Linear(width, tags)
        self.sign = nn.Linear(width, 3)
        self.operation = nn.Linear(width, outputs)
        self.form = nn.Linear(width, forms)
        self.direction = nn.Linear(width, directions)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Scores of tags and signs, shape (questions, tokens, tags), of outputs, forms and directions."""
        states = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        real = mask[..., None].to(states.dtype)
        mean = (states * real).sum(1) / real.sum(1)
        of_words = self.tag(states), self.sign(states)
        return (*of_words, self.operation(mean), self.form(mean), self.direction(mean))


def train(
    examples: ReaderExamples, model: Reader, epochs: float, seconds: float, most: float = RATE
) -> Reader:
    """The adapters of a model, trained for so long at most; questions of like length are read together.

    Args:
        most: the rate of learning that it comes down from.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model.train().to(device)
    rng = np.random.default_rng(SEED)
    learned = [value for value in model.parameters() if value.requires_grad]
    optimiser = torch.optim.AdamW(learned, lr=RATE, weight_decay=0.01)
    kept = np.flatnonzero(~examples.left_out)
    lengths = np.diff(examples.ends)[kept]
    steps = max(1, int(epochs * len(kept) / BATCH))
    entropy = nn.CrossEntropyLoss(ignore_index=NOT_KNOWN)
    begun = time.perf_counter()
    queue: list[np.ndarray] = []
    for step in range(steps):
        spent = time.perf_counter() - begun
        if spent > seconds:
            break
        done = max(step / steps, spent / seconds)
        for group in optimiser.param_groups:
            group["lr"] = most * min(1.0, (step + 1) / _WARM_UP) * max(_LAST_RATE, 1 - done)
        if not queue:
            order = kept[np.argsort(lengths // 3 + 3 * rng.random(len(kept)), kind="stable")]
            queue = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
            rng.shuffle(queue)
        ids, mask, tags, signs, said = (part.to(device) for part in examples.batch(queue.pop()))
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            of_words, of_signs, *of_questions = (scores.float() for scores in model(ids, mask))
        loss = torch.nan_to_num(entropy(of_words.flatten(0, 1), tags.flatten()))
        loss = loss + OF_SIGN * torch.nan_to_num(entropy(of_signs.flatten(0, 1), signs.flatten()))
        weights = (OF_OPERATION, OF_FORM, OF_DIRECTION)
        for weight, scores, known in zip(weights, of_questions, said.T, strict=True):
            loss = loss + weight * torch.nan_to_num(entropy(scores, known))
        take_step(optimiser, loss)
        if step % 200 == 0:
            rate = (step + 1) * BATCH / (time.perf_counter() - begun)
            print(
                f"step {step} of {steps}, loss {loss.item():.3f}, {rate:.0f} questions a second", flush=True
            )
    return model.eval()


def shares_right(model: Reader, examples: ReaderExamples) -> dict[str, str]:
    """Shares of tokens and of questions that are tagged right, and of what is said of them, by source."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    places = np.flatnonzero(examples.left_out)
    device = next(model.parameters()).device
    with torch.no_grad():
        for start in range(0, len(places), BATCH):
            part = places[start : start + BATCH]
            ids, mask, tags, signs, said = (one.to(device) for one in examples.batch(part))
            of_words, of_signs, *of_questions = model(ids, mask)
            for at, place in enumerate(part):
                count = counts[str(examples.sources[examples.source[place]])]
                for what, scores, wanted in (("tokens", of_words, tags), ("signs", of_signs, signs)):
                    known = wanted[at] != NOT_KNOWN
                    right = scores[at].argmax(-1)[known] == wanted[at][known]
                    count[what] += int(known.sum())
                    count[f"right {what}"] += int(right.sum())
                    if known.any():
                        count[f"questions by {what}"] += 1
                        count[f"right questions by {what}"] += bool(right.all())
                for what, scores, wanted in zip(_SAID, of_questions, said[at], strict=True):
                    if wanted != NOT_KNOWN:
                        count[what] += 1
                        count[f"right {what}"] += bool(scores[at].argmax() == wanted)
    names = ("tokens", "questions by tokens", "signs", "questions by signs", *_SAID)
    return {
        source: ", ".join(
            f"{what} {count[f'right {what}'] / count[what]:.3f} of {count[what]}"
            for what in names
            if count[what]
        )
        for source, count in counts.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", type=Path)
    parser.add_argument("folder", type=Path, help="of the default encoder")
    parser.add_argument("weights", type=Path, help="file that is written")
    parser.add_argument("--epochs", type=float, default=EPOCHS)
    parser.add_argument("--resume", type=Path, help="weights to go on from")
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--rank", type=int, default=RANK)
    parser.add_argument("--frozen", type=int, default=FROZEN_LAYERS, help="lower layers without adapters")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="most time that is spent")
    options = parser.parse_args()
    examples = ReaderExamples.load(options.examples)
    torch.manual_seed(SEED)
    model = Reader(options.folder, examples.counts, options.rank, options.frozen)
    if options.resume:
        resume(model, load_file(options.resume))
    train(examples, model, options.epochs, options.seconds, options.rate)
    for source, shares in shares_right(model, examples).items():
        print(source, shares, flush=True)
    save_file(adapter_arrays(model), str(options.weights))


if __name__ == "__main__":
    main()
