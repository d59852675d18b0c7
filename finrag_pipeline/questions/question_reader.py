"""What the words of a question are for: which name what is measured, and what is done with it.

MiniLM with low-rank adapters (Hu et al., LoRA, 2021, section 4.1) tells of every word whether it belongs to
the first measure, to the second, to what a choice is made among, or to none of them, and whether what it
names is added to its measure or taken off it; and of the question which operation it asks for, what its
answer is, and which way it compares. The package ships the adapters, made by ``benchmarks.question_reader``
and ``benchmarks.reader_training``; the weights below them are those of the default encoder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files
from typing import TypeVar

import numpy as np

from finrag_pipeline.embedding.bert import adapted_minilm, minilm_tokenizer
from finrag_pipeline.errors import ModelError
from finrag_pipeline.questions.formula_lexicon import formula_lexicon
from finrag_pipeline.questions.token_runs import says_nothing
from finrag_pipeline.questions.words import OPERATIONS
from finrag_pipeline.resolver.lexicon import any_case, word_set

ADAPTER_FILE = "question_reader.safetensors"
COMPANY, ANOTHER = "Acme", "Bolt"
"""Stand for the name of a company, and for that of any other."""

MOST_TOKENS = 160

NAMES_NOTHING = word_set(
    """
    $ % ( ) + , - : ; a about add against all alone also altogether amount amounted an annual answer answers
    any apr april are as ask asked asks at aug august back be been being between big billion book booked
    books both bring bringing brings brought but by calculate calendar came can carried carries carry cent
    check close closed come comes company compare compared comparing comparison compute corp correct could
    cy dec december deliver delivered delivers determine develop developed did do does doing dollar dollars
    done during e.g each every end ended ending enjoy enjoyed entire exactly express feb february figure
    figure's figures fill find firm first fiscal five for four fourth from full fy fys gave generate
    generated generates get give given gives go goes going got group had hand happened has have having held
    help her here his hold holds how i i'd i'm i've i.e if in inc incur incurred incurs indicate into is it
    its itself jan january jul july jun june just kind know laid last latest lay let lets level like list
    lot made make makes manage managed many mar march may me measured might million month months more most
    move moved much my nine nov november now number numbers oct october of on one only or our out over own
    past pct per percent percentage period periods please point points post posted produce produced produces
    put quantify quarter quarterly quarters rack racked ran recent recorded relate report reported reports
    respective respectively right ring rang rung run running s said sat saw say says second see seen sep
    sept september show shown shows sign signed since six so sort spend spends spent stand standing start
    stated still stood sure take taken takes tell than thank thanks that the their them then there these
    they thing things third this those three through to told too took total totals true twelve two under
    until up us use used using value values versus vs was we went were what when where whether which while
    who whole whose will with within wondering work would wrong year year-end yearly years yes yet you your
    usd eur gbp million millions billions thousand thousands
    """
)
"""Words of asking: in no wording do they name what is asked for."""

WORD = re.compile(r"[^\W_]+(?:['.&/-][^\W_]+)*")
_WORD_OR_MARK = re.compile(rf"{WORD.pattern}|[,;:.?!()%]")
_PERIOD = any_case(r"(?:fy|cy|[1-4]?[qh]|[qh][1-4])?'?\d+|[qh][1-4]|[1-4][qh]")
_END = re.compile(r"[?!]|\.(?=\s+[A-Z])")
_NO_WORDS = (COMPANY, ANOTHER, *".?!")
_OWNED = (f"{COMPANY}'s", f"{ANOTHER}'s")
"""What a word stands behind that belongs to a measure: 'sales of Acme's pumps'."""
_PRONOUNS = frozenset(("it", "this", "that", "these", "those", "them", "they", "both", "one"))
"""Words for what a sentence before has named."""
_SPEAKERS = frozenset(("i", "my", "me", "we", "our", "you"))
"""Words of sentences that tell of people, not of what is asked for."""
_ARE = frozenset(("is", "are", "was", "were", "be", "been", "has", "have", "had", "does", "if", "that"))
"""Words before a 'there' that is no place."""
_SHARES = frozenset(
    ("%", "percent", "percentage", "cent", "pct", "share", "proportion", "portion", "fraction")
)
_JOINTS = frozenset(("and", "or", "plus", "minus", "less", "than", "versus", "vs"))
_LEAST_NAME = 0.3
"""Least probability of a word that belongs to a measure: one too many does less harm than one too few."""
_OF_THE_BEST = 0.6
"""Part of the probability of the surest word that is enough where no word is sure."""
_LEAST_BESIDE = 0.12
"""That of a word that stands right beside one."""
_LEAST_SMALL = 0.5
"""That of a word that names nothing by itself, such as 'of' or 'and' inside a name."""
_SURELY_SMALL = 0.7
_INSIDE = frozenset(("of", "for", "on", "in", "the", "from", "at", "with", "plus", "minus", "less"))
"""Small words that belong to a name between two words of it: 'stock of goods'."""
_LEAST_TOLD = 0.02
"""Probability of belonging to a measure that verbs of a sentence which asks nothing do not have."""
_LEAST_KIND = 0.4
_SURE_VERB = 0.5
_SURELY = 0.3
"""Difference of the chances of two measures at which a word surely belongs to one of them."""


