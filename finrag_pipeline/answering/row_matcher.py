"""How likely each printed row is what words name.

A dual encoder finds the rows that may be meant, beside those that share words; a cross-encoder reads these;
trees weigh what it says with what the words and the place of a row tell. They learned from questions of
people which rows are right, and from the same questions without their right rows that there may be none.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from importlib.resources import files

import numpy as np
from safetensors.numpy import load

from finrag_pipeline.answering.row_cross_encoder import (
    ROWS_AT_ONCE,
    RowCrossEncoder,
    Texts,
    row_cross_encoder,
    row_texts,
)
from finrag_pipeline.answering.row_dual_encoder import row_dual_encoder
from finrag_pipeline.questions.formula_lexicon import Line, Phrase, formula_lexicon
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.resolver.lexicon import any_case
from finrag_pipeline.retrieval.query_expansion import expand_query
from finrag_pipeline.statements.filing_rows import FilingRow
from finrag_pipeline.statements.trees import probabilities

MODEL_FILE = "row_matcher.safetensors"
"""The shipped model, made by ``python -m benchmarks.row_matcher``."""

MOST_BY_WORDS, MOST_BY_SENSE = 10, 20
"""Rows that are looked at: those that share most words with a measure, and the likeliest by the dual encoder,
rows that read alike being one."""

_MOST_WITHOUT_SENSE = 50
"""Those that share most words, where there is no encoder."""

LEAST_UNNAMED = 0.25
"""Least probability of a row that shares no word with those that name it."""

LEAST_LEFT = 1e-4
"""Less is left of the probability of no row."""

NOT_AMONG_THE_BEST = -8.0
"""Log-odds of rows that are not."""

BY_LABEL = 0.6
"""Probability of a row whose label is all that words say, where they are too plain to be weighed."""

_CAPTION_WORDS = 30
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_TOTAL = any_case(r"\W*(?:total|consolidated|worldwide)\b")
_PART = any_case(r"\b(?:parent|subsidiar|discontinued|pro ?forma|guarantor|condensed)")
_TOTAL_WITHIN = any_case(r"\b(?:total|consolidated)\b")
_NAME = re.compile(r"(?<!^)\b[A-Z][\w&-]+")
_LAST_RANK = 30
_CHANGE = any_case(r"%|\bchange|growth|percent")

Lessened = Callable[[Sequence[int]], np.ndarray]
"""What is left of the probability of rows at places, by what they are besides, of the same shape."""


def unlessened(places: Sequence[int]) -> np.ndarray:
    """Nothing is taken from the probability of any row."""
    return np.ones(len(places))


_OF_WORDS = (
    "label", "path", "columns", "caption", "concept", "near", "any", "unsaid", "expanded",
    "label_extra", "path_extra", "columns_extra", "label_words", "words", "exact", "starts", "relative",
    "relative_any", "statement", "line", "total", "part", "change", "percent", "money", "per_share",
    "shares", "headless", "synonyms",
)  # fmt: skip
_OF_PLACE = (
    "filing", "size", "alike", "context_unsaid", "caption_unsaid", "caption_names", "context_total",
    "headings", "columned", "measure_words", "told", "lessened",
)  # fmt: skip
SCORES = ("coverage", "alone", "together", "likeness")
"""Features that rows are ranked by, each followed by how far a row is behind the best, and by its rank."""

FEATURES = (
    *_OF_WORDS,
    *_OF_PLACE,
    *(f"{score}{kind}" for score in SCORES for kind in ("", "_behind", "_rank")),
)
"""Names of the features, in order."""

SIGNS = (
    "coverage", "alone", "together", "likeness", "alone_behind", "together_behind", "any", "near",
    "label_extra", "unsaid", "context_unsaid", "size", "measure_words", "lessened",
)  # fmt: skip
"""Features of a row that tell how sure an answer from it is."""


@dataclass(frozen=True)
class Rated:
    """Rows and how likely each is what words name.

    Attributes:
        chances: probabilities, shape (rows,).
        signs: `SIGNS` of the rows that were looked at, by place, shape (signs,) each; None where no encoder
            tells them.
    """

    chances: np.ndarray
    signs: Mapping[int, np.ndarray] | None = None


@dataclass(frozen=True)
class LookedAt:
    """Rows that may hold what a measure of a question names.

    Attributes:
        by_words: what the words say of them, see `Features.of`.
        likeness: by the dual encoder, shape (rows,).
        left: what is left of the probability of each by what it is besides, shape (rows,).
    """

    measure: str
    question: str
    rows: Sequence[FilingRow]
    by_words: np.ndarray
    likeness: np.ndarray
    left: np.ndarray


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
    """

    def __init__(self, rows: Sequence[FilingRow]) -> None:
        self.rows = rows
        self._lexicon = formula_lexicon()
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

    def candidates(self, words: str, most: int) -> list[int]:
        """Places of as many rows that share most with words, after as many of known lines that they name."""
        said = dict.fromkeys(terms(words))
        score: defaultdict[int, float] = defaultdict(float)
        for word in said:
            for place in self._places.get(word, ()):
                own = self._words[place]
                near = word in own.label or word in own.columns or word in own.path
                score[place] += self._weight(word) * (1.0 if near else 0.5)
        for place in list(score):
            own = self._words[place]
            extra = sum(self._weight(word) for word in own.label if word not in said)
            score[place] -= 0.15 * extra
        lines = self._lines(self._lexicon.named(words.lower()))
        known = [place for place, row in enumerate(self.rows) if _is_one_of(row, lines)] if lines else []
        likely = sorted(score, key=lambda place: (-score[place], place))
        return list(dict.fromkeys([*known[:most], *likely[:most]]))

    @cached_property
    def texts(self) -> list[Texts]:
        """What encoders read of each row."""
        return [row_texts(row) for row in self.rows]

    def _lines(self, names: Iterable[str]) -> list[Line]:
        return [entry for name in names if isinstance(entry := self._lexicon.entries[name], Line)]

    def of(self, words: str, places: Sequence[int]) -> np.ndarray:
        """What the words say of rows at ``places``, shape (places, features)."""
        listed = terms(words)
        said = frozenset(listed)
        wide = frozenset(terms(expand_query(words))) | said
        total = sum(self._weight(word) for word in said) or 1.0
        named = self._lexicon.named(words.lower())
        lines = self._lines(named)
        ways = [(frozenset(terms(text)), self._lexicon.phrases_of(name)) for name, text in named.items()]
        out = np.zeros((len(places), len(_OF_WORDS)), np.float32)
        for at, place in enumerate(places):
            row, own = self.rows[place], self._words[place]
            label = own.label
            near = label | own.path | own.columns
            every = near | own.caption | own.concept

            def share(words: frozenset[str]) -> float:
                return sum(self._weight(word) for word in words) / total

            label_weight = sum(map(self._weight, label)) or 1.0
            extra = sum(self._weight(word) for word in label - wide)
            path_weight = sum(map(self._weight, own.path)) or 1.0
            unit = next((value.unit for value in row.values if value.unit), None)
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
                extra / label_weight,
                sum(self._weight(word) for word in own.path - wide) / path_weight,
                len(own.columns - wide),
                len(label),
                len(said),
                label == said,
                bool(listed) and row.label.lower().startswith(words.lower().split()[0]) if words else 0,
                0.0,
                0.0,
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
                share(_said_otherwise((*row.path, *row.columns), ways) - near)
                + share(_said_otherwise((row.caption,), ways) - every),
            )
        if len(places):
            relate(out)
        return out


