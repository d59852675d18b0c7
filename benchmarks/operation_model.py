"""Trains the models that tell what a question does with what it names; tests them on filings left out.

    python -m benchmarks.operation_model --tatqa FOLDER --finqa FOLDER [--write]

Neither set says of its training questions which operation an answer comes from. It is worked out: of all
programs over one or two cells of the table, or means and sums of a row, that give the gold answer, the one
whose rows and periods share most with the question. Numbers of the text around FinQA's tables count as cells
without words. Where two rows are divided, subtracted or added, words of one label alone tell where the
question parts. Questions in other wordings, with phrases of the lexicon and printed labels, are added with
both known.
Every sixth filing or company is left out.
"""

from __future__ import annotations

import gzip
import itertools
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.progress import track
from safetensors.numpy import save_file
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from benchmarks import arguments, finqa, tatqa
from benchmarks.row_cross_encoder import FILLERS, FRAMES, random_text
from benchmarks.row_questions import number, tatqa_training
from finrag_pipeline.answering.row_book import in_series
from finrag_pipeline.questions.formula_lexicon import Line, formula_lexicon
from finrag_pipeline.questions.operation_model import (
    MODEL_FILE,
    OPERATION_BUCKETS,
    OPERATIONS,
    PARTING_BUCKETS,
    Operation,
    operation_features,
    partings,
)
from finrag_pipeline.questions.plan import operation_text
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.statements.filing_rows import FilingRow

SEED = 0
_CLEARLY = 0.05
_MOST_CELLS, _MOST_NUMBERS, _MOST_VALUES = 90, 40, 6
_IN_TEXT = re.compile(r"(?<![\w.])(\d[\d,]*\.?\d*)(?![\w.]*\d)")
_FIGURE = re.compile(r"[\s$€£¥%()\-,.\d]*\d[\s$€£¥%()\-,.\d]*(?:thousand|million|billion)?")
_PLAIN = re.compile(r"[^\W\d_][^\W\d_' -]{3,50}")
_WHEN = (
    "in {}", "in fiscal {}", "for {}", "FY{}", "{}", "in Q2 {}", "at the end of {}", "at December 31, {}",
)  # fmt: skip
_PAIRS = (Operation.RATIO, Operation.DIFFERENCE, Operation.SUM)
_MADE = 9000

