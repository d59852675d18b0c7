"""How likely each us-gaap concept is for a row of a statement, by its words and place: a small trained model.

What is known is shipped: rows that filers tagged, and how often words of a name stand for a word of a label.
Each concept is compared with the row by a few features (`FEATURES`), and trees weigh those.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import count

import numpy as np
from safetensors.numpy import load

from finrag_pipeline.statements.concepts import normal_label
from finrag_pipeline.statements.page_evidence import KINDS
from finrag_pipeline.statements.rows import Row
from finrag_pipeline.statements.trees import probabilities

MODEL_FILE = "concept_model.safetensors"
"""The shipped model, made by ``python -m benchmarks.concepts``."""

FEATURES = (
    "near", "near_here", "exact", "exact_here", "label_by_name", "worst_label_word", "name_by_row",
    "worst_name_word", "name_by_label", "name_cosine", "companies", "companies_of_family", "seen",
    "seen_here", "share_here", "position", "sign", "lexicon", "lexicon_family", "lexicon_any", "name_words",
    "place", "kind", "likelihood", "order",
)  # fmt: skip
"""Names of the features, in order."""

LEAST_CHANCE = 0.4
"""Least probability that a row stands for a family of concepts; below it the row has none."""

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z\d])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[a-z0-9]+")
_SMALL = frozenset(
    ["of", "the", "and", "in", "to", "for", "on", "a", "an", "by", "or", "at", "from", "as", "its"]
)
_MOST_WORDS = 14
_LIKELIEST, _NEAREST = 25, 12
_NO_PATTERN = 9

_START = {"financial_position": "current assets", "cash_flows": "operating", "income_statement": "revenue"}
_TURNS = {
    kind: [(when, re.compile(pattern), region) for when, pattern, region in turns]
    for kind, turns in {
        "financial_position": (
            ("heading", "current liabilit", "current liabilities"),
            ("heading", "^(?!.*liabilit).*(equity|deficit)", "equity"),
            ("row", "^((preferred|common|capital) (stock|shares)|.*paid in capital|retained)", "equity"),
            ("after", "^total current assets$", "noncurrent assets"),
            ("after", "^total assets$", "current liabilities"),
            ("after", "^total current liabilities$", "noncurrent liabilities"),
            ("after", "^total liabilities$", "equity"),
        ),
        "cash_flows": (
            ("heading", "supplement|noncash|cash pa", "supplement"),
            ("heading", "^(?!.*(total|net cash)).*investing", "investing"),
            ("heading", "^(?!.*(total|net cash|investing)).*financing", "financing"),
            ("row", "cash paid", "supplement"),
            ("after", "^(?!.*(adjust|reconcil|discontinued)).*(cash.*operati(ng|ons)|operating activities$)",
             "investing"),
            ("after", "(net|total|cash).*investing", "financing"),
            ("after", "(net|total|cash).*financing", "change"),
            ("after", "(end|close) of|ending", "supplement"),
        ),
        "income_statement": (
            ("after", "^(total )?(net )?(revenues?|sales)|gross (profit|margin)|total (net )?(revenue|sales)",
             "expenses"),
            ("after", "operating (income|profit|loss)|(income|earnings|loss) from operations", "other"),
            ("after", "before.*tax", "taxes"),
            ("after", "^(net (income|earnings|loss)|consolidated net)", "net income"),
        ),
    }.items()
}  # fmt: skip
"""When a part of a statement begins: at a heading, at a row, or behind a row."""


@dataclass(frozen=True, slots=True)
class Line:
    """What the model sees of a row.

    Attributes:
        region: part of the statement that the row stands in.
        context: of its statement, region, unit and headings, as words.
        place: of the row among those with numbers, from 0 to 1.
        negative: share of its numbers below zero.
        lexicon: names of the lexicon that its label matches, and the ranks of their patterns.
    """

    kind: str
    region: str
    words: tuple[str, ...]
    context: tuple[str, ...]
    place: float
    negative: float
    lexicon: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Example:
    """A row that a filer tagged: what `Line` has of it, its concept and the company."""

    kind: str
    region: str
    words: tuple[str, ...]
    concept: str
    company: str
    place: float
    negative: float


@dataclass(frozen=True)
class Knowledge:
    """What is known of concepts.

    Attributes:
        concepts: name to the family (concepts for one figure that filers choose between) and the number of
            companies that report it.
        forward: probability of a word of a label, given a word of the name; '' stands for no word.
        backward: probability of a word of the name, given a word of label or context.
    """

    concepts: Mapping[str, tuple[str, int]]
    examples: Sequence[Example]
    forward: Mapping[str, Mapping[str, float]]
    backward: Mapping[str, Mapping[str, float]]


def words_of(text: str) -> tuple[str, ...]:
    """Words of a normal label in the singular, without small ones; any number is '#'."""
    found = [_singular(word) for word in _WORD.findall(text) if word not in _SMALL]
    return tuple("#" if any(map(str.isdigit, word)) else word for word in found[:_MOST_WORDS])


def name_words(concept: str) -> tuple[str, ...]:
    """Words of the name of a concept.

    >>> name_words("PaymentsOfDividends")
    ('payment', 'dividend')
    """
    return words_of(_CAMEL.sub(" ", concept).lower())


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def regions(kind: str, rows: Sequence[Row]) -> list[str]:
    """Part of the statement that each row stands in."""
    region, found = _START.get(kind, ""), []
    for row in rows:
        label = normal_label(row.reading)
        turns = [(when, to) for when, pattern, to in _TURNS.get(kind, ()) if pattern.search(label)]
        wanted = "row" if row.cells else "heading"
        region = next((to for when, to in turns if when == wanted), region)
        found.append(region)
        region = next((to for when, to in turns if when == "after" and row.cells), region)
    return found


def describe(kind: str, rows: Sequence[Row], lexicon: Sequence[Mapping[str, int]]) -> list[Line | None]:
    """What the model sees of each row of a table, headings included; None for those.

    ``lexicon`` has the names that each row matches, with the ranks of their patterns.
    """
    ordinal, last = count(), max(1, sum(bool(row.cells) for row in rows) - 1)
    lines: list[Line | None] = []
    for row, region, matched in zip(rows, regions(kind, rows), lexicon, strict=True):
        if not row.cells:
            lines.append(None)
            continue
        place = next(ordinal) / last
        label = normal_label(row.reading)
        negative = sum(cell["value"] < 0 for cell in row.cells) / len(row.cells)
        headings = [word for heading in row.headings for word in words_of(normal_label(heading))]
        context = [f"kind:{kind}", f"region:{kind} {region}", f"unit:{row.unit}"]
        context += ["total:"] if label.startswith(("total", "net cash")) else []
        context += ["sign:-" if negative > 0.5 else "sign:+", *(f"heading:{word}" for word in headings[-12:])]
        lines.append(Line(kind, region, words_of(label), tuple(context), place, negative, matched))
    return lines


class Features:
    """Features of rows against all known concepts."""

    def __init__(self, known: Knowledge) -> None:
        self.names = list(known.concepts)
        self.family = [family for family, _ in known.concepts.values()]
        self._place = {name: at for at, name in enumerate(self.names)}
        families = {family: at for at, family in enumerate(dict.fromkeys(self.family))}
        self._families = np.array([families[family] for family in self.family])
        self._companies = np.log1p([count for _, count in known.concepts.values()])
        split = [name_words(name) for name in self.names]
        self._words_read(known, split)
        self._examples_read([e for e in known.examples if e.concept in self._place])

    def _words_read(self, known: Knowledge, split: Sequence[tuple[str, ...]]) -> None:
        parts = {word: at for at, word in enumerate(dict.fromkeys(word for words in split for word in words))}
        self._lengths = np.array([max(1, len(words)) for words in split], np.float32)
        self._parts = np.zeros((len(split), max(map(len, split))), np.int64)
        self._filled = np.zeros(self._parts.shape, np.float32)
        for at, words in enumerate(split):
            self._parts[at, : len(words)] = [parts[word] for word in words]
            self._filled[at, : len(words)] = 1
        self._forward = {word: self._table(by, parts) for word, by in known.forward.items()}
        self._backward = {word: self._table(by, parts) for word, by in known.backward.items()}
        self._unrelated = np.zeros(len(parts) + 1, np.float32)
        seen: Counter[str] = Counter()
        for _, words in dict.fromkeys((example.company, example.words) for example in known.examples):
            seen.update(dict.fromkeys(words, 1.0))
        for words in split:
            seen.update(dict.fromkeys(words, 0.3))
        total = sum(seen.values())
        self._share = {word: count / total for word, count in seen.items()}
        self._rare = 1 / total
        labels = len({(example.company, example.words) for example in known.examples}) + 0.3 * len(split)
        self._idf = {word: math.log((labels + 1) / (count + 0.5)) for word, count in seen.items()}
        self._columns = {word: at for at, word in enumerate(seen)}
        self._named = self._unit_rows(split)

    @staticmethod
    def _table(by: Mapping[str, float], parts: Mapping[str, int]) -> np.ndarray:
        row = np.zeros(len(parts) + 1, np.float32)  # the last place is for no word
        for word, probability in by.items():
            if not word or word in parts:
                row[parts[word] if word else -1] = probability
        return row

    def _unit_rows(self, texts: Sequence[Sequence[str]]) -> np.ndarray:
        """Rows of length 1 with the weights of the words of each text, shape (texts, words)."""
        rows = np.zeros((len(texts), len(self._columns)), np.float32)
        for at, words in enumerate(texts):
            for word in set(words):
                if word in self._columns:
                    rows[at, self._columns[word]] = self._idf[word]
            # Words never seen count for the length.
            strange = sum(word not in self._columns for word in set(words))
            rows[at] /= math.sqrt(max(1e-6, float(rows[at] @ rows[at]) + 9.0 * strange))
        return rows

    def _examples_read(self, examples: Sequence[Example]) -> None:
        number = len(self.names)
        self._owners = np.array([self._place[e.concept] for e in examples], np.int64)
        self._examples = self._unit_rows([e.words for e in examples])
        self._kinds = np.array([KINDS.index(e.kind) for e in examples], np.int64)
        self._regions = np.array([f"{e.kind} {e.region}" for e in examples])
        companies = {(self._place[e.concept], e.company) for e in examples}
        self._seen = np.bincount([owner for owner, _ in companies], minlength=number).astype(np.float32)
        self._seen_here: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(number, np.float32))
        here = {(f"{e.kind} {e.region}", self._place[e.concept], e.company) for e in examples}
        for region, owner, _ in here:
            self._seen_here[region][owner] += 1
        self._means = np.full((2, len(KINDS), number), -1, np.float32)
        for kind in range(len(KINDS)):
            times = np.bincount(self._owners[self._kinds == kind], minlength=number)
            for at, values in enumerate(([e.place for e in examples], [e.negative for e in examples])):
                of_kind = np.array(values, np.float64)[self._kinds == kind]
                sums = np.bincount(self._owners[self._kinds == kind], of_kind, minlength=number)
                self._means[at, kind][times > 0] = sums[times > 0] / times[times > 0]

    def of(self, line: Line) -> tuple[np.ndarray, np.ndarray]:
        """Places of the candidates among `names`, and their features, shape (candidates, features)."""
        kind = KINDS.index(line.kind)
        region = f"{line.kind} {line.region}"
        label = np.array([self._log_odds(word) for word in line.words or ("",)])
        by_row, worst = self._log_name((*line.words, *line.context))
        by_label, _ = self._log_name(line.words)
        likelihood = label.sum(0) + 0.6 * by_row * np.minimum(self._lengths, 6) + 0.35 * self._companies
        vector = self._unit_rows([line.words])[0]
        nearness = self._examples @ vector
        near, exact = self._best(nearness, self._kinds == kind)
        near_here, exact_here = self._best(nearness, self._regions == region)
        ranks = np.full(len(self.names), _NO_PATTERN, np.float32)
        matched = [self._place[name] for name in line.lexicon if name in self._place]
        ranks[matched] = [rank for name, rank in line.lexicon.items() if name in self._place]
        nearest = np.argsort(-near, kind="stable")[:_NEAREST]
        chosen = [
            *np.argsort(-likelihood, kind="stable")[:_LIKELIEST],
            *nearest[near[nearest] > 0.3],
            *matched,
        ]
        places = np.array(list(dict.fromkeys(int(place) for place in chosen)))
        families = self._families[places]
        largest = {f: self._companies[places[families == f]].max() for f in set(families)}
        order = np.empty(len(places))
        order[np.argsort(-likelihood[places], kind="stable")] = np.arange(len(places))
        here = self._seen_here[region]
        same = np.isin(families, self._families[matched]) if matched else np.zeros(len(places))
        position, sign = (
            np.where(mean >= 0, abs(mean - own), -1)
            for mean, own in zip(self._means[:, kind], (line.place, line.negative), strict=True)
        )
        every = [
            near, near_here, exact, exact_here, label.mean(0), label.min(0), by_row, worst, by_label,
            self._named @ vector, self._companies, None, self._seen, here,
            np.where(self._seen > 0, here / np.maximum(self._seen, 1), -1), position, sign, ranks, None,
            np.full(len(self.names), len(line.lexicon)), self._lengths, np.full(len(self.names), line.place),
            np.full(len(self.names), kind), likelihood - likelihood[places].max(), None,
        ]  # fmt: skip
        own = {"companies_of_family": self._companies[places] - [largest[f] for f in families],
               "lexicon_family": same, "order": order}  # fmt: skip
        columns = [
            own[name] if values is None else values[places]
            for name, values in zip(FEATURES, every, strict=True)
        ]
        return places, np.stack(columns, 1).astype(np.float32)

    def _log_odds(self, word: str) -> np.ndarray:
        """How much likelier a word of a label is where the name is a concept's than anywhere."""
        row = self._forward.get(word, self._unrelated)
        given = ((row[self._parts] * self._filled).sum(1) + row[-1]) / (self._lengths + 1)
        share = self._share.get(word, self._rare)
        return np.asarray(np.log((given + 0.02 * share + 1e-6) / (share + 1e-6)))

    def _log_name(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Log probability of the words of each name, each by the word that tells it best: mean, and worst."""
        rows = [self._backward[word] for word in words if word in self._backward]
        best = np.log(np.max(rows or [self._unrelated], axis=0) + 1e-3)
        each = best[self._parts] * self._filled
        return each.sum(1) / self._lengths, each.min(1)

    def _best(self, nearness: np.ndarray, among: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Per concept its nearest example, and its share of those with the very words; -1 without any."""
        near = np.zeros(len(self.names), np.float32)
        np.maximum.at(near, self._owners[among], nearness[among])
        same = among & (nearness > 0.999)
        if not same.any():
            return near, np.full(len(self.names), -1.0)
        return near, np.bincount(self._owners[same], minlength=len(self.names)) / same.sum()


class ConceptModel:
    """A trained model: ``known`` of `pack`, and the trees, see `probabilities`.

    Attributes:
        least: probability from which a family is likely enough.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray], least: float = LEAST_CHANCE) -> None:
        self.least = least
        self._arrays = arrays
        self.features = Features(unpack(arrays["known"]))
        self.families = dict(zip(self.features.names, self.features.family, strict=True))

    def chances(self, lines: Sequence[Line | None]) -> list[dict[str, float]]:
        """Probability of each concept that a row may stand for, the likeliest first; none for headings."""
        found = [self.features.of(line) if line is not None else None for line in lines]
        rows = [own[1] for own in found if own is not None]
        weighed = probabilities(self._arrays, np.concatenate(rows)) if rows else np.zeros(0)
        parts = iter(np.split(weighed, np.cumsum([len(row) for row in rows])))
        chances: list[dict[str, float]] = [{} for _ in lines]
        for own, told in zip(found, chances, strict=True):
            if own is not None:
                mine = next(parts)
                for at in np.argsort(-mine, kind="stable"):
                    told[self.features.names[own[0][at]]] = float(mine[at])
        return chances


def pack(known: Knowledge) -> np.ndarray:
    """Knowledge as bytes, shape (bytes,)."""
    examples = [
        [getattr(example, name) for name in Example.__dataclass_fields__] for example in known.examples
    ]
    text = json.dumps([dict(known.concepts), examples, dict(known.forward), dict(known.backward)])
    return np.frombuffer(zlib.compress(text.encode(), 9), np.uint8)


def unpack(data: np.ndarray) -> Knowledge:
    """What `pack` made bytes of."""
    concepts, examples, forward, backward = json.loads(zlib.decompress(data.tobytes()))
    rows = [Example(kind, region, tuple(words), *rest) for kind, region, words, *rest in examples]
    return Knowledge(
        {name: (family, count) for name, (family, count) in concepts.items()}, rows, forward, backward
    )


@cache
def concept_model() -> ConceptModel:
    """The shipped model."""
    return ConceptModel(load((files("finrag_pipeline.statements") / MODEL_FILE).read_bytes()))
