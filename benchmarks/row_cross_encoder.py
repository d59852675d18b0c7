"""Trains the cross-encoder of questions and printed rows that is shipped; tests it on what is left out.

    FINRAG_LAKE=lake python -m benchmarks.row_cross_encoder TAGS --tatqa FOLDER --finqa FOLDER [--write]

``TAGS`` is that of ``benchmarks.row_matcher``. Each example is a question with up to ten rows: those that are
right, rows of the same and of other tables of the filing that share words with it, and rows of statements. So
that it can say that no row is right, some questions are asked without theirs, or of another quantity by a
foreign word; so that words of talking do not mislead it, others are asked in more words than they need, or in
phrases of the lexicon. Every sixth filing or company is left out of training.

``TAGS`` may be left out where a training goes on (``--resume``).

Trained are adapters of rank 16 on the upper four layers of the default encoder (Hu et al., LoRA, 2021), about
440,000 weights: an hour on two cores.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer
from torch import nn
from transformers import AutoModel

from benchmarks import arguments
from benchmarks.row_matcher import FOREIGN, _words, ask, read_filing, read_labels
from benchmarks.row_questions import Labelled, finqa, tatqa
from finrag_pipeline.answering.row_cross_encoder import (
    ADAPTER_FILE,
    ROWS_AT_ONCE,
    RowReaderTokens,
    Texts,
    row_texts,
)
from finrag_pipeline.answering.row_matcher import Features, row_matcher
from finrag_pipeline.embedding.model_files import MINILM, model_folder
from finrag_pipeline.questions.formula_lexicon import Line, formula_lexicon
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.settings import get_settings
from finrag_pipeline.statements.filing_rows import FilingRow, FilingRows
from finrag_pipeline.storage.lake import Lake

SEED = 0
BATCH = 16
RANK, SCALE, FROZEN_LAYERS = 16, 2.0, 2
RATES = (1.2e-3, 2e-3)
PHRASES = Path(__file__).parent / "questions" / "concept_phrases.jsonl"
"""Words of people for concepts of us-gaap."""

SHIPPED = str(files("finrag_pipeline.answering") / ADAPTER_FILE)
RESUMED, OTHERS = 0.4, 3000
"""Share of the rates with which a training goes on, and how many examples not written for it it sees."""

WRITTEN = ", written"
TIMES_WRITTEN = 2
"""How often each question written for its rows is seen."""

_OF_A_CONCEPT = 2
"""Phrases that each concept of a filing is asked for with."""

_CANDIDATES = 30
_LISTWISE = 0.5
_POINTWISE = 4.0

FRAMES = (
    "i'm curious {}", "my boss wants to know {}", "{} please", "could you tell me {}", "so {}",
    "remind me, {}", "quick one: {}", "for a memo i need {}", "{} according to the filing",
    "we are debating {}", "{} how much was that", "give me {}", "look up {}", "do you happen to know {}",
)  # fmt: skip
FILLERS = (
    "rake in", "pocket", "burn through", "plough into", "sitting on", "tied up in", "eaten up by", "log",
    "chalk up", "bank", "fork out", "lavish on", "set aside for", "side of the house", "part of the business",
    "money", "bill for", "tally of", "pile of", "level of", "line for", "booked", "outlay on", "worth of",
)  # fmt: skip
ASKED = (
    "what was {}?", "how much {} did it report?", "{}", "what is the percentage change in {}?",
    "show {} over the last three years", "did {} rise?", "by how much did {} change?", "how big was {}?",
    "which share of the total was {}?", "compare {} with the year before", "what did {} come to?",
)  # fmt: skip


@dataclass(frozen=True)
class Example:
    """A question with rows, and which of them are right."""

    source: str
    group: str
    measure: str
    question: str
    rows: tuple[Texts, ...]
    right: tuple[bool, ...]

    @property
    def left_out(self) -> bool:
        """Whether its filing or company is for testing."""
        return int(hashlib.sha256(self.group.encode()).hexdigest(), 16) % 6 == 0


def example(
    source: str,
    one: Labelled,
    candidates: Sequence[int],
    rng: random.Random,
    found: bool = True,
    unlikely: Sequence[int] = (),
) -> Example:
    """A question with its right rows, where they are to be found, and others among the candidates.

    A third of the others are of the ``unlikely`` ones, which it meets when it is asked too.
    """
    same = {(one.rows[place].path, one.rows[place].columns) for place in one.right}
    wrong, far = (
        [p for p in places if (one.rows[p].path, one.rows[p].columns) not in same]
        for places in (candidates, unlikely)
    )
    right = sorted(one.right)[:3] if found else []
    room = ROWS_AT_ONCE - len(right)
    drawn = rng.sample(far, min(len(far), room // 3))
    hard = [place for place in wrong if place not in drawn][: (room - len(drawn)) // 2]
    others = [place for place in wrong[: 2 * room] if place not in hard and place not in drawn]
    rng.shuffle(others)
    taken = (*right, *drawn, *hard, *others[: room - len(drawn) - len(hard)])
    chosen = [(row_texts(one.rows[p]), p in right) for p in taken]
    rng.shuffle(chosen)
    rows, marks = zip(*chosen, strict=True)
    return Example(source, one.group, one.measure, one.question, rows, marks)


def of_questions(source: str, asked: Sequence[Labelled], rng: random.Random) -> Iterator[Example]:
    """Examples of questions of people, some without their rows, with a foreign word or in more words."""
    associations = row_matcher().associations
    made: dict[int, Features] = {}
    foreign = sorted(FOREIGN)
    for one in track(asked, source):
        features = made.setdefault(id(one.rows), Features(one.rows, associations))
        likely = features.candidates(one.measure)[:_CANDIDATES]
        own = [place for place in range(one.own) if place not in likely]
        rng.shuffle(own)
        candidates = [*likely[:20], *own[:6], *likely[20:]]
        if len(set(candidates) - one.right) < 2:
            continue
        far = features.unnamed
        for _ in range(TIMES_WRITTEN if one.written else 1):
            named = f"{source}{WRITTEN}" if one.written else source
            yield example(named, one, candidates, rng, unlikely=far)
        kind, word = rng.random(), rng.choice(foreign)
        known = {term for row in one.rows for term in terms(" ".join((*row.path, *row.columns)))}
        if kind < 0.15:
            yield example(f"{source}, row absent", one, candidates, rng, found=False, unlikely=far)
        elif kind < 0.3 and known.isdisjoint(terms(word)):
            other = replace(
                one,
                measure=_with(word, one.measure, rng),
                question=f"{one.question.rstrip('?')} {word}?",
                right=frozenset(),
            )
            yield example(f"{source}, foreign word", other, [*one.right, *candidates], rng, unlikely=far)
        elif kind < 0.6:
            measure = _with(rng.choice(FILLERS), one.measure, rng) if rng.random() < 0.6 else one.measure
            text = rng.choice(FRAMES).format(one.question.rstrip("?") if rng.random() < 0.6 else measure)
            more = replace(one, measure=measure, question=text)
            yield example(f"{source}, more words", more, candidates, rng, unlikely=far)


def _with(word: str, measure: str, rng: random.Random) -> str:
    words = measure.split()
    words.insert(rng.randrange(len(words) + 1), word)
    return " ".join(words)


def of_filings(tags: Path, lake: Lake, rng: random.Random) -> Iterator[Example]:
    """Examples of names that filers gave their numbers, and of the lexicon's phrases for statement lines."""
    printed = FilingRows(lake)
    names = sorted(path.stem for path in tags.glob("*.jsonl") if path.stem in printed.filings)
    filings = [read_filing(name, printed.of(name), tags / f"{name}.jsonl") for name in names]
    labels = read_labels(filings)
    phrases = {_words(one["concept"]): one["phrases"] for one in map(json.loads, PHRASES.open())}
    vocabulary = sorted({*FOREIGN, *(word for filing in filings for word in filing.words)})
    for filing in track(filings, "filings"):
        features = Features(filing.rows, row_matcher().associations)
        statements = [place for place, row in enumerate(filing.rows) if row.statement]
        asked = list(ask(filing, labels, vocabulary, rng))
        named = [(words.lower(), right) for words, _, right in rng.sample(asked, min(120, len(asked)))]
        told = [
            (phrase, own.rows)
            for own in filing.named
            if not own.members and own.concept in phrases
            for phrase in rng.sample(phrases[own.concept], _OF_A_CONCEPT)
        ]
        for place, (words, right) in enumerate([*told, *named, *_lines(filing.rows, rng)]):
            one = Labelled(filing.company, words, rng.choice(ASKED).format(words), filing.rows, 0, right)
            shown = {abs(v.value) for place in right for v in filing.rows[place].values if abs(v.value) > 100}
            likely = [p for p in features.candidates(words)[:_CANDIDATES] if p not in right]
            others = [*likely[:18], *rng.sample(statements, min(6, len(statements)))]
            wrong = [p for p in others if shown.isdisjoint(abs(v.value) for v in filing.rows[p].values)]
            if len(wrong) > 1:
                source = (
                    f"phrases{WRITTEN}" if place < len(told) else "tags" if right else "tags, foreign word"
                )
                yield example(source, one, wrong, rng, unlikely=features.unnamed if place < len(told) else ())