def relate(features: np.ndarray) -> None:
    """Fill in what share of the words each row says of what the best of the rows does.

    Args:
        features: of words, shape (rows, features or more).
    """
    for name, of in (("relative", "near"), ("relative_any", "any")):
        column = features[:, _OF_WORDS.index(of)]
        features[:, _OF_WORDS.index(name)] = column / max(float(column.max()), 1e-6)


def _is_one_of(row: FilingRow, lines: Sequence[Line]) -> bool:
    """Whether a row of a statement is one of the lines of the lexicon."""
    return any(row.concept in line.concepts and row.statement in line.statements for line in lines)


def _said_otherwise(
    printed: Sequence[str], ways: Sequence[tuple[frozenset[str], Sequence[Phrase]]]
) -> frozenset[str]:
    """Stems of phrases of a question in whose place a row has another of the same meaning.

    'Operating profit' is said by a row below 'Earnings from operations'.
    """
    text = " | ".join(printed).lower()
    return frozenset(
        stem for stems, phrases in ways if any(phrase.search(text) for phrase in phrases) for stem in stems
    )


def coverage(features: np.ndarray) -> np.ndarray:
    """Probability by the share of the words that a row says, and of its label that the words say.

    Args:
        features: of words, shape (rows, features or more).
    """
    named = {name: features[:, place] for place, name in enumerate(_OF_WORDS)}
    said = named["near"] + named["concept"] + 0.5 * named["caption"] + named["synonyms"]
    return 1 / (1 + np.exp(5.5 - 8 * said + 2 * named["label_extra"] - 0.5 * named["statement"]))


