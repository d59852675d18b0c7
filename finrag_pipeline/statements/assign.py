"""Which row of a statement table stands for which concept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from finrag_pipeline.statements.concepts import match_row, normal_label
from finrag_pipeline.statements.rows import Row

_WHOLE_EQUITY = "StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest"


def assign_concepts(
    kind: str, rows: Sequence[Row], liabilities_only: bool = False
) -> dict[int, tuple[str, int]]:
    """Concepts of the rows of one statement table.

    Each row takes at most one concept and each concept one row: earlier patterns first, then the order of the
    lexicon, then the first or last row as the entry prefers.

    Args:
        kind: kind of statement.
        rows: rows of one table, headings included, top to bottom.
        liabilities_only: the table goes on behind the total of assets.

    Returns:
        Place in ``rows`` to the concept and the rank of its pattern.
    """
    pairs = []
    parts: Counter[str] = Counter()
    sides = _sides(kind, rows, liabilities_only)
    for place, row in enumerate(rows):
        if not row.cells:
            continue
        for order, match in enumerate(match_row(kind, row.reading, (*sides[place], *row.headings), row.unit)):
            concept = match.concept
            part = concept.alone_from is not None and match.rank >= concept.alone_from
            parts[concept.name] += part
            position = -place if concept.prefer == "last" else place
            pairs.append((match.rank, order, position, place, concept.name, part))
    assigned: dict[int, tuple[str, int]] = {}
    taken: set[str] = set()
    for rank, _, _, place, name, part in sorted(pairs):
        if place not in assigned and name not in taken and not (part and parts[name] > 1):
            assigned[place] = (name, rank)
            taken.add(name)
    if "MinorityInterest" not in taken and "StockholdersEquity" not in taken:
        # Without other owners all equity is the stockholders'.
        for place, (name, rank) in assigned.items():
            if name == _WHOLE_EQUITY:
                assigned[place] = ("StockholdersEquity", rank)
    return assigned


def _sides(kind: str, rows: Sequence[Row], liabilities_only: bool) -> list[tuple[str, ...]]:
    """Side of the balance sheet as a further heading of each row; liabilities follow the total of assets."""
    if kind != "financial_position":
        return [()] * len(rows)
    turn = -1 if liabilities_only else len(rows)
    for place, row in enumerate(rows):
        label = normal_label(row.reading)
        if row.cells and label == "total assets":
            turn = place
            break
    return [("assets",) if place <= turn else ("liabilities and equity",) for place in range(len(rows))]


def read_balance_totals(rows: Sequence[Row]) -> None:
    """Two rows of a balance sheet that agree in every column, the first without label: both its totals."""
    numbers = [(row, tuple(cell.value for cell in row.cells)) for row in rows if row.cells]
    largest = max((abs(values[0]) for _, values in numbers), default=0.0)
    same = [row for row, values in numbers if abs(values[0]) == largest]
    if len(same) >= 2 and largest and not same[0].label:
        same[0].sums_up = "assets"
        if not same[-1].label:
            same[-1].sums_up = "liabilities and equity"
