"""Which line, formula or commonly disclosed quantity a question asks for, whatever its words.

MiniLM with low-rank adapters (Hu et al., LoRA, 2021, section 4.1) and one layer over its mean state, made by
``benchmarks.line_reader``. "What do customers still owe?" asks for receivables, and no word of it says so.
Lines and formulas are those of the lexicon, the other quantities those of ``disclosures.toml``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from importlib.resources import files

import numpy as np

from finrag_pipeline.embedding.bert import adapted_minilm, minilm_tokenizer
from finrag_pipeline.questions.question_reader import MOST_TOKENS, shipped, softmax, with_stand_ins

LINE_FILE = "line_reader.safetensors"
NAMES = "names"
"""Array of the names of all that is told apart, one a text line, as bytes."""

LEAST_LINE = 0.5
"""Least probability of a line that words ask for without naming it."""

SURE_LINE = 0.9
"""That of a line that surely is meant, whatever else the words name."""

_LIKELY_LINE, _UNLIKELY_LINE = 0.75, 0.1
"""That of a line which is meant rather than one that words name, and at most of that one."""


class LineReader:
    """Tells what a question asks for of the whole company.

    Args:
        arrays: see `adapted_minilm`; ``line.weight`` and ``line.bias`` of the last layer, whose first output
            is "none of them"; `NAMES` of the others.

    Raises:
        ModelError: the default encoder's weights are not to be had.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._bert, self._tokenizer = adapted_minilm(arrays), minilm_tokenizer()
        self.names = arrays[NAMES].tobytes().decode().split("\n")
        self._weight, self._bias = (arrays[f"line.{part}"].astype(np.float32) for part in ("weight", "bias"))
        self.chances = lru_cache(256)(self._chances)

    def _chances(self, question: str) -> np.ndarray:
        """Probability of each of the names, shape (names,)."""
        ids = self._tokenizer.encode(question).ids[:MOST_TOKENS]
        return softmax(self._bert.of_text(ids).mean(0) @ self._weight.T + self._bias)[1:]

    def read(self, question: str) -> tuple[str, float]:
        """The likeliest name, and its probability."""
        chances = self.chances(question)
        best = int(chances.argmax())
        return self.names[best], float(chances[best])


@cache
def disclosures() -> Mapping[str, tuple[str, ...]]:
    """Printed labels of each commonly disclosed quantity, by its name."""
    text = files("finrag_pipeline.questions").joinpath("disclosures.toml").read_text("utf-8")
    return {name: tuple(labels) for name, labels in tomllib.loads(text).items()}


def read_line(question: str, companies: Iterable[str] = ()) -> tuple[str, float] | None:
    """The likeliest line, formula or disclosed quantity that a question asks for, and its probability.

    None where the encoder's weights are not to be had.

    Args:
        question: as asked.
        companies: names of companies as the question has them.
    """
    reader = line_reader()
    return reader.read(with_stand_ins(question, companies)) if reader else None


def means_another(named: str, question: str, companies: Iterable[str] = ()) -> bool:
    """Whether a question asks for another line than one that its words name.

    'What was spent on property and equipment' asks for no balance.

    Args:
        named: the line or formula that words name.
        question, companies: as in `read_line`.
    """
    found, reader = read_line(question, companies), line_reader()
    if found is None or reader is None or found[0] == named:
        return False
    if found[1] >= SURE_LINE or named not in reader.names:
        return found[1] >= SURE_LINE
    own = float(reader.chances(with_stand_ins(question, companies))[reader.names.index(named)])
    return found[1] >= _LIKELY_LINE and own < _UNLIKELY_LINE


@cache
def line_reader() -> LineReader | None:
    """The shipped model; None where the default encoder's weights are not to be had."""
    return shipped(LineReader, "finrag_pipeline.questions", LINE_FILE)