_A, _B = "Aaaa", "Bbbb"
WORDINGS: dict[Operation, tuple[str, ...]] = {
    Operation.VALUE: (
        "what was {a} {p}?", "{a} {p}", "how much {a} did {c} report {p}?", "give me {c}'s {a} {p}",
        "how large was {c}'s {a} {p}?", "how much did {c} spend on {a} {p}?",
        "what did {c} pay for {a} {p}?", "show {a} for {q} and {p}", "what was {a} in each of {q} and {p}?",
        "what were {a} {q} and {p}?", "how have {a} of {c} developed {q} through {p}?",
        "list {a} year by year from {q} to {p}", "how much {a} did {c} have {p}, what amount?",
        "what was the total {a} {p}?", "state {a} {p} in percent", "{c} and its {a} {p}: what figure?",
        "what did {c} book as {a} {p}?", "what is {a} per share {p}?",
        "report {a}, net, over the first nine months {p}",
        "what did {c} pay in cash, net of {b}, for {a} {p}?",
        "{c} is known for {b}: what {a} did it post {p}?", "{b} has been sliding, right? what was {a} {p}?",
        "{c}, {p}, money for {a} how much it was?", "how deep in the red was {a} {p}?",
        "{a} {q} and {p}, how much? in billions", "what's the run of {a} over {q} and {p}? percent please",
        "what was {a} attributable to shareholders {p}?", "how much {a} was there {p}, before {b}?",
        "what did {c} put aside for {a}, not counting {b}, {p}?", "what was the {a} due {p}?",
    ),
    Operation.CHANGE: (
        "what was the change in {a} from {q} to {p}?", "by how much did {a} rise between {q} and {p}?",
        "how much did {c}'s {a} grow {p}?", "how many more dollars of {a} did {c} earn {p} than {q}?",
        "how much less {a} was there {p} than {q}?", "{a} {p} against {q}, how much lower?",
        "what was the increase in {a} {p}?", "how far did {a} fall {p} compared with {q}, in dollars?",
        "quantify the drop in {a} from {q} to {p}", "{a} from {q} to {p} went up by how much?",
        "how much {a} did {c} add between {q} and {p}?",
        "what is the difference in {a} between {q} and {p}?",
        "tell me how much more {c} put into {a} {p} than {q}", "{a} increase in dollars {p} over {q}",
        "how much did {c}'s {a} balance grow during {p}?", "{a}, since {q} until {p} decreased how much?",
        "{c} {a} {p} over {q}, increase in dollars is what?", "how much {a} did {c} lose {p}?",
        "what was the variation in {a} during {q} and {p}?", "by what amount did {a} move {p} from {q}?",
    ),
    Operation.GROWTH: (
        "what was the percentage change in {a} from {q} to {p}?", "by what percent did {a} rise {p}?",
        "what is the growth rate of {a} {p}?", "{a} growth % {p} over {q}", "{a}, {p} vs {q}, % change",
        "{a} {p} compared with {q} grew by which percent?", "how much did {a} fall in percent {p}?",
        "by what percentage did {c}'s {a} move {p} against {q}?",
        "{a} went down how many percent {p} versus {q}?", "what was the return on {a} between {q} and {p}?",
        "year over year growth of {a} {p}", "what was the rate of increase of {a} from {q} to {p}?",
        "{a} growth, {p} vs {q}", "as a percentage of its {q} level, how far did {a} move {p}?",
        "percentage decline of {a} {p}",
    ),
    Operation.RATIO: (
        "what percentage of {b} was {a} {p}?", "what share of {b} came from {a} {p}?",
        "{a} as % of {b}, {p}", "what portion of {b} did {a} make up {p}?",
        "what was {a} as a percentage of {b} {p}?", "what is the ratio of {a} to {b} {p}?",
        "how much of {b} was attributable to {a} {p}?",
        "out of every dollar of {b} {p}, what percentage went into {a}?", "{a} divided by {b} {p}",
        "how many times did {c}'s {a} cover its {b} {p}?", "{a} to {b} {p}", "{a} over {b} {p}",
        "of {b} {p}, which part was {a}?", "what percent of {b} is comprised of {a}?",
        "{a}'s share of {b} {p}", "what part of its {p} {b} did {c} turn into {a}?",
        "what slice of {c}'s {p} {b} got eaten up by {a}?", "how large was {a} relative to {b} {p}?",
        "what fraction of {b} {p} does {a} represent?", "what percent of {a} {p} in {b}?",
        "{a} in relation to {b} {p}", "{b} {p}: what percent is {a}?",
        "if you take {a}, what percent of {p} {b} does that come to?", "{a} per dollar of {b} {p}",
        "which share of {b} {p} was due to {a}?", "ratio between {a} and {b} {p}", "{c} {p}: {a}, over {b}",
        "{a} over average of opening and closing {b} {p}", "{a} to average {b} {p}",
        "what proportion of {b} consists of {a} {p}?", "what share of {b} was {a} {p}?",
        "what share of {c}'s {b} did {a} bring in {p}?", "which share of {p} {b} did {c} plough into {a}?",
        "which share of {b} was left after {a} {p}?", "who sent a bigger chunk of {p} {b} into {a}?",
        "{a} constitutes what percent of {b} {p}?", "what part of {b} went to {a} {p}?",
        "of {b}, how much in percent was spent on {a} {p}?",
    ),
    Operation.SUM: (
        "what was the sum of {a} and {b} {p}?", "what were {a} and {b} combined {p}?", "{a} plus {b} {p}",
        "add up {a} and {b} {p}", "{a} together with {b} {p}", "what was the total of {a} and {b} {p}?",
        "what is the sum of {a} {q} and {p}?", "what were {a} in total over {q} and {p}?",
        "what were total {a} from {q} to {p}?", "cumulative {a} {q} to {p}", "{a} added to {b} {p}",
        "add up {c}'s {a} plus {b} {p}", "what was the combined {a} {q} and {p}?",
        "{a} in total for {q} and {p}?",
    ),
    Operation.DIFFERENCE: (
        "what is the difference between {a} and {b} {p}?", "{a} minus {b} {p}", "{a} less {b} {p}",
        "how much more {a} than {b} was there {p}?", "by how much did {a} exceed {b} {p}?",
        "by how much did {a} top {b} {p}?", "how much larger was {a} than {b} {p}?",
        "{b} subtracted from {a} {p}", "how much higher was {a} than {b} {p}?",
        "gap between {a} and {b} {p}", "say by how much {a} topped {b} {p}",
        "by how much did {a} top {b} across all brands {p}?",
        "did {c} earn more in {a} or in {b} {p}, and by how much?", "how far ahead of {b} was {a} {p}?",
        "what was {a} net of {b} {p}?",
    ),
    Operation.AVERAGE: (
        "what was the average {a} from {q} to {p}?", "average {a} {q} and {p}",
        "mean of {a} over {q} and {p}", "what were {a} on average over {q} to {p}?",
        "what is the average of {a} for {q} and {p}?",
        "what was the yearly average of {a} between {q} and {p}?",
    ),
}  # fmt: skip
"""Wordings with the first and second measure, a period, an earlier one and a company."""


