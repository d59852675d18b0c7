"""Trains the model that tells which line, formula or disclosed quantity a question asks for.

    FINRAG_LAKE=LAKE python -m benchmarks.line_reader FIRST.safetensors
    FINRAG_LAKE=LAKE python -m benchmarks.line_reader WEIGHTS.safetensors --resume FIRST.safetensors \\
        --epochs 2.6 --rate 7e-4 --seed 1

It learns from ``line_questions.jsonl``, and from the questions about rows of ``filing_row_phrases.jsonl``
whose filings the lake holds: a row of a primary statement asks for the line of its concept, one with a
label of ``disclosures.toml`` for what that is a label of, another one of a note or a segment for nothing.
Of two hands and of six companies nothing is learned. Two cores take three quarters of an hour.
"""

from __future__ import annotations

import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from rich.progress import track
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer
from torch import nn
from transformers import AutoModel

from benchmarks import arguments
from benchmarks.adapters import adapt, adapter_arrays, resume, take_step
from benchmarks.question_reader import WORDINGS, asides, of_readings
from benchmarks.row_cross_encoder import ASKED, FRAMES, random_text
from benchmarks.row_questions import FILING_ROW_PHRASES, RANKED, company_of
from finrag_pipeline.answering.open_answer import known_name
from finrag_pipeline.answering.row_book import in_series
from finrag_pipeline.embedding.model_files import MINILM, model_folder
from finrag_pipeline.questions.formula_lexicon import Line, formula_lexicon
from finrag_pipeline.questions.line_reader import NAMES, disclosures
from finrag_pipeline.questions.plan import read_plan
from finrag_pipeline.questions.question_reader import COMPANY, Operation
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.settings import get_settings
from finrag_pipeline.statements.filing_rows import FilingRow, FilingRows
from finrag_pipeline.storage.lake import Lake

LINE_QUESTIONS = FILING_ROW_PHRASES.with_name("line_questions.jsonl")
TESTING = ("le", "ie")
"""Hands of whose questions nothing is learned."""

SEED, RANK, BATCH, RATE, EPOCHS = 0, 32, 32, 1.2e-3, 4.0
MOST_TOKENS = 96
_WARM_UP, _LAST_RATE, _SMOOTHING = 60, 0.02, 0.05
_BOUNDS = (0.5, 0.6, 0.7, 0.8, 0.9)
_WHEN = (
    "in {}", "in fiscal {}", "for {}", "FY{}", "fy{}", "{}", "in Q2 {}", "at the end of {}", "this year",
    "at December 31, {}", "during {}", "for the year {}", "last year", "in the third quarter of {}",
    "as of year-end {}", "in FY {}", "for the nine months to September {}",
)  # fmt: skip
_MEASURES = 0.3
"""Share of the questions whose measures are examples too."""

NOT_SURE = ""
OF_EACH, SCALE = 12, 6.0
"""Texts of each line that the training begins with, and how far apart these are told."""

MADE = 2000
"""How many examples are made of wordings, of known quantities and of others each."""

_OF_ONE = (Operation.VALUE, Operation.CHANGE, Operation.GROWTH, Operation.AVERAGE)
_OF_TWO = (Operation.RATIO, Operation.DIFFERENCE, Operation.SUM)
_LABEL = range(4, 91)
"""Characters of a label that is a phrase."""


@dataclass(frozen=True)
class Example:
    """Words that ask for a line, a formula, a disclosed quantity, or for none of them (None).

    Attributes:
        text: with ``{C}``, ``{P}`` and ``{Q}`` for a company and periods.
        source: name of where it comes from.
        share: of the epochs that see it.
        phrase: it is no whole question.
    """

    text: str
    line: str | None
    source: str
    share: float = 1.0
    phrase: bool = False


def written() -> Iterator[Example]:
    """Questions written for lines, formulas and what is near them, and the measures that are read in them."""
    lexicon, rng = formula_lexicon(), random.Random(SEED)
    asked = list(map(json.loads, LINE_QUESTIONS.read_text("utf-8").splitlines()))
    for one in track(asked, "reading measures"):
        text, line, testing = one["question"], one["line"], one["hand"] in TESTING
        source = "testing" if testing else "written"
        yield Example(text, line, source)
        if testing or rng.random() > _MEASURES:
            continue
        filled = text.replace("{C}", COMPANY).replace("{P}", "in 2022").replace("{Q}", "in 2021")
        plan = read_plan(filled, [COMPANY], lambda words: known_name(words, lexicon) is not None)
        if plan is not None and plan.one_of is None and len(plan.measures) == 1:
            yield Example(plan.measures[0], line, source, 0.8)