class Operation(StrEnum):
    """What is done with the values of the measures."""

    VALUE = "value"
    CHANGE = "change"
    GROWTH = "growth"
    RATIO = "ratio"
    SUM = "sum"
    DIFFERENCE = "difference"
    AVERAGE = "average"


class Form(StrEnum):
    """What an answer is: a number, a yes or no, one of those named, a part of a whole, a period, words."""

    NUMBER = "number"
    YES_NO = "yes_no"
    WHICH = "which"
    PART = "part"
    YEAR = "year"
    TEXT = "text"


FOR_WORDS = "text"
OUTPUTS = (*Operation, FOR_WORDS)
"""What the model tells apart: operations, and questions for words."""

FORMS = tuple(Form)
DIRECTIONS = ("none", "up", "down")
"""Ways to compare: the larger, what rose, what is above; the smaller, what fell, what is below."""

TAGS = ("none", "first", "second", "kind")
"""What a word belongs to: nothing, a measure, the name of what a choice is made among."""


SIGNS = ("", "plus", "minus")
"""Words of a measure itself, of a quantity that is added to it, and of one that is taken off it."""


@dataclass(frozen=True)
class ReadWord:
    """A word of a question.

    Attributes:
        text: the word, as it stands in the question, with a name for a company.
        chances: probabilities of `TAGS`.
        kept: whether it is taken to belong to a measure.
        sentence: place of its sentence.
        place: its own among the words and marks.
        sign: one of `SIGNS`.
        printed: it is part of a label that the question says word for word.
    """

    text: str
    chances: tuple[float, float, float, float]
    kept: bool = False
    sentence: int = 0
    place: int = 0
    sign: str = ""
    printed: bool = False

    @property
    def small(self) -> bool:
        """Whether it names nothing by itself; 'US' and 'IT' do."""
        return _is_small(self.text)

    @property
    def company(self) -> bool:
        """Whether it stands for a company."""
        return _key(self.text) in (COMPANY.lower(), ANOTHER.lower())


Words = Sequence[ReadWord]
_Model = TypeVar("_Model")


def text_of(words: Words) -> str:
    """Words as a text."""
    return " ".join(word.text for word in words)


def terms_of(words: Words) -> list[tuple[str, str]]:
    """The measure that words name with no sign, and each quantity that is added to it or taken off.

    Returns:
        The sign and the words of each, that without a sign first.
    """
    found: list[tuple[str, list[ReadWord]]] = [("", [])]
    for word in words:
        sign, own = found[-1]
        if word.small and own:
            own.append(word)
        elif not word.sign:
            found[0][1].append(word)
        elif own and sign == word.sign and word.place - own[-1].place == 1:
            own.append(word)
        else:
            found.append((word.sign, [word]))
    told = [(sign, text_of(_without_joints(own))) for sign, own in found]
    told = [(sign, text) for sign, text in told if text]
    return [("", told[0][1]), *told[1:]] if told else []


