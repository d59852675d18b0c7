"""How likely each printed row is what words name: features of words, weighed by a small trained model."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files

import numpy as np
from safetensors.numpy import load

from finrag_pipeline.answering.row_cross_encoder import ROWS_AT_ONCE, Texts, row_cross_encoder, row_texts
from finrag_pipeline.questions.formula_lexicon import Lexicon, Line, Phrase, formula_lexicon
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.retrieval.query_expansion import expand_query
from finrag_pipeline.statements.filing_rows import FilingRow
from finrag_pipeline.statements.trees import probabilities

MODEL_FILE = "row_matcher.safetensors"
"""The shipped model, made by ``python -m benchmarks.row_matcher``."""

MOST_CANDIDATES = 50
"""Rows that the model looks at, those that share most with the words."""

MOST_UNNAMED = 80
"""Rows that it looks at whatever they say: people name the lines of statements in words of their own."""

LEAST_UNNAMED = 0.02
"""Least probability of a row that shares no word with those that name it."""

BLEND = (0.55, 0.55, 0.12, 0.22)
"""Weights of a constant, of the log-odds by words, of those of the cross-encoder, and of those that it gives
the best rows when it reads them beside each other."""

NOT_AMONG_THE_BEST = -8.0
"""Log-odds of rows that are not."""

BY_LABEL = 0.6
"""Probability of a row whose label is all that words say, where they are too plain to be weighed."""

_CAPTION_WORDS = 30
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_TOTAL = re.compile(r"\W*(?:total|consolidated|worldwide)\b", re.IGNORECASE)
_PART = re.compile(r"\b(?:parent|subsidiar|discontinued|pro ?forma|guarantor|condensed)", re.IGNORECASE)
_CHANGE = re.compile(r"%|\bchange|growth|percent", re.IGNORECASE)

FEATURES = (
    "label", "path", "columns", "caption", "concept", "near", "any", "unsaid", "expanded", "associated",
    "label_extra", "path_extra", "columns_extra", "label_words", "words", "exact", "starts", "relative",
    "relative_any", "rank", "statement", "line", "total", "part", "change", "percent", "money", "per_share",
    "shares", "headless", "values", "order", "synonyms",
)  # fmt: skip
"""Names of the features, in order."""


@dataclass(frozen=True, slots=True)
class _Words:
    label: frozenset[str]
    path: frozenset[str]
    columns: frozenset[str]
    caption: frozenset[str]
    concept: frozenset[str]


@lru_cache(maxsize=1 << 16)
def _words_of(path: tuple[str, ...], columns: tuple[str, ...], caption: str, concept: str | None) -> _Words:
    return _Words(
        frozenset(terms(path[-1] if path else "")),
        frozenset(terms(" ".join(path[:-1]))),
        frozenset(terms(" ".join(columns))),
        frozenset(terms(caption)[:_CAPTION_WORDS]),
        frozenset(terms(_CAMEL.sub(" ", concept or ""))),
    )


def row_words(row: FilingRow) -> _Words:
    """Stems of the parts of a row."""
    return _words_of(row.path, row.columns, row.caption, row.concept)


class Features:
    """Features of words against rows, shape (candidates, features); see `FEATURES`.

    Args:
        rows: of the filings that may be meant.
        associations: how strongly a word of a question speaks for a word of a row, by pair, in (0, 1].
        lexicon: lines and formulas.
    """

    def __init__(
        self,
        rows: Sequence[FilingRow],
        associations: Mapping[str, Mapping[str, float]],
        lexicon: Lexicon | None = None,
    ) -> None:
        self._rows = rows
        self._associations = associations
        self._lexicon = lexicon or formula_lexicon()
        self._words = [row_words(row) for row in rows]
        seen: Counter[str] = Counter()
        self._places: dict[str, list[int]] = {}
        for place, words in enumerate(self._words):
            every = words.label | words.path | words.columns | words.concept
            seen.update(every)
            for word in every | words.caption:
                self._places.setdefault(word, []).append(place)
        count = len(rows)
        self._idf = {word: math.log(1 + count / (1 + times)) for word, times in seen.items()}
        self._rare = math.log(1 + count)

    def _weight(self, word: str) -> float:
        return self._idf.get(word, self._rare)

    def candidates(self, words: str) -> list[int]:
        """Places of the rows that share most with words, the most likely first."""
        said = dict.fromkeys(terms(words))
        score: defaultdict[int, float] = defaultdict(float)
        for word in said:
            for place in self._places.get(word, ()):
                own = self._words[place]
                near = word in own.label or word in own.columns or word in own.path
                score[place] += self._weight(word) * (1.0 if near else 0.5)
            for other, strength in self._associations.get(word, {}).items():
                for place in self._places.get(other, ()):
                    if other in self._words[place].label:
                        score[place] += 0.6 * strength * self._weight(other)
        for place in list(score):
            own = self._words[place]
            extra = sum(self._weight(word) for word in own.label if word not in said)
            score[place] -= 0.15 * extra
        lines = self._lines(self._lexicon.named(words.lower()))
        known = [place for place, row in enumerate(self._rows) if _is_one_of(row, lines)] if lines else []
        likely = sorted(score, key=lambda place: (-score[place], place))
        return list(dict.fromkeys([*known, *likely]))[:MOST_CANDIDATES]

    @cached_property
    def unnamed(self) -> list[int]:
        """Places of rows that are looked at whatever they say, those of statements first."""
        places = sorted(range(len(self._rows)), key=lambda place: self._rows[place].statement is None)
        read: dict[Texts, list[int]] = {}
        for place in places:
            texts = row_texts(self._rows[place])
            if texts in read or len(read) < MOST_UNNAMED:
                read.setdefault(texts, []).append(place)
            elif self._rows[place].statement is None:
                break
        return [place for alike in read.values() for place in alike]

    def _lines(self, names: Iterable[str]) -> list[Line]:
        return [entry for name in names if isinstance(entry := self._lexicon.entries[name], Line)]

    def of(self, words: str, places: Sequence[int]) -> np.ndarray:
        """Features of rows at ``places``, shape (places, features)."""
        listed = terms(words)
        said = frozenset(listed)
        wide = frozenset(terms(expand_query(words))) | said
        total = sum(self._weight(word) for word in said) or 1.0
        named = self._lexicon.named(words.lower())
        lines = self._lines(named)
        ways = [(frozenset(terms(text)), self._lexicon.phrases_of(name)) for name, text in named.items()]
        out = np.zeros((len(places), len(FEATURES)), np.float32)
        for at, place in enumerate(places):
            row, own = self._rows[place], self._words[place]
            label = own.label
            near = label | own.path | own.columns
            every = near | own.caption | own.concept

            def share(words: frozenset[str]) -> float:
                return sum(self._weight(word) for word in words) / total

            linked = 0.0
            for word in said - near:
                strength = max(
                    (s for o, s in self._associations.get(word, {}).items() if o in label), default=0.0
                )
                linked += strength * self._weight(word)
            label_weight = sum(map(self._weight, label)) or 1.0
            extra = sum(self._weight(word) for word in label - wide)
            path_weight = sum(map(self._weight, own.path)) or 1.0
            unit = _unit(row)
            out[at] = (
                share(said & label),
                share(said & own.path - label),
                share(said & own.columns),
                share(said & own.caption - near),
                share(said & own.concept - near),
                share(said & near),
                share(said & every),
                len(said - every),
                sum(self._weight(word) for word in (wide & near) - said) / total,
                linked / total,
                extra / label_weight,
                sum(self._weight(word) for word in own.path - wide) / path_weight,
                len(own.columns - wide),
                len(label),
                len(said),
                label == said,
                bool(listed) and row.label.lower().startswith(words.lower().split()[0]) if words else 0,
                0.0,
                0.0,
                at,
                row.statement is not None,
                _is_one_of(row, lines),
                _TOTAL.match(row.label) is not None,
                _PART.search(f"{row.caption[:200]} {' '.join(row.path)}") is not None,
                _CHANGE.search(f"{row.label} {' '.join(row.columns)}") is not None,
                unit == "percent",
                unit == "currency",
                unit == "currency/share",
                unit == "shares",
                not label,
                len(row.values),
                place / max(len(self._rows), 1),
                share(_said_otherwise((*row.path, *row.columns), ways) - near)
                + share(_said_otherwise((row.caption,), ways) - every),
            )
        if len(places):
            for name, of in (("relative", "near"), ("relative_any", "any")):
                column = out[:, FEATURES.index(of)]
                out[:, FEATURES.index(name)] = column / max(float(column.max()), 1e-6)
        return out


def _is_one_of(row: FilingRow, lines: Sequence[Line]) -> bool:
    """Whether a row of a statement is one of the lines of the lexicon."""
    return any(row.concept in line.concepts and row.statement in line.statements for line in lines)


def _unit(row: FilingRow) -> str | None:
    return next((value.unit for value in row.values if value.unit), None)


def _said_otherwise(
    printed: Sequence[str], ways: Sequence[tuple[frozenset[str], Sequence[Phrase]]]
) -> frozenset[str]:
    """Stems of phrases of a question in whose place a row has another of the same meaning.

    'Operating profit' is said by a row below 'Earnings from operations'.
    """
    text = " | ".join(printed).lower()
    return frozenset(
        stem
        for stems, phrases in ways
        if any(phrase.pattern.search(text) for phrase in phrases)
        for stem in stems
    )


def coverage(features: np.ndarray) -> np.ndarray:
    """Probability by the share of the words that a row says, and of its label that the words say."""
    named = {name: features[:, place] for place, name in enumerate(FEATURES)}
    said = named["near"] + named["concept"] + 0.5 * named["caption"] + named["synonyms"]
    return 1 / (1 + np.exp(5.5 - 8 * said + 2 * named["label_extra"] - 0.5 * named["statement"]))


class RowMatcher:
    """A trained matcher: an ensemble of trees over `FEATURES`.

    Args:
        arrays: the trees, see `probabilities`; ``words``, ``others`` and ``strengths`` of associations.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._arrays = arrays
        names = bytes(arrays["names"]).decode().split("\n") if "names" in arrays else []
        self.associations: dict[str, dict[str, float]] = {}
        if names:
            for one, other, strength in zip(
                arrays["words"], arrays["others"], arrays["strengths"], strict=True
            ):
                self.associations.setdefault(names[one], {})[names[other]] = float(strength)
        self._features = lru_cache(8)(self._made)
        self._known: dict[tuple[int, ...], Sequence[FilingRow]] = {}

    def _made(self, key: tuple[int, ...]) -> Features:
        return Features(self._known[key], self.associations)

    def probabilities(self, measure: str, rows: Sequence[FilingRow], question: str = "") -> np.ndarray:
        """Probability that each row holds what words name, shape (rows,).

        Args:
            measure: words of a question, without companies and periods.
            rows: of the filings that may be meant; kept while others are asked about.
            question: that the words are of, without companies.
        """
        chances = np.zeros(len(rows))
        if not len(rows) or not terms(measure):  # 'Other' is a label without a word that tells anything
            same = [row.label.lower().removeprefix("total ") == measure.lower() for row in rows]
            return np.where(same, BY_LABEL, 0.0) if measure.strip() else chances
        key = (id(rows), len(rows), id(rows[0]), id(rows[-1]))
        if self._known.get(key) is not rows:
            self._known = {key: rows}
            self._features.cache_clear()
        features = self._features(key)
        named = features.candidates(measure)
        places = list(dict.fromkeys([*named, *features.unnamed]))
        by_words = self.by_words(features.of(measure, places))
        found = self._weigh(measure, question, [rows[place] for place in places], by_words)
        found[len(named) :] *= found[len(named) :] >= LEAST_UNNAMED
        chances[places] = found
        return chances

    def _read(
        self, measure: str, question: str, rows: Sequence[FilingRow], by_words: np.ndarray
    ) -> np.ndarray | None:
        """Log-odds of the cross-encoder, alone and among the best; rows that read alike are read once.

        It reads a few rows at a time and tells them from each other, so the best are read again, together.

        Returns:
            shape (rows, 2); None where it is not to be had.
        """
        reader = row_cross_encoder()
        if reader is None:
            return None
        texts = [row_texts(row) for row in rows]
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        first = reader.logits(measure, question, tuple(places))[[places[text] for text in texts]]
        _, words, alone, together = BLEND
        likely = np.argsort(-(words * by_words + (alone + together) * first), kind="stable")
        best = tuple(dict.fromkeys(texts[place] for place in likely))[:ROWS_AT_ONCE]
        again = dict(zip(best, reader.logits(measure, question, best), strict=True))
        return np.stack([first, [again.get(text, NOT_AMONG_THE_BEST) for text in texts]], axis=1)

    def by_words(self, features: np.ndarray) -> np.ndarray:
        """Probabilities of rows by their words alone, shape (rows,).

        The trees are trained on names of concepts, many words of which no row says; people ask in fewer, and
        each counts. So it is the geometric mean of their probability and of plain coverage.

        Args:
            features: shape (rows, features).
        """
        return np.sqrt(probabilities(self._arrays, features) * coverage(features))

    def _weigh(self, measure: str, question: str, rows: Sequence[FilingRow], named: np.ndarray) -> np.ndarray:
        """Probabilities of rows, shape (rows,), from those by words."""
        named = named.clip(1e-6, 1 - 1e-6)
        odds = np.log(named / (1 - named))
        read = self._read(measure, question, rows, odds)
        if read is None:
            return named
        bias, words, *meaning = BLEND
        return 1 / (1 + np.exp(-bias - words * odds - read @ np.array(meaning)))


@cache
def row_matcher() -> RowMatcher:
    """The shipped matcher."""
    return RowMatcher(load((files("finrag_pipeline.answering") / MODEL_FILE).read_bytes()))