def _lines(rows: Sequence[FilingRow], rng: random.Random) -> Iterator[tuple[str, frozenset[int]]]:
    """Words for lines of the statements, with words of talking, and the rows that are those lines."""
    places: dict[tuple[str | None, str | None], set[int]] = defaultdict(set)
    for place, row in enumerate(rows):
        places[row.concept, row.statement].add(place)
    lexicon = formula_lexicon()
    for line in lexicon.entries.values():
        if not isinstance(line, Line) or not lexicon.phrases_of(line.name):
            continue
        statement = next((s for s in line.statements if any((c, s) in places for c in line.concepts)), None)
        right = set().union(*(places.get((concept, statement), ()) for concept in line.concepts))
        for phrase in rng.sample(lexicon.phrases_of(line.name), 1) if 0 < len(right) <= 6 else ():
            words = random_text(phrase.text, rng)
            yield _with(rng.choice(FILLERS), words, rng) if rng.random() < 0.5 else words, frozenset(right)


def random_text(pattern: str, rng: random.Random) -> str:
    """A text that a phrase of the lexicon matches: of each choice one, of what may be absent mostly none."""
    text = pattern
    while group := re.search(r"\(([^()]*)\)([?*])?", text):
        keep = not group[2] or rng.random() < 0.3
        text = text[: group.start()] + (rng.choice(group[1].split("|")) if keep else "") + text[group.end() :]
    return " ".join(re.sub(r"\\(.)", r"\1", re.sub(r"(\w)\?", r"\1", text)).split())


