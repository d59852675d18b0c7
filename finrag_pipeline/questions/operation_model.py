"""What a question does with what it names, and where its two measures part, by linear models over its words.

'How much of its sales went to China?' asks for a share, and 'of its sales' names the whole. The models are
made by ``python -m benchmarks.operation_model``.
"""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cache
from importlib.resources import files

import numpy as np
from safetensors.numpy import load

from finrag_pipeline.resolver.lexicon import word_set

MODEL_FILE = "operation_model.safetensors"
OPERATION_BUCKETS, PARTING_BUCKETS = 1 << 13, 1 << 14
_TOKEN = re.compile(r"[\ue000\ue001\ue002]|[^\W\d_]+(?:['&.-][^\W\d_]+)*|\d+|[%,/+:]")
_MOST_WORDS, _MOST_SHAPES = 2, 3
_MARKS = "\ue000\ue001\ue002"


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

_BETWEEN = NAMES_NOTHING | word_set(
    """
    % / among and as associated attributable attributed average combined compared composed comprise
    comprised consist consisted consists constitute constitutes constitution contribute contributed cover
    covered decrease derived difference divided due exceed exceeded exceeds excess expressed fraction gap
    higher in increase larger less lower margin mean minus more multiple net of part percent plus portion
    proportion proportionate ratio relation relative represent represented represents respect share slice
    smaller subtracted sum than times together top topped topping turn turned
    """
)
"""Words that stand around and between two measures; all others are alike."""


class Operation(StrEnum):
    """What is done with the values of the measures."""

    VALUE = "value"
    CHANGE = "change"
    GROWTH = "growth"
    RATIO = "ratio"
    SUM = "sum"
    DIFFERENCE = "difference"
    AVERAGE = "average"


OPERATIONS = tuple(Operation)
"""Operations in the order of the model's columns."""


def _bucket(text: str, buckets: int) -> int:
    return zlib.crc32(text.encode()) % buckets


def operation_features(text: str, flags: Sequence[str]) -> list[int]:
    """Buckets of runs of words, of the words around measures alone, and of flags, each once.

    Args:
        text: a question in which marks stand for periods, companies and known lines.
        flags: what else is known of it, such as the number of its periods.
    """
    words = [token.lower() for token in _TOKEN.findall(text)]
    around = [word for word, _ in itertools.groupby(map(_shape, words))]
    runs = [*_runs(words, _MOST_WORDS), *(f"x {run}" for run in _runs(around, _MOST_SHAPES))]
    marks = [f"{one} & {other}" for one in ("", *flags) for other in flags if one < other]
    return sorted({_bucket(one, OPERATION_BUCKETS) for one in (*runs, *marks)})


def _shape(word: str) -> str:
    """A word that stands around measures; 'x' for any other."""
    return word if word in _BETWEEN or word in _MARKS else "x"


def _runs(words: Sequence[str], most: int) -> Iterator[str]:
    words = ["", *words, ""]
    for length in range(1, most + 1):
        yield from (" ".join(words[at : at + length]) for at in range(len(words) - length + 1))


def partings(text: str) -> tuple[list[tuple[int, bool]], list[list[int]]]:
    """Places where a text may part into two measures, with their features.

    Returns:
        For each the character behind the first measure and whether the part of a whole, or what is subtracted
        from, stands first; and its buckets.
    """
    found = list(_TOKEN.finditer(text))
    words = [_shape(token[0].lower()) for token in found]
    places, features = [], []
    for at in range(1, len(found)):
        if words[at - 1] == words[at] == "x":
            continue
        left = [word for word, _ in itertools.groupby(words[:at])][::-1]
        right = [word for word, _ in itertools.groupby(words[at:])]
        a, b, c = (*left, "<", "<", "<")[2::-1][-3:]
        x, y, z = (*right, ">", ">", ">")[:3]
        near = (f"{c}|{x}", f"{c}|", f"|{x}", f"{b} {c}|", f"|{x} {y}", f"{a} {b} {c}|", f"|{x} {y} {z}")
        wide = (f"{b} {c}|{x}", f"{c}|{x} {y}", f"{b} {c}|{x} {y}", f"{a} {b} {c}|{x} {y} {z}")
        sides = [*(f"l {word}" for word in left), *(f"r {word}" for word in right)]
        first = f"s {' '.join(left[:-4:-1])}"
        for part_first in (True, False):
            own = (f"{part_first} {one}" for one in (*near, *wide, *sides, first, f"{first} {c}|{x}"))
            places.append((found[at].start(), part_first))
            features.append(sorted({_bucket(one, PARTING_BUCKETS) for one in own}))
    return places, features


def operation_chances(text: str, flags: Sequence[str]) -> dict[Operation, float]:
    """Probability of each operation; arguments are those of `operation_features`."""
    weights, bias = _model()["operations"], _model()["operation_bias"]
    own = operation_features(text, flags)
    scores = weights[own].sum(0) / np.sqrt(len(own)) + bias
    chances = np.exp(scores - scores.max())
    return dict(zip(OPERATIONS, (chances / chances.sum()).tolist(), strict=True))


def part_measures(text: str) -> Iterator[tuple[str, str, float]]:
    """The two measures of a text, the part or minuend first, with their probability; the likeliest first."""
    places, features = partings(text)
    if not places:
        return
    weights = _model()["partings"]
    scores = np.array([weights[own].sum() / np.sqrt(len(own)) for own in features])
    chances = np.exp(scores - scores.max())
    chances /= chances.sum()
    for place in np.argsort(-chances, kind="stable"):
        at, part_first = places[place]
        left, right = text[:at], text[at:]
        yield (left, right, float(chances[place])) if part_first else (right, left, float(chances[place]))


@cache
def _model() -> dict[str, np.ndarray]:
    arrays = load((files("finrag_pipeline.questions") / MODEL_FILE).read_bytes())
    return {name: array.astype(np.float32) for name, array in arrays.items()}