@dataclass(frozen=True)
class Example:
    """A question as its model reads it.

    Attributes:
        group: filing or company, which train and test do not share.
        first, second: places of characters that belong to one measure alone; empty where that is not known.
    """

    source: str
    group: str
    text: str
    flags: tuple[str, ...]
    operation: Operation | None
    parted: str = ""
    first: frozenset[int] = frozenset()
    second: frozenset[int] = frozenset()


Cell = tuple[int, object, float]
"""Row, or a negative number for what stands in the text; period; number as printed."""


def programs(
    cells: Sequence[Cell], equal: Callable[[float, bool], bool]
) -> Iterator[tuple[Operation, list[Cell]]]:
    """Operations on cells that give the answer; ``equal`` judges values that may be percentages or not."""
    for cell in cells:
        if equal(cell[2], False):
            yield Operation.VALUE, [cell]
    for (at, one), (place, other) in itertools.permutations(enumerate(cells), 2):
        a, b = one[2], other[2]
        same = one[0] == other[0] >= 0
        if equal(a - b, False):
            yield Operation.CHANGE if same else Operation.DIFFERENCE, [one, other]
        if b and equal((a - b) / abs(b), True):
            yield Operation.GROWTH, [one, other]
        if b and equal(a / b, True):
            yield Operation.RATIO, [one, other]
        if at < place and equal(a + b, False):
            yield Operation.SUM, [one, other]
        if at < place and equal((a + b) / 2, False):
            yield Operation.AVERAGE, [one, other]
    rows: dict[int, list[Cell]] = defaultdict(list)
    for cell in cells:
        rows[cell[0]].append(cell)
    for place, row in rows.items():
        for start, end in itertools.combinations(range(min(len(row), _MOST_VALUES) + 1), 2):
            total = sum(cell[2] for cell in row[start:end])
            if place >= 0 and end - start > 2:
                if equal(total / (end - start), False):
                    yield Operation.AVERAGE, row[start:end]
                if equal(total, False):
                    yield Operation.SUM, row[start:end]


