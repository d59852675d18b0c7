"""First levels lost and failure modes of every system, as tables for people."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from finrag_pipeline.evaluation.failure_modes import LABELS
from finrag_pipeline.evaluation.retrieval_gap import LEVELS
from finrag_pipeline.reporting.estimates import Estimate, system_title
from finrag_pipeline.reporting.grid import Cell, Column, Grid, Row, escape_markdown, grid_markdown
from finrag_pipeline.retrieval.systems import ABLATIONS

LEVEL_NAMES = {
    "filing": "Filing not found",
    "page": "Page not found",
    "chunk": "Passage not found",
    "generation": "Wrong or no answer",
    "none": "Nothing lost",
}
LABEL_NAMES = {
    "wrong_company": "Wrong company",
    "wrong_year": "Wrong year",
    "lexical_gap": "Lexical gap",
    "unannotated_page": "Un-annotated page",
    "multi_statement_gap": "Multi-statement gap",
    "scale_error": "Scale error",
    "invented_number": "Invented number",
}
_EMPTY = "No system has been measured yet."


class GapIndex:
    """The rows of ``schemas.GAP_COUNTS`` of one search space by their key.

    Args:
        counts: table as ``schemas.GAP_COUNTS``; may be empty.
        space: search space.
    """

    def __init__(self, counts: pa.Table, space: str = "corpus") -> None:
        self._rows = {
            (row["retrieval"], row["answering"], row["kind"], row["value"]): row
            for row in counts.to_pylist()
            if row["space"] == space
        }

    def share(self, system: tuple[str, str | None], kind: str, value: str) -> Estimate | None:
        """Share of the questions with its interval; None where it cannot occur or was not counted."""
        row = self._rows.get((*system, kind, value))
        return row and Estimate(row["share"], row["low"], row["high"], row["n"], 0)

    def count(self, system: tuple[str, str | None], kind: str, value: str) -> int:
        """Number of questions; 0 where it was not counted."""
        row = self._rows.get((*system, kind, value))
        return row["count"] if row else 0

    def systems(self) -> list[tuple[str, str | None]]:
        """(retrieval, answering) pairs without ablations: retrievals, then what answers over them.

        Each kind in the order of the share of questions of which nothing is lost, the greatest first.
        """

        def order(system: tuple[str, str | None]) -> tuple[bool, float, str, str]:
            kept = self.share(system, "level", "none")
            return system[1] is not None, -kept.mean if kept else 0.0, system[0], system[1] or ""

        found = dict.fromkeys((key[0], key[1]) for key in self._rows)
        return sorted((one for one in found if one[0] not in ABLATIONS), key=order)


def pair_title(system: tuple[str, str | None]) -> str:
    """``BM25``, or ``calculator on finrag``."""
    return f"{system[1]} on {system[0]}" if system[1] else system_title(system[0])


def levels_grid(counts: pa.Table, space: str = "corpus") -> Grid:
    """First level lost at five chunks: systems × levels."""
    names = [(level, LEVEL_NAMES[level]) for level in LEVELS]
    return _grid("gap-levels", "First level lost, share of the questions", counts, space, "level", names)


def labels_grid(counts: pa.Table, space: str = "corpus") -> Grid:
    """Failure modes: systems × labels; a question can have several."""
    names = [(label, LABEL_NAMES[label]) for label in LABELS]
    return _grid("failure-modes", "Failure modes, share of the questions", counts, space, "label", names)


def gap_markdown(counts: pa.Table, space: str = "corpus") -> str:
    """Both tables as Markdown."""
    return "\n".join(grid_markdown(grid(counts, space)) for grid in (levels_grid, labels_grid))


def _grid(
    name: str, caption: str, counts: pa.Table, space: str, kind: str, values: Sequence[tuple[str, str]]
) -> Grid:
    index = GapIndex(counts, space)
    columns = (Column("System"), *(Column(label, "number") for _, label in values))
    rows = []
    for system in index.systems():
        title = pair_title(system)
        cells = [Cell(title, markdown=escape_markdown(title))]
        for value, _ in values:
            share = index.share(system, kind, value)
            count = index.count(system, kind, value)
            small = f"{share.interval}, {count} of {share.n}" if share else ""
            cells.append(
                Cell(f"{share.mean:.3f}", small, f"{share} {count}", share.mean)
                if share
                else Cell("–", sort=-1.0)
            )
        group = "answers" if system[1] else "retrieval"
        rows.append(Row(tuple(cells), group, "-".join(filter(None, system))))
    return Grid(name, caption, columns, tuple(rows), _EMPTY)
