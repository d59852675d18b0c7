"""Evidence beside an abstention: the printed rows of the filings meant that come closest to the question."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from finrag_pipeline.answering.open_calculator import OpenCalculator
from finrag_pipeline.resolver.periods import AskedPeriod
from finrag_pipeline.resolver.resolver import Resolution
from finrag_pipeline.statements.filing_rows import FilingRow, RowValue

MOST_ROWS = 5
MOST_COLUMNS = 8
MOST_CHARACTERS = 160
"""Characters of a caption, a heading or a header that are shown."""


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
                    "fact_id": self.row.cell_of(value),
                }
                for value in self.values
            ],
        }


def closest_rows(
    question: str, resolution: Resolution, calculator: OpenCalculator, filings: Sequence[str] | None = None
) -> list[EvidenceRow]:
    """The closest rows, best first; none for a question that means no filing, or shares no word with one.

    Args:
        question: as asked.
        resolution: as the resolver read it.
        calculator: of the printed rows.
        filings: the only filings to look into; those that the question means when None.
    """
    rows = itertools.islice(calculator.closest(question, resolution, filings), MOST_ROWS)
    return [_shown(replace(row, path=(*row.path, *row.columns)), resolution) for row in rows]


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