# --- the model -------------------------------------------------------------------------------------------


class Adapted(nn.Module):
    """A linear layer with an adapter: ``W x + B A x`` (Hu et al., 2021, equation 3)."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base
        self.a = nn.Parameter(torch.randn(RANK, base.in_features) / math.sqrt(base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, RANK))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + (x @ self.a.T @ self.b.T) * SCALE


def adapt(encoder: nn.Module) -> nn.Module:
    """An encoder with adapters on its upper layers, which alone are trained."""
    encoder.requires_grad_(False)
    for layer in encoder.encoder.layer[FROZEN_LAYERS:]:
        own = layer.attention.self
        own.query, own.key, own.value = Adapted(own.query), Adapted(own.key), Adapted(own.value)
        for part in (layer.attention.output, layer.intermediate, layer.output):
            part.dense = Adapted(part.dense)
    return encoder


class Reader(nn.Module):
    """The encoder with adapters and a layer that scores the mean state of each row."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.encoder = adapt(AutoModel.from_pretrained(folder, use_safetensors=True, trust_remote_code=False))
        self.head = nn.Linear(2 * self.encoder.config.hidden_size, 1)

    def forward(self, ids: torch.Tensor, types: torch.Tensor, means: torch.Tensor) -> torch.Tensor:
        """Log-odds of rows, shape (examples, rows), from ``means`` of shape (examples, rows, tokens)."""
        mask = (ids != 0).long()
        states = self.encoder(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state
        rows = means @ states
        return self.head(torch.cat([rows, rows * states[:, :1]], -1)).squeeze(-1)

    def resume(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Take over adapters as they are shipped."""
        for name, value in self.named_parameters():
            if value.requires_grad:
                shipped = torch.tensor(arrays[name.removeprefix("encoder.")].astype(np.float32))
                value.data = shipped / SCALE if name.endswith(".b") else shipped

    def arrays(self) -> dict[str, np.ndarray]:
        """Adapters and last layer as they are shipped."""
        return adapter_arrays(self)


def adapter_arrays(model: nn.Module) -> dict[str, np.ndarray]:
    """Adapters and last layers of a model as they are shipped, in half precision."""
    found = {}
    for name, value in model.named_parameters():
        if value.requires_grad:
            scale = SCALE if name.endswith(".b") else 1.0
            found[name.removeprefix("encoder.")] = (value.detach().numpy() * scale).astype(np.float16)
    return found


def collate(examples: Sequence[Example], tokens: RowReaderTokens) -> tuple[torch.Tensor, ...]:
    """Identifiers, segments, means of rows, which rows are right, and which are rows at all."""
    read = [tokens.sequence(one.measure, one.question, one.rows) for one in examples]
    longest, most = max(len(ids) for ids, _, _ in read), max(len(one.rows) for one in examples)
    ids, types = (torch.zeros(len(read), longest, dtype=torch.long) for _ in range(2))
    means = torch.zeros(len(read), most, longest)
    right, real = torch.zeros(len(read), most), torch.zeros(len(read), most)
    for place, (one, (own, start, spans)) in enumerate(zip(examples, read, strict=True)):
        ids[place, : len(own)] = torch.tensor(own)
        types[place, start : len(own)] = 1
        for row, (begin, end) in enumerate(spans):
            means[place, row, begin:end] = 1 / (end - begin)
        right[place, : len(one.right)] = torch.tensor(one.right, dtype=torch.float)
        real[place, : len(one.right)] = 1
    return ids, types, means, right, real


def loss_of(logits: torch.Tensor, right: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of each row, and of the choice among rows where one is right."""
    each = nn.functional.binary_cross_entropy_with_logits(logits, right, reduction="none")
    chosen = -(torch.log_softmax(logits.masked_fill(real == 0, -1e4), 1) * right).sum(1)
    chosen = chosen / right.sum(1).clamp(min=1)
    return (_POINTWISE * (each * real).sum(1) / real.sum(1) + _LISTWISE * chosen).mean()


def train(
    examples: list[Example], epochs: float, tokens: RowReaderTokens, folder: Path, resumed: bool = False
) -> Reader:
    """The adapters, trained; rows of an example come in another order each time."""
    rng = random.Random(SEED)
    torch.manual_seed(SEED)
    model = Reader(folder).train()
    if resumed:
        model.resume(load_file(SHIPPED))
    adapters = [p for name, p in model.named_parameters() if p.requires_grad and "head" not in name]
    slower = RESUMED if resumed else 1.0
    groups = [
        {"params": adapters, "lr": slower * RATES[0]},
        {"params": list(model.head.parameters()), "lr": slower * RATES[1]},
    ]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
    steps = int(epochs * len(examples) / BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(1.0, (step + 1) / 40) * max(0.02, 1 - step / max(steps, 1))
    )
    begun = time.perf_counter()
    queue: list[list[Example]] = []
    for step in range(steps):
        if not queue:
            rng.shuffle(examples)
            queue = [examples[start : start + BATCH] for start in range(0, len(examples), BATCH)]
        batch = []
        for one in queue.pop():
            pairs = list(zip(one.rows, one.right, strict=True))
            rng.shuffle(pairs)
            rows, right = zip(*pairs, strict=True)
            batch.append(replace(one, rows=rows, right=right))
        ids, types, means, right_rows, real = collate(batch, tokens)
        loss = loss_of(model(ids, types, means), right_rows, real)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_([p for group in groups for p in group["params"]], 1.0)
        optimiser.step()
        schedule.step()
        if step % 50 == 0:
            rate = (step + 1) * BATCH / (time.perf_counter() - begun)
            print(f"step {step} of {steps}, loss {loss.item():.3f}, {rate:.1f} examples a second", flush=True)
    return model.eval()


def first_right(model: Reader, examples: Sequence[Example], tokens: RowReaderTokens) -> dict[str, str]:
    """Share of the examples whose best row is right, by source."""
    hits: Counter[str] = Counter()
    total: Counter[str] = Counter()
    with torch.no_grad():
        for start in range(0, len(examples), 32):
            part = examples[start : start + 32]
            ids, types, means, right, real = collate(part, tokens)
            best = model(ids, types, means).masked_fill(real == 0, -1e4).argmax(1)
            for one, place, own in zip(part, best, right, strict=True):
                total[one.source] += bool(own.any())
                hits[one.source] += bool(own[place])
    return {name: f"{hits[name] / count:.3f} of {count}" for name, count in total.items() if count}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("tags", type=Path, nargs="?")
    parser.add_argument("--tatqa", type=Path, required=True)
    parser.add_argument("--finqa", type=Path, required=True)
    parser.add_argument("--epochs", type=float, default=2.0)
    parser.add_argument("--resume", action="store_true", help="go on from the shipped adapters")
    parser.add_argument("--write", action="store_true", help="replace the shipped adapters")
    options = parser.parse_args()
    rng = random.Random(SEED)
    folder = model_folder(MINILM)
    tokens = RowReaderTokens(Tokenizer.from_file(str(folder / "tokenizer.json")))
    examples = [
        *of_questions("TAT-QA", list(tatqa(options.tatqa)), rng),
        *of_questions("FinQA", list(finqa(options.finqa)), rng),
        *(of_filings(options.tags, Lake(get_settings().lake), rng) if options.tags else ()),
    ]
    kept = [one for one in examples if not one.left_out]
    left_out = [one for one in examples if one.left_out]
    if options.resume:
        rng.shuffle(kept)
        written = [one for one in kept if one.source.endswith(WRITTEN)]
        kept = [*written, *[one for one in kept if not one.source.endswith(WRITTEN)][:OTHERS]]
        before = train([], 0, tokens, folder, resumed=True)
        Console().print("before", first_right(before, left_out, tokens))
    model = train(kept, options.epochs, tokens, folder, options.resume)
    Console().print(first_right(model, left_out, tokens))
    if options.resume:  # so it forgets less of what it knew (Wortsman et al., WiSE-FT, 2022, equation 1)
        new, old = model.arrays(), load_file(SHIPPED)
        model.resume({name: (new[name].astype(np.float32) + old[name]) / 2 for name in new})
        Console().print("mean of both", first_right(model, left_out, tokens))
    if options.write:
        save_file(model.arrays(), SHIPPED)


if __name__ == "__main__":
    main()