def _of_places(
    said: frozenset[str],
    measure: str,
    rows: Sequence[FilingRow],
    texts: Sequence[Texts],
    left: np.ndarray,
) -> np.ndarray:
    """What the tables of rows say besides, and which of rows of one label are large, shape (rows, features).

    People do not say what they do not mean: a segment in a heading, a place in a caption. Of rows that are
    called alike, that of the whole company has the largest number.

    Args:
        said: stems of a question.
        measure: its words that name a quantity.
        rows, texts: all that are compared.
        left: what is left of the probability of each by what it is besides.
    """
    filings = list(dict.fromkeys(row.filing for row in rows))
    numbers = [abs(row.values[0].value) if row.values else 0.0 for row in rows]
    alike: defaultdict[tuple[frozenset[str], str | None], set[float]] = defaultdict(set)
    kinds = [(row_words(row).label, row.values[0].unit if row.values else None) for row in rows]
    for kind, value in zip(kinds, numbers, strict=True):
        alike[kind].add(value)
    out = np.zeros((len(rows), len(_OF_PLACE)), np.float32)
    for at, (row, kind, value, text) in enumerate(zip(rows, kinds, numbers, texts, strict=True)):
        _, headings, columns, caption, *_ = text
        context = f"{headings} {columns}"
        names = [word for word in _NAME.findall(caption) if said.isdisjoint(terms(word))]
        out[at] = (
            filings.index(row.filing),
            value / (max(alike[kind]) or 1.0),
            len(alike[kind]),
            sum(word not in said for word in terms(context)),
            sum(word not in said for word in terms(caption)),
            len(names),
            _TOTAL_WITHIN.search(context) is not None,
            bool(headings),
            bool(columns),
            len(measure.split()),
            row.table < 0,
            math.log(max(left[at], LEAST_LEFT)),
        )
    return out


def ranked(given: Sequence[np.ndarray]) -> np.ndarray:
    """Scores that rows are ranked by, how far each is behind the best, and its rank, three for each."""
    columns: list[np.ndarray] = []
    for scores in given:
        ranks = np.argsort(np.argsort(-scores, kind="stable"), kind="stable")
        columns += [scores, scores - scores.max(), ranks.clip(max=_LAST_RANK)]
    return np.column_stack(columns).astype(np.float32)


def log_odds(chances: np.ndarray | float) -> np.ndarray:
    """Log-odds of probabilities, of which none is quite 0 or 1; of the same shape."""
    kept = np.clip(chances, 1e-6, 1 - 1e-6)
    return np.asarray(np.log(kept / (1 - kept)))