@dataclass(frozen=True)
class Reading:
    """A question as the model reads it.

    Attributes:
        words: in order; marks between them are words without a chance.
        outputs, forms, directions: probability of each of `OUTPUTS`, `FORMS` and `DIRECTIONS`.
    """

    words: Sequence[ReadWord]
    outputs: Mapping[str, float]
    forms: Mapping[str, float]
    directions: Mapping[str, float]

    def operations(self) -> dict[Operation, float]:
        """Probability of each operation, where a number is asked for."""
        whole = sum(self.outputs[one] for one in Operation)
        return {one: self.outputs[one] / whole for one in Operation}

    @property
    def asks_for_number(self) -> float:
        """Probability that a number is asked for, or several."""
        return 1 - self.outputs[FOR_WORDS]

    @property
    def form(self) -> Form:
        """The likeliest form of the answer that is not words."""
        return max((form for form in Form if form is not Form.TEXT), key=lambda form: self.forms[form])

    @property
    def down(self) -> bool:
        """Whether the smaller is asked for, what fell, or what is below."""
        return self.directions["down"] > self.directions["up"]

    @property
    def direction_chance(self) -> float:
        """Probability that not the opposite is asked for; near 1 where neither is."""
        return 1 - min(self.directions["down"], self.directions["up"])

    @property
    def measure(self) -> Words:
        """All words that belong to measures; of the sentence that asks, where it refers to none before it."""
        kept = [word for word in self.words if word.kept]
        last = [word for word in kept if word.sentence == self._last_asking]
        return _without_joints(kept if self._refers or all(word.small for word in last) else last)

    @property
    def _last_asking(self) -> int:
        """The last sentence that names something, of those with a question mark if one of them does."""
        named = {word.sentence for word in self.words if word.kept}
        asked = named & {word.sentence for word in self.words if word.text == "?"}
        return max(asked or named, default=0)

    @property
    def _refers(self) -> bool:
        """Whether the sentence that asks has a word for what another one has named."""
        asking = self._last_asking
        words = [word for word in self.words if word.sentence == asking]
        return any(
            (word.text.lower() in _PRONOUNS and not (word.text.lower() == "one" and _is_noun(beside)))
            or (word.text.lower() == "there" and before is not None and before.text.lower() not in _ARE)
            for before, word, beside in zip((None, *words), words, (*words[1:], None), strict=False)
        )

    @property
    def told_before(self) -> str:
        """Words of the sentences before the one that asks which may name what that refers to."""
        before = (word for word in self.naming if word.sentence < self._last_asking and not word.kept)
        return text_of([word for word in before if 1 - word.chances[0] >= _LEAST_TOLD])

    @property
    def unread(self) -> tuple[str, ...]:
        """Runs of words that may name something and that belong to no measure.

        They stand in the sentence that asks or in others about the company that speak of no one.
        """
        measure = {word.place for word in self.measure}
        speaking = {word.sentence for word in self.words if word.text.lower() in _SPEAKERS}
        about = {word.sentence for word in self.words if word.company} | {self._last_asking}
        told = about - speaking
        words = [word for word in self.naming if word.place not in measure and word.sentence in told]
        runs: list[list[ReadWord]] = []
        for word in words:
            if not runs or word.place - runs[-1][-1].place > 1:
                runs.append([])
            runs[-1].append(word)
        return tuple(map(text_of, runs))

    @property
    def topic(self) -> tuple[str, ...]:
        """Words told beside the company before a colon, of no measure: 'Pens, Acme 2021: sales?'."""
        ends = [word.place for word in self.words if word.text == ":"]
        phrases: list[list[ReadWord]] = [[]]
        depth = 0
        for word in self.words[: ends[0]] if ends else ():
            depth += {"(": 1, ")": -1}.get(word.text, 0)
            if word.text == ",":
                phrases.append([])
            elif not depth:  # what stands in brackets explains the rest
                phrases[-1].append(word)
        beside = [phrase for phrase in phrases if not any(word.company for word in phrase)]
        if len(beside) == len(phrases):
            return ()
        unread = " ".join(self.unread).split()
        words = (word.text for phrase in beside for word in phrase if word.text in unread)
        named = (word for word in words if word.isalpha() and not _PERIOD.fullmatch(word))
        return tuple(w for w in named if not says_nothing(w.lower()) and w.lower() not in OPERATIONS)

    @property
    def naming(self) -> Words:
        """All words that may name something, whatever the model says of them."""
        words = (word for word in self.words if WORD.fullmatch(word.text) and not word.text.isdigit())
        return [word for word in words if not word.small and not word.company]

    def that_asks(self, question: str) -> str:
        """The sentences of a question whose words are its measure; all where it refers to others."""
        ends = [0, *(mark.end() for mark in _END.finditer(question.rstrip("?!. "))), len(question)]
        asking = {word.sentence for word in self.measure}
        if not asking or self._refers or len(ends) != max(word.sentence for word in self.words) + 2:
            return question
        return " ".join(question[ends[one] : ends[one + 1]].strip() for one in sorted(asking))

    @property
    def kind(self) -> str:
        """Words for what a choice is made among, such as 'segment'; '' where there are none."""
        return " ".join(word.text for word in self.words if word.chances[3] >= _LEAST_KIND and not word.small)

    @property
    def asking(self) -> str:
        """The sentences whose words belong to measures, without names of companies."""
        named = {word.sentence for word in self.words if word.kept}
        return text_of([w for w in self.words if w.sentence in named and w.text not in _NO_WORDS])

    def with_label(self, label: str) -> Reading:
        """The reading of a question that says a printed label, in lower case, word for word: one measure."""
        said = WORD.findall(label)
        plain = [
            (place, word.text.lower()) for place, word in enumerate(self.words) if word.text[0].isalnum()
        ]
        for start in range(len(plain) - len(said) + 1):
            run = plain[start : start + len(said)]
            if [text for _, text in run] == said:
                first, last = run[0][0], run[-1][0]
                _, one, other, _ = np.sum([word.chances for word in self.words[first : last + 1]], axis=0)
                of = (0.0, 0.0, 1.0, 0.0) if other > one else (0.0, 1.0, 0.0, 0.0)
                words = (
                    replace(word, chances=of, kept=True, sign="", printed=True)
                    if first <= place <= last
                    else word
                    for place, word in enumerate(self.words)
                )
                return replace(self, words=tuple(words))
        return self

    def asking_for(self, label: str) -> Reading:
        """The reading of a question that asks for a known quantity in words of its own."""
        sentence = max((word.sentence for word in self.measure), default=self._last_asking)
        rest = [replace(word, kept=False, chances=(1.0, 0.0, 0.0, word.chances[3])) for word in self.words]
        said = [
            ReadWord(text, (0.0, 1.0, 0.0, 0.0), kept=True, sentence=sentence, place=place, printed=True)
            for place, text in enumerate(label.split(), len(rest) + 1)
        ]
        return replace(self, words=(*rest, *said))

    def keeping(self, text: str) -> Reading:
        """The reading of a question of which only words that a text has belong to measures."""
        said = set(WORD.findall(text.lower()))
        words = (replace(word, kept=word.kept and word.text.lower() in said) for word in self.words)
        return replace(self, words=tuple(words))

    def parts(self) -> tuple[Words, Words] | None:
        """The words of the first and of the second measure; None where all belong to one.

        What stands before and behind 'percent of' are two measures. Words that stand together belong to one
        else, and words of sentences before the one that asks make none of their own.
        """
        if (sides := self.share()) is not None:
            return sides
        phrases = self._phrases()
        if len(phrases) == 1:
            phrases = _cut(phrases[0])
        if len(phrases) < 2:
            return None
        leans = np.array([np.mean([_side(word) for word in phrase]) for phrase in phrases])
        second = leans < 0
        if second.all() or not second.any():  # of two measures: what is least sure is the other one
            least_sure = int(np.argmin(np.abs(leans)))
            second[least_sure] = not second[least_sure]
        asking = [phrase[0].sentence for phrase in phrases]
        last = [place for place, sentence in enumerate(asking) if sentence == asking[-1]]
        if len(set(asking)) > 1 and len(set(second[last])) == 1:
            return None
        joined: tuple[list[ReadWord], list[ReadWord]] = ([], [])
        for phrase, side in zip(phrases, second, strict=True):
            joined[int(side)].extend(_without_joints(phrase))
        return joined

    def share(self) -> tuple[Words, Words] | None:
        """The words before and behind 'percent of', where both sides name something."""
        for place in range(1, len(self.words)):
            if self._is_share(place):
                some = (self.words[:place], self.words[place:])
                sides = [_without_joints([word for word in side if word.kept]) for side in some]
                if all(sides):
                    return sides[0], sides[1]
        return None

    def as_meant(self) -> Reading:
        """The reading without the words that 'by which I mean' says in other words."""
        texts = [word.text.lower() for word in self.words]
        for place in range(len(texts) - 3):
            if texts[place : place + 2] == ["by", "which"] and texts[place + 3] in ("mean", "means"):
                words = [replace(word, kept=word.kept and word.place > place + 3) for word in self.words]
                return replace(self, words=words) if any(word.kept for word in words) else self
        return self

    def options(self) -> tuple[Words, Words, Words] | None:
        """What stands before two options that end a question, as in '…: Games or Toys?', and the two.

        None where no comma or colon stands before them, or where one of them names nothing.
        """
        texts = [word.text.lower() for word in self.words]
        if "or" not in texts:
            return None
        joint = len(texts) - 1 - texts[::-1].index("or")
        mark = next((place for place in range(joint - 1, 0, -1) if texts[place] in (",", ":")), None)
        if mark is None or {",", ":"} & set(texts[joint:]):
            return None
        parts = (self.words[:mark], self.words[mark:joint], self.words[joint:])
        before, *two = (_without_joints([word for word in part if word.kept]) for part in parts)
        return (before, two[0], two[1]) if all(two) else None

    @property
    def relates(self) -> bool:
        """Whether small words alone name the second measure, as in 'of every dollar it took in'."""
        second = [word for word in self.words if word.chances[2] >= _SURE_VERB and not word.company]
        return any(word.small for word in second) and all(word.small for word in second)

    def _phrases(self) -> list[list[ReadWord]]:
        """Kept words that stand together and lean to one measure, each run of them."""
        phrases: list[list[ReadWord]] = [[]]
        for word in self.words:
            sure = [one for one in phrases[-1] if abs(_side(one)) > _SURELY]
            if not word.kept:
                phrases.append([])
            elif sure and abs(_side(word)) > _SURELY and _side(word) * _side(sure[-1]) < 0:
                phrases.append([word])
            else:
                phrases[-1].append(word)
        return [phrase for phrase in phrases if not all(word.small for word in phrase)]

    def _is_share(self, place: int) -> bool:
        joint, share = self.words[place], self.words[place - 1]
        return joint.text == "of" and share.text.lower() in _SHARES and not (joint.printed and share.printed)