def of_rows(rows: FilingRows) -> Iterator[Example]:
    """Questions about rows of filings, and labels; rows whose line is not sure are left out."""
    pools = {filing: in_series(rows.of(filing)) for filing in sorted(rows.filings)}
    for one in map(json.loads, FILING_ROW_PHRASES.read_text("utf-8").splitlines()):
        pool, place = pools.get(one["filing"], []), one["row"]
        if place >= len(pool) or pool[place].label != one["label"]:
            continue
        line = line_of(pool[place])
        if line == NOT_SURE:
            continue
        testing = company_of(one["filing"]) in RANKED
        source, share = "rows, testing" if testing else "rows", 1.0 if line else 0.3
        yield from (Example(text, line, source, share) for text in one["questions"])
        if not testing:
            yield from (Example(text, line, source, share, True) for text in one["phrases"])
    meant: dict[str, set[str | None]] = defaultdict(set)
    for row in (row for filing, pool in pools.items() for row in pool if company_of(filing) not in RANKED):
        if len(row.label) in _LABEL:
            meant[row.label].add(line_of(row))
    sure = {label: lines.pop() for label, lines in meant.items() if len(lines) == 1}
    for label, line in sure.items():
        if line != NOT_SURE:
            yield Example(label, line, "labels", 1.0 if line else 0.25, True)
    yield from of_wordings([label for label, line in sure.items() if line is None])


def of_wordings(others: Sequence[str]) -> Iterator[Example]:
    """Known quantities in wordings of any operation, and pairs with ``others``, which ask for none."""
    rng = random.Random(SEED)
    lexicon = formula_lexicon()
    phrases = [(one.text, one.name) for one in lexicon.phrases if one.name in lexicon.entries]
    labels = [(label, name) for name, own in disclosures().items() for label in own]
    marks = {"p": "{P}", "q": "{Q}", "c": "{C}"}
    for _ in range(MADE):
        text, name = rng.choice(phrases if rng.random() < 0.6 else labels)
        said = random_text(text, rng)
        wordings = [one for one in WORDINGS[rng.choice(_OF_ONE)] if "{b}" not in one]
        yield Example(rng.choice(wordings).format(a=said, **marks), name, "wordings")
        pair = [said, rng.choice(others)]
        rng.shuffle(pair)
        wording = rng.choice([one for one in WORDINGS[rng.choice(_OF_TWO)] if "{b}" in one])
        yield Example(wording.format(a=pair[0], b=pair[1], **marks), None, "wordings")


def line_of(row: FilingRow) -> str | None:
    """What a row asks for: a line, a disclosed quantity, neither (None), or `NOT_SURE`."""
    if row.statement:
        return _LINES.get(row.concept or "", NOT_SURE)
    if row.concept or known_name(row.label, formula_lexicon()):
        return NOT_SURE
    said = frozenset(terms(row.label))
    if said in _LABELS:
        return _LABELS[said]
    return NOT_SURE if any(label < said for label in _LABELS if len(label) > 1) else None


def _line_of_concept() -> dict[str, str]:
    """The line by the concept that it is first of all, where that is one line."""
    lines: dict[str, list[str]] = defaultdict(list)
    for entry in formula_lexicon().entries.values():
        if isinstance(entry, Line) and entry.concepts and not entry.name.endswith("_line"):
            lines[entry.concepts[0]].append(entry.name)
    return {concept: names[0] for concept, names in lines.items() if len(names) == 1}


_LINES: Mapping[str, str] = _line_of_concept()
_LABELS = {frozenset(terms(label)): name for name, own in disclosures().items() for label in own}


class Wording:
    """Puts companies, periods and other words around examples."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._asides = asides(list(of_readings()))

    def _period(self) -> str:
        return self._rng.choice(_WHEN).format(self._rng.randint(2009, 2025))

    def filled(self, text: str) -> str:
        """A question of a company and periods."""
        parts = (("{C}", COMPANY), ("{P}", self._period()), ("{Q}", self._period()))
        for mark, words in parts:
            text = text.replace(mark, words)
        return " ".join(text.split())

    def varied(self, one: Example) -> str:
        """An example in one of the forms in which it may be met."""
        rng, text = self._rng, self.filled(one.text)
        if one.phrase:
            text = rng.choice(ASKED).format(text) if rng.random() < 0.6 else text
        if rng.random() < 0.2:
            text = text.rstrip("?.")
        if rng.random() < 0.12:
            text = rng.choice(FRAMES).format(text[:1].lower() + text[1:].rstrip("?"))
        if rng.random() < 0.15:
            aside = rng.choice(self._asides)
            text = f"{aside} {text}" if rng.random() < 0.7 else f"{text} {aside}"
        return text.lower() if rng.random() < 0.2 else text


class Model(nn.Module):
    """The encoder with adapters and a layer over its mean state; the first output is "none of them"."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        folder = model_folder(MINILM)
        encoder = AutoModel.from_pretrained(folder, use_safetensors=True, trust_remote_code=False)
        self.encoder = adapt(encoder.float(), RANK, 0)
        self.line = nn.Linear(self.encoder.config.hidden_size, outputs)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MOST_TOKENS)

    def states(self, texts: Sequence[str]) -> torch.Tensor:
        """Mean states, shape (texts, dimensions)."""
        read = [torch.tensor(self.tokenizer.encode(text).ids) for text in texts]
        ids = nn.utils.rnn.pad_sequence(read, batch_first=True)
        mask = nn.utils.rnn.pad_sequence([torch.ones_like(one) for one in read], batch_first=True)
        states = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        real = mask[..., None].to(states.dtype)
        return (states * real).sum(1) / real.sum(1)

    def forward(self, texts: Sequence[str]) -> torch.Tensor:
        """Scores, shape (texts, outputs)."""
        return self.line(self.states(texts))


