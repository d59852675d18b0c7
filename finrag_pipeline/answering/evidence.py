"""Evidence beside an abstention: the printed rows of the filings meant that come closest to the question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from finrag_pipeline.answering.row_ranking import rank_rows, shows
from finrag_pipeline.resolver.resolver import Resolution, Resolver
from finrag_pipeline.statements.filing_rows import FilingRow, FilingRows, RowValue

MOST_ROWS = 5
MOST_COLUMNS = 8
MOST_CHARACTERS = 160
"""Characters of a caption, a heading or a header that are shown."""

_MOST_FILINGS = 3


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
                    "period_end": str(value.period_end) if value.period_end else None,
                    "months": value.months,
                    "value": value.value,
                    "printed": cut(value.printed),
                    "box": list(value.box) if value.box else None,
                }
                for value in self.values
            ],
        }


class Evidence:
    """Finds evidence in the filings of a lake.

    Args:
        rows: reads the printed rows of a filing.
        resolver: reads companies and periods out of a question.
    """

    def __init__(self, rows: FilingRows, resolver: Resolver) -> None:
        self._rows = rows
        self._resolver = resolver

    def closest(self, question: str, filings: Sequence[str] | None = None) -> list[EvidenceRow]:
        """The closest rows, best first; none for a question that means no filing, or shares no word with one.

        Of several companies each gives rows in turn.

        Args:
            question: the question.
            filings: the only filings to look into; those that the question means when None.
        """
        resolution = self._resolver.resolve(question)
        rankings = []
        for meant in self._meant(resolution, filings):
            rows = [row for filing in meant for row in self._rows.of(filing)]
            rankings.append(rank_rows(resolution, rows, MOST_ROWS, meant))
        turns = [ranked for turn in zip_longest(*rankings) for ranked in turn if ranked is not None]
        return [_shown(ranked.row, resolution) for ranked in turns[:MOST_ROWS]]

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
