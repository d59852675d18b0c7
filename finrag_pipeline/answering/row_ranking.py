"""Which printed rows of filings a question is about: words, period and place, without training."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from finrag_pipeline.questions.expression import Call, Expression, Name, children
from finrag_pipeline.questions.formula_lexicon import Formula, Lexicon, Line, formula_lexicon
from finrag_pipeline.rankers.page_ranker.terms import terms
from finrag_pipeline.resolver.periods import AskedPeriod
from finrag_pipeline.resolver.resolver import Resolution
from finrag_pipeline.resolver.tokens import plain
from finrag_pipeline.retrieval.bm25 import build_bm25
from finrag_pipeline.retrieval.query_expansion import expand_query
from finrag_pipeline.statements.filing_rows import FilingRow, RowValue

_PATH, _CAPTION, _PERIOD, _PRIMARY, _FILING = 1.0, 0.4, 0.3, 0.1, 0.3
_CAPTION_WORDS = 30
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_ASKING = frozenset(
    terms(
        "amount answer calculate compare compute difference determine dollar dollars fall fell figure find "
        "gave give given grew grow growth indicate many million billion thousand much number percent "
        "percentage point points portion quantify ratio report reported reporting respectively rise rose "
        "round rounded share show state tell total unit value versus work"
    )
)
"""Words of asking: they tell an operation or a unit, seldom a row."""


@dataclass(frozen=True, slots=True)
class RankedRow:
    """A row and how well it fits a question; scores of one question can be compared, no others."""

    row: FilingRow
    score: float


def measure_words(resolution: Resolution) -> str:
    """The question without the names of companies and the periods that the resolver read."""
    text = " ".join(plain(resolution.question).split())
    for part in sorted((*resolution.printed_names, *(p.text for p in resolution.periods)), key=len)[::-1]:
        if part:
            text = re.sub(rf"(?<!\w){re.escape(part)}(?:'s)?(?!\w)", " ", text, flags=re.IGNORECASE)
    return " ".join(text.split())


def rank_rows(
    resolution: Resolution,
    rows: Sequence[FilingRow],
    count: int = 5,
    filings: Mapping[str, float] | None = None,
    lexicon: Lexicon | None = None,
) -> list[RankedRow]:
    """The rows that fit a question best, best first; those alone that share a word or a known line with it.

    Headings, label and headers of columns are compared by BM25, and the caption apart from them; a row gains
    where it shows the periods asked for, and where it is one of a primary statement. The lines that the
    lexicon reads in the question, or computes a formula from, come first, one row each, and every second
    where the question asks for more than them.

    Args:
        resolution: the question as the resolver read it.
        rows: of the filings that it may mean.
        count: rows at most.
        filings: how likely each filing is meant, in [0, 1]; all alike when None.
        lexicon: names of lines and formulas; those of ``formulas.toml`` when None.
    """
    if not rows:
        return []
    asked = measure_words(resolution)
    asked_for = dict.fromkeys(word for word in terms(expand_query(asked)) if word not in _ASKING)
    words = " ".join(asked_for)
    lines, left = _named_lines(asked.lower(), rows, lexicon or formula_lexicon())
    paths = [_path_words(row) for row in rows]
    captions = [" ".join(terms(row.caption)[:_CAPTION_WORDS]) for row in rows]
    path, caption = build_bm25(paths).scores(words), build_bm25(captions).scores(words)
    shared = [
        not asked_for.keys().isdisjoint(f"{one} {other}".split())
        for one, other in zip(paths, captions, strict=True)
    ]
    score = _PATH * _scaled(path) + _CAPTION * _scaled(caption)
    score += _PRIMARY * np.array([row.statement is not None for row in rows])
    shown = np.array([_shown(resolution.periods, row) for row in rows])
    score += _PERIOD * shown
    if filings:
        best = max(filings.values()) or 1.0
        score += _FILING * np.array([filings.get(row.filing, 0.0) / best for row in rows])
    order = [int(place) for place in np.argsort(-score, kind="stable") if shared[place]]
    if resolution.periods:
        lines = [[place for place in line if shown[place] > 0] for line in lines]
    best_of_lines = [max(line, key=lambda place: (score[place], -place)) for line in lines if line]
    if any(word not in _ASKING for word in terms(left)):
        rest = [place for place in order if place not in best_of_lines]
        mixed = [place for pair in zip_longest(best_of_lines, rest) for place in pair if place is not None]
    else:
        mixed = [*best_of_lines, *order]
    return [RankedRow(rows[place], round(float(score[place]), 4)) for place in _once(mixed, rows)[:count]]


def _once(order: Iterable[int], rows: Sequence[FilingRow]) -> list[int]:
    """The order without rows that print the numbers of one with the same label before them."""
    kept: list[int] = []
    said: dict[tuple[str, str], list[set[float]]] = {}
    for place in order:
        row = rows[place]
        before = said.setdefault((row.filing, row.label.lower()), [])
        numbers = {abs(value.value) for value in row.values}
        if not any(numbers <= other or other <= numbers for other in before):
            before.append(numbers)
            kept.append(place)
    return kept


def _scaled(scores: np.ndarray) -> np.ndarray:
    return scores / scores.max() if scores.max() > 0 else scores


def _path_words(row: FilingRow) -> str:
    """Stems of headings, label and headers of columns; those of the label count twice."""
    words = terms(" ".join((*row.path, *row.columns, row.label)))
    return " ".join([*words, *terms(_CAMEL.sub(" ", row.concept or ""))])


def _named_lines(text: str, rows: Sequence[FilingRow], lexicon: Lexicon) -> tuple[list[list[int]], str]:
    """Rows of each line of the statements that a text names, and what is left of the text.

    A formula stands for the lines that it is computed from.
    """
    named: dict[str, list[int]] = {}

    def show(name: str) -> bool:
        entry = lexicon.entries.get(name)
        if isinstance(entry, Formula):
            return read(entry.expression)
        if isinstance(entry, Line) and name not in named:
            named[name] = [place for place, row in enumerate(rows) if _is_line(entry, row)]
        return bool(named.get(name, True))

    def read(expression: Expression) -> bool:
        if isinstance(expression, Name):
            return show(expression.name)
        parts = children(expression)
        if isinstance(expression, Call) and expression.function == "first":
            return any(read(part) for part in parts)
        shown = [read(part) for part in parts]  # all of them are read
        return all(shown)

    left, place = "", 0
    while place < len(text):
        if found := lexicon.longest(text, place):
            show(found[1])
            place = found[0]
        else:
            left += text[place]
            place += 1
    return [places for places in named.values() if places], left


def _is_line(line: Line, row: FilingRow) -> bool:
    """Whether a row of a primary statement is a line: by its concept, or by its label where it has none."""
    if row.statement not in line.statements:
        return False
    if row.concept is not None:
        return row.concept in line.concepts
    return bool(line.labels and line.labels.search(row.label.lower()))


def _shown(periods: Sequence[AskedPeriod], row: FilingRow) -> float:
    """Share of the periods asked for that a row has a number of; 0 where none is asked for."""
    if not periods:
        return 0.0
    return sum(any(shows(period, value) for value in row.values) for period in periods) / len(periods)


def shows(period: AskedPeriod, value: RowValue) -> bool:
    """Whether a number may be of a period that a question names."""
    if period.date is not None:
        end = value.period_end
        if end is None or (end.year, end.month) != (period.date.year, period.date.month):
            return False
        return period.months is None or value.months in (None, period.months)
    if value.fiscal_year is None or value.fiscal_year != period.fiscal_year:
        return False
    if period.months is not None:
        return value.months == period.months
    return period.quarter is None or value.months is None or value.fiscal_quarter == period.quarter