def _cut(phrase: list[ReadWord]) -> list[list[ReadWord]]:
    """Words that stand together as two measures, cut where they differ most; as one where they hardly do."""
    cuts = [place for place in range(1, len(phrase)) if not all(word.small for word in phrase[:place])]
    gaps = {
        place: abs(np.mean([*map(_side, phrase[:place])]) - np.mean([*map(_side, phrase[place:])]))
        for place in cuts
        if not all(word.small for word in phrase[place:])
    }
    best = max(gaps, key=gaps.__getitem__, default=0)
    return [phrase[:best], phrase[best:]] if best and gaps[best] > _SURELY else [phrase]


def _without_joints(phrase: Words) -> Words:
    """Words of a measure without the small ones at its ends, and without those that join two."""
    named = [
        place
        for place, word in enumerate(phrase)
        if word.printed
        or (word.text.lower() not in _JOINTS and (not word.small or sum(word.chances[1:3]) > _SURELY_SMALL))
    ]
    if all(phrase[place].small for place in named):
        return ()
    return phrase[named[0] : named[-1] + 1] if named else ()


def _side(word: ReadWord) -> float:
    """By how much likelier a word belongs to the first measure than to the second."""
    return word.chances[1] - word.chances[2]


def naming_words(words: str) -> str:
    """Words of a measure without those that name nothing by themselves."""
    return " ".join(word for word in words.split() if not _is_small(word))


