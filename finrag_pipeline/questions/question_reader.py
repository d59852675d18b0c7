"""What the words of a question are for: which name what is measured, and what is done with it.

MiniLM with low-rank adapters (Hu et al., LoRA, 2021, section 4.1) tells of every word whether it belongs to
the first measure, to the second, or to neither, and of the question which operation it asks for. The package
ships the adapters, made by ``python -m benchmarks.question_reader``; the weights below them are those of the
default encoder.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from finrag_pipeline.embedding.bert import Bert, adapted_minilm
from finrag_pipeline.errors import ModelError
from finrag_pipeline.questions.formula_lexicon import formula_lexicon
from finrag_pipeline.resolver.lexicon import word_set

if TYPE_CHECKING:
    from tokenizers import Tokenizer

ADAPTER_FILE = "question_reader.safetensors"
COMPANY = "Acme"
"""Stands for every name of a company."""

MOST_TOKENS = 96

NAMES_NOTHING = word_set(
    """
    $ % ( ) + , - : ; a about add against all alone also altogether amount amounted an annual answer
    answers any are as ask asked asks at back be been being between big billion book booked
    books both bring bringing brings brought but by calculate calendar came can carried carries carry cent
    check close closed come comes company compare compared comparing comparison compute corp correct could
    cy deliver delivered delivers determine did do does doing dollar dollars done during each end ended
    ending enjoy enjoyed entire exactly express figure figure's figures fill find firm first fiscal five
    for four from full fy gave generate generated generates get give given gives go goes going got group
    had hand happened has have having held help her here his hold holds how i i'd i'm i've if in inc incur
    incurred incurs indicate into is it its itself just know laid last latest lay let lets level like list
    lot made make makes manage managed many me measured million month months move moved much my nine now
    number numbers of on one only or our out over own past pct per percent percentage period periods
    please point points post posted produce produced produces put quantify quarter quarterly quarters rack
    racked ran recent recorded respective relate report reported reports respectively right run running s said
    sat saw say says see seen show shown shows sign signed since six so spend spends spent stand standing
    start state stated still stood sure take taken takes tell than thank thanks that the their them then
    there these they thing things this those three through to told too took total totals true twelve two
    under until up us use used using value values versus vs was we went were what when where whether which
    while who whole whose will with within wondering work would wrong year year-end yearly years yes yet
    you your
    """
)
"""Words of asking: in no wording do they name what is asked for."""

_WORD = re.compile(r"[^\W_]+(?:['.&/-][^\W_]+)*")
_WORD_OR_MARK = re.compile(rf"{_WORD.pattern}|[,;:.?!()]")
_LEAST_NAME = 0.3
"""Least probability of a word that belongs to a measure: one too many does less harm than one too few."""
_LEAST_BESIDE = 0.04
"""That of a word that stands right beside one."""
_LEAST_JOINT = 0.5
_JOINTS = frozenset(("and", "or", "plus", "minus", "less"))
"""Words that stand inside the name of a measure, or between two."""
_OWNERS = frozenset(("its", "their"))
"""Words that a measure begins with."""


class Operation(StrEnum):
    """What is done with the values of the measures."""

    VALUE = "value"
    CHANGE = "change"
    GROWTH = "growth"
    RATIO = "ratio"
    SUM = "sum"
    DIFFERENCE = "difference"
    AVERAGE = "average"


FOR_WORDS = "text"
OUTPUTS = (*Operation, FOR_WORDS)
"""What the model tells apart: operations, and questions for words."""


@dataclass(frozen=True)
class Reading:
    """A question as the model reads it.

    Attributes:
        words: probability that a word, in lower case, belongs to the first and to the second measure, each
            time that it stands in the question.
        outputs: probability of each of `OUTPUTS`.
        kept: words that are taken to belong to a measure.
    """

    words: Mapping[str, Sequence[tuple[float, float]]]
    outputs: Mapping[str, float]
    kept: frozenset[str] = frozenset()

    def names(self, word: str) -> bool:
        """Whether a word may belong to a measure; one that the question does not have may."""
        if word not in ("US", "IT") and _key(word) in NAMES_NOTHING:  # 'us' and 'it' do not
            return False
        return _key(word) in self.kept or _key(word) not in self.words

    def operations(self) -> dict[Operation, float]:
        """Probability of each operation, where a number is asked for."""
        whole = sum(self.outputs[one] for one in Operation)
        return {one: self.outputs[one] / whole for one in Operation}

    @property
    def asks_for_number(self) -> float:
        """Probability that a number is asked for, or several."""
        return 1 - self.outputs[FOR_WORDS]

    def parts(self, text: str) -> tuple[str, str] | None:
        """The words of a text that belong to the first and to the second measure.

        Words that stand together belong to one. None where the text has words of one measure alone.
        """
        phrases: list[list[tuple[str, float, float]]] = [[]]
        seen = Counter[str]()
        for word in _WORD_OR_MARK.findall(text):
            key = _key(word)
            found = self.words.get(key, ())
            chances = found[min(seen[key], len(found) - 1)] if found else (0.0, 0.0)
            seen[key] += 1
            joins = key in _OWNERS or (key in _JOINTS and sum(chances) < _least(key))
            if found and not joins and (self.names(word) or sum(chances) >= _least(key)):
                phrases[-1].append((word, *chances))
            elif phrases[-1]:
                phrases.append([])
        found_in = [phrase for phrase in phrases if phrase]
        if len(found_in) < 2:
            return None
        means = np.array([np.mean([own for _, *own in phrase], axis=0) for phrase in found_in])
        second = means[:, 1] > means[:, 0]
        if second.all() or not second.any():  # of two measures: what is least sure is the other one
            least_sure = int(np.argmin(np.abs(means[:, 0] - means[:, 1])))
            second[least_sure] = not second[least_sure]
        sides: tuple[list[str], list[str]] = ([], [])
        for phrase, side in zip(found_in, second, strict=True):
            sides[int(side)].extend(word for word, *_ in phrase)
        return " ".join(sides[0]), " ".join(sides[1])


NOT_READ = Reading({}, {one: float(one == Operation.VALUE) for one in OUTPUTS})
"""Where the model is not to be had: any word may name a measure, and a value is asked for."""


class QuestionReader:
    """Reads questions.

    Args:
        bert: the encoder with its adapters.
        tokenizer: of the encoder.
        arrays: weights and biases of the two last layers: ``tag`` of words, ``operation`` of the mean state.
    """

    def __init__(self, bert: Bert, tokenizer: Tokenizer, arrays: Mapping[str, np.ndarray]) -> None:
        self._bert = bert
        self._tokenizer = tokenizer
        self._arrays = {name: array.astype(np.float32) for name, array in arrays.items() if "." in name}
        self.read = lru_cache(256)(self._read)

    def _read(self, question: str) -> Reading:
        encoded = self._tokenizer.encode(question)
        ids, offsets = encoded.ids[:MOST_TOKENS], encoded.offsets[:MOST_TOKENS]
        states = self._bert.hidden(np.array([ids]), np.zeros((1, len(ids)), int), np.ones((1, len(ids)), int))
        tags = _softmax(self._last(states[0], "tag"))
        outputs = _softmax(self._last(states[0].mean(0), "operation"))
        words: dict[str, list[tuple[float, float]]] = {}
        for word in _WORD.finditer(question):
            own = [at for at, (a, b) in enumerate(offsets) if a < word.end() and word.start() < b]
            if not own:
                continue
            first, second = tags[own].mean(0)[1:].tolist()
            words.setdefault(_key(word[0]), []).append((first, second))
        kept = frozenset(_kept(question, words))
        return Reading(words, dict(zip(OUTPUTS, outputs.tolist(), strict=True)), kept)

    def _last(self, states: np.ndarray, name: str) -> np.ndarray:
        return states @ self._arrays[f"{name}.weight"].T + self._arrays[f"{name}.bias"]


def read_question(question: str, companies: Iterable[str] = ()) -> Reading:
    """A question as the shipped model reads it; `NOT_READ` where the encoder's weights are not to be had.

    Args:
        question: as asked.
        companies: names of companies as the question has them.
    """
    for name in sorted(companies, key=len, reverse=True):
        if name:
            question = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", COMPANY, question, flags=re.IGNORECASE)
    reader = question_reader()
    return NOT_READ if reader is None else reader.read(question)


def _kept(question: str, words: Mapping[str, Sequence[tuple[float, float]]]) -> Iterator[str]:
    """Words that belong to a measure: those that the model says, and those that make one phrase with them.

    'Days sales outstanding' is more than sales, and so is any word right beside them that may belong to it.
    """
    chances = {key: max(map(sum, own)) for key, own in words.items() if not key.isdigit()}
    likely = {key for key, chance in chances.items() if chance >= _least(key)}
    yield from likely
    for name in formula_lexicon().named(question.lower()).values():
        keys = [_key(word) for word in _WORD.findall(name)]
        if any(key in likely and key not in NAMES_NOTHING for key in keys):
            yield from keys
    phrase: list[str] = []
    for word in (*_WORD_OR_MARK.findall(question), "."):
        key = _key(word)
        if key in chances and key not in NAMES_NOTHING and key not in _JOINTS:
            phrase.append(key)
        else:
            if not likely.isdisjoint(phrase):
                yield from (one for one in phrase if chances[one] >= _LEAST_BESIDE)
            phrase = []


def _least(key: str) -> float:
    return _LEAST_JOINT if key in _JOINTS else _LEAST_NAME


def _key(word: str) -> str:
    return word.lower().removesuffix("'s")


def _softmax(scores: np.ndarray) -> np.ndarray:
    shifted = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(-1, keepdims=True))


@cache
def question_reader() -> QuestionReader | None:
    """The shipped reader; None where the default encoder's weights are not to be had."""
    from safetensors.numpy import load

    arrays = load((files("finrag_pipeline.questions") / ADAPTER_FILE).read_bytes())
    try:
        bert, tokenizer = adapted_minilm(arrays)
    except ModelError:
        return None
    return QuestionReader(bert, tokenizer, arrays)
