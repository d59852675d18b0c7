"""Makes the examples that the model which reads questions learned from, and those it is tested on.

    python -m benchmarks.question_reader EXAMPLES.npz --tatqa FOLDER --finqa FOLDER
    python -m benchmarks.reader_training EXAMPLES.npz MINILM_FOLDER WEIGHTS.safetensors

It learns from questions written for it (``benchmarks/questions/readings.jsonl``), whose brackets mark the
words of the first measure, braces those of the second and angles what a choice is made among, with a sign
behind the bracket where a quantity is added to a measure or taken off it; from wordings
with phrases of the lexicon and printed labels in the places of the measures; and from the training
questions of TAT-QA and FinQA. Those do not say which operation an answer comes from. It is worked out: of
all programs over one or two cells of the table, or means and sums of a row, that give the gold answer, the
one whose rows and periods share most with the question. Numbers of the text around FinQA's tables count as
cells without words. Words of the labels of these rows belong to the measures, words of asking to none, and
of all others nothing is known. Every sixth filing or company, and every eighth question written for it, is
left out.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from tokenizers import Tokenizer

from benchmarks import arguments, finqa, tatqa
from benchmarks.reader_training import NOT_KNOWN, SIGN, ReaderExamples
from benchmarks.row_cross_encoder import FRAMES, random_text
from benchmarks.row_questions import READINGS, number, rows_of_text, tatqa_training
from finrag_pipeline.answering.row_book import in_series
from finrag_pipeline.embedding.model_files import MINILM, model_folder
from finrag_pipeline.questions.formula_lexicon import Line, formula_lexicon
from finrag_pipeline.questions.question_reader import (
    COMPANY,
    DIRECTIONS,
    FOR_WORDS,
    FORMS,
    MOST_TOKENS,
    NAMES_NOTHING,
    OUTPUTS,
    TAGS,
    Form,
    Operation,
)
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.statements.filing_rows import FilingRow

SEED = 0

TIMES_WRITTEN, TIMES_WITH_FORM, MADE, ANSWERED, ANSWERED_IN_WORDS = 2, 4, 3000, 4500, 1000
"""How often each question written is seen, without and with its form, and how many others there are."""

HANDS_LEFT_OUT, TESTING = ("rf",), ", testing"
"""Hands of whose questions nothing is learned, and the end of the name of these."""

_CLEARLY = 0.05
_MOST_CELLS, _MOST_NUMBERS, _MOST_VALUES = 90, 40, 6
_IN_TEXT = re.compile(r"(?<![\w.])(\d[\d,]*\.?\d*)(?![\w.]*\d)")
_FIGURE = re.compile(r"[\s$€£¥%()\-,.\d]*\d[\s$€£¥%()\-,.\d]*(?:thousand|million|billion)?")
_PLAIN = re.compile(r"[^\W\d_][^\W\d_' -]{3,50}")
_WHEN = (
    "in {}", "in fiscal {}", "for {}", "FY{}", "{}", "in Q2 {}", "at the end of {}", "at December 31, {}",
)  # fmt: skip
_PAIRS = (Operation.RATIO, Operation.DIFFERENCE, Operation.SUM)

_MARK = re.compile(r"([\[{][+-]?|[<\]}>])")
_JOINED = re.compile(r"[\[{][^\]}]*\b(?:and|plus|minus|less|net of|excluding|without)\b[^\]}]*[\]}]")
"""Measures that may be several, which were marked as one before there were marks for it."""

WORDINGS = {
    Operation[name]: said
    for name, said in tomllib.loads(READINGS.with_name("wordings.toml").read_text("utf-8")).items()
}
"""Wordings of each operation; the file says what stands for what."""


@dataclass(frozen=True)
class Example:
    """A question, what each of its characters belongs to, and what is said of it where that is known.

    Attributes:
        tags: place of one of `TAGS` plus `SIGN` times the sign of a word in its measure, or `NOT_KNOWN`.
        output, form, direction: one of `OUTPUTS`, of `FORMS` and of `DIRECTIONS`.
        signs: whether the signs are known.
    """

    source: str
    group: str
    text: str
    tags: tuple[int, ...]
    output: str | None
    form: str | None = None
    direction: str | None = None
    signs: bool = False

    @property
    def left_out(self) -> bool:
        """Whether it is for testing."""
        if self.source.endswith(TESTING):
            return True
        if self.source.startswith("written"):
            return int(hashlib.sha256(self.text.encode()).hexdigest(), 16) % 8 == 0
        return finqa.left_out(self.group)


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
    return _by_labels(source, group, question, operation, own)


def _by_labels(
    source: str, group: str, question: str, operation: Operation, own: Sequence[set[str]]
) -> Example:
    """A question whose words belong to the measures whose labels have them; of others nothing is known."""
    tags = [NOT_KNOWN] * len(question)
    pair = operation in _PAIRS and len(own) == 2 and own[0] != own[1]
    for word in re.finditer(r"[^\W_]+(?:['.&/-][^\W_]+)*", question):
        stems = set(terms(word[0]))
        tag = NOT_KNOWN
        if word[0].lower() in NAMES_NOTHING:
            tag = 0
        elif stems and own:
            sides = [stems <= label for label in own]
            if not pair:
                tag = 1 if any(sides) else NOT_KNOWN
            elif sides[0] != sides[1]:
                tag = 1 if sides[0] else 2
        tags[word.start() : word.end()] = [tag] * len(word[0])
    if not any(tag > 0 for tag in tags):
        tags = [NOT_KNOWN] * len(question)
    return Example(source, group, question, tuple(tags), operation)


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
    contexts = tatqa.read_contexts(folder)
    tables: dict[str, list[FilingRow]] = {}
    for one, answers in track(list(tatqa_training(folder)), "TAT-QA"):
        name = one["corpus_id"]
        digits = any(character.isdigit() for answer in answers for character in str(answer))
        if one["answer_type"] == "count" or not digits:  # no row prints how many rows there are
            unknown = (NOT_KNOWN,) * len(one["question"])
            yield Example("TAT-QA, words", one["doc_name"], one["question"], unknown, FOR_WORDS)
            continue
        if one["link_margin"] <= 0 or not all(_FIGURE.fullmatch(str(a).lower()) for a in answers):
            continue
        if name not in tables:
            tables[name] = rows_of_text(name, contexts[name])
            labels.update(row.label for row in tables[name] if _PLAIN.fullmatch(row.label))
        if one["answer_type"] != "arithmetic":
            yield _by_labels("TAT-QA", one["doc_name"], one["question"], Operation.VALUE, ())
            continue
        gold, percent = abs(number(answers[0]) or 0.0), one["scale"] == "percent"

        def equal(value: float, relative: bool, gold: float = gold, percent: bool = percent) -> bool:
            return relative >= percent and abs(abs(value) * (100 if percent else 1) - gold) <= 0.0051

        yield labelled("TAT-QA", one["doc_name"], one["question"], tables[name], (), equal)


def of_readings() -> Iterator[Example]:
    """Questions written for the model."""
    for one in map(json.loads, READINGS.read_text("utf-8").splitlines()):
        text, tags, tag = "", [], 0
        for piece in _MARK.split(one["question"]):
            if _MARK.fullmatch(piece):
                sign = SIGN * " +-".index(piece[1:] or " ")
                tag = " [{<".index(piece[0]) + sign if piece[0] in "[{<" else 0
            else:
                text += piece
                tags += [tag] * len(piece)
        operation, form = one["operation"], one.get("form")
        output = operation if operation in OUTPUTS else None
        direction = None if form is None else one.get("direction") or DIRECTIONS[0]
        source = "written" if form is None else f"written, {one['written_from']}"
        source += TESTING if one.get("hand") in HANDS_LEFT_OUT else ""
        form = form or {"yes_no": Form.YES_NO, FOR_WORDS: Form.TEXT}.get(operation)
        signs = one.get("written_from") == "signs" or not _JOINED.search(one["question"])
        yield Example(source, text, text, tuple(tags), output, form, direction, signs)


def asides(written: Sequence[Example]) -> list[str]:
    """Sentences of questions that name nothing and ask nothing."""
    found = set()
    for one in written:
        for sentence in re.finditer(r"[^.!?]+[.!?]+ ", one.text) if not one.left_out else ():
            named = any(one.tags[sentence.start() : sentence.end()])
            if not named and "?" not in sentence[0] and len(sentence[0]) > 8:
                found.add(sentence[0].strip())
    return sorted(found)


def said_otherwise(one: Example, around: Sequence[str], rng: random.Random) -> Example:
    """A question with other words ``around`` it, or in lower case and without its mark."""
    text, tags = one.text, one.tags
    if rng.random() < 0.2:
        text, tags = text.rstrip("?."), tags[: len(text.rstrip("?."))]
    if rng.random() < 0.15:
        text = text[:1].lower() + text[1:]
        before, behind = rng.choice(FRAMES).split("{}")
        text, tags = before + text + behind, (*(0 for _ in before), *tags, *(0 for _ in behind))
    if around and rng.random() < 0.2:
        aside = rng.choice(around)
        if rng.random() < 0.75:
            text, tags = f"{aside} {text}", (*(0 for _ in aside), 0, *tags)
        else:
            text, tags = f"{text} {aside}", (*tags, 0, *(0 for _ in aside))
    return replace(one, text=text.lower() if rng.random() < 0.2 else text, tags=tags)


def of_wordings(labels: Sequence[str], around: Sequence[str], rng: random.Random) -> Iterator[Example]:
    """Questions in other wordings, of phrases of the lexicon and of printed labels, some with asides."""
    lexicon = formula_lexicon()
    lines = [entry for entry in lexicon.entries.values() if isinstance(entry, Line)]
    phrases = [
        random_text(phrase.text, rng)
        for line in lines
        for phrase in lexicon.phrases_of(line.name)
        for _ in range(4)
    ]
    written = [
        span
        for one in READINGS.read_text("utf-8").splitlines()
        for span in re.findall(r"[\[{][+-]?([^\]}]+)[\]}]", json.loads(one)["question"])
    ]
    for at in range(MADE):
        operation = rng.choice(tuple(Operation))
        year, form = rng.randint(2003, 2025), rng.choice(_WHEN)
        parts = {"p": form.format(year), "q": form.format(year - 1), "c": COMPANY}
        if rng.random() < 0.2:
            parts["q"] = rng.choice(("the year before", "a year earlier", "the prior year"))
        wording = rng.choice(WORDINGS[operation]).format(a="[", b="{", **parts)
        if rng.random() < 0.4:
            wording = rng.choice(FRAMES).format(wording.rstrip("?"))
        if around and rng.random() < 0.15:
            wording = f"{rng.choice(around)} {wording}"
        text, tags = "", []
        for character in wording:
            kind, words, tag = rng.random(), character, 0
            if character in "[{":
                words = rng.choice(phrases if kind < 0.4 else written if kind < 0.5 else labels)
                tag = 1 if character == "[" else 2 if operation in _PAIRS else 0
                if tag == 1 and operation is Operation.RATIO and rng.random() < 0.15:
                    words = f"{words} {rng.choice(('plus', 'minus', 'and', 'less'))} {rng.choice(phrases)}"
                elif tag == 1 and rng.random() < 0.15:
                    words = f"{rng.choice(('total', 'net', 'other'))} {words}"
            text += words
            tags += [tag] * len(words)
        if rng.random() < 0.3:
            text = text.lower()
        if rng.random() < 0.3:
            text = text[:1].upper() + text[1:]
        yield Example("wordings", str(at), text, tuple(tags), operation)


def as_arrays(examples: Sequence[Example], tokenizer: Tokenizer) -> ReaderExamples:
    """Examples as tokens."""
    sources = sorted({one.source for one in examples})
    read = [tokenizer.encode(one.text) for one in examples]
    names = (OUTPUTS, FORMS, DIRECTIONS)
    tags = [
        max(one.tags[begin:end], default=NOT_KNOWN)
        for one, own in zip(examples, read, strict=True)
        for begin, end in own.offsets[:MOST_TOKENS]
    ]
    outputs, forms, directions = (
        {None: NOT_KNOWN} | {name: place for place, name in enumerate(known)} for known in names
    )
    return ReaderExamples(
        np.array([token for own in read for token in own.ids[:MOST_TOKENS]], np.int32),
        np.array(tags, np.int16),
        np.cumsum([0, *(min(len(own.ids), MOST_TOKENS) for own in read)]),
        np.array([[outputs[one.output], forms[one.form], directions[one.direction]] for one in examples]),
        np.array([one.signs for one in examples]),
        np.array([sources.index(one.source) for one in examples]),
        np.array(sources),
        np.array([one.left_out for one in examples]),
        np.array([len(TAGS), *map(len, names)]),
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("examples", type=Path, help="file that is written")
    parser.add_argument("--tatqa", type=Path, required=True)
    parser.add_argument("--finqa", type=Path, required=True)
    options = parser.parse_args()
    rng = random.Random(SEED)
    tokenizer = Tokenizer.from_file(str(model_folder(MINILM) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    labels: set[str] = set()
    answered = [
        one for one in (*of_tatqa(options.tatqa, labels), *of_finqa(options.finqa, labels)) if one is not None
    ]
    written = list(of_readings())
    around = asides(written)
    made = list(of_wordings(sorted(labels), around, rng))
    left_out = [one for one in (*written, *made, *answered) if one.left_out]
    rng.shuffle(answered)
    known = [one for one in answered if not one.left_out]
    times = [
        (one, TIMES_WITH_FORM if one.direction else TIMES_WRITTEN) for one in written if not one.left_out
    ]
    kept = [
        *(said_otherwise(one, around, rng) for one, often in times for _ in range(often)),
        *(one for one in made if not one.left_out),
        *[one for one in known if one.output != FOR_WORDS][:ANSWERED],
        *[one for one in known if one.output == FOR_WORDS][:ANSWERED_IN_WORDS],
    ]
    arrays = as_arrays([*kept, *left_out], tokenizer)
    arrays.left_out[: len(kept)] = False
    arrays.save(options.examples)
    Console().print(Counter(one.source for one in kept))


if __name__ == "__main__":
    main()