class QuestionReader:
    """Reads questions.

    Args:
        arrays: see `adapted_minilm`, and weights and biases of the last layers: ``tag`` and ``sign`` of
            words; ``operation``, ``form`` and ``direction`` of the mean state.

    Raises:
        ModelError: the default encoder's weights are not to be had.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._bert, self._tokenizer = adapted_minilm(arrays), minilm_tokenizer()
        self._arrays = {name: array.astype(np.float32) for name, array in arrays.items() if "." in name}
        self.read = lru_cache(256)(self._read)

    def is_word(self, letters: str) -> bool:
        """Whether letters in lower case are a common word."""
        return self._tokenizer.token_to_id(letters) is not None

    def _read(self, question: str) -> Reading:
        encoded = self._tokenizer.encode(question)
        ids, offsets = encoded.ids[:MOST_TOKENS], encoded.offsets[:MOST_TOKENS]
        states = self._bert.of_text(ids)
        tags, signs = (softmax(self._last(states, layer)) for layer in ("tag", "sign"))
        mean = states.mean(0)
        words: list[ReadWord] = []
        ends = [mark.start() for mark in _END.finditer(question)]
        for word in _WORD_OR_MARK.finditer(question):
            own = [at for at, (a, b) in enumerate(offsets) if a < word.end() and word.start() < b]
            known = own and WORD.fullmatch(word[0])
            chances = tuple(tags[own].mean(0).tolist()) if known else (1.0, 0.0, 0.0, 0.0)
            sentence = sum(end < word.start() for end in ends)
            sign = SIGNS[int(signs[own].mean(0).argmax())] if own else ""
            words.append(ReadWord(word[0], chances, sentence=sentence, place=len(words), sign=sign))
        said = (
            dict(zip(names, softmax(self._last(mean, layer)).tolist(), strict=True))
            for names, layer in ((OUTPUTS, "operation"), (FORMS, "form"), (DIRECTIONS, "direction"))
        )
        return Reading(tuple(_kept(question, words)), *said)

    def _last(self, states: np.ndarray, name: str) -> np.ndarray:
        return states @ self._arrays[f"{name}.weight"].T + self._arrays[f"{name}.bias"]


def read_question(question: str, companies: Iterable[str] = ()) -> Reading:
    """A question as the shipped model reads it.

    Where the encoder's weights are not to be had, any word may name a measure, and a value is asked for.

    Args:
        question: as asked.
        companies: names of companies as the question has them.
    """
    question = with_stand_ins(question, companies)
    reader = question_reader()
    return _not_read(question) if reader is None else reader.read(question)


def with_stand_ins(question: str, companies: Iterable[str]) -> str:
    """A question with `COMPANY` and `ANOTHER` in place of the names of companies."""
    names = sorted(filter(None, companies), key=len, reverse=True)
    if not names:
        return question
    found = any_case(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")
    first: list[str] = []

    def stands_for(name: re.Match[str]) -> str:
        first.append(name[0].lower())
        return COMPANY if first[-1] == first[0] else ANOTHER

    return found.sub(stands_for, question)


def _not_read(question: str) -> Reading:
    words = [ReadWord(word, (0.0, 1.0, 0.0, 0.0)) for word in _WORD_OR_MARK.findall(question)]
    named = (WORD.fullmatch(one.text) and not (one.small or _stands_for(one)) for one in words)
    kept = (replace(one, kept=bool(name)) for one, name in zip(words, named, strict=True))
    only = (
        {one: float(one == known) for one in names}
        for names, known in ((OUTPUTS, Operation.VALUE), (FORMS, Form.NUMBER), (DIRECTIONS, "none"))
    )
    return Reading(tuple(kept), *only)


def _kept(question: str, words: Sequence[ReadWord]) -> Iterator[ReadWord]:
    """Words; those are marked that the model says belong to a measure, or that make one phrase with them.

    'Days sales outstanding' is more than sales, and so is any word right beside them that may belong to it.
    """
    named = set()
    for name in formula_lexicon().named(question.lower()).values():
        keys = [_key(word) for word in WORD.findall(name)]
        if any(
            _key(word.text) in keys and not word.small and _is_likely(word, _LEAST_BESIDE) for word in words
        ):
            named.update(keys)
    best = max((sum(word.chances[1:3]) for word in words if not word.small), default=0.0)
    least = max(_LEAST_BESIDE, min(_LEAST_NAME, _OF_THE_BEST * best))
    likely = [_is_likely(word, least) or (_key(word.text) in named and not word.small) for word in words]
    for place, word in enumerate(words):
        beside = False
        for step in (-1, 1):
            at = place + step
            while 0 <= at < len(words) and WORD.fullmatch(words[at].text) and not words[at].small:
                beside |= likely[at]
                at += step
        inside = word.text.lower() in _INSIDE and 0 < place < len(words) - 1
        inside = inside and likely[place - 1] and likely[place + 1]
        of_name = word.chances[1] + word.chances[2] >= _LEAST_BESIDE and not word.small
        is_name = _stands_for(word)
        owned = (
            place > 0 and words[place - 1].text in _OWNED and not word.small and word.chances[3] < _LEAST_KIND
        )
        if owned and not (is_name or likely[place]):
            word = replace(word, chances=(0.0, 1.0, 0.0, 0.0))
        yield replace(word, kept=not is_name and (likely[place] or inside or owned or (beside and of_name)))


def _stands_for(word: ReadWord) -> bool:
    """Whether a word stands for a company, or is a number or a period such as FY2023."""
    return word.company or _PERIOD.fullmatch(word.text) is not None


def _is_likely(word: ReadWord, least: float = _LEAST_NAME) -> bool:
    _, first, second, kind = word.chances
    return first + second >= max(_LEAST_SMALL if word.small else least, kind)


def _is_small(word: str) -> bool:
    if word in ("US", "IT"):
        return False
    return all(part in NAMES_NOTHING for part in _key(word).split("-") if part)  # 'April-to-June'


def _is_noun(word: ReadWord | None) -> bool:
    return word is not None and WORD.fullmatch(word.text) is not None and not word.small


def _key(word: str) -> str:
    return word.lower().removesuffix("'s")


def softmax(scores: np.ndarray) -> np.ndarray:
    """Probabilities of scores, over the last axis."""
    shifted = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(-1, keepdims=True))


@cache
def question_reader() -> QuestionReader | None:
    """The shipped reader; None where the default encoder's weights are not to be had."""
    return shipped(QuestionReader, "finrag_pipeline.questions", ADAPTER_FILE)


def shipped(made_of: Callable[[Mapping[str, np.ndarray]], _Model], package: str, file: str) -> _Model | None:
    """A model of arrays that a package ships; None where the default encoder's weights are not to be had."""
    from safetensors.numpy import load

    try:
        return made_of(load((files(package) / file).read_bytes()))
    except ModelError:
        return None
