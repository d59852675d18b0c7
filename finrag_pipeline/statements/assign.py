"""Which row of a statement table stands for which concept, and for which line of the lexicon."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from finrag_pipeline.statements.concept_model import ConceptModel, concept_model, describe
from finrag_pipeline.statements.concepts import BEGINNING, Match, concept_names, match_row, normal_label
from finrag_pipeline.statements.rows import Row

_WHOLE_EQUITY = "StockholdersEquityIncludingPortionAttributableToNoncontrollingInterest"
_LAST_RANK = 99


@dataclass(frozen=True, slots=True)
class Assigned:
    """What a row stands for.

    Attributes:
        concept: the us-gaap name that filers most likely give it.
        line: the name of the line in the lexicon, one for all that filers call it; None where it has none.
        rank: of the pattern of the lexicon that its label met; lower is better.
    """

    concept: str
    line: str | None
    rank: int


def assign_concepts(
    kind: str, rows: Sequence[Row], liabilities_only: bool = False, model: ConceptModel | None = None
) -> dict[int, Assigned]:
    """Concepts of the rows of one statement table.

    A row that meets the lexicon has its line, and the likeliest concept of that line's family. Any other row
    has the likeliest concept that no row has yet, if its family is likely enough.
    Headings are among the rows; ``liabilities_only`` says that the table goes on behind the total of assets.
    """
    model = model or concept_model()
    matches = lexicon_matches(kind, rows, liabilities_only)
    ranks = [{match.concept.name.removesuffix(BEGINNING): match.rank for match in found} for found in matches]
    chances = model.chances(describe(kind, rows, ranks))
    lines = _assign_lines(matches)
    taken = {name for name, _ in lines.values()}
    assigned = {}
    for place, (name, rank) in lines.items():
        # The likeliest of the line's family that no row has; such as opening cash the line itself.
        family, others = model.families.get(name), taken - {name}
        concept = next((c for c in chances[place] if model.families[c] == family and c not in others), name)
        assigned[place] = Assigned(concept, name, rank)
        taken.add(concept)
    for concept, place in _likely(chances, model):
        # A statement of equity prints the same movements year by year.
        if place not in assigned and (concept not in taken or kind == "equity"):
            line = concept if concept in concept_names() and concept not in taken else None
            assigned[place] = Assigned(concept, line, _LAST_RANK)
            taken.add(concept)
    return assigned


def _likely(chances: Sequence[Mapping[str, float]], model: ConceptModel) -> list[tuple[str, int]]:
    """Concepts and places of rows, the likeliest first, whose family is likely enough."""
    found, families = [], model.families
    for place, own in enumerate(chances):
        whole: dict[str, float] = defaultdict(float)
        for name, chance in own.items():
            whole[families[name]] += chance
        found += [
            (-chance, place, name) for name, chance in own.items() if whole[families[name]] >= model.least
        ]
    return [(name, place) for _, place, name in sorted(found)]


def lexicon_matches(
    kind: str, rows: Sequence[Row], liabilities_only: bool = False
) -> list[tuple[Match, ...]]:
    """Entries of the lexicon that each row meets, best pattern first; arguments as of `assign_concepts`."""
    sides = _sides(kind, rows, liabilities_only)
    return [
        match_row(kind, row.reading, (*side, *row.headings), row.unit) if row.cells else ()
        for row, side in zip(rows, sides, strict=True)
    ]


def _assign_lines(matches: Sequence[Sequence[Match]]) -> dict[int, tuple[str, int]]:
    """Lines of the lexicon: each row takes at most one and each line one row.

    Earlier patterns go first, then the order of the lexicon, then the first or last row as the entry prefers.
    """
    pairs = []
    parts: Counter[str] = Counter()
    for place, found in enumerate(matches):
        for order, match in enumerate(found):
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
    totals = (
        place for place, row in enumerate(rows) if row.cells and normal_label(row.reading) == "total assets"
    )
    turn = next(totals, -1 if liabilities_only else len(rows))
    return [("assets",) if place <= turn else ("liabilities and equity",) for place in range(len(rows))]


def read_balance_totals(rows: Sequence[Row]) -> None:
    """Two rows of a balance sheet that agree in every column, the first without label: both its totals."""
    numbers = [(row, tuple(cell["value"] for cell in row.cells)) for row in rows if row.cells]
    largest = max((abs(values[0]) for _, values in numbers), default=0.0)
    same = [row for row, values in numbers if abs(values[0]) == largest]
    if len(same) >= 2 and largest and not same[0].label:
        same[0].sums_up = "assets"
        if not same[-1].label:
            same[-1].sums_up = "liabilities and equity"