def labelled(
    source: str,
    group: str,
    question: str,
    rows: Sequence[FilingRow],
    numbers: Sequence[float],
    equal: Callable[[float, bool], bool],
) -> Example | None:
    """A question with the operation that best explains its answer; None where none clearly does."""
    said, years = set(terms(question)), set(re.findall(r"(?:19|20)\d\d", question))
    words = [set(terms(" ".join((*row.path, *row.columns)))) for row in rows]
    cells: list[Cell] = []
    for place, row in enumerate(rows):
        for value in row.values:
            if (printed := number(value.printed)) is not None:
                cells.append((place, value.period_end, printed))
    cells = cells[:_MOST_CELLS]

    def fits(operands: Sequence[Cell]) -> float:
        total = 0.0
        for place, day, _ in operands:
            own = words[place] if place >= 0 else set()
            total += len(said & own) / (1 + 0.3 * len(own - said)) if own else -0.6
            if day and years:
                total += 0.5 if str(day)[:4] in years else -0.3
        return total / len(operands)

    best: dict[Operation, tuple[float, list[Cell]]] = {}
    for more in ([], [(-1 - place, None, value) for place, value in enumerate(numbers[:_MOST_NUMBERS])]):
        for operation, operands in () if best else programs([*cells, *more], equal):
            score = fits(operands)
            if operation not in best or score > best[operation][0]:
                best[operation] = score, operands
    ranked = sorted(best, key=lambda operation: -best[operation][0])
    if not ranked or (len(ranked) > 1 and best[ranked[0]][0] - best[ranked[1]][0] < _CLEARLY):
        return None
    operation, operands = ranked[0], best[ranked[0]][1]
    own = [words[place] if place >= 0 else set() for place, _, _ in operands]
    return _example(source, group, question, operation, own)


def _example(
    source: str, group: str, question: str, operation: Operation, own: Sequence[set[str]]
) -> Example | None:
    text, flags, parted = operation_text(question)
    first: set[int] = set()
    second: set[int] = set()
    if operation in _PAIRS and len(own) == 2:
        for word in re.finditer(r"[^\W\d_]+", parted):
            stems = set(terms(word[0]))
            if stems and stems <= own[0] - own[1]:
                first.add(word.start())
            elif stems and stems <= own[1] - own[0]:
                second.add(word.start())
    return Example(source, group, text, flags, operation, parted, frozenset(first), frozenset(second))


def of_finqa(folder: Path, labels: set[str]) -> Iterator[Example | None]:
    """Training and development questions; printed labels are added to ``labels``."""
    pages = finqa.read_pages(folder)
    tables: dict[str, tuple[list[FilingRow], list[float]]] = {}
    asked = [one for split in ("train", "dev") for one in finqa.read_questions(folder, split)]
    for one in track(asked, "FinQA"):
        name = one["corpus_id"]
        if name not in tables:
            read = finqa.read_page(pages[name])
            lines = (line for line in pages[name]["text"].splitlines() if " | " not in line)
            values = [number(found) for line in lines for found in _IN_TEXT.findall(line)]
            told = [value for value in values if value is not None and not 1980 <= value <= 2040]
            tables[name] = (in_series(read[1]) if read else [], told)
            labels.update(row.label for row in tables[name][0] if _PLAIN.fullmatch(row.label))
        if one["exe_answer"] in ("yes", "no"):
            continue
        gold = float(one["exe_answer"])

        def equal(value: float, relative: bool, gold: float = gold) -> bool:
            if round(value, 5) == round(gold, 5):
                return True
            value, gold = abs(value), abs(gold)
            return relative and (round(value, 5) == round(gold, 5) or round(100 * value, 3) == round(gold, 3))

        yield labelled("FinQA", one["ticker"], finqa.restored(one["question"]), *tables[name], equal)