class RowMatcher:
    """A trained matcher: trees over `FEATURES` (Friedman, Greedy function approximation, 2001, section 4.4).

    Args:
        arrays: the trees, see `probabilities`.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._trees = arrays
        self._features: Features | None = None

    def rate(
        self,
        measure: str,
        rows: Sequence[FilingRow],
        question: str = "",
        lessened: Lessened = unlessened,
    ) -> Rated:
        """How likely each row holds what words name.

        Without the default encoder's weights it goes by the share of the words that a row says.

        Args:
            measure: words of a question, without companies and periods.
            rows: of the filings that may be meant; the last ones asked about are kept.
            question: that the words are of, without companies.
            lessened: what is left of the probability of rows at places.
        """
        chances = np.zeros(len(rows))
        if not len(rows) or not terms(measure):  # 'Other' is a label without a word that tells anything
            same = [row.label.lower().removeprefix("total ") == measure.lower() for row in rows]
            chances[same] = BY_LABEL if measure.strip() else 0.0
            return Rated(chances * lessened(range(len(rows))))
        of_rows = self._features
        if of_rows is None or of_rows.rows is not rows:
            of_rows = self._features = Features(rows)
        reader, encoder = row_cross_encoder(), row_dual_encoder()
        likeness = None if encoder is None else encoder.likeness(measure, question, of_rows.texts)
        places = _candidates(of_rows, measure, likeness)
        by_words = of_rows.of(measure, places)
        left = lessened(places)
        signs = None
        if reader is None or likeness is None:
            found = coverage(by_words) * left
        else:
            looked_at = [rows[place] for place in places]
            asked = LookedAt(measure, question, looked_at, by_words, likeness[places], left)
            features = self._weighed(asked, reader)
            found = probabilities(self._trees, features)
            told = features[:, [FEATURES.index(name) for name in SIGNS]]
            signs = dict(zip(places, told, strict=True))
        shares_none = by_words[:, [_OF_WORDS.index(name) for name in ("any", "synonyms")]].sum(1) <= 0
        found[shares_none & (found < LEAST_UNNAMED)] = 0
        chances[places] = found
        return Rated(chances, signs)

    def _weighed(self, asked: LookedAt, reader: RowCrossEncoder) -> np.ndarray:
        """`FEATURES` of rows, shape (rows, features).

        The cross-encoder reads the beginnings of many rows, a few at a time, and tells them from each other;
        so the best are read again, together and with all that is printed around them.
        """
        measure, question, rows = asked.measure, asked.question, asked.rows
        texts = [row_texts(row) for row in rows]
        alone = reader.logits(measure, question, tuple(texts))
        covered = log_odds(coverage(asked.by_words))
        likely = np.argsort(-(covered + alone), kind="stable")
        best = tuple(dict.fromkeys(texts[place] for place in likely))[:ROWS_AT_ONCE]
        again = dict(zip(best, reader.logits(measure, question, best, full=True), strict=True))
        together = np.array([again.get(text, NOT_AMONG_THE_BEST) for text in texts])
        of_places = _of_places(frozenset(terms(f"{measure} {question}")), measure, rows, texts, asked.left)
        return np.column_stack(
            [asked.by_words, of_places, ranked((covered, alone, together, asked.likeness))]
        )


def _candidates(rows: Features, measure: str, likeness: np.ndarray | None) -> list[int]:
    """Places of the rows that are looked at, those that share words with a measure first."""
    if likeness is None:
        return rows.candidates(measure, _MOST_WITHOUT_SENSE)
    by_words = rows.candidates(measure, MOST_BY_WORDS)
    by_sense: dict[Texts, list[int]] = {}
    for place in np.argsort(-likeness, kind="stable").tolist():
        texts = rows.texts[place]
        if texts not in by_sense and len(by_sense) == MOST_BY_SENSE:
            break
        by_sense.setdefault(texts, []).append(place)
    return list(dict.fromkeys([*by_words, *(place for alike in by_sense.values() for place in alike)]))


@cache
def row_matcher() -> RowMatcher:
    """The shipped matcher."""
    return RowMatcher(load((files("finrag_pipeline.answering") / MODEL_FILE).read_bytes()))
