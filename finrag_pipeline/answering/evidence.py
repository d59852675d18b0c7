"""Evidence beside an abstention: the printed rows of the filings meant that come closest to the question."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from finrag_pipeline.answering.open_answer import known_name
from finrag_pipeline.answering.row_book import Match
from finrag_pipeline.answering.row_matcher import row_matcher
from finrag_pipeline.questions.formula_lexicon import formula_lexicon
from finrag_pipeline.questions.plan import read_plan
from finrag_pipeline.resolver.periods import AskedPeriod
from finrag_pipeline.resolver.resolver import Resolution, Resolver
from finrag_pipeline.resolver.tokens import plain
from finrag_pipeline.statements.filing_rows import FilingRow, FilingRows, RowValue

MOST_ROWS = 5
MOST_COLUMNS = 8
MOST_CHARACTERS = 160
"""Characters of a caption, a heading or a header that are shown."""

_MOST_FILINGS = 3
_MOST_LINES = 4
"""Lines of a formula that are looked for."""

_LEAST = 0.02
"""Least probability of a row that is shown."""

_IN_A_NOTE = 0.2
"""What is left of the score of a row that no statement prints."""

_NOT_SHOWN, _UNLIKELY = 0.3, 0.5
"""What is left of a row that shows none of the periods asked for; of one of a filing that is not meant."""


@dataclass(frozen=True)
class EvidenceRow:
    """A row that is shown, and those of its values that are: at most `MOST_COLUMNS`."""

    row: FilingRow
    values: tuple[RowValue, ...]

    @property
    def unit(self) -> str | None:
        """Unit of most of the values: a currency, ``percent``, ``shares``, …; None where none is known."""
        units = Counter(value.unit_name for value in self.values if value.unit_name)
        return units.most_common(1)[0][0] if units else None

    def as_json(self) -> dict[str, Any]:
        """The documented contract: see docs/answers.md."""
        row = self.row
        return {
            "filing": row.filing,
            "page": row.page,
            "page_label": str(row.page + 1),
            "caption": cut(row.caption) or None,
            "label": cut(row.label),
            "path": [cut(part) for part in row.path],
            "unit": self.unit,
            "values": [
                {
                    "column": cut(" > ".join(value.column)),
                    "header": cut(value.header),
                    "period_end": str(value.period_end) if value.period_end else None,
                    "months": value.months,
                    "value": value.value,
                    "printed": cut(value.printed),
                    "box": list(value.box) if value.box else None,
                    "fact_id": self._cell(value),
                }
                for value in self.values
            ],
        }

    def _cell(self, value: RowValue) -> str:
        """Where a value stands, as in the identifier of a fact."""
        line = self.row.row if value.row is None else value.row
        return f"{self.row.filing}:{self.row.page}:{self.row.table}:{line}:{value.index}"


class Evidence:
    """Finds evidence in the filings of a lake.

    Args:
        rows: reads the printed rows of a filing.
        resolver: reads companies and periods out of a question.
        match: tells how likely each row is what words name; the trained matcher's when None.
    """

    def __init__(self, rows: FilingRows, resolver: Resolver, match: Match | None = None) -> None:
        self._rows = rows
        self._resolver = resolver
        self._match = match or row_matcher().probabilities
        self._of = lru_cache(8)(self._read)

    def _read(self, filings: tuple[str, ...]) -> list[FilingRow]:
        return [row for filing in filings for row in self._rows.of(filing)]

    def closest(self, question: str, filings: Sequence[str] | None = None) -> list[EvidenceRow]:
        """The closest rows, best first; none for a question that means no filing, or shares no word with one.

        Of several companies each gives rows in turn.

        Args:
            question: the question.
            filings: the only filings to look into; those that the question means when None.
        """
        resolution = self._resolver.resolve(question)
        measures = _measures(question, resolution)
        rankings = [
            self._ranked(measure, question, resolution, meant)
            for meant in self._meant(resolution, filings)
            for measure in measures
        ]
        turns = (row for turn in itertools.zip_longest(*rankings) for row in turn if row is not None)
        return [_shown(row, resolution) for row in itertools.islice(_once(turns), MOST_ROWS)]

    def _ranked(
        self, measure: str, question: str, resolution: Resolution, meant: Mapping[str, float]
    ) -> list[FilingRow]:
        """The likeliest rows, best first."""
        rows = self._of(tuple(meant))
        best = max(meant.values(), default=0.0) or 1.0
        chances = self._match(measure, rows, question)
        likely = [int(place) for place in np.argsort(-chances, kind="stable") if chances[place] > _LEAST]
        scores = {
            place: chances[place]
            * (_NOT_SHOWN + (1 - _NOT_SHOWN) * _share_shown(resolution.periods, rows[place]))
            * (_UNLIKELY + (1 - _UNLIKELY) * meant[rows[place].filing] / best)
            * (1.0 if rows[place].statement else _IN_A_NOTE)
            for place in likely
        }
        return [rows[place] for place in sorted(likely, key=lambda place: -scores[place])][: 4 * MOST_ROWS]

    def _meant(self, resolution: Resolution, filings: Sequence[str] | None) -> list[dict[str, float]]:
        """Filings with tables and how likely each is meant, by company."""
        if filings is not None:
            return [dict.fromkeys((filing for filing in filings if filing in self._rows.filings), 1.0)]
        if not resolution.companies and resolution.ties != 1:
            return []
        meant: dict[str, dict[str, float]] = {}
        for ranked in resolution.filings:
            company = self._resolver.company_of(ranked.filing)
            of_company = meant.setdefault(company, {})
            if ranked.filing in self._rows.filings and len(of_company) < _MOST_FILINGS:
                of_company[ranked.filing] = ranked.score
        return list(meant.values())[: max(1, len(resolution.companies))]


def _measures(question: str, resolution: Resolution) -> tuple[str, ...]:
    """What rows are looked for: the measures of a question, the lines of a formula in its place."""
    lexicon = formula_lexicon()
    plan = read_plan(question, resolution.printed_names, lambda words: known_name(words, lexicon) is not None)
    measures = plan.measures if plan is not None else (_undated(resolution),)
    found: list[str] = []
    for measure in measures:
        name = known_name(measure, lexicon)
        lines = lexicon.lines_of(name) if name else []
        found += [measure] if len(lines) < 2 else [line.label for line in lines[:_MOST_LINES]]
    return tuple(dict.fromkeys(found))


def _undated(resolution: Resolution) -> str:
    """The question without the names of companies and the periods that the resolver read."""
    text = " ".join(plain(resolution.question).split())
    for part in sorted((*resolution.printed_names, *(p.text for p in resolution.periods)), key=len)[::-1]:
        if part:
            text = re.sub(rf"(?<!\w){re.escape(part)}(?:'s)?(?!\w)", " ", text, flags=re.IGNORECASE)
    return " ".join(text.split())


def _once(rows: Iterable[FilingRow]) -> Iterator[FilingRow]:
    """Rows without those that print the numbers of one with the same label before them."""
    said: dict[tuple[str, str], list[set[float]]] = {}
    for row in rows:
        before = said.setdefault((row.filing, row.label.lower()), [])
        numbers = {abs(value.value) for value in row.values}
        if not any(numbers <= other or other <= numbers for other in before):
            before.append(numbers)
            yield row


def _share_shown(periods: Sequence[AskedPeriod], row: FilingRow) -> float:
    """Share of the periods asked for that a row has a number of; 1 where none is asked for."""
    if not periods:
        return 1.0
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


def _shown(row: FilingRow, resolution: Resolution) -> EvidenceRow:
    """A row with its first values, those of the periods asked for before others, in printed order."""
    places = range(len(row.values))
    asked = [any(shows(period, value) for period in resolution.periods) for value in row.values]
    kept = sorted(sorted(places, key=lambda place: not asked[place])[:MOST_COLUMNS])
    return EvidenceRow(row, tuple(row.values[place] for place in kept))


def cut(text: str) -> str:
    """A text on one line, at most `MOST_CHARACTERS` long."""
    text = " ".join(text.split())
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1].rstrip() + "…"