def of_tatqa(folder: Path, labels: set[str]) -> Iterator[Example | None]:
    """Training questions whose answers are numbers; printed labels are added to ``labels``."""
    with gzip.open(folder / "tatqa_corpus.jsonl.gz", "rt") as corpus:
        contexts = {context["corpus_id"]: context for context in map(json.loads, corpus)}
    tables: dict[str, list[FilingRow]] = {}
    for one, answers in track(list(tatqa_training(folder)), "TAT-QA"):
        name = one["corpus_id"]
        if one["link_margin"] <= 0 or not all(_FIGURE.fullmatch(str(a).lower()) for a in answers):
            continue
        if name not in tables:
            grid = tatqa.text_grid(str(contexts[name]["text"]))
            context = {**contexts[name], "table": grid}
            tables[name] = in_series(tatqa.read_table(name, context)[1]) if grid else []
            labels.update(row.label for row in tables[name] if _PLAIN.fullmatch(row.label))
        if one["answer_type"] != "arithmetic":
            yield _example("TAT-QA", one["doc_name"], one["question"], Operation.VALUE, ())
            continue
        gold, percent = abs(number(answers[0]) or 0.0), one["scale"] == "percent"

        def equal(value: float, relative: bool, gold: float = gold, percent: bool = percent) -> bool:
            return relative >= percent and abs(abs(value) * (100 if percent else 1) - gold) <= 0.0051

        yield labelled("TAT-QA", one["doc_name"], one["question"], tables[name], (), equal)


def of_wordings(labels: Sequence[str], rng: random.Random) -> Iterator[Example]:
    """Questions in other wordings, of phrases of the lexicon and of printed labels."""
    lexicon = formula_lexicon()
    lines = [entry for entry in lexicon.entries.values() if isinstance(entry, Line)]
    phrases = [
        random_text(phrase.text, rng)
        for line in lines
        for phrase in lexicon.phrases_of(line.name)
        for _ in range(4)
    ]

    def measure() -> str:
        words = rng.choice(phrases if rng.random() < 0.5 else labels)
        words = f"{rng.choice(FILLERS)} {words}" if rng.random() < 0.1 else words
        return f"{rng.choice(('total', 'its', 'the', 'net'))} {words}" if rng.random() < 0.3 else words

    for at in range(_MADE):
        operation = rng.choice(OPERATIONS)
        year = rng.randint(2003, 2025)
        form = rng.choice(
            (
                "in {}",
                "in fiscal {}",
                "for {}",
                "FY{}",
                "{}",
                "in Q2 {}",
                "at the end of {}",
                "at December 31, {}",
            )
        )
        parts = {"p": form.format(year), "q": form.format(year - 1), "c": "Acme"}
        if rng.random() < 0.2:
            parts["q"] = rng.choice(("the year before", "a year earlier", "the prior year"))
        wording = rng.choice(WORDINGS[operation])
        question = wording.format(a=_A, b=_B, **parts)
        if rng.random() < 0.4:
            question = rng.choice(FRAMES).format(question.rstrip("?"))
        a, b = measure(), measure()
        if operation is Operation.RATIO and rng.random() < 0.15:
            a = f"{a} {rng.choice(('plus', 'minus', 'and', 'less'))} {measure()}"
        _, _, parted = operation_text(question, ["Acme"])
        places = [parted.find(mark) for mark in (_A, _B)]
        text, flags, _ = operation_text(question.replace(_A, a).replace(_B, b), ["Acme"])
        if operation in _PAIRS and min(places) >= 0:
            whole, spans = "", {}
            for mark, words in sorted(((_A, a), (_B, b)), key=lambda pair: parted.find(pair[0])):
                before, _, parted = parted.partition(mark)
                whole += before
                spans[mark] = frozenset(range(len(whole), len(whole) + len(words)))
                whole += words
            yield Example("wordings", str(at), text, flags, operation, whole + parted, spans[_A], spans[_B])
        else:
            yield Example("wordings", str(at), text, flags, operation)


def as_matrix(rows: Sequence[Sequence[int]], width: int) -> csr_matrix:
    """Buckets as rows of unit length, shape (rows, width)."""
    ends = np.cumsum([0, *map(len, rows)])
    data = np.concatenate([np.full(len(one), len(one) ** -0.5) for one in rows])
    return csr_matrix((data, np.concatenate(rows), ends), (len(rows), width))