def begin(model: Model, examples: Sequence[Example], places: Mapping[str | None, int]) -> None:
    """Set the last layer to tell lines by the mean states of their texts: from chance it hardly learns."""
    wording = Wording(random.Random(SEED))
    groups: dict[int, list[str]] = defaultdict(list)
    for one in examples:
        if len(own := groups[places[one.line]]) < OF_EACH:
            own.append(wording.filled(one.text))
    model.eval()
    with torch.no_grad():
        means = torch.stack([model.states(groups[place]).mean(0) for place in range(len(places))])
        apart = means - means.mean(0)
        model.line.weight.copy_(SCALE * apart / apart.norm(dim=1, keepdim=True) ** 2)
        model.line.bias.copy_(-model.line.weight @ means.mean(0))


def train(
    model: Model,
    examples: Sequence[Example],
    places: Mapping[str | None, int],
    epochs: float,
    most: float,
    seed: int,
) -> None:
    """Train adapters and the last layer; texts of like length are read together.

    Args:
        most: the rate of learning that it comes down from.
    """
    rng = random.Random(seed)
    wording = Wording(rng)
    learned = [value for value in model.parameters() if value.requires_grad]
    optimiser = torch.optim.AdamW(learned, lr=RATE, weight_decay=0.01)
    entropy = nn.CrossEntropyLoss(label_smoothing=_SMOOTHING)
    steps = int(epochs * sum(one.share for one in examples) / BATCH)
    queue: list[list[tuple[str, int]]] = []
    begun = time.perf_counter()
    model.train()
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = most * min(1.0, (step + 1) / _WARM_UP) * max(_LAST_RATE, 1 - step / steps)
        if not queue:
            often = [one for one in examples for _ in range(int(one.share + rng.random()))]
            asked = [(wording.varied(one), places[one.line]) for one in often]
            asked.sort(key=lambda pair: len(pair[0]) // 15 + 3 * rng.random())
            queue = [asked[start : start + BATCH] for start in range(0, len(asked), BATCH)]
            rng.shuffle(queue)
        texts, lines = zip(*queue.pop(), strict=True)
        loss = entropy(model(texts), torch.tensor(lines))
        take_step(optimiser, loss)
        if step % 200 == 0:
            rate = (step + 1) * BATCH / (time.perf_counter() - begun)
            print(f"step {step} of {steps}, loss {loss.item():.3f}, {rate:.0f} texts a second", flush=True)
    model.eval()


def report(model: Model, examples: Sequence[Example], places: Mapping[str | None, int]) -> None:
    """Print by source how often the likeliest line is the right one, and how often above some bounds."""
    wording = Wording(random.Random(SEED))
    groups: dict[str, list[Example]] = defaultdict(list)
    for one in examples:
        groups[f"{one.source}, {'lines' if one.line else 'none'}"].append(one)
    for name, group in groups.items():
        with torch.no_grad():
            parts = (group[start : start + BATCH] for start in range(0, len(group), BATCH))
            scores = [model([wording.filled(one.text) for one in part]).softmax(-1).numpy() for part in parts]
        chances = np.concatenate(scores)[:, 1:]
        gold = np.array([places[one.line] for one in group])
        right, best = chances.argmax(1) + 1 == gold, chances.max(1)
        surely = {bound: best >= bound for bound in _BOUNDS}
        told = (
            f"{bound}: {(right & sure).mean():.3f} right, {(~right & sure).mean():.3f} wrong"
            for bound, sure in surely.items()
        )
        print(f"{name} ({len(group)}): first {right.mean():.3f}; {'; '.join(told)}", flush=True)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("weights", type=Path, help="file that is written")
    parser.add_argument("--resume", type=Path, help="weights to go on from")
    parser.add_argument("--epochs", type=float, default=EPOCHS)
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    torch.manual_seed(SEED)
    examples = [*written(), *of_rows(FilingRows(Lake(get_settings().lake)))]
    names = sorted({one.line for one in examples if one.line})
    places = {None: 0} | {name: place for place, name in enumerate(names, 1)}
    model = Model(len(places))
    learned = [one for one in examples if "testing" not in one.source]
    random.Random(SEED).shuffle(learned)
    if options.resume:
        resume(model, load_file(options.resume))
    else:
        begin(model, learned, places)
    train(model, learned, places, options.epochs, options.rate, options.seed)
    report(model, [one for one in examples if "testing" in one.source], places)
    named = np.frombuffer("\n".join(names).encode(), np.uint8)
    save_file(adapter_arrays(model) | {NAMES: named}, options.weights)


if __name__ == "__main__":
    main()