def choices(one: Example) -> tuple[list[list[int]], list[bool]]:
    """Features of the partings of a question, and which of them keep the words of its measures apart."""
    places, features = partings(one.parted)
    right = []
    for at, part_first in places:
        left, behind = (one.first, one.second) if part_first else (one.second, one.first)
        right.append(all(place < at for place in left) and all(place >= at for place in behind))
    return features, right


def train_partings(examples: Sequence[Example]) -> np.ndarray:
    """Weights of a choice among partings, any of those that keep the measures apart being right."""
    kept = [(f, r) for f, r in map(choices, examples) if any(r) and not all(r)]
    torch.manual_seed(SEED)
    weights = torch.nn.EmbeddingBag(PARTING_BUCKETS, 1, mode="sum")
    torch.nn.init.zeros_(weights.weight)
    optimiser = torch.optim.Adam(weights.parameters(), lr=0.1)
    rows = [row for features, _ in kept for row in features]
    flat = torch.tensor(list(itertools.chain.from_iterable(rows)))
    starts = torch.tensor(np.cumsum([0, *map(len, rows)][:-1]))
    scale = torch.tensor([len(row) ** -0.5 for row in rows])
    group = torch.tensor([at for at, (features, _) in enumerate(kept) for _ in features])
    right = torch.tensor([mark for _, marks in kept for mark in marks])
    for _ in range(150):
        scores = weights(flat, starts).squeeze(1) * scale
        every = torch.zeros(len(kept)).scatter_reduce(0, group, scores, "amax", include_self=False)
        mass = (scores - every[group]).exp()
        total = torch.zeros(len(kept)).scatter_add(0, group, mass)
        good = torch.zeros(len(kept)).scatter_add(0, group, mass * right)
        loss = -(good / total).clamp(min=1e-9).log().mean() + 1e-5 * (weights.weight**2).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return weights.weight.detach().numpy()[:, 0]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--tatqa", type=Path, required=True)
    parser.add_argument("--finqa", type=Path, required=True)
    parser.add_argument("--write", action="store_true", help="replace the shipped model")
    options = parser.parse_args()
    rng = random.Random(SEED)
    torch.set_num_threads(1)
    labels: set[str] = set()
    read = (*of_finqa(options.finqa, labels), *of_tatqa(options.tatqa, labels))
    examples = [*(one for one in read if one is not None), *of_wordings(sorted(labels), rng)]
    kept = [one for one in examples if not finqa.left_out(one.group)]
    others = [one for one in examples if finqa.left_out(one.group)]
    matrix = as_matrix([operation_features(one.text, one.flags) for one in kept], OPERATION_BUCKETS)
    names = np.array([str(one.operation) for one in kept])
    weight = [2.0 if one.source == "FinQA" else 1.0 for one in kept]
    model = LogisticRegression(C=3.0, max_iter=2000).fit(matrix, names, sample_weight=weight)
    order = [list(model.classes_).index(str(operation)) for operation in OPERATIONS]
    weights = train_partings([one for one in kept if one.first and one.second])
    told = model.predict(as_matrix([operation_features(o.text, o.flags) for o in others], OPERATION_BUCKETS))
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for one, name in zip(others, told, strict=True):
        counts[one.source].update(["questions"] + ["right operation"] * (name == one.operation))
        if one.first and one.second:
            features, right = choices(one)
            scores = [weights[own].sum() / len(own) ** 0.5 for own in features]
            counts[one.source].update(["pairs"] + ["parted right"] * right[int(np.argmax(scores))])
    for source, count in counts.items():
        Console().print(source, dict(count))
    if options.write:
        arrays = {
            "operations": model.coef_[order].T.astype(np.float16),
            "operation_bias": model.intercept_[order].astype(np.float32),
            "partings": weights.astype(np.float16),
        }
        arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        save_file(arrays, str(files("finrag_pipeline.questions") / MODEL_FILE))


if __name__ == "__main__":
    main()
